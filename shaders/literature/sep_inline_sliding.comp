//@ axis STORAGE buffer image
//@ axis CACHE f32 f16 unorm8
// sep.inline_sliding: both axes in one pass. A group moves down its columns; each step filters new rows horizontally
// straight from the source into a ring of rows, and filters vertically out of the ring.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS int chunk_rows;  // rows that one group slides over
#include "io/pixel.glsl"
#include "io/cache.glsl"
#include "io/rows.glsl"

void main() {
  ivec2 group = ivec2(gl_WorkGroupSize.xy);
  ivec2 lane = ivec2(gl_LocalInvocationID.xy);
  int start = int(gl_WorkGroupID.y) * chunk_rows;
  int end = min(start + chunk_rows, size.y);
  int column = int(gl_WorkGroupID.x) * group.x + lane.x;
  int mask = row_count - 1;
  ivec2 from = origin + ivec2(column, start - before.y);  // of row 0 in the ring

  for (int k = lane.y; k < taps.y - 1; k += group.y) put_row_pixel(k & mask, lane.x, filter_row(from + ivec2(0, k)));
  for (int done = 0; start + done < end; done += group.y) {
    int k = done + lane.y;
    int newest = k + taps.y - 1;
    put_row_pixel(newest & mask, lane.x, filter_row(from + ivec2(0, newest)));
    barrier();
    vec4 sum = vec4(0.0);
    for (int i = 0; i < taps.y; ++i) sum += weights[taps.x + i] * row_pixel((k + i) & mask, lane.x);
    if (start + k < end) store_pixel(ivec2(column, start + k), sum);
    barrier();  // the next rows take the place of what others may still be reading
  }
}
