//@ axis STORAGE buffer image
//@ skip STORAGE=image
//@ axis SUMS u16x2 u32 f32
// box.any by corners, last step. From one row to the next a window's sum changes by
//   sum over the columns up to its own of (entering - leaving row) at the right end - the same at the left end,
// counted from the start of its strip, plus what the window before the strip changes by, which is known. So a pixel takes
// four loads at any radius, and some lanes of a subgroup make a strip by adding up along it: no shared memory, no barrier.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define KERNEL_PARAMETERS \
  ivec2 before;    /* whole pixels of the window before its own */ \
  ivec2 window;    /* all of them */ \
  ivec2 skip;      /* where the destination begins in what the groups make */ \
  ivec2 first;     /* strip and band among those of the windows */ \
  int bands;       /* of which there are windows, */ \
  int columns;     /* columns of one of these, */ \
  int rows;        /* and rows of those of a strip */ \
  int height;      /* rows of a band */ \
  uint auxiliary_stride;  /* words from the windows of one image to those of the next */ \
  float scale;     /* from sums to means; of f32, of each pixel */ \
  float gain;      /* of f32, from sums to means */
#include "io/pixel.glsl"
#include "io/places.glsl"
#include "io/numbers.glsl"
#include "box/block_sums.glsl"

layout(constant_id = 23) const int together = 1;  // sums of columns that are on their way at once

#include "box/box_windows.glsl"

// Each lane's number and those of the lanes of the strip before it.
NUMBERS sum_up_to(NUMBERS v, int lane, int used) {
  [[unroll]] for (int step = 1; step < lanes; step *= 2) {
    bool has = lane >= step;
    uint from = gl_SubgroupInvocationID - uint(has ? step : 0);
    [[unroll]] for (int c = 0; c < 4; ++c) {
      if (c < used) {
        NUMBERS other = NUMBERS(0);
        other[c] = subgroupShuffle(v[c], from);
        if (has) v[c] += other[c];
      }
    }
  }
  return v;
}

#if SUMS == SUMS_f32
NUMBERS sum_of_window(NUMBERS sum) { return sum * gain; }
#else
NUMBERS sum_of_window(NUMBERS sum) { return sum; }
#endif

const int kDestinationBytes = destination_bits / 8 * destination_channels;

// The lane's pixels of a row, of which those from `from` to before `to` are made.
void store_row(ivec2 p, int from, int to, NUMBERS sums[pixels]) {
  if (step_x > 1 || step_y > 1) {
    [[unroll]] for (int i = 0; i < pixels; ++i) {
      ivec2 q = p + ivec2(i, 0);
      if (i >= from && i < to && is_kept(q)) put_stored(destination_index(kept_place(q)), codes_of(sum_of_window(sums[i])));
    }
    return;
  }
  uint index = destination_index(p);
  bool is_whole = from <= 0 && to >= pixels && (index * uint(kDestinationBytes) & 15u) == 0u;
  if (kDestinationBytes * pixels == 16 && is_whole) {
    uvec4 vector = uvec4(0u);
    [[unroll]] for (int i = 0; i < pixels * destination_channels; ++i) {
      int bit = i * destination_bits;
      uvec4 codes = codes_of(sum_of_window(sums[i / destination_channels]));
      vector[bit / 32] |= codes[i % destination_channels] << bit % 32;
    }
    destination128[index * uint(kDestinationBytes) >> 4] = vector;
    return;
  }
  [[unroll]] for (int i = 0; i < pixels; ++i) {
    if (i >= from && i < to) put_stored(index + uint(i), codes_of(sum_of_window(sums[i])));
  }
}

