//@ axis STORAGE buffer image
//@ skip STORAGE=image
//@ axis SUMS u16x2 u32 f32
// box.any without shared memory. From one row to the next a window's sum changes by the sum over its columns of (entering -
// leaving row). A subgroup owns a strip of columns and moves down a band of rows; a lane takes these differences for a span of
// neighbouring pixels, and lanes add them up along the strip by shuffles. A lane keeps the sums of the windows that end at its own
// pixels: what the differences add up to there is its own, what they add up to where the windows begin it asks another lane for.
// Nobody waits at barriers; lanes at the left end of the subgroup only hold the halo.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#define KERNEL_PARAMETERS \
  ivec2 before;     /* pixels of the window before its own */ \
  ivec2 window;     /* all of them */ \
  ivec2 skip;       /* where the destination begins in what the groups make */ \
  int height;       /* rows of a band */ \
  int lanes_back;   /* from where a window ends to where it begins, whole spans; rest more pixels */ \
  float scale;      /* from sums to what is stored; of floats, of each pixel */ \
  float gain;       /* of floats, from sums to what is stored */
#include "io/pixel.glsl"
#include "io/spans.glsl"
#include "box/box_spans.glsl"

layout(constant_id = 20) const int subgroup_size = 32;
layout(constant_id = 21) const int lanes_left = 1;      // that only hold the halo, at the left end
layout(constant_id = 22) const int rest = 0;            // see lanes_back
layout(constant_id = 23) const int shift = 0;           // pixels from where a lane's results begin to its own
layout(constant_id = 24) const int rows_in_flight = 1;  // rows that are on their way
layout(constant_id = 25) const bool sums_are_packed = false;  // of words: two windows' sums in one

const int kSubgroups = int(gl_WorkGroupSize.x) / subgroup_size;
const int kLanesRight = shift > 0 ? 1 : 0;
const int kWidth = (subgroup_size - lanes_left - kLanesRight) * span;  // columns of the strip

const int kOwn = span * kPlanes;

// ---- What is summed of a span

// Where halves are taken apart they have to be positive: so much is added to both. Else a negative one borrows from the other and gives
// it back once it has been added to its window's sum.
const uint kLift = SUMS == SUMS_u16x2 && !sums_are_packed ? 255u : 0u;

void changes_of(uint entering[kWords], uint leaving[kWords], out NUMBER v[kOwn]) {
  [[unroll]] for (int i = 0; i < kOwn; ++i) {
    NUMBER enters = number_at(entering, i / kPlanes, i % kPlanes);
    NUMBER leaves = number_at(leaving, i / kPlanes, i % kPlanes);
#if SUMS == SUMS_f32
    v[i] = (enters - leaves) * scale;
#else
    v[i] = enters + kLift * 0x10001u - leaves;
#endif
  }
}

// ---- Along the strip

int lane;

// From the numbers of a span to what those of windows that end at its pixels add up to. Halves of words may overflow on the way:
// those of a window do not, and differences of sums know nothing of the rest.
void to_windows(inout NUMBER v[kOwn]) {
  NUMBER up_to[kOwn + kPlanes];  // what lies before a pixel of the lane; behind the last one
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    NUMBER own = NUMBER(0);
    [[unroll]] for (int p = 0; p < span; ++p) {
      up_to[p * kPlanes + q] = own;
      own += v[p * kPlanes + q];
    }
    NUMBER all = own;
    [[unroll]] for (int step = 1; step < subgroup_size; step *= 2) {
      NUMBER other = subgroupShuffle(all, uint(lane >= step ? lane - step : lane));
#if SUMS == SUMS_f32
      if (lane >= step) all += other;
#else
      all += other * uint(min(lane / step, 1));  // where it is there: one instruction instead of two, of the units that wait
#endif
    }
    up_to[span * kPlanes + q] = all;
    [[unroll]] for (int p = 0; p < span; ++p) up_to[p * kPlanes + q] += all - own;
  }
  [[unroll]] for (int i = 0; i < kOwn; ++i) {
    bool is_near = i / kPlanes >= rest;
    int from = lane - lanes_back - (is_near ? 0 : 1);
    NUMBER begin = subgroupShuffle(up_to[i - rest * kPlanes + (is_near ? 0 : kOwn)], uint(from < 0 ? lane : from));
    v[i] = up_to[i + kPlanes] - begin;  // of a lane of the halo anything: packing keeps it out of the bits of others
  }
}

