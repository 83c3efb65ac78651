//@ axis STORAGE buffer image
// sep.fused: both axes in one pass, each source row read once. A group owns a strip of columns and moves down. Source
// pixels go to shared memory, one plane a channel; a lane filters a span of neighbouring pixels of one channel
// horizontally, so that a number it reads serves several taps, and adds the result into the sums of all rows that it
// belongs to, which lie in registers. Finished rows pass through shared memory, where channels meet again.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS ivec2 before; int chunk_rows;  // rows that one group makes
#include "io/pixel.glsl"
#include "io/places.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int rows_in_flight = 1;     // rows from one step to the next
layout(constant_id = 23) const int pixels_per_thread = 4;  // pixels that a lane makes of a row

// Those of x, then those of y. At indices known to the compiler: they are operands, not loads.
#include "sep/weights.glsl"

const int kThreads = int(gl_WorkGroupSize.x);
const int kLanes = kThreads / source_channels;                                            // of a plane
const int kOutLanes = kLanes - (taps_x - 1 + pixels_per_thread - 1) / pixels_per_thread;  // the others hold what the taps reach
const int kReach = kLanes * pixels_per_thread;                                            // columns that are read
const int kWidth = kOutLanes * pixels_per_thread;                                         // columns of the strip
const int kLoads = (rows_in_flight * kReach + kThreads - 1) / kThreads;                   // of a thread, a step

// Small, so that many groups share a processor: that, not fewer barriers, is what hides the latency of memory.
shared float rows[rows_in_flight * source_channels * kReach];
shared float done[rows_in_flight * source_channels * kWidth];

int row_plane(int row, int channel) { return (row * source_channels + channel) * kReach; }
int done_plane(int row, int channel) { return (row * source_channels + channel) * kWidth; }

void main() {
  int thread = int(gl_LocalInvocationIndex);
  int left = int(gl_WorkGroupID.x) * kWidth;
  int start = int(gl_WorkGroupID.y) * chunk_rows;
  int end = min(start + chunk_rows, size.y);
  ivec2 corner = origin + ivec2(left, start) - before;
  int channel = thread / kLanes;
  int lane = thread % kLanes;
  bool filters = lane < kOutLanes && channel < source_channels;

  // A thread loads, and stores, the same places of every step.
  int columns[kLoads];
  [[unroll]] for (int i = 0; i < kLoads; ++i) {
    columns[i] = map_index(border_x, corner.x + (thread + i * kThreads) % kReach, source_size.x);
  }
  uvec4 ahead[kLoads];
  bool beyond[kLoads];
  float sums[taps_y * pixels_per_thread];
  [[unroll]] for (int j = 0; j < taps_y * pixels_per_thread; ++j) sums[j] = 0.0;

  // Step n fetches its rows, and filters and stores those of step n - 1.
  int steps = (end - start + taps_y - 1 + rows_in_flight - 1) / rows_in_flight;
  for (int step = 0; step <= steps; ++step) {
    if (step > 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kReach;
        int x = (thread + i * kThreads) % kReach;
        if (row < rows_in_flight) {
          vec4 v = beyond[i] ? outside : decode(unpack_stored(ahead[i]));
          [[unroll]] for (int c = 0; c < source_channels; ++c) rows[row_plane(row, c) + x] = v[c];
        }
      }
    }
    barrier();
    if (step < steps) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kReach;
        ivec2 q = ivec2(columns[i], map_index(border_y, corner.y + step * rows_in_flight + row, source_size.y));
        beyond[i] = is_beyond(q);
        if (row < rows_in_flight && !beyond[i]) ahead[i] = fetch_stored(q);
      }
    }
    if (step > 0 && filters) {
      [[unroll]] for (int row = 0; row < rows_in_flight; ++row) {
        int first = row_plane(row, channel) + lane * pixels_per_thread;
        float h[pixels_per_thread];
        [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) h[p] = 0.0;
        [[unroll]] for (int i = 0; i < taps_x + pixels_per_thread - 1; ++i) {
          float v = rows[first + i];
          [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) {
            if (i >= p && i - p < taps_x) h[p] = fma(v, weights[i - p], h[p]);
          }
        }
        // The sum at the front lacks only this row.
        [[unroll]] for (int j = 0; j < taps_y - 1; ++j) {
          [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) {
            sums[j * pixels_per_thread + p] = fma(h[p], weights[taps_x + taps_y - 1 - j], sums[(j + 1) * pixels_per_thread + p]);
          }
        }
        [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) {
          sums[(taps_y - 1) * pixels_per_thread + p] = h[p] * weights[taps_x];
          done[done_plane(row, channel) + lane * pixels_per_thread + p] = sums[p];
        }
      }
    }
    barrier();
    if (step > 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kReach;
        int x = (thread + i * kThreads) % kReach;
        int y = start + (step - 1) * rows_in_flight + row - (taps_y - 1);
        if (row < rows_in_flight && x < kWidth && y >= start && y < end) {
          vec4 v = vec4(0.0);
          [[unroll]] for (int c = 0; c < source_channels; ++c) v[c] = done[done_plane(row, c) + x];
          store_if_kept(ivec2(left + x, y), v);
        }
      }
    }
  }
}
