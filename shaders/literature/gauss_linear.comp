//@ axis STORAGE buffer image
//@ skip STORAGE=buffer
// gauss.linear: one axis of a Gaussian, two taps a fetch: a linear sampler between two texels mixes them.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS vec2 nudge; vec2 inverse_size; ivec2 target;
#include "io/pixel.glsl"
#include "io/direction.glsl"

// A block of weights is that of the pairs, then their positions.
void main() {
  ivec2 p = ivec2(gl_GlobalInvocationID.xy);
  vec2 centre = vec2(origin + p) + nudge;
  vec4 sum = vec4(0.0);
  for (int i = 0; i < taps.x; ++i) {
    float position = weights[taps.x + i];
    vec2 place = centre + (vertical ? vec2(0.0, position) : vec2(position, 0.0));
    sum += weights[i] * textureLod(source, place * inverse_size, 0.0);
  }
  if (is_inside(p)) put(target + p, encode(sum));
}