// ---- Sums of windows

#if SUMS == SUMS_f32
float sums[kNumbers];
#else
uint sums[kNumbers];              // if they are halves, of kOwn words
const uint kSumsBegin = sums_are_short && !sums_are_packed ? kFloat : 0u;
#endif

// What a half of a word, or all of it, says of channel c.
uint half_of(uint word, int c) {
#if SUMS == SUMS_u16x2
  return c < kPlanes ? word & 0xFFFFu : word >> 16;
#else
  return word;
#endif
}

void add_windows(NUMBER v[kOwn]) {
#if SUMS == SUMS_f32
  [[unroll]] for (int n = 0; n < kNumbers; ++n) sums[n] += v[n];
#else
  if (sums_are_packed) {
    [[unroll]] for (int i = 0; i < kOwn; ++i) sums[i] += v[i];
  } else {
    uint less = kLift * uint(window.x);
    [[unroll]] for (int n = 0; n < kNumbers; ++n) {
      int c = n % source_channels;
      sums[n] += half_of(v[n / source_channels * kPlanes + c % kPlanes], c) - less;
    }
  }
#endif
}

// Begins with the windows of the row before the band, of which these are the sums of columns.
void start_windows(NUMBER down[kOwn]) {
#if SUMS == SUMS_f32
  to_windows(down);
  [[unroll]] for (int n = 0; n < kNumbers; ++n) sums[n] = down[n];
#else
  [[unroll]] for (int n = 0; n < kNumbers; ++n) sums[n] = kSumsBegin;
  [[unroll]] for (int c = 0; c < source_channels; c += kPlanes) {  // halves one after the other: sums of windows are longer
    uint v[kOwn];
    [[unroll]] for (int i = 0; i < kOwn; ++i) v[i] = half_of(down[i], c);
    to_windows(v);
    [[unroll]] for (int i = 0; i < kOwn; ++i) {
      int of_pixel = c + i % kPlanes;
      if (of_pixel < source_channels) {
        int place = sums_are_packed ? i : i / kPlanes * source_channels + of_pixel;
        sums[place] += sums_are_packed && c > 0 ? v[i] << 16 : v[i];
      }
    }
  }
#endif
}

#if SUMS != SUMS_f32
// The sum of number n as a float. Below 2^23 it is 2^23 more: the sum lies in the bits.
float float_of(int n) {
  if (!sums_are_short) return float(sums[n]);
  if (!sums_are_packed) return uintBitsToFloat(sums[n]);
  int c = n % source_channels;
  uint word = sums[n / source_channels * kPlanes + c % kPlanes];
  return uintBitsToFloat(c < kPlanes ? low_halves(word, kFloat >> 16) : (word >> 16) + kFloat);
}
#endif

void means_of_windows(out float means[kNumbers]) {
  [[unroll]] for (int n = 0; n < kNumbers; ++n) {
#if SUMS == SUMS_f32
    means[n] = sums[n] * gain;
#else
    means[n] = mean_of(float_of(n), n);
#endif
  }
}

// The span of the destination that begins with the window which ends at the lane's pixel `shift`; its last ones end in the next lane.
void finished(out uint words[kWords]) {
  float means[kNumbers];
  means_of_windows(means);
  uint own[kWords];
  pack_numbers(means, kMeansAre, own);
  const int kBits = shift * source_channels * SPAN_BITS;
  const int kSkip = kBits / 32;
  const int kShift = kBits % 32;
  uint all[kWords + 1 + kSkip];
  [[unroll]] for (int w = 0; w < kWords + 1 + kSkip; ++w) {
    all[w] = w < kWords ? own[w] : shift > 0 ? subgroupShuffle(own[w - kWords], uint(min(lane + 1, subgroup_size - 1))) : 0u;
  }
  [[unroll]] for (int w = 0; w < kWords; ++w) {
    words[w] = kShift == 0 ? all[w + kSkip] : all[w + kSkip] >> kShift | all[w + kSkip + 1] << (32 - kShift);
  }
}

