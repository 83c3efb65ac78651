// Pixels in and out: from stored numbers to those that are blurred, and back, on images or on buffers.
//
// A kernel declares `//@ axis STORAGE buffer image`, defines KERNEL_PARAMETERS as the push constants that it has beside the
// common ones (or leaves it out), and includes this first. Numbers are 0 to 1 for unorm pixels.

#extension GL_GOOGLE_include_directive : require
#if STORAGE == STORAGE_buffer
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(capabilities = [4467], 4462, 16);  // RoundingModeRTE: to halves by rounding to the nearest
#endif

layout(local_size_x_id = 0, local_size_y_id = 1) in;

#include "io/border.glsl"

layout(constant_id = 4) const int source_bits = 8;
layout(constant_id = 5) const bool source_is_float = false;
layout(constant_id = 6) const int source_channels = 4;
layout(constant_id = 7) const int destination_bits = 8;
layout(constant_id = 8) const bool destination_is_float = false;
layout(constant_id = 9) const int destination_channels = 4;
layout(constant_id = 10) const bool decodes_alpha = false;
layout(constant_id = 11) const bool decodes_srgb = false;
layout(constant_id = 12) const bool encodes_alpha = false;
layout(constant_id = 13) const bool encodes_srgb = false;

#ifndef KERNEL_PARAMETERS
#define KERNEL_PARAMETERS
#endif

layout(push_constant) uniform Parameters {
  vec4 outside;           // a pixel beyond a constant border, decoded
  ivec2 source_size;
  ivec2 size;             // of what this pass writes
  ivec2 origin;           // where its (0, 0) lies in the source
  int source_pitch;       // pixels from one row of a buffer to the next
  int destination_pitch;
  uint source_stride;     // pixels from one image of a buffer to the next
  uint destination_stride;
  KERNEL_PARAMETERS
};

#if STORAGE == STORAGE_image
layout(binding = 0) uniform sampler2D source;
layout(binding = 1) writeonly uniform image2D destination;
#else
#include "io/layers.glsl"
layout(std430, binding = 0) readonly buffer Source8 { uint8_t source8[]; };
layout(std430, binding = 0) readonly buffer Source16 { uint16_t source16[]; };
layout(std430, binding = 0) readonly buffer Source32 { uint source32[]; };
layout(std430, binding = 0) readonly buffer Source64 { uvec2 source64[]; };
layout(std430, binding = 0) readonly buffer Source128 { uvec4 source128[]; };
layout(std430, binding = 1) writeonly buffer Destination8 { uint8_t destination8[]; };
layout(std430, binding = 1) writeonly buffer Destination16 { uint16_t destination16[]; };
layout(std430, binding = 1) writeonly buffer Destination32 { uint destination32[]; };
layout(std430, binding = 1) writeonly buffer Destination64 { uvec2 destination64[]; };
layout(std430, binding = 1) writeonly buffer Destination128 { uvec4 destination128[]; };

// Indices of pixels: where the group's image begins, and the pixel at p. Start and x first, as loops often change y alone.
uint source_start() { return layer_start(source_stride); }
uint destination_start() { return layer_start(destination_stride); }
uint source_index(ivec2 p) { return uint(p.y) * uint(source_pitch) + (uint(p.x) + source_start()); }
uint destination_index(ivec2 p) { return uint(p.y) * uint(destination_pitch) + (uint(p.x) + destination_start()); }
#endif

// ---- sRGB, IEC 61966-2-1, odd about zero and continued above one

float srgb_to_linear(float v) {
  float a = abs(v);
  return sign(v) * (a <= 0.04045 ? a / 12.92 : pow((a + 0.055) / 1.055, 2.4));
}

float linear_to_srgb(float v) {
  float a = abs(v);
  return sign(v) * (a <= 0.0031308 ? a * 12.92 : 1.055 * pow(a, 1.0 / 2.4) - 0.055);
}

vec4 decode(vec4 v) {
  int colours = decodes_alpha ? source_channels - 1 : source_channels;
  if (decodes_srgb) {
    for (int c = 0; c < 4; ++c) v[c] = c < colours ? srgb_to_linear(v[c]) : v[c];
  }
  if (decodes_alpha) {
    float alpha = source_channels == 2 ? v.y : v.w;
    for (int c = 0; c < 4; ++c) v[c] = c < colours ? v[c] * alpha : v[c];
  }
  return v;
}

