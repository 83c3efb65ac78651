//@ axis STORAGE buffer image
// sep.fused: both axes in one pass, each source row read once. A group owns a strip of columns and walks down. Source
// pixels go to shared memory, one plane a channel; a lane filters a span of neighbouring pixels of one channel
// horizontally, so that a number it reads serves several taps, and adds the result into the sums of all rows that it
// belongs to, which lie in registers. Finished rows pass through shared memory, where channels meet again.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS ivec2 before; int segment;  // rows that one group makes
#include "io/pixel.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int batch = 1;  // rows from one turn to the next
layout(constant_id = 23) const int span = 4;   // pixels that a lane makes of a row

// Those of x, then those of y. At indices known to the compiler: they are operands, not loads.
#include "sep/weights.glsl"

const int kThreads = int(gl_WorkGroupSize.x);
const int kLanes = kThreads / source_channels;                         // of a plane
const int kOutLanes = kLanes - (taps_x - 1 + span - 1) / span;         // the others hold what the taps reach
const int kReach = kLanes * span;                                      // columns that are read
const int kWidth = kOutLanes * span;                                   // columns of the strip
const int kLoads = (batch * kReach + kThreads - 1) / kThreads;         // of a thread, a turn

// Small, so that many groups share a processor: that, not fewer barriers, is what hides the latency of memory.
shared float rows[batch * source_channels * kReach];
shared float done[batch * source_channels * kWidth];

int row_plane(int row, int channel) { return (row * source_channels + channel) * kReach; }
int done_plane(int row, int channel) { return (row * source_channels + channel) * kWidth; }

void main() {
  int thread = int(gl_LocalInvocationIndex);
  int left = int(gl_WorkGroupID.x) * kWidth;
  int start = int(gl_WorkGroupID.y) * segment;
  int end = min(start + segment, size.y);
  ivec2 corner = origin + ivec2(left, start) - before;
  int channel = thread / kLanes;
  int lane = thread % kLanes;
  bool filters = lane < kOutLanes && channel < source_channels;

  // A thread loads, and stores, the same places of every batch.
  int columns[kLoads];
  [[unroll]] for (int i = 0; i < kLoads; ++i) {
    columns[i] = map_index(border_x, corner.x + (thread + i * kThreads) % kReach, source_size.x);
  }
  uvec4 ahead[kLoads];
  bool beyond[kLoads];
  float sums[taps_y * span];
  [[unroll]] for (int j = 0; j < taps_y * span; ++j) sums[j] = 0.0;

  // Turn n fetches batch n, and filters and stores batch n - 1.
  int turns = (end - start + taps_y - 1 + batch - 1) / batch;
  for (int turn = 0; turn <= turns; ++turn) {
    if (turn > 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kReach;
        int x = (thread + i * kThreads) % kReach;
        if (row < batch) {
          vec4 v = beyond[i] ? outside : decode(unpack_stored(ahead[i]));
          [[unroll]] for (int c = 0; c < source_channels; ++c) rows[row_plane(row, c) + x] = v[c];
        }
      }
    }
    barrier();
    if (turn < turns) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kReach;
        ivec2 q = ivec2(columns[i], map_index(border_y, corner.y + turn * batch + row, source_size.y));
        beyond[i] = is_beyond(q);
        if (row < batch && !beyond[i]) ahead[i] = fetch_stored(q);
      }
    }
    if (turn > 0 && filters) {
      [[unroll]] for (int row = 0; row < batch; ++row) {
        int first = row_plane(row, channel) + lane * span;
        float h[span];
        [[unroll]] for (int p = 0; p < span; ++p) h[p] = 0.0;
        [[unroll]] for (int i = 0; i < taps_x + span - 1; ++i) {
          float v = rows[first + i];
          [[unroll]] for (int p = 0; p < span; ++p) {
            if (i >= p && i - p < taps_x) h[p] = fma(v, weights[i - p], h[p]);
          }
        }
        // The sum at the front lacks only this row.
        [[unroll]] for (int j = 0; j < taps_y - 1; ++j) {
          [[unroll]] for (int p = 0; p < span; ++p) {
            sums[j * span + p] = fma(h[p], weights[taps_x + taps_y - 1 - j], sums[(j + 1) * span + p]);
          }
        }
        [[unroll]] for (int p = 0; p < span; ++p) {
          sums[(taps_y - 1) * span + p] = h[p] * weights[taps_x];
          done[done_plane(row, channel) + lane * span + p] = sums[p];
        }
      }
    }
    barrier();
    if (turn > 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kReach;
        int x = (thread + i * kThreads) % kReach;
        int y = start + (turn - 1) * batch + row - (taps_y - 1);
        if (row < batch && x < kWidth && y >= start && y < end) {
          vec4 v = vec4(0.0);
          [[unroll]] for (int c = 0; c < source_channels; ++c) v[c] = done[done_plane(row, c) + x];
          store_pixel(ivec2(left + x, y), v);
        }
      }
    }
  }
}
