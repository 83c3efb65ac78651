//@ axis STORAGE buffer image
//@ axis CACHE f32 f16 unorm8
// sep.sliding: one axis of a separable kernel. A group slides along its rows (or columns) and keeps what the taps reach in
// a ring in shared memory, so that no pixel is loaded twice. The other axis has one tap.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS int chunk_length;  // pixels that one group slides over
#include "io/pixel.glsl"
#include "sep/axis.glsl"
#include "io/cache.glsl"

layout(constant_id = 23) const int ring_length = 1;  // pixels along the axis, a power of two
shared CACHED ring[ring_length * int(vertical ? gl_WorkGroupSize.x : gl_WorkGroupSize.y)];

// Lines lie side by side where neighbouring threads are in neighbouring lines.
int slot(int position, int line) {
  int wrapped = position & (ring_length - 1);
  return vertical ? wrapped * int(gl_WorkGroupSize.x) + line : line * ring_length + wrapped;
}

void main() {
  ivec2 group = turned(ivec2(gl_WorkGroupSize.xy));  // along, across
  ivec2 lane = turned(ivec2(gl_LocalInvocationID.xy));
  ivec2 id = turned(ivec2(gl_WorkGroupID.xy));
  int count = tap_count();
  int start = id.x * chunk_length;
  int end = min(start + chunk_length, turned(size).x);
  int line = id.y * group.y + lane.y;
  ivec2 from = origin - before + turned(ivec2(start, line));  // of position 0 in the ring

  for (int k = lane.x; k < count - 1; k += group.x) ring[slot(k, lane.y)] = pack_pixel(load_pixel(from + turned(ivec2(k, 0))));
  for (int done = 0; start + done < end; done += group.x) {
    int k = done + lane.x;
    ring[slot(k + count - 1, lane.y)] = pack_pixel(load_pixel(from + turned(ivec2(k + count - 1, 0))));
    barrier();
    vec4 sum = vec4(0.0);
    for (int i = 0; i < count; ++i) sum += weights[weight_index(i)] * unpack_pixel(ring[slot(k + i, lane.y)]);
    if (start + k < end) store_pixel(turned(ivec2(start + k, line)), sum);
    barrier();  // the next pixels take the place of what others may still be reading
  }
}
