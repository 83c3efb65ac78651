//@ axis STORAGE buffer image
//@ axis UNIT sample number
//@ skip STORAGE=image
// gauss.decimate, the last two steps at once, for pixels that are stored as they are: a group moves down a strip. It blurs a few
// rows of coarse samples at a time, in shared memory, and expands them from there. While some groups blur, others store.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 before;               /* taps of the grid's kernel before its anchor */ \
  ivec2 first; ivec2 centre;  /* the first coarse sample that pixels are mixed from; the tap of a spline on its own pixel */ \
  int rows_per_sample;        /* factor_y */ \
  ivec2 corner;               /* where (0, 0) of the destination lies in the image that was decimated */ \
  int coarse_rows;            /* rows of coarse samples that a group expands */
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

layout(constant_id = 31) const int spans_per_step = 1;  // of coarse samples beneath each other that are blurred at once
// Groups begin with a whole row of coarse samples: those of the first row this many pixels above the image, which `size` counts as well.
layout(constant_id = 32) const int above = 0;
const int kThreads = int(gl_WorkGroupSize.x);
const int kSamplesAcross = (kThreads * span - 2 + factor_x) / factor_x + support_x;
#define TILE_SPANS ((kSamplesAcross + samples_per_thread - 1) / samples_per_thread)
#define TILE_HEIGHT (spans_per_step * samples_per_thread)
#include "grid/grid_tile.glsl"

const int kBlurredRow = kRowOfSpans * UNITS;  // without the margins of a row before

shared Unit blurred[kHeight * kBlurredRow];

// Leaves the blurred rows whose first sample is `from` of the grid. All lanes come here, and have read what they need of those before
// when the first barrier lets them on.
void blur_rows(ivec2 from) {
  int thread = int(gl_LocalInvocationIndex);
  Unit sums[samples_per_thread];
  for (int index = thread; index < kReach * UNITS * (kHeight / samples_per_thread); index += kThreads) {
    int unit = index % UNITS;
    ivec2 coarse = ivec2(index / UNITS % kReach, index / (kReach * UNITS) * samples_per_thread);
    sum_down(from + coarse - before, unit, sums);
    [[unroll]] for (int r = 0; r < samples_per_thread; ++r) tile[place_of(coarse.y + r, coarse.x, unit)] = sums[r];
  }
  barrier();
  for (int index = thread; index < kSpans * UNITS * kHeight; index += kThreads) {
    int place = place_of(0, index / UNITS % kSpans * samples_per_thread, index % UNITS);
    int row = index / (kSpans * UNITS);
    sum_across(row * kRow + place, sums);
    [[unroll]] for (int p = 0; p < samples_per_thread; ++p) blurred[row * kBlurredRow + place + p * UNITS] = sums[p];
  }
  barrier();
}

vec4 blurred_sample(int place) {
#if UNIT == UNIT_sample
  return blurred[place];
#else
  vec4 coarse = vec4(0.0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) coarse[c] = blurred[place + c];
  return coarse;
#endif
}

void main() {
  // Of the pixels from the first coarse sample, so that divisions are of positive numbers.
  int inset = corner.x + centre.x - first.x * factor_x;
  int strip = int(gl_WorkGroupID.x) * (kThreads * span);
  int strip_sample = (inset + strip) / factor_x - (support_x - 1);
  int left = strip + int(gl_LocalInvocationIndex) * span;
  int x = inset + left;
  int newest = (x + span - 1) / factor_x;  // coarse sample of the span
  float mix_x[kMixes];
  weigh_span(x - newest * factor_x, mix_x);
  // Of the coarse samples that the span is mixed from, in a row. Some before the strip's first count for nothing, but must be numbers.
  int places[kNear];
  [[unroll]] for (int j = 0; j < kNear; ++j) places[j] = place_of(0, max(newest - strip_sample - j, 0), 0);
  float rows[kRowNumbers];
  [[unroll]] for (int i = 0; i < kRowNumbers; ++i) rows[i] = 0.0;

  int row = int(gl_WorkGroupID.y) * coarse_rows;  // the oldest that the group needs
  int top = row * factor_y - above;
  int bottom = min(top + coarse_rows * factor_y, size.y - above);
  int missing = support_y - 1;  // rows of coarse samples before the first pixels
  while (top < bottom) {
    blur_rows(origin + ivec2(strip_sample, row));
    // Never more, but compilers must not know it: they would unroll the loop.
    int step = min(kHeight, missing + (bottom - top + factor_y - 1) / factor_y);
    for (int i = 0; i < step; ++i) {
      vec4 samples[kNear];
      [[unroll]] for (int j = 0; j < kNear; ++j) samples[j] = blurred_sample(places[j] + i * kBlurredRow);
      expand_across(mix_x, samples, rows);
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
