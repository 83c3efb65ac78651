//@ axis STORAGE buffer image
// box.sep: one lane a pixel, one load for every pixel of the window on one axis.
#version 460
#extension GL_GOOGLE_include_directive : require
#define KERNEL_PARAMETERS int before; int after; float before_fraction; float after_fraction; float scale;
#include "io/pixel.glsl"

layout(constant_id = 20) const int is_vertical = 0;  // 1: along columns

void main() {
  ivec2 p = ivec2(gl_GlobalInvocationID.xy);
  ivec2 along = ivec2(1 - is_vertical, is_vertical);
  ivec2 from = origin + p;
  vec4 sum = vec4(0.0);
  for (int i = -before; i <= after; ++i) sum += scale * load_pixel(from + i * along);
  if (before_fraction > 0.0) sum += scale * before_fraction * load_pixel(from - (before + 1) * along);
  if (after_fraction > 0.0) sum += scale * after_fraction * load_pixel(from + (after + 1) * along);
  store_pixel(p, sum);
}
