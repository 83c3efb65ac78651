// What boxes sum: of a pixel, up to four numbers that can be added. A kernel declares `//@ axis SUMS u16x2 u32 f32` or some
// of these, has `scale` among its parameters, and includes this after pixel.glsl.
//
// u16x2: two channels in one word; u32; f32, pixels times `scale`.

const int kChannelsOfWord = SUMS == SUMS_u16x2 ? 2 : 1;
const int kPlanes = (source_channels + kChannelsOfWord - 1) / kChannelsOfWord;  // numbers that are used

#if SUMS == SUMS_f32
#define NUMBERS vec4
#else
#define NUMBERS uvec4
#endif

#if SUMS == SUMS_f32
#include "box/outliers.glsl"

vec4 to_numbers(vec4 decoded) { return scale * decoded; }
vec4 numbers_of(uvec4 stored) { return to_numbers(decode(unpack_stored(stored))); }

// Of a pixel that enters a sum: outliers of halves make it infinite where box_mend.comp sums such pixels anew; see can_mend_box().
vec4 entering_numbers_of(uvec4 stored) {
  vec4 v = numbers_of(stored);
  const bool is_mended = STORAGE == STORAGE_buffer && destination_is_float && !decodes_srgb;
  if (!is_mended || !source_is_float || source_bits != 16) return v;
  return mix(v, vec4(uintBitsToFloat(0x7F800000u)), greaterThanEqual(abs(unpack_stored(stored)), vec4(kOutlier)));
}
#else
// Channels c and c + kPlanes share a word: no sum of either is larger than its half.
uvec4 to_words(uvec4 codes) {
#if SUMS == SUMS_u16x2
  [[unroll]] for (int c = 0; c < kPlanes; ++c) {
    if (c + kPlanes < source_channels) codes[c] |= codes[c + kPlanes] << 16;
  }
#endif
  return codes;
}

uvec4 to_numbers(vec4 decoded) {
  return to_words(uvec4(roundEven(decoded * (source_bits == 8 ? 255.0 : 65535.0))));
}

uvec4 numbers_of(uvec4 stored) {
#if STORAGE == STORAGE_image
  return to_numbers(unpack_stored(stored));
#else
  if (source_channels < 4) return to_words(stored);
#if SUMS == SUMS_u16x2
  return uvec4(stored.x & 0x00FF00FFu, stored.x >> 8 & 0x00FF00FFu, 0u, 0u);
#else
  if (source_bits == 8) return stored.xxxx >> uvec4(0u, 8u, 16u, 24u) & 0xFFu;
  return uvec4(stored.x & 0xFFFFu, stored.x >> 16, stored.y & 0xFFFFu, stored.y >> 16);
#endif
#endif
}

uvec4 entering_numbers_of(uvec4 stored) { return numbers_of(stored); }
#endif
