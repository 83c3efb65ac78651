//@ axis STORAGE buffer image
//@ skip STORAGE=image
//@ axis SUMS u16x2 u32 f32
// The sums of box_block_sums.comp for pixels that are stored as they are: a lane owns a span of columns.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#define KERNEL_PARAMETERS \
  ivec2 part;  \
  int height;  /* rows of a band */ \
  float scale;
#include "io/pixel.glsl"
#include "io/spans.glsl"
#include "box/box_spans.glsl"
#include "io/ragged.glsl"

layout(constant_id = 20) const int lanes = 8;           // of a subgroup that make a strip, a power of two
layout(constant_id = 22) const int rows_in_flight = 1;  // rows that are fetched together, a power of two
layout(constant_id = 23) const bool has_rows = true;
layout(constant_id = 24) const int shift = 0;           // pixels from a whole span to where a lane's begins
layout(constant_id = 25) const int rest = 0;            // pixels of a part of a strip beyond whole spans
layout(constant_id = 27) const int kinds = 2;           // of sums of rows: whole ones, and parts where there are any

const int kThreads = int(gl_WorkGroupSize.x);
const int kWidth = lanes * span;  // of a strip
const int kOwn = span * kPlanes;
// Floats are summed in short runs, which lose less.
const int kRun = 16;
const bool kHasRuns = SUMS == SUMS_f32;
const int kRunOwn = kHasRuns ? kOwn : 1;

#if SUMS == SUMS_f32
#define to_bits floatBitsToUint
#else
#define to_bits(v) (v)
#endif

int lane, band, strip, top;
ivec2 corner;
bool is_there;

// Of a band, at the index of its first column.
void store_columns(int kind, NUMBER sums[kOwn]) {
  int row = (2 * band + kind) * kPlanes;
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    uint index = uint((row + q) * size.x + corner.x + lane * span) + destination_start();
    [[unroll]] for (int p = 0; p < span; ++p) destination32[index + uint(p)] = to_bits(sums[p * kPlanes + q]);
  }
}

void store_row(int kind, int y, NUMBER v[kPlanes]) {
  int columns = 2 * (size.y / height) * kPlanes * size.x;
  int row = (2 * strip + kind) * kPlanes;
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    destination32[uint(columns + (row + q) * size.y + y) + destination_start()] = to_bits(v[q]);
  }
}

// What a step has of each row: its sum and that of a part. Over the lanes of a strip, of which each keeps half of the values that it has as
// long as there are two; kLeft in the end, the first of which is first_left().
const int kValues = rows_in_flight * kinds;
const int kLeft = kValues > lanes ? kValues / lanes : 1;

void sum_across(inout NUMBER values[kValues]) {
  int count = kValues;
  [[unroll]] for (int step = 1; step < lanes; step *= 2) {
    bool is_upper = (lane & step) != 0;
    if (count > 1) {
      count /= 2;
      [[unroll]] for (int i = 0; i < count; ++i) {
        NUMBER given = is_upper ? values[i] : values[i + count];
        NUMBER kept = is_upper ? values[i + count] : values[i];
        values[i] = kept + subgroupShuffleXor(given, uint(step));
      }
    } else {
      values[0] += subgroupShuffleXor(values[0], uint(step));
    }
  }
}

int first_left() {
  int value = 0;
  [[unroll]] for (int step = 1; step < lanes && step < kValues; step *= 2) value = 2 * value + ((lane & step) != 0 ? 1 : 0);
  return value * kLeft;
}

// The row of the source that stands in for y of the band.
int row_of(int y) { return map_index(border_y, top + min(y, height - 1), source_size.y); }

void fetch_step(bool whole, int x, int first, out uint coming[rows_in_flight][kRaw]) {
  [[unroll]] for (int n = 0; n < rows_in_flight; ++n) {
    int y = row_of(first + n);
    fetch_ragged(whole, ivec2(x, whole ? max(y, 0) : y), shift, coming[n]);
  }
}