vec4 encode(vec4 v) {
  int colours = encodes_alpha ? destination_channels - 1 : destination_channels;
  if (encodes_alpha) {
    float alpha = destination_channels == 2 ? v.y : v.w;
    for (int c = 0; c < 4; ++c) v[c] = c < colours ? (alpha == 0.0 ? 0.0 : v[c] / alpha) : v[c];
  }
  if (encodes_srgb) {
    for (int c = 0; c < 4; ++c) v[c] = c < colours ? linear_to_srgb(v[c]) : v[c];
  }
  return v;
}

// As encode(), but a colour that is no finite number stays so where alpha is zero. Later passes tell by it that a running sum was spoiled.
vec4 encode_running_sum(vec4 v) {
  vec4 encoded = encode(v);
  if (!encodes_alpha) return encoded;
  for (int c = 0; c < 4; ++c) {
    bool is_finite = (floatBitsToUint(v[c]) & 0x7F800000u) != 0x7F800000u;
    encoded[c] = is_finite ? encoded[c] : v[c];
  }
  return encoded;
}

// ---- Reading. What is stored and the numbers it stands for are two steps, so that kernels can fetch ahead.

#if STORAGE == STORAGE_image
uvec4 fetch_stored(ivec2 p) {
  return floatBitsToUint(texelFetch(source, p, 0));
}

vec4 unpack_stored(uvec4 stored) {
  return uintBitsToFloat(stored);
}
#else
uint stored_component(uint index) {
  if (source_bits == 8) return uint(source8[index]);
  if (source_bits == 32) return source32[index];
  return uint(source16[index]);
}

// Four channels fill as many words as they need; fewer have a word each.
uvec4 fetch_stored(ivec2 p) {
  uint index = source_index(p);
  if (source_channels == 4) {
    if (source_bits == 8) return uvec4(source32[index], 0u, 0u, 0u);
    if (source_bits == 32) return source128[index];
    return uvec4(source64[index], 0u, 0u);
  }
  uvec4 stored = uvec4(0u);
  index *= uint(source_channels);
  stored.x = stored_component(index);
  if (source_channels > 1) stored.y = stored_component(index + 1u);
  if (source_channels > 2) stored.z = stored_component(index + 2u);
  return stored;
}

float unpack_component(uint stored) {
  if (source_bits == 8) return float(stored) / 255.0;
  if (source_bits == 32) return uintBitsToFloat(stored);
  return source_is_float ? unpackHalf2x16(stored).x : float(stored) / 65535.0;
}

vec4 unpack_stored(uvec4 stored) {
  if (source_channels == 4) {
    if (source_bits == 8) return unpackUnorm4x8(stored.x);
    if (source_bits == 32) return uintBitsToFloat(stored);
    if (source_is_float) return vec4(unpackHalf2x16(stored.x), unpackHalf2x16(stored.y));
    return vec4(unpackUnorm2x16(stored.x), unpackUnorm2x16(stored.y));
  }
  vec4 v = vec4(0.0);
  v.x = unpack_component(stored.x);
  if (source_channels > 1) v.y = unpack_component(stored.y);
  if (source_channels > 2) v.z = unpack_component(stored.z);
  return v;
}
#endif

vec4 fetch(ivec2 p) {
  return unpack_stored(fetch_stored(p));
}

// Where p, which may lie outside the source, reads from; a negative coordinate where that is `outside`.
ivec2 map_place(ivec2 p) {
  return ivec2(map_index(border_x, p.x, source_size.x), map_index(border_y, p.y, source_size.y));
}

bool is_beyond(ivec2 mapped) {
  return (border_x == kConstant && mapped.x < 0) || (border_y == kConstant && mapped.y < 0);
}

// The pixel at p of the source, which may lie outside it.
vec4 load_pixel(ivec2 p) {
  ivec2 q = map_place(p);
  return is_beyond(q) ? outside : decode(fetch(q));
}

// ---- Writing. Rounding is done here: what stores do themselves is the driver's choice.

float largest_code() {
  return destination_bits == 8 ? 255.0 : 65535.0;
}

// The whole number that stands for v, ties to even. NaN becomes 0. Between 2^23 and 2^24 floats are whole numbers, so that
// one addition rounds; the number lies in the low bits.
uint unorm_code(float v) {
  return floatBitsToUint((v > 0.0 ? min(v, 1.0) : 0.0) * largest_code() + 8388608.0) & 0xFFFFu;
}

#if STORAGE == STORAGE_image
// SwiftShader stores an infinity as NaN, and the first float beyond the range of halves as an infinity. Others may cut that down to the range.
layout(constant_id = 18) const bool halves_overflow_only = false;

