//@ axis STORAGE buffer image
// gauss.decimate, last step: pixels from blurred coarse samples by the same splines,
//   out[x] = sum of factor * spline[x - m * factor + centre] * b[m].
// A lane moves down one column of the destination. It expands each row of coarse samples across once, keeps those that the next rows of
// pixels need, and mixes them.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 first; ivec2 centre;  /* the first coarse sample of the grid; the tap of a spline on its coarse sample's own pixel */ \
  ivec2 corner;               /* where (0, 0) of the destination lies in the image that was decimated */ \
  int chunk_rows;             /* rows of pixels that one group makes */
#include "io/pixel.glsl"
#include "io/places.glsl"

layout(constant_id = 20) const int factor_x = 2;
layout(constant_id = 21) const int factor_y = 2;
layout(constant_id = 22) const int support_x = 4;  // that a pixel is mixed from
layout(constant_id = 23) const int support_y = 4;
layout(constant_id = 24) const int unrolled_rows = 2;  // rows whose weights the compiler may know; divides factor_y

// The splines of x and of y times their factors, coarse samples * factor taps each.
#include "sep/weights.glsl"

const int kTaps = support_x * factor_x;

void main() {
  int column = int(gl_WorkGroupID.x) * int(gl_WorkGroupSize.x) + int(gl_LocalInvocationIndex);
  int start = int(gl_WorkGroupID.y) * chunk_rows;
  int end = min(start + chunk_rows, size.y);
  // Never before the first coarse sample that any pixel needs, so that divisions are of positive numbers.
  int x = corner.x + min(column, size.x - 1) * step_x + centre.x - first.x * factor_x;
  int y = corner.y + start + centre.y - first.y * factor_y;
  int coarse_x = x / factor_x;
  int coarse_y = y / factor_y;
  float mix_x[support_x];
  [[unroll]] for (int j = 0; j < support_x; ++j) mix_x[j] = weights[x - coarse_x * factor_x + factor_x * j];

  // rows[j]: the row of coarse samples number coarse - j.
  vec4 rows[support_y];
  [[unroll]] for (int j = 0; j < support_y; ++j) rows[j] = vec4(0.0);
  int top = start - (y - coarse_y * factor_y);  // the first pixel whose newest coarse sample is coarse_y; it may lie above the chunk
  for (int coarse = coarse_y - (support_y - 1); top < end; ++coarse) {
    [[unroll]] for (int j = support_y - 1; j > 0; --j) rows[j] = rows[j - 1];
    vec4 row = vec4(0.0);
    [[unroll]] for (int j = 0; j < support_x; ++j) row = fma(vec4(mix_x[j]), fetch(ivec2(coarse_x - j, coarse)), row);
    rows[0] = row;
    if (coarse >= coarse_y) {
      for (int phase = 0; phase < factor_y; phase += unrolled_rows) {
        [[unroll]] for (int i = 0; i < unrolled_rows; ++i) {
          int at = top + phase + i;
          if (at >= start && at < end && is_kept_row(at)) {
            vec4 v = vec4(0.0);
            [[unroll]] for (int j = 0; j < support_y; ++j) v = fma(vec4(weights[kTaps + phase + i + factor_y * j]), rows[j], v);
            if (column < size.x) put(ivec2(column, at / step_y), encode(v));
          }
        }
      }
      top += factor_y;
    }
  }
}
