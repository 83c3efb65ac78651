//@ axis STORAGE buffer image
//@ axis CACHE f32 f16
// matrix.lowrank: a matrix as a sum of separable terms. Each is filtered along rows from the image into shared memory,
// then along columns from there into a register.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS int terms;
#include "io/pixel.glsl"
#include "io/cache.glsl"

layout(constant_id = 20) const int cache_size = 16;
shared CACHED cache[cache_size];

// The row weights of all terms come first, then the column weights.
void main() {
  ivec2 group = ivec2(gl_WorkGroupSize.xy);
  ivec2 lane = ivec2(gl_LocalInvocationID.xy);
  ivec2 p = ivec2(gl_WorkGroupID.xy) * group;
  ivec2 corner = origin + p - before;
  int cached = group.x * (group.y + taps.y - 1);
  vec4 sum = vec4(0.0);
  for (int term = 0; term < terms; ++term) {
    for (int i = int(gl_LocalInvocationIndex); i < cached; i += group.x * group.y) {
      ivec2 q = corner + ivec2(i % group.x, i / group.x);
      vec4 row = vec4(0.0);
      for (int x = 0; x < taps.x; ++x) row += weights[term * taps.x + x] * load_pixel(q + ivec2(x, 0));
      cache[i] = pack_pixel(row);
    }
    barrier();
    int columns = terms * taps.x + term * taps.y;
    vec4 column = vec4(0.0);
    for (int y = 0; y < taps.y; ++y) {
      column += weights[columns + y] * unpack_pixel(cache[(lane.y + y) * group.x + lane.x]);
    }
    sum += column;
    barrier();
  }
  store_pixel(p + lane, sum);
}
