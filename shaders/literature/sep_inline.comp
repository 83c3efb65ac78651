//@ axis STORAGE buffer image
//@ axis CACHE f32 f16 unorm8
// sep.inline: both axes in one pass. Every row that the group's pixels reach is filtered horizontally straight from the
// source into shared memory; the vertical taps read from there.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS
#include "io/pixel.glsl"
#include "io/cache.glsl"
#include "io/rows.glsl"

void main() {
  ivec2 group = ivec2(gl_WorkGroupSize.xy);
  ivec2 corner = ivec2(gl_WorkGroupID.xy) * group;
  ivec2 lane = ivec2(gl_LocalInvocationID.xy);
  for (int row = lane.y; row < group.y + taps.y - 1; row += group.y) {
    put_row_pixel(row, lane.x, filter_row(origin + corner + ivec2(lane.x, row - before.y)));
  }
  barrier();

  vec4 sum = vec4(0.0);
  for (int i = 0; i < taps.y; ++i) sum += weights[taps.x + i] * row_pixel(lane.y + i, lane.x);
  store_pixel(corner + lane, sum);
}
