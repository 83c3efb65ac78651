//@ axis STORAGE buffer image
// sep.fused: both axes in one pass, each source row read once. A group owns a strip of columns and moves down. Source
// pixels go to shared memory, one plane a channel; a lane filters a span of neighbouring pixels of one channel
// horizontally, so that a number it reads serves several taps, and adds the result into the sums of all rows that it
// belongs to, which lie in registers. Finished rows pass through shared memory, where channels meet again. Of destinations that hold every
// n-th pixel, only their columns are filtered, and a row belongs to as many fewer sums.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS ivec2 before; int chunk_rows;  // rows of the destination that one group makes
#include "io/pixel.glsl"
#include "io/places.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int rows_in_flight = 1;     // rows of the source from one step to the next
layout(constant_id = 23) const int pixels_per_thread = 4;  // pixels that a lane makes of a row

// Those of x, then those of y. At indices known to the compiler: they are operands, not loads.
#include "sep/weights.glsl"

const int kThreads = int(gl_WorkGroupSize.x);
const int kLanes = kThreads / source_channels;           // of a plane
const int kSpan = pixels_per_thread * step_x;            // columns that a lane's pixels take
const int kReach = kLanes * (pixels_per_thread * (step_x < 4 ? step_x : 4));  // columns that are read
const int kOutLanes = (kReach - taps_x + step_x) / kSpan;  // the others hold what the taps reach
const int kWidth = kOutLanes * pixels_per_thread;          // columns of the strip that the destination holds
const int kLoads = (rows_in_flight * kReach + kThreads - 1) / kThreads;  // of a thread, a step
const int kSums = (taps_y + step_y - 1) / step_y;                        // rows of results that a row belongs to, at most

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
  ivec2 corner = origin + ivec2(left * step_x, start * step_y) - before;
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
  float sums[kSums * pixels_per_thread];
  [[unroll]] for (int j = 0; j < kSums * pixels_per_thread; ++j) sums[j] = 0.0;

  // Step n fetches its rows, and filters and stores those of step n - 1.
  int steps = ((end - start - 1) * step_y + taps_y + rows_in_flight - 1) / rows_in_flight;
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
        int first = row_plane(row, channel) + lane * kSpan;
        float h[pixels_per_thread];
        [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) h[p] = 0.0;
        [[unroll]] for (int i = 0; i < taps_x + kSpan - step_x; ++i) {
          float v = rows[first + i];
          [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) {
            if (i >= p * step_x && i - p * step_x < taps_x) h[p] = fma(v, weights[i - p * step_x], h[p]);
          }
        }
        // The first tap of the newest sum that this row belongs to; those of older ones are a step apart.
        int newest = ((step - 1) * rows_in_flight + row) % step_y;
        [[unroll]] for (int tap = 0; tap < step_y; ++tap) {
          if (tap != newest) continue;
          if (tap == 0) {
            [[unroll]] for (int j = 0; j < (kSums - 1) * pixels_per_thread; ++j) sums[j] = sums[j + pixels_per_thread];
            [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) sums[(kSums - 1) * pixels_per_thread + p] = 0.0;
          }
          [[unroll]] for (int j = 0; j < kSums; ++j) {
            int k = tap + (kSums - 1 - j) * step_y;
            if (k >= taps_y) continue;
            [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) {
              sums[j * pixels_per_thread + p] = fma(h[p], weights[taps_x + k], sums[j * pixels_per_thread + p]);
            }
          }
        }
        // The sum at the front is complete, or of a row that is not stored.
        [[unroll]] for (int p = 0; p < pixels_per_thread; ++p) {
          done[done_plane(row, channel) + lane * pixels_per_thread + p] = sums[p];
        }
      }
    }
    barrier();
    if (step > 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kReach;
        int x = (thread + i * kThreads) % kReach;
        int below = (step - 1) * rows_in_flight + row - (taps_y - 1);  // the row that is complete
        int y = start + below / step_y;
        if (row < rows_in_flight && x < kWidth && below >= 0 && is_kept_row(below) && y < end) {
          vec4 v = vec4(0.0);
          [[unroll]] for (int c = 0; c < source_channels; ++c) v[c] = done[done_plane(row, c) + x];
          store_pixel(ivec2(left + x, y), v);
        }
      }
    }
  }
}
