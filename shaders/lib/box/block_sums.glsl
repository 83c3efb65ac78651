// What boxes share that decode pixels and fetch rows by 16 bytes, by corners or into blocks. Include after numbers.glsl.
//
// The image, continued beyond its border, is cut into blocks: strips of `lanes * pixels` columns and bands of `height` rows,
// counted from where the first window of the first strip and band begins. Sums of windows that end before each strip and
// each band follow from sums of blocks. All of them are words in planes: of windows one for each channel, of blocks one for two where two
// channels share a word.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(constant_id = 20) const int lanes = 8;           // of a subgroup that make a strip, a power of two
layout(constant_id = 21) const int pixels = 1;          // that a lane makes of a row
layout(constant_id = 22) const int rows_in_flight = 1;  // rows that are fetched together

const int kThreads = int(gl_WorkGroupSize.x);
const int kWidth = lanes * pixels;  // of a strip

#if SUMS == SUMS_f32
uint to_word(float v) { return floatBitsToUint(v); }
float from_word(uint word) { return uintBitsToFloat(word); }
#else
uint to_word(uint v) { return v; }
uint from_word(uint word) { return word; }
#endif

// Lanes of one subgroup make strips side by side. By subgroup, not by local index: lanes ask each other.
int thread_index() { return int(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID); }

// ---- A lane's pixels of a row, in as many of four words as they fill: 16 bytes, or fewer: 12 of three channels

const int kPixelBytes = source_bits / 8 * source_channels;
const int kVectorBytes = kPixelBytes * pixels;
// Fetches of words may reach so many pixels beyond a strip.
const int kSlack = (kVectorBytes == 16 ? 31 : 15) / kPixelBytes;

// Four words that begin `shift` bytes after the first of eight.
uvec4 shifted(uvec4 a, uvec4 b, uint shift) {
  uint words = shift >> 2;
  uvec4 low = (words & 2u) != 0u ? uvec4(a.zw, b.xy) : a;
  uvec2 high = (words & 2u) != 0u ? b.zw : b.xy;
  uvec4 v = (words & 1u) != 0u ? uvec4(low.yzw, high.x) : low;
  if (kPixelBytes % 4 == 0) return v;
  uint next = (words & 1u) != 0u ? high.y : high.x;
  uint bits = shift % 4u * 8u;
  return v >> bits | uvec4(v.yzw, next) << 1u << (31u - bits);
}

// Puts a pixel as fetch_stored() has it into its place.
void add_to_vector(inout uvec4 vector, int p, uvec4 stored) {
  if (source_channels == 4) {
    [[unroll]] for (int i = 0; i < kPixelBytes / 4; ++i) vector[p * kPixelBytes / 4 + i] = stored[i];
    return;
  }
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    int bit = (p * source_channels + c) * source_bits;
    vector[bit / 32] |= stored[c] << bit % 32;
  }
}

// The pixel p of a vector as fetch_stored() has it.
uvec4 stored_of(uvec4 vector, int p) {
  uvec4 stored = uvec4(0u);
  if (source_channels == 4) {
    [[unroll]] for (int i = 0; i < kPixelBytes / 4; ++i) stored[i] = vector[p * kPixelBytes / 4 + i];
    return stored;
  }
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    int bit = (p * source_channels + c) * source_bits;
    stored[c] = source_bits == 32 ? vector[bit / 32] : bitfieldExtract(vector[bit / 32], bit % 32, source_bits);
  }
  return stored;
}

const int kMostPixels = 16;  // a struct's array cannot have the size of a specialization constant

// Where a lane's pixels of each row lie.
struct Columns {
  int first;       // of the lane
  bool is_inside;  // the strip with its slack lies in the image
  int mapped[kMostPixels];  // where not
};

Columns columns_of(int first_of_strip, int lane) {
  Columns c;
  c.first = first_of_strip + lane * pixels;
  c.is_inside = first_of_strip >= 0 && first_of_strip + kWidth + kSlack <= source_size.x;
  [[unroll]] for (int p = 0; p < pixels; ++p) c.mapped[p] = map_index(border_x, c.first + p, source_size.x);
  return c;
}

// A lane's pixels of a row as they are fetched. What is done with them waits until all rows are on their way.
struct Fetched {
  uvec4 low;
  uvec4 high;  // what follows, where pixels need not begin at a multiple of 16 bytes
};

Fetched fetch_row(Columns c, int y) {
  Fetched f = Fetched(uvec4(0u), uvec4(0u));
  if (border_y == kConstant && y < 0) return f;
  if (c.is_inside) {
    uint index = source_index(ivec2(c.first, y));
    if (kPixelBytes == 16) {
      f.low = source128[index];
    } else if (kVectorBytes == 16) {
      uint at = index * uint(kPixelBytes) >> 4;
      f.low = source128[at];
      f.high = source128[at + 1u];
    } else {
      uint at = index * uint(kPixelBytes) >> 2;
      f.low = uvec4(source32[at], source32[at + 1u], source32[at + 2u], 0u);
      if (kPixelBytes % 4 != 0) f.low.w = source32[at + 3u];
    }
    return f;
  }
  [[unroll]] for (int p = 0; p < pixels; ++p) {
    ivec2 q = ivec2(c.mapped[p], y);
    if (!is_beyond(q)) add_to_vector(f.low, p, fetch_stored(q));
  }
  return f;
}

uvec4 vector_of(Columns c, int y, Fetched f) {
  if (kPixelBytes == 16 || kPixelBytes == 12) return f.low;
  // All lanes of a row are as far from a multiple of 16 bytes, or 4, as each other.
  uint shift = source_index(ivec2(c.first, y)) * uint(kPixelBytes) & (kVectorBytes == 16 ? 15u : 3u);
  return shifted(f.low, f.high, c.is_inside ? shift : 0u);
}

NUMBERS pixel_of_row(Columns c, int y, uvec4 vector, int p, NUMBERS numbers_outside) {
  return is_beyond(ivec2(c.mapped[p], y)) ? numbers_outside : numbers_of(stored_of(vector, p));
}

NUMBERS entering_pixel_of_row(Columns c, int y, uvec4 vector, int p, NUMBERS numbers_outside) {
  return is_beyond(ivec2(c.mapped[p], y)) ? numbers_outside : entering_numbers_of(stored_of(vector, p));
}

// ---- Windows

// Differences of two rows, over so few columns that they fit into half a word with a sign.
NUMBERS to_totals(NUMBERS v) {
#if SUMS == SUMS_u16x2
  NUMBERS out_ = NUMBERS(0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    int word = int(v[c % kPlanes]);
    out_[c] = uint(c < kPlanes ? bitfieldExtract(word, 0, 16) : word + 0x8000 >> 16);
  }
  return out_;
#else
  return v;
#endif
}

// As the destination stores them.
uvec4 codes_of(NUMBERS sum) {
#if SUMS == SUMS_f32
  vec4 v = encode_running_sum(sum);
#else
  // See unorm_code(): a mean needs no clamp.
  if (!destination_is_float) return floatBitsToUint(vec4(sum) * (scale * largest_code()) + 8388608.0) & 0xFFFFu;
  vec4 v = vec4(sum) * scale;
#endif
  return stored_pixel(v);
}
