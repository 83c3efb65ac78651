//@ axis STORAGE buffer image
//@ axis CACHE f32 f16 unorm8
// sep.inline_shared: as sep.inline, but the horizontal taps read from shared memory too, where the group has put all
// that its pixels reach.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS
#include "io/pixel.glsl"
#include "io/cache.glsl"
#include "io/rows.glsl"
#include "io/tile.glsl"

void main() {
  ivec2 group = ivec2(gl_WorkGroupSize.xy);
  ivec2 corner = ivec2(gl_WorkGroupID.xy) * group;
  ivec2 lane = ivec2(gl_LocalInvocationID.xy);
  ivec2 extent = group + taps - 1;
  fill_tile(origin + corner - before, extent);
  barrier();

  for (int row = lane.y; row < extent.y; row += group.y) {
    vec4 sum = vec4(0.0);
    for (int i = 0; i < taps.x; ++i) sum += weights[i] * tile_pixel(ivec2(lane.x + i, row), extent);
    put_row_pixel(row, lane.x, sum);
  }
  barrier();

  vec4 sum = vec4(0.0);
  for (int i = 0; i < taps.y; ++i) sum += weights[taps.x + i] * row_pixel(lane.y + i, lane.x);
  store_pixel(corner + lane, sum);
}
