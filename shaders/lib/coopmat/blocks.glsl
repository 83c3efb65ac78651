// Blocks of 8x8 pixels that the lanes of a subgroup fetch as they hold them of matrices: a channel of a lane's pixels is a right operand where
// it lies. Left operands are 16x8, and so are sums, of which a lane stores the pixels that it holds.
// Include it after pixel.glsl.

layout(constant_id = 22) const int subgroup_size = 32;

// Left operands, right ones and sums.
#define Left fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>
#define Right fcoopmatNV<16, gl_ScopeSubgroup, 8, 8>
#define Sum fcoopmatNV<32, gl_ScopeSubgroup, 16, 8>
const int kSide = 8;    // of a block, a right operand
const int kRows = 16;   // of a sum
const int kFetched = kSide * kSide / subgroup_size;  // numbers of a right operand in a lane: of a block, the pixels that it fetches
const int kMade = kRows * kSide / subgroup_size;     // of a sum: those that it stores
const int kPixelWords = source_channels * source_bits / 32;
const int kWords = kFetched * kPixelWords;           // of a block in a lane

// ---- Places

// Columns and rows, within a block, of the pixels that a lane fetches, and of those that it stores: which numbers of a matrix a lane holds is
// the device's own, so it is read from matrices of numbers that tell their places.
ivec2 fetched[kFetched];
ivec2 made[kMade];

// A row of eight halves as it lies in shared memory. Arrays of uvec4 begin at multiples of 16 bytes, as loads of matrices need it.
uvec4 row_of_halves(float v[kSide]) {
  return uvec4(packFloat2x16(f16vec2(v[0], v[1])), packFloat2x16(f16vec2(v[2], v[3])), packFloat2x16(f16vec2(v[4], v[5])),
               packFloat2x16(f16vec2(v[6], v[7])));
}

// Numbers of a block, a row of halves each, and of a sum, two of floats a row.
shared uvec4 numbers[kSide + 2 * kRows];

// By all threads of the group; find_places() after a barrier.
void put_numbers(int thread) {
  for (int i = thread; i < kSide + 2 * kRows; i += int(gl_WorkGroupSize.x)) {
    float v[kSide];
    [[unroll]] for (int k = 0; k < kSide; ++k) v[k] = float(i * kSide + k);
    int first = (i - kSide) * 4;
    numbers[i] = i < kSide ? row_of_halves(v) : floatBitsToUint(vec4(first, first + 1, first + 2, first + 3));
  }
}

ivec2 place_of(int number) { return ivec2(number % kSide, number / kSide); }

void find_places() {
  Right block;
  coopMatLoadNV(block, numbers, 0, 1, false);
  [[unroll]] for (int i = 0; i < kFetched; ++i) fetched[i] = place_of(int(block[i]));
  Sum sum;
  coopMatLoadNV(sum, numbers, kSide, 2, false);
  [[unroll]] for (int i = 0; i < kMade; ++i) made[i] = place_of(int(sum[i]));
}

// ---- Operands

const uint kLowBytes = 0x00FF00FFu;

// A channel of two of a lane's pixels. Codes of 8 bits are the halves whose bits they are, 2^-24 of them, which takes no conversion.
uint two_halves(uint words[kWords], int pixel, int c) {
  int word = source_bits == 8 ? 0 : c / 2;
  uint a = words[pixel * kPixelWords + word], b = words[(pixel + 1) * kPixelWords + word];
  if (source_bits == 8) {
    uint two = c < 2 ? low_halves(a, b) : high_halves(a, b);
    return (c % 2 == 0 ? two : two >> 8) & kLowBytes;
  }
  return c % 2 == 0 ? low_halves(a, b) : high_halves(a, b);
}

Right operand(uint words[kWords], int c) {
  Right right;
  [[unroll]] for (int i = 0; i < kFetched; i += 2) {
    f16vec2 two = unpackFloat2x16(two_halves(words, i, c));
    right[i] = two.x;
    right[i + 1] = two.y;
  }
  return right;
}

// ---- Memory

// Of a pixel beyond a constant border.
uint outside_word(int w) {
  if (source_bits == 8) return packUnorm4x8(outside);
  return w == 0 ? packHalf2x16(outside.xy) : packHalf2x16(outside.zw);
}

int first_column;  // of the source, of the first block
int last_row;      // of those that are multiplied: rows beyond it are it

// Where a lane's pixels of 8 rows from `top` on lie; rows that are not multiplied are the last that is.
void find_rows(bool whole, int top, out uint places[kFetched]) {
  [[unroll]] for (int i = 0; i < kFetched; ++i) {
    int y = map_index(border_y, min(top + fetched[i].y, last_row), source_size.y);
    places[i] = uint(max(y, 0)) * uint(source_pitch) + source_start() + uint(whole ? first_column + fetched[i].x : 0);
  }
}

// The block of columns `n` of these rows.
void fetch(bool whole, uint places[kFetched], int n, out uint words[kWords]) {
  [[unroll]] for (int i = 0; i < kFetched; ++i) {
    int x = n * kSide;
    if (!whole) x = max(map_index(border_x, first_column + x + fetched[i].x, source_size.x), 0);
    if (kPixelWords == 1) {
      words[i] = source32[places[i] + uint(x)];
    } else {
      uvec2 v = source64[places[i] + uint(x)];
      words[i * kPixelWords] = v.x;
      words[i * kPixelWords + 1] = v.y;
    }
  }
}

// Puts what lies beyond a constant border in its place; only once a block is needed, as it has to be there by then.
void put_outside(int top, int n, inout uint words[kWords]) {
  [[unroll]] for (int i = 0; i < kFetched; ++i) {
    ivec2 p = ivec2(first_column + n * kSide, top) + fetched[i];
    bool is_outside = (border_x == kConstant && uint(p.x) >= uint(source_size.x)) ||
                      (border_y == kConstant && uint(p.y) >= uint(source_size.y));
    [[unroll]] for (int w = 0; w < kPixelWords; ++w) {
      if (is_outside) words[i * kPixelWords + w] = outside_word(w);
    }
  }
}
