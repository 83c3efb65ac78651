// Pixels in shared memory, as wide as the axis CACHE says. A kernel declares `//@ axis CACHE f32 f16 unorm8`.

#if CACHE == CACHE_f32
#define CACHED vec4
#define pack_pixel(v) (v)
#define unpack_pixel(v) (v)
#elif CACHE == CACHE_f16
#define CACHED uvec2
// packHalf2x16 may cut off; with its last 13 bits rounded away a number is a half already, as long as it is no subnormal
// one. Beyond the largest half it would be infinite, and an infinity spreads.
uvec2 pack_pixel(vec4 v) {
  uvec4 bits = floatBitsToUint(clamp(v, -65504.0, 65504.0));
  v = uintBitsToFloat((bits + 0xFFFu + ((bits >> 13) & 1u)) & 0xFFFFE000u);
  return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw));
}
vec4 unpack_pixel(uvec2 v) {
  return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y));
}
#else
#define CACHED uint
#define pack_pixel(v) packUnorm4x8(v)
#define unpack_pixel(v) unpackUnorm4x8(v)
#endif
