//@ axis STORAGE buffer image
// sep.direct: one axis of a separable kernel, one lane a pixel, one load a tap. The other axis has one tap.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS
#include "io/pixel.glsl"
#include "sep/axis.glsl"
#include "io/lanes.glsl"

layout(constant_id = 22) const int block_taps = 1;  // taps whose products are added up by themselves: long sums round less

vec4 sum_of(ivec2 from, int begin, int end) {
  vec4 sum = vec4(0.0);
  for (int i = begin; i < end; ++i) sum += weights[weight_index(i)] * load_pixel(from + turned(ivec2(i, 0)));
  return sum;
}

void main() {
  ivec2 p = ivec2(gl_WorkGroupID.xy * gl_WorkGroupSize.xy + lane_position(gl_LocalInvocationIndex, gl_WorkGroupSize.xy));
  ivec2 from = origin + p - before;
  // The first block stands apart: mostly it is all, and compilers unroll a loop rather than loops within a loop.
  vec4 sum = sum_of(from, 0, min(block_taps, tap_count()));
  for (int block = block_taps; block < tap_count(); block += block_taps) {
    sum += sum_of(from, block, min(block + block_taps, tap_count()));
  }
  store_pixel(p, sum);
}
