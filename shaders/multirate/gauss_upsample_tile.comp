//@ axis STORAGE buffer image
//@ axis UNIT cell number
//@ skip STORAGE=image
// gauss.decimate, the last two steps at once, for pixels that are stored as they are: each group blurs the tile of cells that its
// pixels are mixed from, in shared memory, and expands them from there. Tiles blur anew what their neighbours need, too, which is
// little where cells are far apart; and the image takes one dispatch less.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 before;               /* taps of the grid's kernel before its anchor */ \
  ivec2 first; ivec2 centre;  /* the first cell that pixels are mixed from; the tap of a spline on its cell's own pixel */ \
  int rows_of_cell;           /* factor_y */ \
  ivec2 corner;               /* where (0, 0) of the destination lies in the image that was decimated */
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

// The lanes of a group are `lanes` spans of pixels side by side, times pieces of `cell_rows` rows of cells beneath each other.
layout(constant_id = 31) const int lanes = 32;
layout(constant_id = 32) const int cell_rows = 4;
// Groups begin with a whole row of cells: those of the first row this many pixels above the image, which `size` counts as well.
layout(constant_id = 33) const int above = 0;
const int kThreads = int(gl_WorkGroupSize.x);
const int kPieces = kThreads / lanes;
const int kCellsAcross = (lanes * span - 2 + factor_x) / factor_x + cells_x;
const int kCellsDown = kPieces * cell_rows + cells_y - 1;
#define TILE_SPANS ((kCellsAcross + blur_span - 1) / blur_span)
#define TILE_HEIGHT ((kCellsDown + blur_span - 1) / blur_span * blur_span)
#include "grid/grid_tile.glsl"

const int kAcross = kSpans * UNITS * kHeight;  // spans of the tile
const int kRounds = (kAcross + kThreads - 1) / kThreads;

int place_of_span(int index) {
  return place_of(index / (kSpans * UNITS), index / UNITS % kSpans * blur_span, index % UNITS);
}

// Leaves the tile whose first cell is `from` of the grid. All lanes come here.
void blur_tile(ivec2 from) {
  int thread = int(gl_LocalInvocationIndex);
  Unit sums[blur_span];
  for (int index = thread; index < kReach * UNITS * (kHeight / blur_span); index += kThreads) {
    int unit = index % UNITS;
    ivec2 cell = ivec2(index / UNITS % kReach, index / (kReach * UNITS) * blur_span);
    sum_down(from + cell - before, unit, sums);
    [[unroll]] for (int r = 0; r < blur_span; ++r) tile[place_of(cell.y + r, cell.x, unit)] = sums[r];
  }
  barrier();
  Unit blurred[kRounds * blur_span];
  [[unroll]] for (int round = 0; round < kRounds; ++round) {
    int index = thread + round * kThreads;
    if (index < kAcross) sum_across(place_of_span(index), sums);
    [[unroll]] for (int p = 0; p < blur_span; ++p) blurred[round * blur_span + p] = sums[p];
  }
  barrier();
  [[unroll]] for (int round = 0; round < kRounds; ++round) {
    int index = thread + round * kThreads;
    [[unroll]] for (int p = 0; p < blur_span; ++p) {
      if (index < kAcross) tile[place_of_span(index) + p * UNITS] = blurred[round * blur_span + p];
    }
  }
  barrier();
}

vec4 blurred_cell(int place) {
#if UNIT == UNIT_cell
  return tile[place];
#else
  vec4 cell = vec4(0.0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) cell[c] = tile[place + c];
  return cell;
#endif
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  // Of the pixels from the first cell, so that divisions are of positive numbers.
  int inset = corner.x + centre.x - first.x * factor_x;
  int tile_left = int(gl_WorkGroupID.x) * (lanes * span);
  int tile_row = int(gl_WorkGroupID.y) * (kPieces * cell_rows);
  int tile_cell = (inset + tile_left) / factor_x - (cells_x - 1);
  blur_tile(origin + ivec2(tile_cell, tile_row));

  int left = tile_left + thread % lanes * span;
  int x = inset + left;
  int newest = (x + span - 1) / factor_x;  // cell of the span
  float mix_x[kMixes];
  weigh_span(x - newest * factor_x, mix_x);
  float rows[kRowNumbers];
  [[unroll]] for (int i = 0; i < kRowNumbers; ++i) rows[i] = 0.0;
  int row = thread / lanes * cell_rows;  // the oldest of the tile that the lane needs
  int places[kNear];  // of the cells that the span is mixed from, in that row
  // Some cells before the tile's first count for nothing, but must be numbers.
  [[unroll]] for (int j = 0; j < kNear; ++j) places[j] = place_of(row, max(newest - tile_cell - j, 0), 0);
  int top = (tile_row + row) * factor_y - above;
  int bottom = size.y - above;
  for (int i = 0; i < cells_y - 1 + cell_rows && top < bottom; ++i) {
    vec4 cells[kNear];
    [[unroll]] for (int j = 0; j < kNear; ++j) cells[j] = blurred_cell(places[j] + i * kRow);
    expand_across(mix_x, cells, rows);
    if (i >= cells_y - 1) {
      expand_down(rows, left, top, 0, bottom);
      top += factor_y;
    }
  }
}
