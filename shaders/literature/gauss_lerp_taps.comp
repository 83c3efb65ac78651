//@ axis STORAGE buffer image
// gauss.lerp_taps: one axis of a Gaussian of 17 taps that lie `spacing` pixels apart, read from shared memory by linear
// interpolation. Groups are 64 pixels along the axis.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS float spacing;
#include "io/pixel.glsl"
#include "io/direction.glsl"

const int kGroup = 64;
const int kReach = 32;
shared vec4 line[kGroup + 2 * kReach];

void main() {
  ivec2 along = step_along();
  int lane = int(gl_LocalInvocationIndex);
  ivec2 first = ivec2(gl_WorkGroupID.xy) * turned(kGroup, 1);
  for (int i = lane; i < kGroup + 2 * kReach; i += kGroup) line[i] = load_pixel(origin + first + along * (i - kReach));
  barrier();

  int centre = (taps.x - 1) / 2;
  vec4 sum = vec4(0.0);
  for (int i = 0; i < taps.x; ++i) {
    float offset = float(i - centre) * spacing;
    float whole = floor(offset);
    int index = lane + kReach + int(whole);
    // The last tap may lie on the last pixel, which has no neighbour; it then has no share either.
    vec4 next = line[min(index + 1, kGroup + 2 * kReach - 1)];
    sum += weights[i] * mix(line[index], next, offset - whole);
  }
  store_pixel(first + along * lane, sum);
}
