//@ checked
//@ axis STORAGE buffer image
//@ skip STORAGE=image
//@ axis SUMS u16x2 u32 f32
// The sums of box_four_corner.comp for pixels that are stored as they are: a lane owns a span of columns. Where the spans begin that
// windows give up and take in, beside multiples of their length, a pipeline knows: nothing is spent on moving whole words to their
// places.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#define KERNEL_PARAMETERS \
  ivec2 before;    /* pixels of the window before its own */ \
  ivec2 window;    /* all of them */ \
  ivec2 skip;      /* where the destination begins in what the groups make */ \
  ivec2 first;     /* strip and band among those of the windows */ \
  int bands;       /* of which there are windows, */ \
  int columns;     /* columns of one of these, */ \
  int rows;        /* and rows of those of a strip */ \
  int height;      /* rows of a band */ \
  uint auxiliary_stride;  /* words from the windows of one image to those of the next */ \
  float scale;     /* from sums to what is stored; of floats, of each pixel */ \
  float gain;      /* of floats, from sums to what is stored */
#include "io/pixel.glsl"
#include "io/spans.glsl"
#include "box/box_spans.glsl"
#include "io/ragged.glsl"

layout(constant_id = 20) const int lanes = 8;           // of a subgroup that make a strip, a power of two
layout(constant_id = 22) const int rows_in_flight = 1;  // rows that are on their way
layout(constant_id = 23) const int together = 1;        // sums of columns that are on their way at once
layout(constant_id = 24) const int shift_left = 0;   // pixels from whole spans to where windows begin to leave, and
layout(constant_id = 25) const int shift_right = 0;  // to where they end

#if SUMS == SUMS_f32
#define from_word uintBitsToFloat
#else
#define from_word(v) (v)
#endif
#include "box/box_windows.glsl"

const int kThreads = int(gl_WorkGroupSize.x);
const int kWidth = lanes * span;  // of a strip
const int kOwn = span * kPlanes;
// Of halves of words: as much as the change of a strip can be below zero, added to lower ones, which then never borrow from upper ones.
const uint kLift = SUMS == SUMS_u16x2 ? 0x7F80u : 0u;

int lane;

// Numbers of lanes before this one's, of the strip.
NUMBER before_lane(NUMBER own) {
  NUMBER all = own;
  [[unroll]] for (int step = 1; step < lanes; step *= 2) {
    NUMBER other = subgroupShuffle(all, gl_SubgroupInvocationID - uint(lane >= step ? step : 0));
#if SUMS == SUMS_f32
    if (lane >= step) all += other;
#else
    all += other * uint(min(lane / step, 1));  // where it is there: one instruction instead of two, of the units that wait
#endif
  }
  return all - own;
}

NUMBER sums[kNumbers];

// The windows of the row before the band.
void start_windows(ivec2 strip) {
  int reached = strip.x * kWidth;  // the first column that windows of the strip reach
  NUMBERS base = window_of_columns(strip.y, reached, window.x, lane);
  NUMBERS so_far = NUMBERS(0);
  [[unroll]] for (int p = 0; p < span; ++p) {
    int x = reached + lane * span + p;
    so_far += window_down(strip.y, x + window.x) - window_down(strip.y, x);
    [[unroll]] for (int c = 0; c < source_channels; ++c) sums[p * source_channels + c] = so_far[c];
  }
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    NUMBER start = base[c] + before_lane(so_far[c]);
#if SUMS != SUMS_f32
    if (sums_are_short) start += kFloat;
#endif
    [[unroll]] for (int p = 0; p < span; ++p) sums[p * source_channels + c] += start;
  }
}

// By what a half of a word, or all of it, says of channel c.
NUMBER half_of(NUMBER word, int c) {
#if SUMS == SUMS_u16x2
  return c < kPlanes ? word & 0xFFFFu : uint(int(word) >> 16);
#else
  return word;
#endif
}

void add_changes(NUMBER v[kOwn], NUMBERS change) {
  [[unroll]] for (int n = 0; n < kNumbers; ++n) {
    int c = n % source_channels;
    sums[n] += half_of(v[n / source_channels * kPlanes + c % kPlanes], c) + change[c];
  }
}

void finished(out uint words[kWords]) {
  float means[kNumbers];
  [[unroll]] for (int n = 0; n < kNumbers; ++n) {
#if SUMS == SUMS_f32
    means[n] = sums[n] * gain;
#else
    means[n] = mean_of(sums_are_short ? uintBitsToFloat(sums[n]) : float(sums[n]), n);
#endif
  }
  pack_numbers(means, kMeansAre, words);
}

int left, right, top, end;

// Corners: what leaves at the left and at the right, what enters there.
int row_of(int i, int row) { return row + i / 2 * window.y; }
int column_of(int i) { return i % 2 == 0 ? left : right; }
int shift_of(int i) { return i % 2 == 0 ? shift_left : shift_right; }

