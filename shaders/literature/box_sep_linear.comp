//@ axis STORAGE buffer image
//@ skip STORAGE=buffer
// box.sep_linear: a fetch halfway between two pixels is their mean, so it weighs two; the odd pixel weighs one.
#version 460
#extension GL_GOOGLE_include_directive : require
#define KERNEL_PARAMETERS int before; int after; float before_fraction; float after_fraction; float scale;
#include "io/pixel.glsl"
#include "io/linear.glsl"

layout(constant_id = 20) const int is_vertical = 0;  // 1: along columns

vec4 fetch_along(float place, int across) {
  return fetch_at(is_vertical != 0 ? vec2(centre(across), place) : vec2(place, centre(across)));
}

void main() {
  ivec2 p = ivec2(gl_GlobalInvocationID.xy);
  ivec2 from = origin + p;
  int along = is_vertical != 0 ? from.y : from.x;
  int across = is_vertical != 0 ? from.x : from.y;
  vec4 sum = vec4(0.0);
  int first = along - before;
  int last = along + after;
  for (; first < last; first += 2) sum += 2.0 * scale * fetch_along(between(first), across);
  if (first == last) sum += scale * fetch_along(centre(first), across);
  if (before_fraction > 0.0) sum += scale * before_fraction * fetch_along(centre(along - before - 1), across);
  if (after_fraction > 0.0) sum += scale * after_fraction * fetch_along(centre(along + after + 1), across);
  store_pixel(p, sum);
}
