//@ axis STORAGE buffer image
//@ axis CACHE f32 f16 unorm8
// sep.inline_sliding_shared: as sep.inline_sliding, but the horizontal taps read from shared memory too: each step loads
// its new rows and what the taps reach beside them.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "sep/taps.glsl"
#define KERNEL_PARAMETERS TAPS_PARAMETERS int chunk_rows;  // rows that one group slides over
#include "io/pixel.glsl"
#include "io/cache.glsl"
#include "io/rows.glsl"
#include "io/tile.glsl"

vec4 filter_tile_row(ivec2 lane, ivec2 extent) {
  vec4 sum = vec4(0.0);
  for (int i = 0; i < taps.x; ++i) sum += weights[i] * tile_pixel(lane + ivec2(i, 0), extent);
  return sum;
}

void main() {
  ivec2 group = ivec2(gl_WorkGroupSize.xy);
  ivec2 lane = ivec2(gl_LocalInvocationID.xy);
  ivec2 extent = group + ivec2(taps.x - 1, 0);
  int start = int(gl_WorkGroupID.y) * chunk_rows;
  int end = min(start + chunk_rows, size.y);
  int column = int(gl_WorkGroupID.x) * group.x;
  int mask = row_count - 1;
  ivec2 from = origin + ivec2(column, start) - before;  // of row 0 in the ring, and the first pixel that its taps reach

  for (int k = 0; k < taps.y - 1; k += group.y) {
    fill_tile(from + ivec2(0, k), extent);
    barrier();
    if (k + lane.y < taps.y - 1) put_row_pixel((k + lane.y) & mask, lane.x, filter_tile_row(lane, extent));
    barrier();
  }
  for (int done = 0; start + done < end; done += group.y) {
    int k = done + lane.y;
    fill_tile(from + ivec2(0, done + taps.y - 1), extent);
    barrier();  // also: nobody reads rows any more that are overwritten now
    put_row_pixel((k + taps.y - 1) & mask, lane.x, filter_tile_row(lane, extent));
    barrier();  // also: nobody reads the tile any more that the next step fills
    vec4 sum = vec4(0.0);
    for (int i = 0; i < taps.y; ++i) sum += weights[taps.x + i] * row_pixel((k + i) & mask, lane.x);
    if (start + k < end) store_pixel(ivec2(column + lane.x, start + k), sum);
  }
}
