//@ axis STORAGE buffer image
//@ skip STORAGE=image
// sep.fused with cooperative matrices along x and sums in registers along y. A group owns a strip of columns and moves down it. It cuts
// the strip into blocks, as many as 16 numbers are pixels; the pixels at one place of all blocks are a column of a matrix of halves, and
// its product with a banded matrix of the taps of x makes 8 places of every block. A row's products lie in the same lanes as those of
// any other, so lanes add them up along y in f32: nothing is rounded between the axes.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
// skip: columns and rows before the destination where groups begin, of rows none: sums along y do not depend on it. chunk_rows: rows
// that one group makes. column_start: what sums along y begin with.
#define KERNEL_PARAMETERS ivec2 before; ivec2 skip; int chunk_rows; float column_start;
#include "io/pixel.glsl"
#include "io/skip.glsl"
#include "io/spans.glsl"
#include "io/split.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int subgroup_size = 32;
layout(constant_id = 23) const int parts = 1;           // neighbouring eights of columns of each block that a subgroup makes
layout(constant_id = 24) const int lead = 0;            // columns read before the first tap's, so that spans are whole
layout(constant_id = 25) const bool clamps = true;      // sums can leave the range of an integer format
layout(constant_id = 26) const int rows_in_flight = 1;  // rows of a step
layout(constant_id = 27) const int tap_split = 1;       // f16 numbers that a tap of x is split into

// Those of x, then those of y.
#include "sep/weights.glsl"

// Left operands, right ones and sums.
#define Left fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>
#define Right fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>
#define Sum fcoopmatNV<32, gl_ScopeSubgroup, 16, 8>
#define Rounded fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>
const int kDeep = 16;    // places that a product sees
const int kPlaces = 8;   // that it makes
const int kHeld = 16 * kPlaces / subgroup_size;  // numbers of a product in a lane

const int kThreads = int(gl_WorkGroupSize.x);
const int kSubgroups = kThreads / subgroup_size;
const int kBlocks = 4;                              // of four channels
const int kColumns = kSubgroups * parts * kPlaces;  // of a block
const int kSteps = (lead + taps_x + kPlaces - 2) / kDeep + 1;  // products for 8 places
const int kReach = kColumns - kPlaces + kSteps * kDeep;        // columns that matrices read of a block
const int kHaloSpans = (lead + taps_x - 1 + span - 1) / span;  // spans that a block needs of the next one
const int kSpans = kColumns / span;                            // of a block
const int kWidth = kBlocks * kColumns - kHaloSpans * span;     // of the strip: the last block has none beside it

// Spans are shared out so that lanes side by side hold the same place of all blocks.
const int kLoads = rows_in_flight * kBlocks * kSpans / kThreads;  // of a thread, a step
const int kRowsApart = kThreads / kBlocks / kSpans;               // its loads

// In fours of halves, a pixel. Columns of matrices begin an odd number of 16 bytes apart: eight of them lie in different banks.
const int kPitch = kBlocks + 2;
const int kRow = kReach * kPitch;
const int kDoneRow = kColumns * kPitch;
const int kBand = kDeep * kPlaces / 4;
const int kBands = tap_split * kSteps * kBand;
const int kRows = rows_in_flight * kRow;
shared uvec2 rows[kRows > kBands ? kRows : kBands];
const int kDone = rows_in_flight * kDoneRow;
shared uvec2 done[kDone > taps_x ? kDone : taps_x];

// Codes of 8 bits go in as halves whose bits they are, code * 2^-24, which takes no conversion. They come out as 1024 + code: from
// there to 2048 halves are the whole numbers, so rounding a sum to a half rounds it to a code, which lies in the low byte. Channels
// come in the order 0, 2, 1, 3.
const uint kLowBytes = 0x00FF00FFu;

uvec2 halves_of(uint words[kWords], int pixel) {
  if (SPAN_BITS == 16) return uvec2(words[2 * pixel], words[2 * pixel + 1]);
  return uvec2(words[pixel] & kLowBytes, words[pixel] >> 8 & kLowBytes);
}

void put_span(int at, uint words[kWords]) {
  [[unroll]] for (int i = 0; i < span; ++i) rows[at + i * kPitch] = halves_of(words, i);
}

uint within_codes(uint halves) {
  if (!clamps) return halves;
  return packFloat2x16(clamp(unpackFloat2x16(halves), f16vec2(1024.0), f16vec2(1279.0)));
}

void take_span(int at, out uint words[kWords]) {
  [[unroll]] for (int i = 0; i < span; ++i) {
    uvec2 v = done[at + i * kPitch];
    if (SPAN_BITS == 16) {
      words[2 * i] = v.x;
      words[2 * i + 1] = v.y;
    } else {
      words[i] = codes_of_halves(within_codes(v.x), within_codes(v.y));
    }
  }
}

void fetch_at(out uint words[kWords], uint place) {
  uvec4 v = source128[place];
  [[unroll]] for (int w = 0; w < kWords; ++w) words[w] = v[w];
}

float tap_x(int i) { return i >= 0 && i < taps_x ? uintBitsToFloat(done[i].x) : 0.0; }

// Row by row into `rows`: column j of matrix n has the taps of place j for columns 16 n and on.
void make_bands(int thread) {
  for (int i = thread; i < taps_x; i += kThreads) done[i].x = floatBitsToUint(weights[i]);
  barrier();
  for (int i = thread; i < kBands; i += kThreads) {
    int n = i / kBand;
    int row = i / 2 % kDeep;
    int column = i % 2 * 4;
    vec4 v;
    [[unroll]] for (int k = 0; k < 4; ++k) {
      v[k] = rest_of(tap_x(n % kSteps * kDeep + row - (column + k) - lead), n / kSteps);
    }
    rows[i] = uvec2(packFloat2x16(f16vec2(v.xy)), packFloat2x16(f16vec2(v.zw)));
  }
}

