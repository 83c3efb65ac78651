//@ axis STEP reduce blur expand
//@ axis STORAGE buffer image
// gauss.half_res, one of its steps: pixels to coarse samples `factor` pixels apart by a tent filter; a blur of coarse samples along one
// axis; coarse samples to pixels by linear interpolation. Coarse sample m has its centre on pixel m * factor, whatever the region.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS int factor; ivec2 first;
#include "io/pixel.glsl"
#include "io/direction.glsl"

float tent(int distance) {
  return float(factor - abs(distance)) / float(factor);
}

// Rounds towards minus infinity.
int floor_div(int a, int b) {
  return a >= 0 ? a / b : -1 - (-1 - a) / b;
}

#if STEP == STEP_reduce
// `first` is the first coarse sample.
vec4 made(ivec2 p) {
  ivec2 centre = (first + p) * factor;
  vec4 sum = vec4(0.0);
  for (int y = 1 - factor; y < factor; ++y) {
    vec4 row = vec4(0.0);
    for (int x = 1 - factor; x < factor; ++x) row += tent(x) * load_pixel(centre + ivec2(x, y));
    sum += tent(y) * row;
  }
  return sum / float(factor * factor);
}
#elif STEP == STEP_blur
vec4 made(ivec2 p) {
  ivec2 along = step_along();
  vec4 sum = vec4(0.0);
  for (int i = 0; i < taps.x; ++i) sum += weights[i] * fetch(p + along * i);
  return sum;
}
#else
// `first` is the first coarse sample of what is read.
vec4 made(ivec2 p) {
  ivec2 q = origin + p;
  ivec2 coarse = ivec2(floor_div(q.x, factor), floor_div(q.y, factor));
  vec2 share = vec2(q - coarse * factor) / float(factor);
  coarse -= first;
  // A coarse sample that has no share is not read: what lies there may be infinite.
  ivec2 next = coarse + ivec2(greaterThan(share, vec2(0.0)));
  vec4 above = mix(fetch(coarse), fetch(ivec2(next.x, coarse.y)), share.x);
  vec4 below = mix(fetch(ivec2(coarse.x, next.y)), fetch(next), share.x);
  return mix(above, below, share.y);
}
#endif

void main() {
  ivec2 p = ivec2(gl_GlobalInvocationID.xy);
  if (is_inside(p)) store_pixel(p, made(p));
}
