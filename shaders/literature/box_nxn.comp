//@ axis STORAGE buffer image
// box.nxn: one lane a pixel, one load for every pixel of the window.
#version 460
#extension GL_GOOGLE_include_directive : require
#define KERNEL_PARAMETERS ivec2 before; ivec2 after; vec2 before_fraction; vec2 after_fraction; vec2 scale;
#include "io/pixel.glsl"

vec4 row_sum(ivec2 p) {
  vec4 sum = vec4(0.0);
  for (int x = -before.x; x <= after.x; ++x) sum += scale.x * load_pixel(p + ivec2(x, 0));
  if (before_fraction.x > 0.0) sum += scale.x * before_fraction.x * load_pixel(p - ivec2(before.x + 1, 0));
  if (after_fraction.x > 0.0) sum += scale.x * after_fraction.x * load_pixel(p + ivec2(after.x + 1, 0));
  return sum;
}

void main() {
  ivec2 p = ivec2(gl_GlobalInvocationID.xy);
  ivec2 from = origin + p;
  vec4 sum = vec4(0.0);
  for (int y = -before.y; y <= after.y; ++y) sum += scale.y * row_sum(from + ivec2(0, y));
  if (before_fraction.y > 0.0) sum += scale.y * before_fraction.y * row_sum(from - ivec2(0, before.y + 1));
  if (after_fraction.y > 0.0) sum += scale.y * after_fraction.y * row_sum(from + ivec2(0, after.y + 1));
  store_pixel(p, sum);
}