void main() {
  int thread = thread_index();
  int lane = thread % lanes;
  int strips = (size.x + kWidth - 1) / kWidth;
  int strip_index = int(gl_WorkGroupID.x) * (kThreads / lanes) + thread / lanes;
  ivec2 strip = ivec2(min(strip_index, strips - 1), int(gl_WorkGroupID.y));
  ivec2 corner = strip * ivec2(kWidth, height);
  int end = min(height, size.y - corner.y);
  int own = corner.x + lane * pixels;
  strip += first;
  int reached = strip.x * kWidth;  // the first column that windows of the strip reach

  int left_end = origin.x + corner.x - before.x - 1;
  Columns left = columns_of(left_end, lane);
  Columns right = columns_of(left_end + window.x, lane);

  // The windows of the row before the band.
  NUMBERS sums[pixels];
  NUMBERS base = window_of_columns(strip.y, reached, window.x, lane);
  NUMBERS so_far = NUMBERS(0);
  [[unroll]] for (int p = 0; p < pixels; ++p) {
    int x = reached + lane * pixels + p;
    so_far += window_down(strip.y, x + window.x) - window_down(strip.y, x);
    sums[p] = so_far;
  }
  base += sum_up_to(so_far, lane, source_channels) - so_far;
  [[unroll]] for (int p = 0; p < pixels; ++p) sums[p] += base;

  NUMBERS numbers_outside = to_numbers(outside);
  int top = strip.y * height;  // the first row that windows of the band reach
  NUMBERS changes = NUMBERS(0);  // of the window before the strip: a lane keeps those of one row
  for (int y = 0; y < end; y += rows_in_flight) {
    int leaves[rows_in_flight];
    int enters[rows_in_flight];
    Fetched fetched[4 * rows_in_flight];
    [[unroll]] for (int i = 0; i < rows_in_flight; ++i) {
      int leaving = origin.y + corner.y + min(y + i, end - 1) - before.y - 1;
      leaves[i] = map_index(border_y, leaving, source_size.y);
      enters[i] = map_index(border_y, leaving + window.y, source_size.y);
      fetched[4 * i] = fetch_row(left, leaves[i]);
      fetched[4 * i + 1] = fetch_row(right, leaves[i]);
      fetched[4 * i + 2] = fetch_row(left, enters[i]);
      fetched[4 * i + 3] = fetch_row(right, enters[i]);
    }
    [[unroll]] for (int i = 0; i < rows_in_flight; ++i) {
      int row = y + i;
      if (row < end) {
        if (row % lanes == 0) {
          int reached_row = top + min(row + lane, height - 1);
          changes = window_across(strip.x, reached_row + window.y) - window_across(strip.x, reached_row);
        }
        uvec4 chunks[4] = {vector_of(left, leaves[i], fetched[4 * i]), vector_of(right, leaves[i], fetched[4 * i + 1]),
                           vector_of(left, enters[i], fetched[4 * i + 2]), vector_of(right, enters[i], fetched[4 * i + 3])};
        NUMBERS differences[pixels];
        NUMBERS running = NUMBERS(0);
        [[unroll]] for (int p = 0; p < pixels; ++p) {
          running += entering_pixel_of_row(right, enters[i], chunks[3], p, numbers_outside) -
                     pixel_of_row(right, leaves[i], chunks[1], p, numbers_outside) -
                     (pixel_of_row(left, enters[i], chunks[2], p, numbers_outside) -
                      pixel_of_row(left, leaves[i], chunks[0], p, numbers_outside));
          differences[p] = running;
        }
        NUMBERS before_lane = sum_up_to(running, lane, kPlanes) - running;
        NUMBERS change = NUMBERS(0);
        uint from = gl_SubgroupInvocationID - uint(lane) + uint(row % lanes);
        [[unroll]] for (int c = 0; c < source_channels; ++c) change[c] = subgroupShuffle(changes[c], from);
        [[unroll]] for (int p = 0; p < pixels; ++p) sums[p] += change + to_totals(differences[p] + before_lane);
        ivec2 to = ivec2(own, corner.y + row) - skip;
        if (strip_index < strips && to.y >= 0) store_row(to, -to.x, size.x - own, sums);
      }
    }
  }
}
