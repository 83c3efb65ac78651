//@ axis STORAGE buffer image
//@ axis MATH f32 half
//@ skip STORAGE=image
// sep.fused without shared memory: a subgroup owns a strip of columns, a lane a span of neighbouring pixels, and moves down.
// A lane loads its own pixels of a row, asks its neighbours in the subgroup for those that the taps of x reach, and adds
// the row into the sums of all rows that it belongs to, in registers. Nobody waits at barriers; lanes at both ends of the
// subgroup only hold the halo. With MATH half two numbers of 8 bits or f16 are summed at once, in f16.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
// chunk_rows: rows that one group makes. scale: from sums to codes.
#define KERNEL_PARAMETERS ivec2 before; int chunk_rows; float scale;
#include "io/pixel.glsl"
#include "io/spans.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int subgroup_size = 32;
layout(constant_id = 23) const int rows_in_flight = 4;  // rows on their way: 1 to 4
layout(constant_id = 24) const int before_x = 0;        // taps to the left
layout(constant_id = 25) const bool clamps = true;      // sums can leave the range of an integer format
// Weights that are one cost nothing: what they weigh begins a sum.
layout(constant_id = 26) const int one_x = -1;        // the tap of x that is one, if any
layout(constant_id = 27) const bool first_y_is_one = false;

// Those of x, then those of y. At indices known to the compiler: they are operands, not loads.
#include "sep/weights.glsl"

const int kSubgroups = int(gl_WorkGroupSize.x) / subgroup_size;
const int kAfter = taps_x - 1 - before_x;
const int kLanesLeft = (before_x + span - 1) / span;  // that only hold the halo
const int kLanesRight = (kAfter + span - 1) / span;
const int kWidth = (subgroup_size - kLanesLeft - kLanesRight) * span;  // columns of the strip
const int kWordsLeft = (before_x * source_channels + kInWord - 1) / kInWord;  // of neighbours
const int kWordsRight = (kAfter * source_channels + kInWord - 1) / kInWord;
const int kSkipped = kWordsLeft * kInWord - before_x * source_channels;       // numbers before the first tap's
const int kAllWords = kWordsLeft + kWords + kWordsRight;
const int kReach = (span + taps_x - 1) * source_channels;                     // numbers that the taps see

// Words of the lanes at both sides, and between them the lane's own.
uint shuffled_word(uint own[kWords], int lane, int i) {
  int w = i - kWordsLeft;
  int lanes = w < 0 ? -((-w + kWords - 1) / kWords) : w / kWords;
  uint word = own[w - lanes * kWords];
  return lanes == 0 ? word : subgroupShuffle(word, uint(lane + lanes));
}

#if MATH == MATH_half
#include "io/pairs.glsl"

void see_row(uint own[kWords], int lane, out f16vec2 v[kReach]) {
  uint all[kAllWords];
  [[unroll]] for (int i = 0; i < kAllWords; ++i) all[i] = shuffled_word(own, lane, i);
  to_pairs(all, kSkipped, v);
}

// add_row() adds a row to all results that it belongs to; the first of them is then complete, and finished() packs it.
// Codes: the last rows, filtered along x, the newest last. They move up a row by being renamed, where as many are on their way as
// lie between first and last, or a multiple. Floats: sums as in f32.
f16vec2 rows_seen[taps_y * kPairs];

void start_sums() {
  [[unroll]] for (int i = 0; i < taps_y * kPairs; ++i) rows_seen[i] = f16vec2(0.0);
  round_weights();
}

void add_row(uint own[kWords], int lane) {
  f16vec2 v[kReach];
  see_row(own, lane, v);
  [[unroll]] for (int i = 0; i < (taps_y - 1) * kPairs; ++i) rows_seen[i] = rows_seen[i + kPairs];
  [[unroll]] for (int i = 0; i < kPairs; ++i) rows_seen[(taps_y - 1) * kPairs + i] = filtered_pair(v, i);
}

void finished(out uint words[kWords]) {
  f16vec2 made[kPairs];
  [[unroll]] for (int i = 0; i < kPairs; ++i) {
    f16vec2 column[kMostTaps];
    [[unroll]] for (int t = 0; t < taps_y; ++t) column[t] = rows_seen[t * kPairs + i];
    made[i] = summed_pair(column, taps_x, taps_y);
  }
  pack_pairs(made, scale, words);
}
#else
float sums[taps_y * kNumbers];

void start_sums() {
  [[unroll]] for (int i = 0; i < taps_y * kNumbers; ++i) sums[i] = 0.0;
}

