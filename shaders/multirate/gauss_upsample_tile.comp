//@ axis STORAGE buffer image
//@ axis UNIT sample number
//@ skip STORAGE=image
// gauss.decimate, the last two steps at once, for pixels that are stored as they are: each group blurs the tile of coarse samples that its
// pixels are mixed from, in shared memory, and expands them from there. Tiles blur anew what their neighbours need, too, which is
// little where coarse samples are far apart; and the image takes one dispatch less.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 before;               /* taps of the grid's kernel before its anchor */ \
  ivec2 first; ivec2 centre;  /* the first coarse sample that pixels are mixed from; the tap of a spline on its own pixel */ \
  int rows_per_sample;        /* factor_y */ \
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
#define WEIGHTS_OF_Y (taps_x + support_x * factor_x)
#define EXPANSION_OF_Y (WEIGHTS_OF_Y + taps_y)
#include "grid/expansion.glsl"

// The lanes of a group are `lanes` spans of pixels side by side, times chunks of `coarse_rows` rows of samples beneath each other.
layout(constant_id = 31) const int lanes = 32;
layout(constant_id = 32) const int coarse_rows = 4;
// Groups begin with a whole row of coarse samples: those of the first row this many pixels above the image, which `size` counts as well.
layout(constant_id = 33) const int above = 0;
const int kThreads = int(gl_WorkGroupSize.x);
const int kChunks = kThreads / lanes;
const int kSamplesAcross = (lanes * span - 2 + factor_x) / factor_x + support_x;
const int kSamplesDown = kChunks * coarse_rows + support_y - 1;
#define TILE_SPANS ((kSamplesAcross + samples_per_thread - 1) / samples_per_thread)
#define TILE_HEIGHT ((kSamplesDown + samples_per_thread - 1) / samples_per_thread * samples_per_thread)
#include "grid/grid_tile.glsl"

const int kAcross = kSpans * UNITS * kHeight;  // spans of the tile
const int kRounds = (kAcross + kThreads - 1) / kThreads;

int place_of_span(int index) {
  return place_of(index / (kSpans * UNITS), index / UNITS % kSpans * samples_per_thread, index % UNITS);
}

// Leaves the tile whose first coarse sample is `from` of the grid. All lanes come here.
void blur_tile(ivec2 from) {
  int thread = int(gl_LocalInvocationIndex);
  Unit sums[samples_per_thread];
  for (int index = thread; index < kReach * UNITS * (kHeight / samples_per_thread); index += kThreads) {
    int unit = index % UNITS;
    ivec2 coarse = ivec2(index / UNITS % kReach, index / (kReach * UNITS) * samples_per_thread);
    sum_down(from + coarse - before, unit, sums);
    [[unroll]] for (int r = 0; r < samples_per_thread; ++r) tile[place_of(coarse.y + r, coarse.x, unit)] = sums[r];
  }
  barrier();
  Unit blurred[kRounds * samples_per_thread];
  [[unroll]] for (int round = 0; round < kRounds; ++round) {
    int index = thread + round * kThreads;
    if (index < kAcross) sum_across(place_of_span(index), sums);
    [[unroll]] for (int p = 0; p < samples_per_thread; ++p) blurred[round * samples_per_thread + p] = sums[p];
  }
  barrier();
  [[unroll]] for (int round = 0; round < kRounds; ++round) {
    int index = thread + round * kThreads;
    [[unroll]] for (int p = 0; p < samples_per_thread; ++p) {
      if (index < kAcross) tile[place_of_span(index) + p * UNITS] = blurred[round * samples_per_thread + p];
    }
  }
  barrier();
}

vec4 blurred_sample(int place) {
#if UNIT == UNIT_sample
  return tile[place];
#else
  vec4 coarse = vec4(0.0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) coarse[c] = tile[place + c];
  return coarse;
#endif
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  // Of the pixels from the first coarse sample, so that divisions are of positive numbers.
  int inset = corner.x + centre.x - first.x * factor_x;
  int tile_left = int(gl_WorkGroupID.x) * (lanes * span);
  int tile_row = int(gl_WorkGroupID.y) * (kChunks * coarse_rows);
  int tile_sample = (inset + tile_left) / factor_x - (support_x - 1);
  blur_tile(origin + ivec2(tile_sample, tile_row));

  int left = tile_left + thread % lanes * span;
  int x = inset + left;
  int newest = (x + span - 1) / factor_x;  // coarse sample of the span
  float mix_x[kMixes];
  weigh_span(x - newest * factor_x, mix_x);
  float rows[kRowNumbers];
  [[unroll]] for (int i = 0; i < kRowNumbers; ++i) rows[i] = 0.0;
  int row = thread / lanes * coarse_rows;  // the oldest of the tile that the lane needs
  int places[kNear];  // of the coarse samples that the span is mixed from, in that row
  // Some coarse samples before the tile's first count for nothing, but must be numbers.
  [[unroll]] for (int j = 0; j < kNear; ++j) places[j] = place_of(row, max(newest - tile_sample - j, 0), 0);
  int top = (tile_row + row) * factor_y - above;
  int bottom = size.y - above;
  for (int i = 0; i < support_y - 1 + coarse_rows && top < bottom; ++i) {
    vec4 samples[kNear];
    [[unroll]] for (int j = 0; j < kNear; ++j) samples[j] = blurred_sample(places[j] + i * kRow);
    expand_across(mix_x, samples, rows);
    if (i >= support_y - 1) {
      expand_down(rows, left, top, 0, bottom);
      top += factor_y;
    }
  }
}
