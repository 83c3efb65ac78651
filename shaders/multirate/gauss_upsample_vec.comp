//@ axis STORAGE buffer image
//@ skip STORAGE=image
// gauss.decimate, last step, for pixels that are stored as they are: the sums of gauss_upsample.comp, but a lane makes a span
// of pixels, which are mixed from few coarse samples together and stored at once.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 first; ivec2 centre;  /* the first coarse sample of the grid; the tap of a spline on its coarse sample's own pixel */ \
  int rows_per_sample;        /* factor_y */ \
  ivec2 corner;               /* where (0, 0) of the destination lies in the image that was decimated */ \
  int chunk_rows;             /* rows of pixels that one group makes */
#define SPANS_OF_DESTINATION
#include "io/pixel.glsl"
#include "io/spans.glsl"

#include "sep/weights.glsl"
#define EXPANSION_OF_X 0
#define EXPANSION_OF_Y (support_x * factor_x)
#include "grid/expansion.glsl"

// Those of a row that the span is mixed from, the newest first. Beyond the grid's edge lie some that count for nothing, and a row
// that nothing asks for: any number does, but memory there may hold NaN.
void fetch_samples(int newest, int row, out vec4 samples[kNear]) {
  ivec2 last = source_size - 1;
  [[unroll]] for (int j = 0; j < kNear; ++j) samples[j] = fetch(min(ivec2(max(newest - j, 0), row), last));
}

void main() {
  int left = (int(gl_WorkGroupID.x) * int(gl_WorkGroupSize.x) + int(gl_LocalInvocationIndex)) * span;
  int start = int(gl_WorkGroupID.y) * chunk_rows;
  int end = min(start + chunk_rows, size.y);
  // Never before the first coarse sample that any pixel needs, so that divisions are of positive numbers.
  int x = corner.x + min(left, size.x - 1) + centre.x - first.x * factor_x;
  int y = corner.y + start + centre.y - first.y * factor_y;
  int coarse_x = (x + span - 1) / factor_x;  // the newest of the span
  int coarse_y = y / factor_y;
  float mix_x[kMixes];
  weigh_span(x - coarse_x * factor_x, mix_x);

  float rows[kRowNumbers];
  [[unroll]] for (int i = 0; i < kRowNumbers; ++i) rows[i] = 0.0;
  vec4 coming[kNear];  // of the next row, while this one is mixed
  fetch_samples(coarse_x, coarse_y - (support_y - 1), coming);
  int top = start - (y - coarse_y * factor_y);  // the first pixel whose newest coarse sample is coarse_y; it may lie above the chunk
  for (int coarse = coarse_y - (support_y - 1); top < end; ++coarse) {
    expand_across(mix_x, coming, rows);
    fetch_samples(coarse_x, coarse + 1, coming);
    if (coarse >= coarse_y) {
      expand_down(rows, left, top, start, end);
      top += factor_y;
    }
  }
}
