//@ axis STORAGE buffer image
//@ skip STORAGE=image
// gauss.decimate, first step, for pixels that are not converted: the sums of gauss_decimate.comp, but a lane owns a span of
// columns, which it fetches at once. Coarse samples are left as f32.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#define KERNEL_PARAMETERS \
  ivec2 first; ivec2 centre;  /* the first coarse sample; the tap of a spline that lies on its coarse sample's own pixel */ \
  int coarse_rows;            /* rows of coarse samples that one group makes */ \
  float scale;                /* numbers times this are pixels */
#include "io/pixel.glsl"
#include "io/spans.glsl"

layout(constant_id = 20) const int factor_x = 2;
layout(constant_id = 21) const int factor_y = 2;
layout(constant_id = 22) const int support_x = 4;  // that a pixel belongs to
layout(constant_id = 23) const int support_y = 4;
layout(constant_id = 24) const int step_rows = 2;  // rows that are fetched ahead; divides factor_y

// The splines of x and of y, coarse samples * factor taps each.
#include "sep/weights.glsl"

const int kThreads = int(gl_WorkGroupSize.x);
const int kColumns = kThreads * span;
const int kSamples = (kColumns - (span - 1) - (support_x - 1) * factor_x) / factor_x;  // that a group makes of a row
const int kTaps = support_x * factor_x;
const bool kByStep = source_bits == 32 || !source_is_float && source_bits == 16;
const bool kRowAStep = factor_y == step_rows;  // each step makes a row of coarse samples
const int kItems = (kSamples * source_channels + kThreads - 1) / kThreads;

// Coarse samples begin an odd number of places apart: lanes of neighbouring coarse samples then read from different banks.
const int kPitch = factor_x % 2 == 0 ? factor_x + 1 : factor_x;
const int kPlaces = (kColumns / factor_x + 2) * kPitch;

shared float columns[kPlaces * source_channels];

// Of a column counted from the first coarse sample's first, which may lie before it by less than a coarse sample or a span.
int place_of(int column) {
  const int kBefore = (span + factor_x - 1) / factor_x;  // coarse samples
  int shifted = column + kBefore * factor_x;
  return (shifted / factor_x - kBefore) * kPitch + shifted % factor_x;
}

// Where `whole`, all columns of the group lie inside the image, in whole spans.
void fetch_row(bool whole, ivec2 p, out uint words[kWords]) {
  int y = map_index(border_y, p.y, source_size.y);
  if (whole && (border_y != kConstant || y >= 0)) {
    fetch_whole(words, ivec2(p.x, y));
  } else {
    fetch_mapped(words, ivec2(p.x, y));
  }
}

void march(bool whole) {
  int thread = int(gl_LocalInvocationIndex);
  ivec2 coarse = ivec2(int(gl_WorkGroupID.x) * kSamples, int(gl_WorkGroupID.y) * coarse_rows);  // counted from `first`
  int last = min(coarse.y + coarse_rows, size.y);
  ivec2 corner = (first + coarse) * ivec2(factor_x, factor_y) - centre;
  int lead = positive_remainder(corner.x, span);  // columns before the first coarse sample's
  int x = corner.x - lead + thread * span;
  int places[span];
  [[unroll]] for (int i = 0; i < span; ++i) {
    // What lies before the first coarse sample, to which the first kPitch places belong, is not read.
    places[i] = max(place_of(thread * span + i - lead) + kPitch, 0) * source_channels;
  }

  uint coming[step_rows * kWords];
  float sums[support_y * kNumbers];
  [[unroll]] for (int i = 0; i < support_y * kNumbers; ++i) sums[i] = 0.0;

  // Step n fetches its rows and sums those of step n - 1.
  int steps_of_row = factor_y / step_rows;
  int steps = (last - coarse.y + support_y - 1) * steps_of_row;
  for (int step = 0; step <= steps; ++step) {
    uint now[step_rows * kWords];
    [[unroll]] for (int i = 0; i < step_rows * kWords; ++i) now[i] = coming[i];
    if (step < steps) {
      [[unroll]] for (int i = 0; i < step_rows; ++i) {
        uint words[kWords];
        fetch_row(whole, ivec2(x, corner.y + step * step_rows + i), words);
        [[unroll]] for (int w = 0; w < kWords; ++w) coming[i * kWords + w] = words[w];
      }
    }
    if (step == 0) continue;
    int phase = (step + steps_of_row - 1) % steps_of_row * step_rows;
    [[unroll]] for (int n = 0; n < kNumbers; ++n) {
      float v[step_rows];
      [[unroll]] for (int i = 0; i < step_rows; ++i) v[i] = number(now[i * kWords + n / kInWord], n % kInWord);
      [[unroll]] for (int j = 0; j < support_y; ++j) {
        // Sums move up by a coarse sample as they are read.
        float before = !kRowAStep ? sums[j * kNumbers + n] : j + 1 < support_y ? sums[(j + 1) * kNumbers + n] : 0.0;
        // The rows of a step by themselves first, which rounds less, where that matters.
        float sum = kByStep ? 0.0 : before;
        [[unroll]] for (int i = 0; i < step_rows; ++i) {
          sum = fma(v[i], weights[kTaps + phase + i + factor_y * (support_y - 1 - j)], sum);
        }
        sums[j * kNumbers + n] = kByStep ? before + sum : sum;
      }
    }
    if (phase + step_rows == factor_y) {
      // The sums at the front are complete, and right once they have seen all rows of their spline.
      int y = coarse.y + (step - 1) / steps_of_row - (support_y - 1);
      barrier();
      [[unroll]] for (int n = 0; n < kNumbers; ++n) {
        columns[places[n / source_channels] + n % source_channels] = sums[n] * (scale / lift(n));
      }
      barrier();
      if (!kRowAStep) {
        [[unroll]] for (int i = 0; i < (support_y - 1) * kNumbers; ++i) sums[i] = sums[i + kNumbers];
        [[unroll]] for (int n = 0; n < kNumbers; ++n) sums[(support_y - 1) * kNumbers + n] = 0.0;
      }
      if (y >= coarse.y) {
        [[unroll]] for (int k = 0; k < kItems; ++k) {
          int item = thread + k * kThreads;
          int m = item / source_channels;
          if (m < kSamples && coarse.x + m < size.x) {
            int c = item % source_channels;
            float sum = 0.0;
            for (int i = 0; i < factor_x; ++i) {
              float part = 0.0;
              [[unroll]] for (int j = 0; j < support_x; ++j) {
                part = fma(columns[((m + j + 1) * kPitch + i) * source_channels + c], weights[i + factor_x * j], part);
              }
              sum += part;
            }
            uint index = destination_index(ivec2(coarse.x + m, y));
            destination32[index * uint(source_channels) + uint(c)] = floatBitsToUint(sum);
          }
        }
      }
    }
  }
}

void main() {
  int left = (first.x + int(gl_WorkGroupID.x) * kSamples) * factor_x - centre.x;
  left -= positive_remainder(left, span);
  if (has_whole_source() && left >= 0 && left + kColumns <= source_size.x) {
    march(true);
  } else {
    march(false);
  }
}