Right across[tap_split * kSteps];
float sums[parts * taps_y * kHeld];  // of all rows that are not complete, the oldest first

// Adds row `row` of a step to the results that it belongs to; the first of them is then complete, and goes to that row of `done`.
void filter_row(int row, int first_place) {
  [[unroll]] for (int part = 0; part < parts; ++part) {
    int place = first_place + part * kPlaces;
    Sum sum = Sum(0.0);
    [[unroll]] for (int n = 0; n < kSteps; ++n) {
      Left pixels;
      coopMatLoadNV(pixels, rows, row * kRow + (place + n * kDeep) * kPitch, kPitch, true);
      [[unroll]] for (int h = 0; h < tap_split; ++h) sum = coopMatMulAddNV(pixels, across[h * kSteps + n], sum);
    }
    Sum result;
    [[unroll]] for (int i = 0; i < kHeld; ++i) {
      const int first = (part * kHeld + i) * taps_y;
      float h = sum[i];
      [[unroll]] for (int j = 0; j < taps_y - 1; ++j) {
        sums[first + j] = fma(h, weights[taps_x + taps_y - 1 - j], sums[first + j + 1]);
      }
      sums[first + taps_y - 1] = fma(h, weights[taps_x], column_start);
      result[i] = sums[first];
    }
    coopMatStoreNV(Rounded(result), done, row * kDoneRow + place * kPitch, kPitch, true);
  }
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  int first_place = int(gl_SubgroupID) * parts * kPlaces;
  int left = int(gl_WorkGroupID.x) * kWidth - skipped().x;
  int start = int(gl_WorkGroupID.y) * chunk_rows;
  int end = min(start + chunk_rows, size.y);
  ivec2 corner = origin + ivec2(left - lead, start) - before;

  make_bands(thread);
  barrier();
  [[unroll]] for (int n = 0; n < tap_split * kSteps; ++n) coopMatLoadNV(across[n], rows, n * kBand, 2, false);
  barrier();
  for (int i = thread; i < kRows; i += kThreads) rows[i] = uvec2(0u);
  barrier();
  [[unroll]] for (int i = 0; i < parts * taps_y * kHeld; ++i) sums[i] = 0.0;

  bool whole_in = has_whole_source() && corner.x % span == 0 && corner.x >= 0 && corner.x + kBlocks * kColumns <= source_size.x;
  bool whole_out = is_whole_destination(left) && left + kWidth <= size.x && !is_skipped(left);
  // A thread fetches, puts and stores the same places of every step: of a block, from the first row on.
  int block = thread % kBlocks;
  int place = thread / kBlocks % kSpans;
  int row = thread / kBlocks / kSpans;
  int x = block * kColumns + place * span;
  bool is_shared = place < kHaloSpans && block > 0;
  bool is_made = x < kWidth;
  int put_at = row * kRow + place * span * kPitch + block;
  int take_at = row * kDoneRow + place * span * kPitch + block;
  uint in_pitch = uint(source_pitch) / uint(span);
  uint from = uint(corner.y + row) * in_pitch + uint((corner.x + x) / span) + source_start() / uint(span);
  uint to = whole_place(ivec2(left + x, start - (taps_y - 1) + row));

  uint coming[kLoads][kWords];
  int rows_seen = end - start + taps_y - 1;
  for (int step = -rows_in_flight; step < rows_seen; step += rows_in_flight) {
    if (step >= 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        put_span(put_at + i * kRowsApart * kRow, coming[i]);
        if (is_shared) put_span(put_at + i * kRowsApart * kRow + kColumns * kPitch - 1, coming[i]);
      }
    }
    barrier();
    int next = step + rows_in_flight;
    if (next < rows_seen) {
      // One branch around all that is fetched: otherwise it is copied afterwards, and so waited for.
      if (whole_in && corner.y + next >= 0 && corner.y + next + rows_in_flight <= source_size.y) {
        [[unroll]] for (int i = 0; i < kLoads; ++i) fetch_at(coming[i], from + uint(next + i * kRowsApart) * in_pitch);
      } else {
        [[unroll]] for (int i = 0; i < kLoads; ++i) {
          int y = map_index(border_y, corner.y + row + next + i * kRowsApart, source_size.y);
          fetch_mapped(coming[i], ivec2(corner.x + x, y));
        }
      }
    }
    if (step >= 0) {
      [[unroll]] for (int r = 0; r < rows_in_flight; ++r) filter_row(r, first_place);
    }
    barrier();
    if (step + rows_in_flight >= taps_y && is_made) {
      bool whole = whole_out && step >= taps_y - 1 && next <= rows_seen;
      uint words[kLoads][kWords];
      [[unroll]] for (int i = 0; i < kLoads; ++i) take_span(take_at + i * kRowsApart * kDoneRow, words[i]);
      if (whole) {
        [[unroll]] for (int i = 0; i < kLoads; ++i) store_at(words[i], to + uint(step + i * kRowsApart) * rows_apart());
      } else {
        [[unroll]] for (int i = 0; i < kLoads; ++i) {
          int made = step + i * kRowsApart + row;
          if (made >= taps_y - 1 && made < rows_seen) store_each(words[i], ivec2(left + x, start - (taps_y - 1) + made));
        }
      }
    }
  }
}
