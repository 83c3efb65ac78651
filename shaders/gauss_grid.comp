//@ axis STORAGE buffer image
//@ axis UNIT cell number
//@ skip STORAGE=image UNIT=number
// gauss.decimate, second step: blurs the grid of cells. Each group makes a tile, and nobody walks: all that a lane waits for
// are a few rounds of loads and three barriers. A lane sums a span of cells beneath each other, of one column of the tile or
// of its margins, straight from the grid: neighbours find there what is in the cache by then. What is in shared memory then
// is summed along rows, a span of cells side by side a lane, so that a number that it reads serves several sums. Results
// pass through shared memory once more, so that lanes side by side store cells side by side.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS ivec2 before;
#include "pixel.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int batch = 8;  // rows that a lane fetches at once
layout(constant_id = 23) const int span = 4;   // cells that a lane makes in either direction

// Those of x, then those of y. At indices known to the compiler: they are operands, not loads.
layout(std430, binding = 2) readonly uniform Weights { float weights[4096]; };

// What a lane sums at once: whole cells, or one number of cells that have fewer than four. The grid has every cell that the
// taps reach, or those beyond its edge are like the nearest.
#if UNIT == UNIT_cell
#define Unit vec4
#define UNITS 1  // of a cell
const int kBanks = 8;  // of shared memory, as wide as a unit

Unit fetch_unit(ivec2 cell, int unit) {
  return fetch(cell);
}

void store_unit(ivec2 cell, int unit, Unit v) {
  store_pixel(cell, v);
}
#else
#define Unit float
#define UNITS source_channels
const int kBanks = 32;

Unit fetch_unit(ivec2 cell, int unit) {
  return uintBitsToFloat(source32[source_index(cell) * uint(source_channels) + uint(unit)]);
}

void store_unit(ivec2 cell, int unit, Unit v) {
  if (is_inside(cell)) {
    destination32[destination_index(cell) * uint(destination_channels) + uint(unit)] = floatBitsToUint(v);
  }
}
#endif

// A group is as many lanes as the tile has units side by side, margins included, times its spans beneath each other.
const int kLanes = int(gl_WorkGroupSize.x);
const int kHeight = int(gl_WorkGroupSize.y) * span;
const int kSpans = (kLanes / UNITS - (taps_x - 1)) / span;  // side by side
const int kWidth = kSpans * span;
const int kReach = kWidth + taps_x - 1;

// Spans begin an odd number of places apart, also where the next row's follow on one row's last: lanes that read at once
// then read from different banks.
const int kGap = 1 - span % 2;  // after each span
const int kRowOfSpans = kWidth + kGap * kSpans;
const int kPlaces = kReach + kGap * (kReach / span);
const int kRow = (kRowOfSpans + (kPlaces - kRowOfSpans + kBanks - 1) / kBanks * kBanks) * UNITS;

shared Unit tile[kHeight * kRow];

int place_of(int row, int cell, int unit) {
  return row * kRow + (cell + kGap * (cell / span)) * UNITS + unit;
}

void sum_down(ivec2 from, int unit, out Unit sums[span]) {
  [[unroll]] for (int r = 0; r < span; ++r) sums[r] = Unit(0.0);
  int x = clamp(from.x, 0, source_size.x - 1);
  [[unroll]] for (int first = 0; first < taps_y + span - 1; first += batch) {
    Unit rows[batch];
    [[unroll]] for (int i = 0; i < batch; ++i) {
      int y = clamp(from.y + first + i, 0, source_size.y - 1);
      if (first + i < taps_y + span - 1) rows[i] = fetch_unit(ivec2(x, y), unit);
    }
    [[unroll]] for (int i = 0; i < batch; ++i) {
      [[unroll]] for (int r = 0; r < span; ++r) {
        int tap = first + i - r;
        if (tap >= 0 && tap < taps_y) sums[r] = fma(rows[i], Unit(weights[taps_x + tap]), sums[r]);
      }
    }
  }
}

void sum_across(int first, out Unit sums[span]) {
  [[unroll]] for (int p = 0; p < span; ++p) sums[p] = Unit(0.0);
  [[unroll]] for (int i = 0; i < taps_x + span - 1; ++i) {
    Unit v = tile[first + (i + kGap * (i / span)) * UNITS];
    [[unroll]] for (int p = 0; p < span; ++p) {
      if (i >= p && i - p < taps_x) sums[p] = fma(v, Unit(weights[i - p]), sums[p]);
    }
  }
}

void main() {
  ivec2 lane = ivec2(gl_LocalInvocationID.xy);
  ivec2 corner = ivec2(gl_WorkGroupID.xy) * ivec2(kWidth, kHeight);
  ivec2 cell = ivec2(lane.x / UNITS, lane.y * span);  // the uppermost of those that the lane sums down, and stores
  int unit = lane.x % UNITS;
  int place = place_of(cell.y, cell.x, unit);
  Unit sums[span];

  if (cell.x < kReach) {
    sum_down(origin + corner + cell - before, unit, sums);
    [[unroll]] for (int r = 0; r < span; ++r) tile[place + r * kRow] = sums[r];
  }
  barrier();
  int thread = int(gl_LocalInvocationIndex);
  int row = thread / (kSpans * UNITS);
  int first = place_of(row, thread / UNITS % kSpans * span, thread % UNITS);
  if (row < kHeight) sum_across(first, sums);
  barrier();
  if (row < kHeight) {
    [[unroll]] for (int p = 0; p < span; ++p) tile[first + p * UNITS] = sums[p];
  }
  barrier();
  if (cell.x < kWidth) {
    [[unroll]] for (int r = 0; r < span; ++r) store_unit(corner + cell + ivec2(0, r), unit, tile[place + r * kRow]);
  }
}