const uint kInfiniteHalf = halves_overflow_only ? 0x47800000u : 0x7F800000u;  // as a float's bits

// To the nearest half, ties to even; beyond the largest half it is infinite.
float rounded_to_half(float v) {
  // By its bits: what drivers make of infinities and NaN in arithmetic is their own choice.
  uint bits = floatBitsToUint(v);
  uint sign_bit = bits & 0x80000000u;
  uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return v;
  if (magnitude >= 0x477FF000u) return uintBitsToFloat(sign_bit | kInfiniteHalf);  // 65520, the first to round to 65536
  if (magnitude < 0x38800000u) {
    // Subnormal halves are multiples of 2^-24, the unit of floats between a half and one.
    precise float shifted = uintBitsToFloat(magnitude) + 0.5;
    precise float kept = shifted - 0.5;
    return uintBitsToFloat(sign_bit | floatBitsToUint(kept));
  }
  bits += 0xFFFu + ((bits >> 13) & 1u);
  return uintBitsToFloat(bits & 0xFFFFE000u);
}

float storable(float v) {
  if (!destination_is_float) return float(unorm_code(v)) / largest_code();
  return destination_bits == 16 ? rounded_to_half(v) : v;
}

void put(ivec2 p, vec4 v) {
  imageStore(destination, p, vec4(storable(v.x), storable(v.y), storable(v.z), storable(v.w)));
}
#else
// Two numbers as halves, rounded to the nearest.
uint packed_halves(float low, float high) {
  return packFloat2x16(f16vec2(low, high));
}

// The low halves of two words side by side, and the high ones: one instruction where the compiler sees halves.
uint low_halves(uint a, uint b) { return packFloat2x16(f16vec2(unpackFloat2x16(a).x, unpackFloat2x16(b).x)); }
uint high_halves(uint a, uint b) { return packFloat2x16(f16vec2(unpackFloat2x16(a).y, unpackFloat2x16(b).y)); }

// One component as the format's bits.
uint stored(float v) {
  if (!destination_is_float) return unorm_code(v);
  return destination_bits == 16 ? packed_halves(v, 0.0) : floatBitsToUint(v);
}

void put_component(uint index, uint bits) {
  if (destination_bits == 8) {
    destination8[index] = uint8_t(bits);
  } else if (destination_bits == 16) {
    destination16[index] = uint16_t(bits);
  } else {
    destination32[index] = bits;
  }
}

// A pixel as fetch_stored() gives one, but with anything above the bits of a component, at the index of the pixel.
void put_words(uint index, uvec4 words) {
  if (destination_channels == 4) {
    if (destination_bits == 8) {
      destination32[index] = words.x;
    } else if (destination_bits == 16) {
      destination64[index] = words.xy;
    } else {
      destination128[index] = words;
    }
  } else if (destination_channels == 2) {
    if (destination_bits == 8) {
      destination16[index] = uint16_t(words.x & 0xFFu | words.y << 8);
    } else if (destination_bits == 16) {
      destination32[index] = words.x & 0xFFFFu | words.y << 16;
    } else {
      destination64[index] = words.xy;
    }
  } else {
    index *= uint(destination_channels);
    put_component(index, words.x);
    if (destination_channels > 2) {
      put_component(index + 1u, words.y);
      put_component(index + 2u, words.z);
    }
  }
}

// A pixel's components as bits, at the index of the pixel.
void put_stored(uint index, uvec4 bits) {
  if (destination_channels == 4 && destination_bits == 8) bits.x |= bits.y << 8 | bits.z << 16 | bits.w << 24;
  if (destination_channels == 4 && destination_bits == 16) bits.xy = uvec2(bits.x | bits.y << 16, bits.z | bits.w << 16);
  put_words(index, bits);
}

uvec4 stored_pixel(vec4 v) {
  return uvec4(stored(v.x), stored(v.y), stored(v.z), stored(v.w));
}

void put(ivec2 p, vec4 v) {
  uint index = destination_index(p);
  if (destination_channels == 4 && destination_bits == 16 && destination_is_float) {
    destination64[index] = uvec2(packed_halves(v.x, v.y), packed_halves(v.z, v.w));
  } else {
    put_stored(index, stored_pixel(v));
  }
}
#endif

bool is_inside(ivec2 p) {
  return p.x < size.x && p.y < size.y;
}

// A blurred pixel at p of the destination; nothing where p lies beyond it.
void store_pixel(ivec2 p, vec4 v) {
  if (is_inside(p)) put(p, encode(v));
}