void fetch_corners(bool whole, int row, out uint raw[4][kRaw]) {
  [[unroll]] for (int i = 0; i < 4; ++i) {
    int y = map_index(border_y, row_of(i, row), source_size.y);
    fetch_ragged(whole, ivec2(column_of(i), whole ? max(y, 0) : y), shift_of(i), raw[i]);
  }
}

void put_corners_together(bool whole, int row, uint raw[4][kRaw], out uint words[4][kWords]) {
  [[unroll]] for (int i = 0; i < 4; ++i) {
    put_together(whole, shift_of(i), raw[i], words[i]);
    bool is_outside = border_y == kConstant && uint(row_of(i, row)) >= uint(source_size.y);
    if (whole && is_outside) fetch_mapped(words[i], ivec2(column_of(i), kOutside));
  }
}

// What the window before the strip takes in and gives up, each lane in a row of its own. Floats have registers for what is ahead.
const bool kFetchesAhead = SUMS == SUMS_f32;
NUMBERS taken, given;

void fetch_changes(ivec2 strip, int y) {
  int row = strip.y * height + min(y + lane, height - 1);
  taken = window_across(strip.x, row + window.y);
  given = window_across(strip.x, row);
}

void slide(bool whole, ivec2 strip, ivec2 to, bool makes, bool whole_out) {
  start_windows(strip);
  uint raw[rows_in_flight][4][kRaw];
  [[unroll]] for (int n = 0; n < rows_in_flight; ++n) fetch_corners(whole, top + min(n, end - 1), raw[n]);
  NUMBERS changes = NUMBERS(0);
  if (kFetchesAhead) fetch_changes(strip, 0);
  for (int y = 0; y < end; y += rows_in_flight) {
    [[unroll]] for (int n = 0; n < rows_in_flight; ++n) {
      if ((y + n) % lanes == 0) {
        if (!kFetchesAhead) fetch_changes(strip, y + n);
        changes = taken - given;
        [[unroll]] for (int c = 0; c < min(source_channels, kPlanes); ++c) changes[c] -= NUMBER(kLift);
        if (kFetchesAhead) fetch_changes(strip, y + n + lanes);
      }
      uint words[4][kWords];
      put_corners_together(whole, top + min(y + n, end - 1), raw[n], words);
      fetch_corners(whole, top + min(y + n + rows_in_flight, end - 1), raw[n]);

      NUMBER v[kOwn];
      [[unroll]] for (int q = 0; q < kPlanes; ++q) {
        NUMBER running = NUMBER(0);
        [[unroll]] for (int p = 0; p < span; ++p) {
          NUMBER enters = number_at(words[3], p, q);  // at the right, in windows that have not seen it
#if SUMS == SUMS_f32
          enters = sieved(enters);
#endif
          NUMBER change = (enters - number_at(words[1], p, q)) - (number_at(words[2], p, q) - number_at(words[0], p, q));
#if SUMS == SUMS_f32
          change *= scale;
#endif
          running += change;
          v[p * kPlanes + q] = running;
        }
        NUMBER so_far = before_lane(running);
#if SUMS == SUMS_u16x2
        so_far += kLift;
#endif
        [[unroll]] for (int p = 0; p < span; ++p) v[p * kPlanes + q] += so_far;
      }
      NUMBERS change = NUMBERS(0);
      uint from = gl_SubgroupInvocationID - uint(lane) + uint((y + n) % lanes);
      [[unroll]] for (int c = 0; c < source_channels; ++c) change[c] = subgroupShuffle(changes[c], from);
      add_changes(v, change);
      uint made[kWords];
      finished(made);
      if (makes && y + n < end && to.y + y + n >= 0) {
        ivec2 place = ivec2(to.x, to.y + y + n);
        if (whole || whole_out) {
          store_whole(made, place);
        } else {
          store_inside(made, place, size.x - skip.x);
        }
      }
    }
  }
}

void main() {
  int thread = int(gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID);
  lane = thread % lanes;
  int strips = (size.x + kWidth - 1) / kWidth;
  int strip_index = int(gl_WorkGroupID.x) * (kThreads / lanes) + thread / lanes;
  ivec2 strip = ivec2(min(strip_index, strips - 1), int(gl_WorkGroupID.y));
  ivec2 corner = strip * ivec2(kWidth, height);
  ivec2 to = ivec2(corner.x + lane * span, corner.y) - skip;
  end = min(height, size.y - corner.y);
  left = origin.x + corner.x - before.x - 1 + lane * span;
  right = left + window.x;
  top = origin.y + corner.y - before.y - 1;
  bool makes = strip_index < strips && to.x < size.x - skip.x && to.x + span > 0;
  bool whole_in = is_whole_ragged(left, shift_left) && is_whole_ragged(right, shift_right);
  bool whole_out = to.x >= 0 && to.x + span <= size.x - skip.x && is_whole_destination(to.x);
  if (subgroupAll(whole_in && (whole_out || !makes))) {
    slide(true, strip + first, to, makes, whole_out);
  } else {
    slide(false, strip + first, to, makes, whole_out);
  }
}
