//@ axis STORAGE buffer image
//@ skip STORAGE=image
// gauss.decimate, last step, for pixels that are stored as they are: the sums of gauss_expand.comp, but a lane makes a span
// of pixels, which are mixed from few cells together and stored at once.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 first; ivec2 centre;  /* the first cell of the grid; the tap of a spline on its cell's own pixel */ \
  ivec2 corner;               /* where (0, 0) of the destination lies in the image that was decimated */ \
  int segment;                /* rows of pixels that one group makes */
#define SPANS_OF_DESTINATION
#include "pixel.glsl"
#include "spans.glsl"

layout(constant_id = 20) const int factor_x = 2;
layout(constant_id = 21) const int factor_y = 2;
layout(constant_id = 22) const int cells_x = 4;  // that a pixel is mixed from
layout(constant_id = 23) const int cells_y = 4;
layout(constant_id = 24) const int batch = 2;    // rows whose weights the compiler may know; divides factor_y
layout(constant_id = 25) const bool clamps = true;  // mixtures can leave the range of an integer format
// The cell whose weights those of y are divided by, which then cost nothing, if any: integers are scaled back as they are
// rounded. Its own weights are as they were.
layout(constant_id = 26) const int divisor = -1;

// The splines of x and of y times their factors and the range of numbers, filled up with zeros to cells * factor taps.
layout(std430, binding = 2) readonly uniform Weights { float weights[4096]; };

const int kTaps = cells_x * factor_x;
const int kNear = cells_x + (span + factor_x - 2) / factor_x;  // cells that a span is mixed from

// Those of a row that the span is mixed from, the newest first. Beyond the grid's edge cells are like the nearest; some count for
// nothing, but must be numbers.
void fetch_cells(int newest, int row, out vec4 cells[kNear]) {
  ivec2 last = source_size - 1;
  [[unroll]] for (int j = 0; j < kNear; ++j) cells[j] = fetch(clamp(ivec2(newest - j, row), ivec2(0), last));
}

void main() {
  int left = (int(gl_WorkGroupID.x) * int(gl_WorkGroupSize.x) + int(gl_LocalInvocationIndex)) * span;
  int start = int(gl_WorkGroupID.y) * segment;
  int end = min(start + segment, size.y);
  bool makes = left < size.x;
  bool whole = is_whole_destination(left);
  // Never before the first cell that any pixel needs, so that divisions are of positive numbers.
  int x = corner.x + min(left, size.x - 1) + centre.x - first.x * factor_x;
  int y = corner.y + start + centre.y - first.y * factor_y;
  int cell_x = (x + span - 1) / factor_x;  // the newest of the span
  int cell_y = y / factor_y;
  // Of cell cell_x - j in pixel i.
  float mix_x[span * kNear];
  [[unroll]] for (int i = 0; i < span; ++i) {
    [[unroll]] for (int j = 0; j < kNear; ++j) {
      int tap = x + i - (cell_x - j) * factor_x;
      mix_x[i * kNear + j] = tap >= 0 && tap < kTaps ? weights[tap] : 0.0;
    }
  }

  // The row of cells cell - j, expanded across.
  float rows[cells_y * kNumbers];
  [[unroll]] for (int i = 0; i < cells_y * kNumbers; ++i) rows[i] = 0.0;
  vec4 coming[kNear];  // of the next row, while this one is mixed
  fetch_cells(cell_x, cell_y - (cells_y - 1), coming);
  int top = start - (y - cell_y * factor_y);  // the first pixel whose newest cell is cell_y; it may lie above the segment
  for (int cell = cell_y - (cells_y - 1); top < end; ++cell) {
    [[unroll]] for (int i = cells_y * kNumbers - 1; i >= kNumbers; --i) rows[i] = rows[i - kNumbers];
    [[unroll]] for (int n = 0; n < kNumbers; ++n) rows[n] = 0.0;
    [[unroll]] for (int j = 0; j < kNear; ++j) {
      [[unroll]] for (int n = 0; n < kNumbers; ++n) {
        rows[n] = fma(mix_x[n / source_channels * kNear + j], coming[j][n % source_channels], rows[n]);
      }
    }
    fetch_cells(cell_x, cell + 1, coming);
    if (cell >= cell_y) {
      for (int phase = 0; phase < factor_y; phase += batch) {
        [[unroll]] for (int i = 0; i < batch; ++i) {
          float v[kNumbers];
          const int begin = max(divisor, 0);
          float weight = weights[kTaps + phase + i + factor_y * begin];
          [[unroll]] for (int n = 0; n < kNumbers; ++n) {
            v[n] = rows[begin * kNumbers + n];
            if (divisor < 0) v[n] *= weight;
            [[unroll]] for (int j = 0; j < cells_y; ++j) {
              if (j != begin) v[n] = fma(weights[kTaps + phase + i + factor_y * j], rows[j * kNumbers + n], v[n]);
            }
            if (divisor >= 0) v[n] = fma(v[n], weight, kWhole);
          }
          uint words[kWords];
          pack_numbers(v, divisor >= 0 ? kRounded : clamps ? kAnywhere : kInRange, words);
          int at = top + phase + i;
          if (makes && at >= start && at < end) {
            if (whole) {
              store_whole(words, ivec2(left, at));
            } else {
              store_each(words, ivec2(left, at));
            }
          }
        }
      }
      top += factor_y;
    }
  }
}
