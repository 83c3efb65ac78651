//@ axis STORAGE buffer image
// gauss.decimate, first step: splines on a grid of coarse samples `factor` pixels apart,
//   c[m] = sum of spline[i] * in[m * factor - centre + i].
// A group moves down a strip; each lane adds its column's pixels into the sums of the coarse samples whose splines reach them, and
// when a row of coarse samples is complete the group sums across.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 first; ivec2 centre;  /* the first coarse sample; the tap of a spline that lies on its coarse sample's own pixel */ \
  int coarse_rows;            /* rows of coarse samples that one group makes */
#include "io/pixel.glsl"

layout(constant_id = 20) const int factor_x = 2;
layout(constant_id = 21) const int factor_y = 2;
layout(constant_id = 22) const int support_x = 4;  // that a pixel belongs to
layout(constant_id = 23) const int support_y = 4;
layout(constant_id = 24) const int step_rows = 2;  // rows that are fetched ahead; divides factor_y

// The splines of x and of y, coarse samples * factor taps each.
#include "sep/weights.glsl"

const int kThreads = int(gl_WorkGroupSize.x);
const int kSamples = (kThreads - (support_x - 1) * factor_x) / factor_x;  // that a group makes of a row
const int kTaps = support_x * factor_x;
// One plane a channel, and in it one part for each place in a coarse sample, so that neighbouring lanes read neighbouring numbers.
const int kPart = kThreads / factor_x + 2;
const int kPlane = kPart * factor_x;

shared float columns[source_channels * kPlane];
shared float row[source_channels * kSamples];

void main() {
  int thread = int(gl_LocalInvocationIndex);
  ivec2 coarse = ivec2(int(gl_WorkGroupID.x) * kSamples, int(gl_WorkGroupID.y) * coarse_rows);  // counted from `first`
  int last = min(coarse.y + coarse_rows, size.y);
  ivec2 corner = (first + coarse) * ivec2(factor_x, factor_y) - centre;
  int column = map_index(border_x, corner.x + thread, source_size.x);
  int place = (thread % factor_x) * kPart + thread / factor_x;

  uvec4 ahead[step_rows];
  bool beyond[step_rows];
  [[unroll]] for (int i = 0; i < step_rows; ++i) beyond[i] = true;
  vec4 sums[support_y];
  [[unroll]] for (int j = 0; j < support_y; ++j) sums[j] = vec4(0.0);

  // Step n fetches its rows and sums those of step n - 1.
  int steps_of_row = factor_y / step_rows;
  int steps = (last - coarse.y + support_y - 1) * steps_of_row;
  for (int step = 0; step <= steps; ++step) {
    vec4 v[step_rows];
    [[unroll]] for (int i = 0; i < step_rows; ++i) v[i] = beyond[i] ? outside : decode(unpack_stored(ahead[i]));
    if (step < steps) {
      [[unroll]] for (int i = 0; i < step_rows; ++i) {
        ivec2 q = ivec2(column, map_index(border_y, corner.y + step * step_rows + i, source_size.y));
        beyond[i] = is_beyond(q);
        if (!beyond[i]) ahead[i] = fetch_stored(q);
      }
    }
    int phase = (step + steps_of_row - 1) % steps_of_row * step_rows;
    if (step > 0) {
      // The rows of a step by themselves first, which rounds less.
      [[unroll]] for (int j = 0; j < support_y; ++j) {
        vec4 sum = vec4(0.0);
        [[unroll]] for (int i = 0; i < step_rows; ++i) {
          sum = fma(v[i], vec4(weights[kTaps + phase + i + factor_y * (support_y - 1 - j)]), sum);
        }
        sums[j] += sum;
      }
    }
    if (step > 0 && phase + step_rows == factor_y) {
      // The sums at the front are complete, and right once they have seen all rows of their spline.
      int y = coarse.y + (step - 1) / steps_of_row - (support_y - 1);
      barrier();
      [[unroll]] for (int c = 0; c < source_channels; ++c) columns[c * kPlane + place] = sums[0][c];
      barrier();
      [[unroll]] for (int j = 0; j < support_y - 1; ++j) sums[j] = sums[j + 1];
      sums[support_y - 1] = vec4(0.0);
      for (int m = thread; m < kSamples * source_channels; m += kThreads) {
        int channel = m / kSamples;
        int x = m % kSamples;
        float sum = 0.0;
        for (int i = 0; i < factor_x; ++i) {
          float part = 0.0;
          [[unroll]] for (int j = 0; j < support_x; ++j) {
            part = fma(columns[channel * kPlane + i * kPart + x + j], weights[i + factor_x * j], part);
          }
          sum += part;
        }
        row[channel * kSamples + x] = sum;
      }
      barrier();
      if (thread < kSamples && y >= coarse.y) {
        vec4 sum = vec4(0.0);
        [[unroll]] for (int c = 0; c < source_channels; ++c) sum[c] = row[c * kSamples + thread];
        store_pixel(ivec2(coarse.x + thread, y), sum);
      }
    }
  }
}
