//@ axis STORAGE buffer image
//@ axis UNIT cell number
//@ skip STORAGE=image
// gauss.decimate, the last two steps at once, for pixels that are stored as they are: a group walks down a strip. It blurs a few
// rows of cells at a time, in shared memory, and expands them from there. While some groups blur, others store.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 before;               /* taps of the grid's kernel before its anchor */ \
  ivec2 first; ivec2 centre;  /* the first cell that pixels are mixed from; the tap of a spline on its cell's own pixel */ \
  int rows_of_cell;           /* factor_y */ \
  ivec2 corner;               /* where (0, 0) of the destination lies in the image that was decimated */ \
  int cell_rows;              /* rows of cells that a group expands */
#define SPANS_OF_DESTINATION
#include "io/pixel.glsl"
#include "io/spans.glsl"

layout(constant_id = 20) const int taps_x = 1;  // of the grid's kernel
layout(constant_id = 21) const int taps_y = 1;

// Of x: the grid's kernel, and the expansion's spline; the same of y.
#include "sep/weights.glsl"
#define WEIGHTS_OF_X 0
#define EXPANSION_OF_X taps_x
#define WEIGHTS_OF_Y (taps_x + cells_x * factor_x)
#define EXPANSION_OF_Y (WEIGHTS_OF_Y + taps_y)
#include "grid/expansion.glsl"

layout(constant_id = 31) const int turn_spans = 1;  // of cells beneath each other that are blurred at once
// Groups begin with a whole row of cells: those of the first row this many pixels above the image, which `size` counts as well.
layout(constant_id = 32) const int above = 0;
const int kThreads = int(gl_WorkGroupSize.x);
const int kCellsAcross = (kThreads * span - 2 + factor_x) / factor_x + cells_x;
#define TILE_SPANS ((kCellsAcross + blur_span - 1) / blur_span)
#define TILE_HEIGHT (turn_spans * blur_span)
#include "grid/grid_tile.glsl"

const int kBlurredRow = kRowOfSpans * UNITS;  // without the margins of a row before

shared Unit blurred[kHeight * kBlurredRow];

// Leaves the blurred rows whose first cell is `from` of the grid. All lanes come here, and have read what they need of those before
// when the first barrier lets them on.
void blur_rows(ivec2 from) {
  int thread = int(gl_LocalInvocationIndex);
  Unit sums[blur_span];
  for (int index = thread; index < kReach * UNITS * (kHeight / blur_span); index += kThreads) {
    int unit = index % UNITS;
    ivec2 cell = ivec2(index / UNITS % kReach, index / (kReach * UNITS) * blur_span);
    sum_down(from + cell - before, unit, sums);
    [[unroll]] for (int r = 0; r < blur_span; ++r) tile[place_of(cell.y + r, cell.x, unit)] = sums[r];
  }
  barrier();
  for (int index = thread; index < kSpans * UNITS * kHeight; index += kThreads) {
    int place = place_of(0, index / UNITS % kSpans * blur_span, index % UNITS);
    int row = index / (kSpans * UNITS);
    sum_across(row * kRow + place, sums);
    [[unroll]] for (int p = 0; p < blur_span; ++p) blurred[row * kBlurredRow + place + p * UNITS] = sums[p];
  }
  barrier();
}

vec4 blurred_cell(int place) {
#if UNIT == UNIT_cell
  return blurred[place];
#else
  vec4 cell = vec4(0.0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) cell[c] = blurred[place + c];
  return cell;
#endif
}

void main() {
  // Of the pixels from the first cell, so that divisions are of positive numbers.
  int inset = corner.x + centre.x - first.x * factor_x;
  int strip = int(gl_WorkGroupID.x) * (kThreads * span);
  int strip_cell = (inset + strip) / factor_x - (cells_x - 1);
  int left = strip + int(gl_LocalInvocationIndex) * span;
  int x = inset + left;
  int newest = (x + span - 1) / factor_x;  // cell of the span
  float mix_x[kMixes];
  weigh_span(x - newest * factor_x, mix_x);
  // Of the cells that the span is mixed from, in a row. Some before the strip's first count for nothing, but must be numbers.
  int places[kNear];
  [[unroll]] for (int j = 0; j < kNear; ++j) places[j] = place_of(0, max(newest - strip_cell - j, 0), 0);
  float rows[kRowNumbers];
  [[unroll]] for (int i = 0; i < kRowNumbers; ++i) rows[i] = 0.0;

  int row = int(gl_WorkGroupID.y) * cell_rows;  // the oldest that the group needs
  int top = row * factor_y - above;
  int bottom = min(top + cell_rows * factor_y, size.y - above);
  int missing = cells_y - 1;  // rows of cells before the first pixels
  while (top < bottom) {
    blur_rows(origin + ivec2(strip_cell, row));
    // Never more, but compilers must not know it: they would unroll the loop.
    int turn = min(kHeight, missing + (bottom - top + factor_y - 1) / factor_y);
    for (int i = 0; i < turn; ++i) {
      vec4 cells[kNear];
      [[unroll]] for (int j = 0; j < kNear; ++j) cells[j] = blurred_cell(places[j] + i * kBlurredRow);
      expand_across(mix_x, cells, rows);
      if (missing > 0) {
        --missing;
      } else {
        expand_down(rows, left, top, 0, bottom);
        top += factor_y;
      }
    }
    row += kHeight;
  }
}
