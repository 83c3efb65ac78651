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

void slide(int begin, int end, int first, int across) {
#if ACCUMULATOR == ACCUMULATOR_f16
  vec4 seed = vec4(0.0);  // a first sum in halves would cost more than sliding
#else
  SUM seed = SUM(0);
#endif
  for (int i = begin - before; i <= begin + after; ++i) {
#if ACCUMULATOR == ACCUMULATOR_f16
    seed += scaled(i, across);
#else
    seed += to_sum(scaled(i, across));
#endif
  }
  SUM sum = SUM(seed);
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
