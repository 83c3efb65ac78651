//@ axis STORAGE buffer image
//@ skip STORAGE=image
//@ axis SUMS u16x2 u32 f32
// box.any by corners, first step: sums of blocks, from one read of the image. Of each band those of every column, of each strip
// those of every row; and of either the same over its first `part` pixels, as windows are no whole number of blocks.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define KERNEL_PARAMETERS \
  ivec2 part;  \
  int height;  /* rows of a band */ \
  float scale;
#include "io/pixel.glsl"
#include "io/numbers.glsl"
#include "box/block_sums.glsl"

// Floats are summed in short runs, which lose less.
const int kRun = 16;

// Of a band, at the index of its first column.
void store_columns(int band, int kind, int x, NUMBERS sums[pixels]) {
  int row = (2 * band + kind) * kPlanes;
  [[unroll]] for (int c = 0; c < kPlanes; ++c) {
    uint index = uint((row + c) * size.x) + (uint(x) + destination_start());
    [[unroll]] for (int p = 0; p < pixels; ++p) destination32[index + uint(p)] = to_word(sums[p][c]);
  }
}

void store_row(int strip, int kind, int y, NUMBERS v) {
  int columns = 2 * (size.y / height) * kPlanes * size.x;
  int row = (2 * strip + kind) * kPlanes;
  [[unroll]] for (int c = 0; c < kPlanes; ++c) {
    destination32[uint(columns + (row + c) * size.y + y) + destination_start()] = to_word(v[c]);
  }
}

// Over the lanes of a strip. Lanes keep half of the rows that they have as long as there are two, and the sum of the row
// number_of_row() in the end.
NUMBERS sum_across(NUMBERS rows[rows_in_flight], int lane) {
  int count = rows_in_flight;
  [[unroll]] for (int step = 1; step < lanes; step *= 2) {
    bool is_upper = (lane & step) != 0;
    count = max(count / 2, 1);
    [[unroll]] for (int i = 0; i < count; ++i) {
      bool has_two = step < rows_in_flight;
      [[unroll]] for (int c = 0; c < kPlanes; ++c) {
        if (has_two) {
          NUMBERS given = is_upper ? rows[i] : rows[i + count];
          if (is_upper) rows[i][c] = rows[i + count][c];
          rows[i][c] += subgroupShuffleXor(given[c], uint(step));
        } else {
          rows[i][c] += subgroupShuffleXor(rows[i][c], uint(step));
        }
      }
    }
  }
  return rows[0];
}

int number_of_row(int lane) {
  int row = 0;
  [[unroll]] for (int step = 1; step < rows_in_flight; step *= 2) row = 2 * row + ((lane & step) != 0 ? 1 : 0);
  return row;
}

void main() {
  int thread = thread_index();
  int lane = thread % lanes;
  ivec2 block = ivec2(int(gl_WorkGroupID.x) * (kThreads / lanes) + thread / lanes, int(gl_WorkGroupID.y));
  ivec2 corner = block * ivec2(kWidth, height);
  bool is_there = corner.x < size.x;
  Columns columns = columns_of(origin.x + corner.x, lane);
  NUMBERS numbers_outside = to_numbers(outside);

  NUMBERS down[pixels];
  NUMBERS run[pixels];  // of the rows since the last multiple of kRun
  [[unroll]] for (int p = 0; p < pixels; ++p) down[p] = run[p] = NUMBERS(0);
  for (int first = 0; first < height; first += rows_in_flight) {
    int rows[rows_in_flight];
    Fetched fetched[rows_in_flight];
    [[unroll]] for (int i = 0; i < rows_in_flight; ++i) {
      rows[i] = map_index(border_y, origin.y + corner.y + min(first + i, height - 1), source_size.y);
      fetched[i] = fetch_row(columns, rows[i]);
    }
    NUMBERS total[rows_in_flight];
    NUMBERS total_part[rows_in_flight];
    [[unroll]] for (int i = 0; i < rows_in_flight; ++i) {
      total[i] = total_part[i] = NUMBERS(0);
      if (first + i == part.y && part.y > 0) {
        NUMBERS v[pixels];
        [[unroll]] for (int p = 0; p < pixels; ++p) v[p] = down[p] + run[p];
        if (is_there) store_columns(block.y, 1, corner.x + lane * pixels, v);
      }
      uvec4 vector = vector_of(columns, rows[i], fetched[i]);
      bool is_new = first + i < height;
      [[unroll]] for (int p = 0; p < pixels; ++p) {
        NUMBERS v = entering_pixel_of_row(columns, rows[i], vector, p, numbers_outside);
        if (is_new) run[p] += v;
        total[i] += v;
        if (lane * pixels + p < part.x) total_part[i] += v;
      }
      if ((first + i) % kRun == kRun - 1) {
        [[unroll]] for (int p = 0; p < pixels; ++p) {
          down[p] += run[p];
          run[p] = NUMBERS(0);
        }
      }
    }
    NUMBERS across = sum_across(total, lane);
    NUMBERS across_part = NUMBERS(0);
    if (part.x > 0) across_part = sum_across(total_part, lane);
    int row = first + number_of_row(lane);
    if (lane < rows_in_flight && row < height && is_there) {
      store_row(block.x, 0, corner.y + row, across);
      if (part.x > 0) store_row(block.x, 1, corner.y + row, across_part);
    }
  }
  if (!is_there) return;
  [[unroll]] for (int p = 0; p < pixels; ++p) down[p] += run[p];
  store_columns(block.y, 0, corner.x + lane * pixels, down);
}
