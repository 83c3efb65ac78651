//@ axis STORAGE buffer image
// sep.direct: one axis of a separable kernel, one lane a pixel, one load a tap. The other axis has one tap.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS
#include "io/pixel.glsl"
#include "sep/axis.glsl"
#include "io/lanes.glsl"

void main() {
  ivec2 p = ivec2(gl_WorkGroupID.xy * gl_WorkGroupSize.xy + lane_position(gl_LocalInvocationIndex, gl_WorkGroupSize.xy));
  ivec2 from = origin + p - before;
  vec4 sum = vec4(0.0);
  for (int i = 0; i < tap_count(); ++i) sum += weights[weight_index(i)] * load_pixel(from + turned(ivec2(i, 0)));
  store_pixel(p, sum);
}
