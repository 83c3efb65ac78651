//@ axis STORAGE buffer image
//@ axis CACHE f32 f16 unorm8
// sep.shared: one axis of a separable kernel. The group loads its rows (or columns) and what the taps reach beyond them
// into shared memory, then filters from there. The other axis has one tap.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS
#include "io/pixel.glsl"
#include "sep/axis.glsl"
#include "io/cache.glsl"
#include "io/tile.glsl"

void main() {
  ivec2 corner = ivec2(gl_WorkGroupID.xy * gl_WorkGroupSize.xy);
  ivec2 lane = ivec2(gl_LocalInvocationID.xy);
  ivec2 extent = ivec2(gl_WorkGroupSize.xy) + taps - 1;
  fill_tile(origin + corner - before, extent);
  barrier();

  vec4 sum = vec4(0.0);
  for (int i = 0; i < tap_count(); ++i) sum += weights[weight_index(i)] * tile_pixel(lane + turned(ivec2(i, 0)), extent);
  store_pixel(corner + lane, sum);
}
