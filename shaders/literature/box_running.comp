//@ axis STORAGE buffer image
//@ axis ACCUMULATOR i32 f32 f16
// box.running: one lane slides along a row or a column and keeps the sum of the window, adding the pixel that enters it
// and taking away the one that leaves. Sums that round begin anew at every multiple of `segment`, counted from the
// source's own corner, so that neither the region nor the split into groups shows in the result.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#if ACCUMULATOR == ACCUMULATOR_f16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif
#define KERNEL_PARAMETERS \
  int before; int after; float before_fraction; float after_fraction; float in_scale; float out_scale; \
  int segment; int base;
#include "io/pixel.glsl"

layout(constant_id = 20) const int is_vertical = 0;  // 1: along columns
layout(constant_id = 21) const int unroll = 8;       // pixels a step
layout(constant_id = 23) const int seed_block = 1;  // pixels of a first sum that are added up by themselves
layout(constant_id = 22) const bool is_whole = false;  // no fractions; what they load would double the code of a step

#if ACCUMULATOR == ACCUMULATOR_i32
#define SUM ivec4
#define to_sum(v) ivec4(roundEven(v))
#elif ACCUMULATOR == ACCUMULATOR_f32
#define SUM vec4
#define to_sum(v) (v)
#else
#define SUM f16vec4
#define to_sum(v) f16vec4(v)
#endif

ivec2 place(int along, int across) {
  return is_vertical != 0 ? ivec2(across, along) : ivec2(along, across);
}

// Of the window's size, so that sums are means and stay in range; or, for integers, what the pixel was stored as.
vec4 scaled(int along, int across) {
  return in_scale * load_pixel(place(along, across));
}

SUM change(int along, int across) {
  return to_sum(scaled(along + after, across)) - to_sum(scaled(along - before - 1, across));
}

void finish(int along, int across, int first, SUM sum) {
  vec4 v = vec4(sum);
  if (!is_whole && before_fraction > 0.0) v += before_fraction * scaled(along - before - 1, across);
  if (!is_whole && after_fraction > 0.0) v += after_fraction * scaled(along + after + 1, across);
  if (along >= first) store_pixel(place(along, across) - origin, v * out_scale);
}

#if ACCUMULATOR == ACCUMULATOR_f16
#define SEED vec4  // a first sum in halves would cost more than sliding
#define to_seed(v) (v)
#else
#define SEED SUM
#define to_seed(v) to_sum(v)
#endif

// From `from` to `to`, by blocks: long sums round less.
SEED seed_of(int from, int to, int across) {
  SEED seed = SEED(0);
  for (int block = from; block <= to; block += seed_block) {
    int end = min(block + seed_block - 1, to);
    SEED part = SEED(0);
    for (int i = block; i <= end; ++i) part += to_seed(scaled(i, across));
    seed += part;
  }
  return seed;
}

// The first sum of a window that holds the pixel at `begin`. Where it is wider than the image, pixels that it holds more than once are
// read once.
SEED first_sum(int begin, int across) {
  int from = begin - before, to = begin + after;
  int mode = is_vertical != 0 ? border_y : border_x;
  int length = is_vertical != 0 ? source_size.y : source_size.x;
  if (mode == kClamp || mode == kConstant) {
    int outside_before = max(-from, 0), outside_after = max(to - (length - 1), 0);
    SEED seed = seed_of(max(from, 0), min(to, length - 1), across);
    if (outside_before > 0) seed += SEED(outside_before) * to_seed(scaled(-1, across));
    if (outside_after > 0) seed += SEED(outside_after) * to_seed(scaled(length, across));
    return seed;
  }
  int period = mode == kWrap ? length : mode == kReflect ? 2 * length : max(2 * (length - 1), 1);
  int periods = (to - from + 1) / period;
  SEED seed = seed_of(from + periods * period, to, across);
  if (periods > 0) seed += SEED(periods) * seed_of(from, from + period - 1, across);
  return seed;
}

void slide(int begin, int end, int first, int across) {
  SUM sum = SUM(first_sum(begin, across));
  finish(begin, across, first, sum);
  int i = begin + 1;
  for (; i + unroll <= end; i += unroll) {
    // All loads of a step before its first store: they need not wait for each other.
    SUM changes[unroll];
    [[unroll]] for (int k = 0; k < unroll; ++k) changes[k] = change(i + k, across);
    [[unroll]] for (int k = 0; k < unroll; ++k) {
      sum += changes[k];
      finish(i + k, across, first, sum);
    }
  }
  for (; i < end; ++i) {
    sum += change(i, across);
    finish(i, across, first, sum);
  }
}

void main() {
  uvec2 place_of_group = is_vertical != 0 ? gl_WorkGroupID.yx : gl_WorkGroupID.xy;
  int groups = int(is_vertical != 0 ? gl_NumWorkGroups.y : gl_NumWorkGroups.x);
  int lanes = int(gl_WorkGroupSize.x * gl_WorkGroupSize.y);
  int lane = int(place_of_group.y) * lanes + int(gl_LocalInvocationIndex);
  int first = is_vertical != 0 ? origin.y : origin.x;
  int last = first + (is_vertical != 0 ? size.y : size.x);
  if (lane >= (is_vertical != 0 ? size.x : size.y)) return;
  int across = lane + (is_vertical != 0 ? origin.x : origin.y);

  // A region that begins inside a segment may touch one more than there are groups: the last group takes the rest.
  int group = int(place_of_group.x);
  int begin = ((first + base) / segment + group) * segment - base;
  int end = group == groups - 1 ? last : min(begin + segment, last);
  for (; begin < end; begin += segment) {
#if ACCUMULATOR == ACCUMULATOR_i32
    slide(max(begin, first), min(begin + segment, end), first, across);
#else
    slide(begin, min(begin + segment, end), first, across);
#endif
  }
}
