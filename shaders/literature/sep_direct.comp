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

void main() {
  ivec2 p = ivec2(gl_WorkGroupID.xy * gl_WorkGroupSize.xy + lane_position(gl_LocalInvocationIndex, gl_WorkGroupSize.xy));
  ivec2 from = origin + p - before;
  vec4 sum = vec4(0.0);
  for (int block = 0; block < tap_count(); block += block_taps) {
    int end = min(block + block_taps, tap_count());
    vec4 part = vec4(0.0);
    for (int i = block; i < end; ++i) part += weights[weight_index(i)] * load_pixel(from + turned(ivec2(i, 0)));
    sum += part;
  }
  store_pixel(p, sum);
}
