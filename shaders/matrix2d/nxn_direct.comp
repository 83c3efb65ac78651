//@ axis STORAGE buffer image
//@ axis PACKING struct packed
//@ axis SAMPLES uniform storage
// nxn.direct: one lane a pixel, one load and one multiply-add a sample.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "io/samples.glsl"
#define KERNEL_PARAMETERS SAMPLES_PARAMETERS
#include "io/pixel.glsl"
#include "io/lanes.glsl"

void main() {
  ivec2 p = ivec2(gl_WorkGroupID.xy * gl_WorkGroupSize.xy + lane_position(gl_LocalInvocationIndex, gl_WorkGroupSize.xy));
  vec4 sum = vec4(0.0);
  for (int i = 0; i < sample_count; ++i) {
    Sample s = get_sample(i, before);
    sum += s.weight * load_pixel(origin + p + s.offset);
  }
  store_pixel(p, sum * weight_scale);
}
