//@ axis STORAGE buffer image
// gauss.recursive: Deriche's Gaussian along one axis. A lane makes a segment of pixels: it runs the recursion forwards
// from `warm_up` pixels before it and backwards from as many after it. Segments start on multiples of their length,
// whatever the region. A lane uses no shared memory but its own, so nobody waits.
#version 460
#extension GL_GOOGLE_include_directive : require
#define KERNEL_PARAMETERS vec4 poles; vec4 amplitudes; int warm_up; int lead;
#include "io/pixel.glsl"
#include "io/direction.glsl"

const int kSegment = 32;
const int kLanes = 32;
shared vec4 forwards[kSegment * kLanes];

// The states of both recursions: real and imaginary parts of four components.
struct States {
  vec4 re0;
  vec4 im0;
  vec4 re1;
  vec4 im1;
};

States next(States s, vec4 v) {
  return States(poles.x * s.re0 - poles.y * s.im0 + v, poles.x * s.im0 + poles.y * s.re0,
                poles.z * s.re1 - poles.w * s.im1 + v, poles.z * s.im1 + poles.w * s.re1);
}

vec4 response(States s) {
  return amplitudes.x * s.re0 - amplitudes.y * s.im0 + (amplitudes.z * s.re1 - amplitudes.w * s.im1);
}

void main() {
  ivec2 along = step_along();
  ivec2 id = ivec2(gl_GlobalInvocationID.xy);
  ivec2 p = id * turned(kSegment, 1) - turned(lead, 0);
  int own = int(gl_LocalInvocationIndex) * kSegment;
  vec4 zero = vec4(0.0);

  States s = States(zero, zero, zero, zero);
  ivec2 q = origin + p - along * warm_up;
  for (int i = -warm_up; i < kSegment; ++i) {
    s = next(s, load_pixel(q));
    if (i >= 0) forwards[own + i] = response(s);
    q += along;
  }
  s = States(zero, zero, zero, zero);
  q = origin + p + along * (kSegment + warm_up - 1);
  for (int i = kSegment + warm_up - 1; i > 0; --i) {
    s = next(s, load_pixel(q));
    q -= along;
    if (i > kSegment) continue;
    // Backwards the pixel itself has no part: what was read until now lies after pixel i - 1.
    vec4 after = response(next(s, zero));
    ivec2 place = p + along * (i - 1);
    if (place.x >= 0 && place.y >= 0) store_pixel(place, forwards[own + i - 1] + after);
  }
}
