//@ axis STORAGE buffer image
//@ skip STORAGE=image
// sep.fused on cooperative matrices whose lanes fetch what they hold. A subgroup owns a strip of columns and walks down it 16 rows a
// turn. A lane fetches the pixels at its own places of 8x8 matrices, of which each channel is an operand as it lies; taps of y make sums
// of 16 rows from these, which are halves for the product with the taps of x, and what that makes a lane stores. There is no shared
// memory and no barrier: what lies between the axes stays in the lanes that made it. Pixels, taps and what lies between the axes are
// halves, or the latter two are sums of two halves; sums are f32.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
// segment: rows that one subgroup makes. between_start, end_start: what sums along y and then those along x begin with.
// gain: what the latter are multiplied by.
#define KERNEL_PARAMETERS ivec2 before; int segment; float between_start; float end_start; float gain;
#include "pixel.glsl"
#include "halves.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int subgroup_size = 32;
layout(constant_id = 23) const int blocks = 1;      // neighbouring blocks of 8 columns that a subgroup makes
layout(constant_id = 25) const bool clamps = true;  // sums can leave the range of an integer format
// What is the sum of so many halves, one and the rest: what lies between the axes, and taps.
layout(constant_id = 26) const int halves = 1;
layout(constant_id = 27) const int tap_halves_x = 1;
layout(constant_id = 28) const int tap_halves_y = 1;

// Those of x, then those of y.
#include "weights.glsl"

// Left operands, right ones and sums.
#define Left fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>
#define Right fcoopmatNV<16, gl_ScopeSubgroup, 8, 8>
#define Sum fcoopmatNV<32, gl_ScopeSubgroup, 16, 8>
const int kSide = 8;
const int kRows = 16;                                 // of a turn
const int kHeld = kRows * kSide / subgroup_size;      // numbers of a sum in a lane
const int kPlaces = kSide * kSide / subgroup_size;    // of a right operand

const int kThreads = int(gl_WorkGroupSize.x);
const int kSubgroups = kThreads / subgroup_size;
const int kWords = source_channels * source_bits / 32;      // of a pixel
const int kAcross = (taps_x + 2 * kSide - 2) / kSide;       // blocks of columns that 8 columns depend on
const int kDown = (taps_y + kRows + kSide - 2) / kSide;     // blocks of rows that 16 rows depend on
const int kNew = kRows / kSide;                             // that a turn brings
const int kKept = kDown > kNew ? kDown - kNew : 0;
const int kRead = blocks + kAcross - 1;                     // blocks of columns that are read
const int kFetched = kPlaces * kWords;                      // words of a lane, of a block

// Bands of taps, before them what makes them, and the places of matrices' numbers.
const int kBandsX = tap_halves_x * kAcross;
const int kBandsY = tap_halves_y * kDown;
const int kBandX = kSide * kSide / 4;  // in fours of halves
const int kBandY = kRows * kSide / 4;
const int kBands = kBandsX * kBandX + kBandsY * kBandY;
shared float taps[taps_x + taps_y];
shared uvec2 bands[kBands > 64 ? kBands : 64];

float tap_x(int i) { return i >= 0 && i < taps_x ? taps[i] : 0.0; }
float tap_y(int i) { return i >= 0 && i < taps_y ? taps[taps_x + i] : 0.0; }

// Column j of matrix n of x has the taps of output column j for columns 8 n and on; row j of matrix n of y has those of output row j.
void make_bands(int thread) {
  for (int i = thread; i < taps_x + taps_y; i += kThreads) taps[i] = weights[i];
  barrier();
  for (int i = thread; i < kBands; i += kThreads) {
    bool is_x = i < kBandsX * kBandX;
    int j = is_x ? i : i - kBandsX * kBandX;
    int n = is_x ? j / kBandX : j / kBandY;
    int row = is_x ? j / 2 % kSide : j / 2 % kRows;
    int column = j % 2 * 4;
    vec4 v;
    [[unroll]] for (int k = 0; k < 4; ++k) {
      v[k] = is_x ? rest_of(tap_x(n % kAcross * kSide + row - (column + k)), n / kAcross)
                  : rest_of(tap_y(n % kDown * kSide + (column + k) - row), n / kDown);
    }
    bands[i] = uvec2(packFloat2x16(f16vec2(v.xy)), packFloat2x16(f16vec2(v.zw)));
  }
}