void add_number(int i, float h) {
  [[unroll]] for (int j = 0; j < taps_y - 1; ++j) {
    sums[j * kNumbers + i] = fma(h, weights[taps_x + taps_y - 1 - j], sums[(j + 1) * kNumbers + i]);
  }
  sums[(taps_y - 1) * kNumbers + i] = first_y_is_one ? h : h * weights[taps_x];
}

void add_row(uint own[kWords], int lane) {
  uint all[kAllWords];
  [[unroll]] for (int i = 0; i < kAllWords; ++i) all[i] = shuffled_word(own, lane, i);
  float v[kReach];
  [[unroll]] for (int i = 0; i < kReach; ++i) v[i] = number(all[(i + kSkipped) / kInWord], (i + kSkipped) % kInWord);
  [[unroll]] for (int i = 0; i < kNumbers; ++i) {
    const int begin = one_x < 0 ? 0 : one_x;
    float h = v[i + begin * source_channels];
    if (one_x < 0) h *= weights[0];
    [[unroll]] for (int t = 0; t < taps_x; ++t) {
      if (t != begin) h = fma(v[i + t * source_channels], weights[t], h);
    }
    add_number(i, h);
  }
}

void finished(out uint words[kWords]) {
  float front[kNumbers];
  [[unroll]] for (int i = 0; i < kNumbers; ++i) {
    const float whole = clamps ? 0.0 : rounder(i);
    front[i] = source_is_float ? sums[i] : fma(sums[i], scale / lift(i), whole);
  }
  pack_numbers(front, clamps ? kAnywhere : kRounded, words);
}
#endif

int lane, left, start, rows;
ivec2 corner;
bool makes, whole_in, whole_out;

// Where `whole`, all lanes of the subgroup read and write whole spans.
void fetch_row(bool whole, int row, out uint words[kWords]) {
  int y = map_index(border_y, corner.y + min(row, rows - 1), source_size.y);
  if (whole || (whole_in && y >= 0)) {
    fetch_whole(words, ivec2(corner.x, max(y, 0)));
  } else {
    fetch_mapped(words, ivec2(corner.x, y));
  }
}

void make_row(bool whole, int row, uint words[kWords]) {
  bool is_outside = border_y == kConstant && uint(corner.y + row) >= uint(source_size.y);
  if (whole && is_outside) fetch_mapped(words, ivec2(corner.x, kOutside));
  add_row(words, lane);
  int done = row - (taps_y - 1);
  if (makes && done >= 0 && row < rows) {
    uint made[kWords];
    finished(made);
    if (whole || whole_out) {
      store_whole(made, ivec2(left, start + done));
    } else {
      store_each(made, ivec2(left, start + done));
    }
  }
}

// Of a step that makes `rows_in_flight` rows: rows on their way have registers of their own, which a loop would have to index.
#define STEP(n, words)                                             \
  if (n < rows_in_flight) {                                                 \
    uint now[kWords];                                              \
    [[unroll]] for (int w = 0; w < kWords; ++w) now[w] = words[w]; \
    fetch_row(whole, row + n + rows_in_flight, words);                      \
    make_row(whole, row + n, now);                                 \
  }

void march(bool whole) {
  uint coming0[kWords], coming1[kWords], coming2[kWords], coming3[kWords];
  fetch_row(whole, 0, coming0);
  if (rows_in_flight > 1) fetch_row(whole, 1, coming1);
  if (rows_in_flight > 2) fetch_row(whole, 2, coming2);
  if (rows_in_flight > 3) fetch_row(whole, 3, coming3);
  for (int row = 0; row < rows; row += rows_in_flight) {
    STEP(0, coming0)
    STEP(1, coming1)
    STEP(2, coming2)
    STEP(3, coming3)
  }
}

void main() {
  lane = int(gl_SubgroupInvocationID);
  int strip = int(gl_WorkGroupID.x) * kSubgroups + int(gl_SubgroupID);
  left = strip * kWidth + (lane - kLanesLeft) * span;
  start = int(gl_WorkGroupID.y) * chunk_rows;
  int end = min(start + chunk_rows, size.y);
  makes = lane >= kLanesLeft && lane < subgroup_size - kLanesRight && left < size.x;
  corner = origin + ivec2(left, start - before.y);
  rows = end - start + taps_y - 1;
  start_sums();
  whole_in = is_whole_source(corner.x);
  whole_out = is_whole_destination(left);
  if (subgroupAll(whole_in && whole_out)) {
    march(true);
  } else {
    march(false);
  }
}
