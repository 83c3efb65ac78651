//@ axis STORAGE buffer image
//@ skip STORAGE=buffer
// box.nxn_linear: a fetch in the corner between four pixels is their mean, so it weighs four. A row or column that is
// left over, and those that count in part, are fetched in pairs along the other axis.
#version 460
#extension GL_GOOGLE_include_directive : require
#define KERNEL_PARAMETERS ivec2 before; ivec2 after; vec2 before_fraction; vec2 after_fraction; vec2 scale;
#include "io/pixel.glsl"
#include "io/linear.glsl"

// What pixels x - before.x - 1 to x + after.x + 1 weigh, at any y.
vec4 row_sum(int x, float y) {
  vec4 sum = vec4(0.0);
  int first = x - before.x;
  int last = x + after.x;
  for (; first < last; first += 2) sum += 2.0 * scale.x * fetch_at(vec2(between(first), y));
  if (first == last) sum += scale.x * fetch_at(vec2(centre(first), y));
  if (before_fraction.x > 0.0) sum += scale.x * before_fraction.x * fetch_at(vec2(centre(x - before.x - 1), y));
  if (after_fraction.x > 0.0) sum += scale.x * after_fraction.x * fetch_at(vec2(centre(x + after.x + 1), y));
  return sum;
}

void main() {
  ivec2 p = ivec2(gl_GlobalInvocationID.xy);
  ivec2 from = origin + p;
  vec4 sum = vec4(0.0);
  int first = from.y - before.y;
  int last = from.y + after.y;
  for (; first < last; first += 2) sum += 2.0 * scale.y * row_sum(from.x, between(first));
  if (first == last) sum += scale.y * row_sum(from.x, centre(first));
  if (before_fraction.y > 0.0) sum += scale.y * before_fraction.y * row_sum(from.x, centre(from.y - before.y - 1));
  if (after_fraction.y > 0.0) sum += scale.y * after_fraction.y * row_sum(from.x, centre(from.y + after.y + 1));
  store_pixel(p, sum);
}
