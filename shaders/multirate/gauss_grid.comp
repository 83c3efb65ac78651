//@ axis STORAGE buffer image
//@ axis UNIT sample number
//@ skip STORAGE=image UNIT=number
// gauss.decimate, second step: blurs the grid of coarse samples. Each group makes a tile, and no thread slides: all that a lane waits for
// are a few rounds of loads and three barriers. Results pass through shared memory once more, so that lanes side by side
// store coarse samples side by side.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS ivec2 before;
#include "io/pixel.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;

// Those of x, then those of y. At indices known to the compiler: they are operands, not loads.
#include "sep/weights.glsl"
#define WEIGHTS_OF_X 0
#define WEIGHTS_OF_Y taps_x

// A group is as many lanes as the tile has units side by side, margins included, times its spans beneath each other.
#define TILE_HEIGHT (int(gl_WorkGroupSize.y) * samples_per_thread)
#define TILE_SPANS ((int(gl_WorkGroupSize.x) / UNITS - (taps_x - 1)) / samples_per_thread)
#include "grid/grid_tile.glsl"

void store_unit(ivec2 coarse, int unit, Unit v) {
#if UNIT == UNIT_sample
  store_pixel(coarse, v);
#else
  if (is_inside(coarse)) {
    destination32[destination_index(coarse) * uint(destination_channels) + uint(unit)] = floatBitsToUint(v);
  }
#endif
}

void main() {
  ivec2 lane = ivec2(gl_LocalInvocationID.xy);
  ivec2 corner = ivec2(gl_WorkGroupID.xy) * ivec2(kWidth, kHeight);
  ivec2 coarse = ivec2(lane.x / UNITS, lane.y * samples_per_thread);  // the uppermost of those that the lane sums down, and stores
  int unit = lane.x % UNITS;
  int place = place_of(coarse.y, coarse.x, unit);
  Unit sums[samples_per_thread];

  if (coarse.x < kReach) {
    sum_down(origin + corner + coarse - before, unit, sums);
    [[unroll]] for (int r = 0; r < samples_per_thread; ++r) tile[place + r * kRow] = sums[r];
  }
  barrier();
  int thread = int(gl_LocalInvocationIndex);
  int row = thread / (kSpans * UNITS);
  int first = place_of(row, thread / UNITS % kSpans * samples_per_thread, thread % UNITS);
  if (row < kHeight) sum_across(first, sums);
  barrier();
  if (row < kHeight) {
    [[unroll]] for (int p = 0; p < samples_per_thread; ++p) tile[first + p * UNITS] = sums[p];
  }
  barrier();
  if (coarse.x < kWidth) {
    [[unroll]] for (int r = 0; r < samples_per_thread; ++r) store_unit(corner + coarse + ivec2(0, r), unit, tile[place + r * kRow]);
  }
}
