//@ axis STORAGE buffer image
// gauss.decimate, last step: pixels from blurred cells by the same splines,
//   out[x] = sum of factor * spline[x - m * factor + centre] * b[m].
// A lane walks down one column of pixels. It expands each row of cells across once, keeps those that the next rows of
// pixels need, and mixes them.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 first; ivec2 centre;  /* the first cell of the grid; the tap of a spline on its cell's own pixel */ \
  ivec2 corner;               /* where (0, 0) of the destination lies in the image that was decimated */ \
  int segment;                /* rows of pixels that one group makes */
#include "io/pixel.glsl"

layout(constant_id = 20) const int factor_x = 2;
layout(constant_id = 21) const int factor_y = 2;
layout(constant_id = 22) const int cells_x = 4;  // that a pixel is mixed from
layout(constant_id = 23) const int cells_y = 4;
layout(constant_id = 24) const int batch = 2;    // rows whose weights the compiler may know; divides factor_y

// The splines of x and of y times their factors, cells * factor taps each.
#include "sep/weights.glsl"

const int kTaps = cells_x * factor_x;

void main() {
  int column = int(gl_WorkGroupID.x) * int(gl_WorkGroupSize.x) + int(gl_LocalInvocationIndex);
  int start = int(gl_WorkGroupID.y) * segment;
  int end = min(start + segment, size.y);
  // Never before the first cell that any pixel needs, so that divisions are of positive numbers.
  int x = corner.x + min(column, size.x - 1) + centre.x - first.x * factor_x;
  int y = corner.y + start + centre.y - first.y * factor_y;
  int cell_x = x / factor_x;
  int cell_y = y / factor_y;
  float mix_x[cells_x];
  [[unroll]] for (int j = 0; j < cells_x; ++j) mix_x[j] = weights[x - cell_x * factor_x + factor_x * j];

  // rows[j]: the row of cells cell - j.
  vec4 rows[cells_y];
  [[unroll]] for (int j = 0; j < cells_y; ++j) rows[j] = vec4(0.0);
  int top = start - (y - cell_y * factor_y);  // the first pixel whose newest cell is cell_y; it may lie above the segment
  for (int cell = cell_y - (cells_y - 1); top < end; ++cell) {
    [[unroll]] for (int j = cells_y - 1; j > 0; --j) rows[j] = rows[j - 1];
    vec4 row = vec4(0.0);
    [[unroll]] for (int j = 0; j < cells_x; ++j) row = fma(vec4(mix_x[j]), fetch(ivec2(cell_x - j, cell)), row);
    rows[0] = row;
    if (cell >= cell_y) {
      for (int phase = 0; phase < factor_y; phase += batch) {
        [[unroll]] for (int i = 0; i < batch; ++i) {
          vec4 v = vec4(0.0);
          [[unroll]] for (int j = 0; j < cells_y; ++j) v = fma(vec4(weights[kTaps + phase + i + factor_y * j]), rows[j], v);
          int at = top + phase + i;
          if (at >= start && at < end) store_pixel(ivec2(column, at), v);
        }
      }
      top += factor_y;
    }
  }
}
