//@ axis STORAGE buffer image
// gauss.decimate, first step: splines on a grid of cells `factor` pixels apart,
//   c[m] = sum of spline[i] * in[m * factor - centre + i].
// A group walks down a strip; each lane adds its column's pixels into the sums of the cells whose splines reach them, and
// when a row of cells is complete the group sums across.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 first; ivec2 centre;  /* the first cell; the tap of a spline that lies on its cell's own pixel */ \
  int segment;                /* rows of cells that one group makes */
#include "io/pixel.glsl"

layout(constant_id = 20) const int factor_x = 2;
layout(constant_id = 21) const int factor_y = 2;
layout(constant_id = 22) const int cells_x = 4;  // that a pixel belongs to
layout(constant_id = 23) const int cells_y = 4;
layout(constant_id = 24) const int batch = 2;    // rows that are fetched ahead; divides factor_y

// The splines of x and of y, cells * factor taps each.
#include "sep/weights.glsl"

const int kThreads = int(gl_WorkGroupSize.x);
const int kCells = (kThreads - (cells_x - 1) * factor_x) / factor_x;  // that a group makes of a row
const int kTaps = cells_x * factor_x;
// One plane a channel, and in it one part for each place in a cell, so that neighbouring lanes read neighbouring numbers.
const int kPart = kThreads / factor_x + 2;
const int kPlane = kPart * factor_x;

shared float columns[source_channels * kPlane];
shared float row[source_channels * kCells];

void main() {
  int thread = int(gl_LocalInvocationIndex);
  ivec2 cell = ivec2(int(gl_WorkGroupID.x) * kCells, int(gl_WorkGroupID.y) * segment);  // counted from `first`
  int last = min(cell.y + segment, size.y);
  ivec2 corner = (first + cell) * ivec2(factor_x, factor_y) - centre;
  int column = map_index(border_x, corner.x + thread, source_size.x);
  int place = (thread % factor_x) * kPart + thread / factor_x;

  uvec4 ahead[batch];
  bool beyond[batch];
  [[unroll]] for (int i = 0; i < batch; ++i) beyond[i] = true;
  vec4 sums[cells_y];
  [[unroll]] for (int j = 0; j < cells_y; ++j) sums[j] = vec4(0.0);

  // Step n fetches batch n and sums batch n - 1.
  int steps_of_row = factor_y / batch;
  int steps = (last - cell.y + cells_y - 1) * steps_of_row;
  for (int step = 0; step <= steps; ++step) {
    vec4 v[batch];
    [[unroll]] for (int i = 0; i < batch; ++i) v[i] = beyond[i] ? outside : decode(unpack_stored(ahead[i]));
    if (step < steps) {
      [[unroll]] for (int i = 0; i < batch; ++i) {
        ivec2 q = ivec2(column, map_index(border_y, corner.y + step * batch + i, source_size.y));
        beyond[i] = is_beyond(q);
        if (!beyond[i]) ahead[i] = fetch_stored(q);
      }
    }
    int phase = (step + steps_of_row - 1) % steps_of_row * batch;
    if (step > 0) {
      // The rows of a batch by themselves first, which rounds less.
      [[unroll]] for (int j = 0; j < cells_y; ++j) {
        vec4 sum = vec4(0.0);
        [[unroll]] for (int i = 0; i < batch; ++i) {
          sum = fma(v[i], vec4(weights[kTaps + phase + i + factor_y * (cells_y - 1 - j)]), sum);
        }
        sums[j] += sum;
      }
    }
    if (step > 0 && phase + batch == factor_y) {
      // The sums at the front are complete, and right once they have seen all rows of their spline.
      int y = cell.y + (step - 1) / steps_of_row - (cells_y - 1);
      barrier();
      [[unroll]] for (int c = 0; c < source_channels; ++c) columns[c * kPlane + place] = sums[0][c];
      barrier();
      [[unroll]] for (int j = 0; j < cells_y - 1; ++j) sums[j] = sums[j + 1];
      sums[cells_y - 1] = vec4(0.0);
      for (int m = thread; m < kCells * source_channels; m += kThreads) {
        int channel = m / kCells;
        int x = m % kCells;
        float sum = 0.0;
        for (int i = 0; i < factor_x; ++i) {
          float part = 0.0;
          [[unroll]] for (int j = 0; j < cells_x; ++j) {
            part = fma(columns[channel * kPlane + i * kPart + x + j], weights[i + factor_x * j], part);
          }
          sum += part;
        }
        row[channel * kCells + x] = sum;
      }
      barrier();
      if (thread < kCells && y >= cell.y) {
        vec4 sum = vec4(0.0);
        [[unroll]] for (int c = 0; c < source_channels; ++c) sum[c] = row[c * kCells + thread];
        store_pixel(ivec2(cell.x + thread, y), sum);
      }
    }
  }
}