// Which numbers of a matrix a lane holds: row and column of each.
ivec2 held[kPlaces];
ivec2 made[kHeld];

void find_places(int thread) {
  for (int i = thread; i < kSide * kSide / 4; i += kThreads) {
    f16vec4 v = f16vec4(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
    bands[i] = uvec2(packFloat2x16(v.xy), packFloat2x16(v.zw));
  }
  barrier();
  Right right;
  coopMatLoadNV(right, bands, 0, 2, false);
  [[unroll]] for (int i = 0; i < kPlaces; ++i) held[i] = ivec2(int(right[i]) % kSide, int(right[i]) / kSide);
  barrier();
  for (int i = thread; i < kRows * kSide / 2; i += kThreads) {
    bands[i] = floatBitsToUint(vec2(2 * i, 2 * i + 1));
  }
  barrier();
  Sum sum;
  coopMatLoadNV(sum, bands, 0, 4, false);
  [[unroll]] for (int i = 0; i < kHeld; ++i) made[i] = ivec2(int(sum[i]) % kSide, int(sum[i]) / kSide);
  barrier();
}

// ---- Pixels

const uint kLowBytes = 0x00FF00FFu;

// Of a pixel beyond a constant border.
uint outside_word(int w) {
  if (source_bits == 8) return packUnorm4x8(outside);
  return w == 0 ? packHalf2x16(outside.xy) : packHalf2x16(outside.zw);
}

// A channel of two pixels. Codes of 8 bits are the halves whose bits they are.
uint two_halves(uint first[kFetched], int i, int c) {
  uint a = first[i * kWords + (source_bits == 8 ? 0 : c / 2)];
  uint b = first[(i + 1) * kWords + (source_bits == 8 ? 0 : c / 2)];
  if (source_bits == 8) {
    uint two = c < 2 ? low_halves(a, b) : high_halves(a, b);
    return (c % 2 == 0 ? two : two >> 8) & kLowBytes;
  }
  return c % 2 == 0 ? low_halves(a, b) : high_halves(a, b);
}

Right operand(uint words[kFetched], int c) {
  Right right;
  [[unroll]] for (int i = 0; i < kPlaces; i += 2) {
    f16vec2 two = unpackFloat2x16(two_halves(words, i, c));
    right[i] = two.x;
    right[i + 1] = two.y;
  }
  return right;
}

uint within_codes(uint two) {
  if (!clamps) return two;
  return packFloat2x16(clamp(unpackFloat2x16(two), f16vec2(1024.0), f16vec2(1279.0)));
}

// Pixel i of those that a lane made.
uvec2 pixel_made(Sum sums[4], int i) {
  if (source_bits == 8) {
    uint even = within_codes(packed_halves(sums[0][i], sums[2][i]));
    uint odd = within_codes(packed_halves(sums[1][i], sums[3][i]));
    return uvec2((even & kLowBytes) | (odd << 8 & ~kLowBytes), 0u);
  }
  uint first = packed_halves(sums[0][i], sums[1][i]);
  return uvec2(first, source_channels == 4 ? packed_halves(sums[2][i], sums[3][i]) : 0u);
}

int first_column, first_row, last_row, left, start, end;
Left down[kBandsY];
Right across[kBandsX];

// Where a lane's pixels of 8 rows from `y` on begin; of rows beyond the last one that is needed, that one.
void find_rows(bool whole, int y, out uint places[kPlaces]) {
  [[unroll]] for (int i = 0; i < kPlaces; ++i) {
    int row = map_index(border_y, min(y + held[i].y, last_row), source_size.y);
    places[i] = uint(max(row, 0)) * uint(source_pitch) + source_start() + uint(whole ? first_column + held[i].x : 0);
  }
}

// Of 8 columns, the t-th ones.
void fetch(bool whole, uint places[kPlaces], int t, out uint words[kFetched]) {
  [[unroll]] for (int i = 0; i < kPlaces; ++i) {
    int x = t * kSide;
    if (!whole) x = max(map_index(border_x, first_column + x + held[i].x, source_size.x), 0);
    if (kWords == 1) {
      words[i] = source32[places[i] + uint(x)];
    } else {
      uvec2 v = source64[places[i] + uint(x)];
      words[i * kWords] = v.x;
      words[i * kWords + 1] = v.y;
    }
  }
}

// What was fetched of 8 rows from `y` on, as if it lay inside.
void settle(int y, int t, inout uint words[kFetched]) {
  [[unroll]] for (int i = 0; i < kPlaces; ++i) {
    int x = first_column + t * kSide + held[i].x;
    bool is_outside = (border_x == kConstant && uint(x) >= uint(source_size.x)) ||
                      (border_y == kConstant && uint(y + held[i].y) >= uint(source_size.y));
    [[unroll]] for (int w = 0; w < kWords; ++w) words[i * kWords + w] = is_outside ? outside_word(w) : words[i * kWords + w];
  }
}

// 8 columns of 16 rows from p on.
void store(bool whole, ivec2 p, Sum sums[4]) {
  if (whole) {
    [[unroll]] for (int i = 0; i < kHeld; i += 2) {
      ivec2 q = p + made[i];
      uvec2 a = pixel_made(sums, i), b = pixel_made(sums, i + 1);
      uint place = destination_index(q) / 2u;
      if (q.y < end) {
        if (kWords == 1) {
          destination64[place] = uvec2(a.x, b.x);
        } else {
          destination128[place] = uvec4(a, b);
        }
      }
    }
  } else {
    [[unroll]] for (int i = 0; i < kHeld; ++i) {
      ivec2 q = p + made[i];
      uvec2 v = pixel_made(sums, i);
      if (q.x < size.x && q.y < end) {
        if (kWords == 1) {
          destination32[destination_index(q)] = v.x;
        } else {
          destination64[destination_index(q)] = v;
        }
      }
    }
  }
}

// Walks down. `whole`: columns lie inside, and pixels side by side are stored together.
void walk(bool whole) {
  bool settles = !whole && (border_x == kConstant || border_y == kConstant);
  Right kept[kKept > 0 ? kKept * kRead * source_channels : 1];
  uint coming[kNew * kRead * kFetched];
  [[unroll]] for (int b = 0; b < kDown; ++b) {
    uint places[kPlaces];
    find_rows(whole, first_row + b * kSide, places);
    [[unroll]] for (int t = 0; t < kRead; ++t) {
      uint words[kFetched];
      fetch(whole, places, t, words);
      if (b < kKept) {
        if (settles) settle(first_row + b * kSide, t, words);
        [[unroll]] for (int c = 0; c < source_channels; ++c) kept[(b * kRead + t) * source_channels + c] = operand(words, c);
      } else {
        [[unroll]] for (int i = 0; i < kFetched; ++i) coming[((b - kKept) * kRead + t) * kFetched + i] = words[i];
      }
    }
  }
  for (int top = start; top < end; top += kRows) {
    int row = first_row + top - start;  // the first that these 16 depend on
    uint places[kNew][kPlaces];
    [[unroll]] for (int b = 0; b < kNew; ++b) find_rows(whole, row + kRows + (kKept + b) * kSide, places[b]);
    Left between[kAcross * halves * source_channels];
    [[unroll]] for (int t = 0; t < kRead; ++t) {
      Sum sums[4];
      Right come[kNew * 4];
      [[unroll]] for (int b = 0; b < kNew; ++b) {
        uint words[kFetched];
        [[unroll]] for (int i = 0; i < kFetched; ++i) words[i] = coming[(b * kRead + t) * kFetched + i];
        if (settles) settle(row + (kKept + b) * kSide, t, words);
        [[unroll]] for (int c = 0; c < source_channels; ++c) come[b * 4 + c] = operand(words, c);
        fetch(whole, places[b], t, words);
        [[unroll]] for (int i = 0; i < kFetched; ++i) coming[(b * kRead + t) * kFetched + i] = words[i];
      }
      [[unroll]] for (int c = 0; c < source_channels; ++c) {
        sums[c] = Sum(between_start);
        [[unroll]] for (int b = 0; b < kDown; ++b) {
          Right pixels = b < kKept ? kept[(b * kRead + t) * source_channels + c] : come[(b - kKept) * 4 + c];
          [[unroll]] for (int h = 0; h < tap_halves_y; ++h) sums[c] = coopMatMulAddNV(down[h * kDown + b], pixels, sums[c]);
        }
        [[unroll]] for (int b = 0; b < kKept; ++b) {
          int from = b + kNew;
          kept[(b * kRead + t) * source_channels + c] =
              from < kKept ? kept[(from * kRead + t) * source_channels + c] : come[(from - kKept) * 4 + c];
        }
      }
      [[unroll]] for (int c = 0; c < source_channels; ++c) {
        int at = (t % kAcross * source_channels + c) * halves;
        if (halves > 1) {
          Sum rest;
          [[unroll]] for (int i = 0; i < kHeld; ++i) {
            float upper = upper_half(sums[c][i]);
            rest[i] = sums[c][i] - upper;
            sums[c][i] = upper;
          }
          between[at + 1] = Left(rest);
        }
        between[at] = Left(sums[c]);
      }
      if (t >= kAcross - 1) {
        int block = t - (kAcross - 1);
        [[unroll]] for (int c = 0; c < source_channels; ++c) {
          sums[c] = Sum(end_start);
          [[unroll]] for (int n = 0; n < kAcross; ++n) {
            int at = ((block + n) % kAcross * source_channels + c) * halves;
            if (halves > 1) {
              sums[c] = coopMatMulAddNV(between[at + 1], across[n], sums[c]);
              if (tap_halves_x > 1) sums[c] = coopMatMulAddNV(between[at], across[kAcross + n], sums[c]);
            }
            sums[c] = coopMatMulAddNV(between[at], across[n], sums[c]);
          }
          if (halves > 1) sums[c] *= gain;
        }
        store(whole, ivec2(left + block * kSide, top), sums);
      }
    }
  }
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  find_places(thread);
  make_bands(thread);
  barrier();
  [[unroll]] for (int n = 0; n < kBandsX; ++n) coopMatLoadNV(across[n], bands, n * kBandX, 2, false);
  [[unroll]] for (int n = 0; n < kBandsY; ++n) coopMatLoadNV(down[n], bands, kBandsX * kBandX + n * kBandY, 2, false);

  left = (int(gl_WorkGroupID.x) * kSubgroups + int(gl_SubgroupID)) * blocks * kSide;
  if (left >= size.x) return;
  start = int(gl_WorkGroupID.y) * segment;
  end = min(start + segment, size.y);
  first_column = origin.x + left - before.x;
  first_row = origin.y + start - before.y;
  last_row = first_row + end - start + taps_y - 2;
  bool pairs = true;
  [[unroll]] for (int i = 0; i < kHeld; i += 2) {
    pairs = pairs && made[i].x % 2 == 0 && made[i].x + 1 == made[i + 1].x && made[i].y == made[i + 1].y;
  }
  bool whole = pairs && destination_pitch % 2 == 0 && destination_start() % 2u == 0u && left + blocks * kSide <= size.x &&
               first_column >= 0 && first_column + kRead * kSide <= source_size.x;
  if (border_y == kConstant) whole = whole && first_row >= 0 && first_row + segment + kKept * kSide <= source_size.y;
  if (whole) {
    walk(true);
  } else {
    walk(false);
  }
}