// ---- Down the band

int first, left, top, rows, row_of_band;
bool makes, whole_in, whole_out;

// Where `whole`, all lanes of the subgroup read and write whole spans.
void fetch_row(bool whole, int row, out uint words[kWords]) {
  int y = map_index(border_y, row, source_size.y);
  if (whole || (whole_in && y >= 0)) {
    fetch_whole(words, ivec2(first, max(y, 0)));
  } else {
    fetch_mapped(words, ivec2(first, y));
  }
}

// Of rows that are fetched ahead as if they lay in the image.
void settle_row(bool whole, int row, inout uint words[kWords]) {
  bool is_outside = border_y == kConstant && uint(row) >= uint(source_size.y);
  if (whole && is_outside) fetch_mapped(words, ivec2(first, kOutside));
}

// The sums of columns of the row before the band.
void sum_columns(bool whole, out NUMBER down[kOwn]) {
  [[unroll]] for (int i = 0; i < kOwn; ++i) down[i] = NUMBER(0);
  for (int y = 0; y < window.y; y += rows_in_flight) {
    uint fetched[rows_in_flight][kWords];
    [[unroll]] for (int n = 0; n < rows_in_flight; ++n) fetch_row(whole, top + min(y + n, window.y - 1), fetched[n]);
    [[unroll]] for (int n = 0; n < rows_in_flight; ++n) {
      if (y + n < window.y) {
        settle_row(whole, top + y + n, fetched[n]);
        [[unroll]] for (int i = 0; i < kOwn; ++i) {
#if SUMS == SUMS_f32
          down[i] += number_at(fetched[n], i / kPlanes, i % kPlanes) * scale;
#else
          down[i] += number_at(fetched[n], i / kPlanes, i % kPlanes);
#endif
        }
      }
    }
  }
}

void slide(bool whole) {
  NUMBER v[kOwn];
  sum_columns(whole, v);
  start_windows(v);
  uint leaving[rows_in_flight][kWords], entering[rows_in_flight][kWords];
  [[unroll]] for (int n = 0; n < rows_in_flight; ++n) {
    fetch_row(whole, top + n, leaving[n]);
    fetch_row(whole, top + n + window.y, entering[n]);
  }
  for (int y = 0; y < rows; y += rows_in_flight) {
    [[unroll]] for (int n = 0; n < rows_in_flight; ++n) {
      int row = top + min(y + n, rows - 1);
      settle_row(whole, row, leaving[n]);
      settle_row(whole, row + window.y, entering[n]);
      changes_of(entering[n], leaving[n], v);
      int next = top + min(y + n + rows_in_flight, rows - 1);
      fetch_row(whole, next, leaving[n]);
      fetch_row(whole, next + window.y, entering[n]);
      to_windows(v);
      add_windows(v);
      uint made[kWords];
      finished(made);
      ivec2 to = ivec2(left, row_of_band + y + n);
      if (makes && y + n < rows && to.y >= 0) {
        if (whole || whole_out) {
          store_whole(made, to);
        } else {
          store_inside(made, to, size.x - skip.x);
        }
      }
    }
  }
}

void main() {
  lane = int(gl_SubgroupInvocationID);
  int strip = int(gl_WorkGroupID.x) * kSubgroups + int(gl_SubgroupID);
  int band = int(gl_WorkGroupID.y) * height;
  // Results of a lane and, `shift` pixels after them, the pixels that their windows end with, which begin at a multiple of a span.
  int made = strip * kWidth + (lane - lanes_left) * span;
  left = made - skip.x;
  row_of_band = band - skip.y;
  first = origin.x + made + (window.x - 1 - before.x) - shift;
  top = origin.y + band - before.y - 1;  // the row that leaves when the band's first is made
  rows = min(height, size.y - band);
  makes = lane >= lanes_left && lane < subgroup_size - kLanesRight && made < size.x && left + span > 0;
  whole_in = is_whole_source(first);
  whole_out = left >= 0 && left + span <= size.x - skip.x && is_whole_destination(left);
  if (subgroupAll(whole_in && (whole_out || !makes))) {
    slide(true);
  } else {
    slide(false);
  }
}