void slide(bool whole, int x) {
  NUMBER down[kOwn];
  NUMBER run[kRunOwn];  // of the rows since the last multiple of kRun
  [[unroll]] for (int i = 0; i < kOwn; ++i) down[i] = NUMBER(0);
  [[unroll]] for (int i = 0; i < kRunOwn; ++i) run[i] = NUMBER(0);
  int part_lane = part.x / span;

  uint coming[rows_in_flight][kRaw];
  fetch_step(whole, x, 0, coming);
  for (int first = 0; first < height; first += rows_in_flight) {
    uint now[rows_in_flight][kWords];
    [[unroll]] for (int n = 0; n < rows_in_flight; ++n) {
      put_together(whole, shift, coming[n], now[n]);
      if (whole && border_y == kConstant && row_of(first + n) < 0) fetch_mapped(now[n], ivec2(x, kOutside));
      // Nothing where the band ends within a step.
      [[unroll]] for (int w = 0; w < kWords; ++w) now[n][w] = first + n < height ? now[n][w] : 0u;
    }
    // The next rows are on their way while these are summed.
    fetch_step(whole, x, first + rows_in_flight, coming);
    NUMBER values[kPlanes][kValues];
    [[unroll]] for (int n = 0; n < rows_in_flight; ++n) {
      if (first + n == part.y && part.y > 0) {
        NUMBER v[kOwn];
        [[unroll]] for (int i = 0; i < kOwn; ++i) v[i] = kHasRuns ? down[i] + run[i] : down[i];
        if (is_there) store_columns(1, v);
      }
      [[unroll]] for (int q = 0; q < kPlanes; ++q) {
        NUMBER total = NUMBER(0);
        NUMBER begun = NUMBER(0);  // of the first `rest` pixels
        [[unroll]] for (int p = 0; p < span; ++p) {
          NUMBER v = number_at(now[n], p, q);
#if SUMS == SUMS_f32
          v = entering(v);
          run[p * kPlanes + q] += v;
#else
          down[p * kPlanes + q] += v;
#endif
          if (p == rest) begun = total;
          total += v;
        }
        values[q][n] = total;
        if (kinds > 1) values[q][rows_in_flight + n] = lane < part_lane ? total : lane == part_lane ? begun : NUMBER(0);
      }
#if SUMS == SUMS_f32
      if ((first + n) % kRun == kRun - 1) {
        [[unroll]] for (int i = 0; i < kOwn; ++i) {
          down[i] += run[i];
          run[i] = NUMBER(0);
        }
      }
#endif
    }
    if (has_rows) {
      [[unroll]] for (int q = 0; q < kPlanes; ++q) sum_across(values[q]);
      [[unroll]] for (int i = 0; i < kLeft; ++i) {
        int value = first_left() + i;
        int row = first + value % rows_in_flight;
        NUMBER v[kPlanes];
        [[unroll]] for (int q = 0; q < kPlanes; ++q) v[q] = values[q][i];
        if (lane < kValues && row < height && is_there) store_row(value / rows_in_flight, corner.y + row, v);
      }
    }
  }
  if (!is_there) return;
#if SUMS == SUMS_f32
  [[unroll]] for (int i = 0; i < kOwn; ++i) down[i] += run[i];
#endif
  store_columns(0, down);
}

void main() {
  int thread = int(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
  lane = thread % lanes;
  strip = int(gl_WorkGroupID.x) * (kThreads / lanes) + thread / lanes;
  band = int(gl_WorkGroupID.y);
  corner = ivec2(strip * kWidth, band * height);
  top = origin.y + corner.y;
  is_there = corner.x < size.x;
  int x = origin.x + corner.x + lane * span;
  if (subgroupAll(is_whole_ragged(x, shift))) {
    slide(true, x);
  } else {
    slide(false, x);
  }
}
