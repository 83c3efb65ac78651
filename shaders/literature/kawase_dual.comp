//@ axis STEP down up
//@ axis STORAGE buffer image
// kawase.dual, one level down or up; see math/dual_filter.h for where the taps lie. Interpolation is done here, in f32,
// so that it is as exact as the plan says. `origin` is minus the first coarse sample of what is read.
#version 460
#extension GL_GOOGLE_include_directive : require
#define KERNEL_PARAMETERS ivec2 first; float offset;
#include "io/pixel.glsl"

vec4 between(ivec2 coarse, vec2 position) {
  vec2 whole = floor(position);
  vec2 share = position - whole;
  ivec2 q = origin + coarse + ivec2(whole);
  vec4 above = mix(load_pixel(q), load_pixel(q + ivec2(1, 0)), share.x);
  vec4 below = mix(load_pixel(q + ivec2(0, 1)), load_pixel(q + ivec2(1, 1)), share.x);
  return mix(above, below, share.y);
}

#if STEP == STEP_down
vec4 made(ivec2 m) {
  ivec2 coarse = 2 * m;
  vec4 corners = between(coarse, vec2(0.5 - offset, 0.5 - offset)) + between(coarse, vec2(0.5 + offset, 0.5 - offset)) +
                 between(coarse, vec2(0.5 - offset, 0.5 + offset)) + between(coarse, vec2(0.5 + offset, 0.5 + offset));
  return 0.5 * between(coarse, vec2(0.5)) + 0.125 * corners;
}
#else
vec4 made(ivec2 m) {
  ivec2 coarse = m >> 1;
  vec2 centre = vec2(m & 1) * 0.5 - 0.25;
  float near = 0.5 * offset;
  vec4 sides = between(coarse, centre + vec2(-offset, 0.0)) + between(coarse, centre + vec2(offset, 0.0)) +
               between(coarse, centre + vec2(0.0, -offset)) + between(coarse, centre + vec2(0.0, offset));
  vec4 corners = between(coarse, centre + vec2(-near, -near)) + between(coarse, centre + vec2(near, -near)) +
                 between(coarse, centre + vec2(-near, near)) + between(coarse, centre + vec2(near, near));
  return (sides + 2.0 * corners) / 12.0;
}
#endif

void main() {
  ivec2 p = ivec2(gl_GlobalInvocationID.xy);
  if (is_inside(p)) store_pixel(p, made(first + p));
}
