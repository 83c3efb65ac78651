//@ axis STORAGE buffer image
//@ skip STORAGE=image
// box.any of floats, last step: pixels whose running sums are no longer finite are summed anew. A sum that has held a NaN, an
// infinity, or so large a number that it overflows stays so to the end of its band, so the last row that is kept of a band tells where. A
// group owns some columns of a band. Where they are all finite there, which is nearly always, it reads one row and ends. Else it
// sums each row's windows from their pixels, down columns first, and stores those that were not finite.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define KERNEL_PARAMETERS \
  ivec2 before; ivec2 after;                  /* whole pixels of the window on either side of its own */ \
  vec2 before_fraction; vec2 after_fraction;  /* what the pixels beyond its ends count for */ \
  int skip;                                   /* rows of the first band that the destination lacks */ \
  int height;                                 /* rows of a band */ \
  float scale;
#include "io/pixel.glsl"
#include "io/places.glsl"

// The same memory as the destination, which is read here.
layout(std430, binding = 1) readonly buffer Made16 { uint16_t made16[]; };
layout(std430, binding = 1) readonly buffer Made32 { uint made32[]; };

// Pixels, or columns, that a step of a loop adds. Not known to glslc, which would unroll the loops, and its copies of what is `precise` no
// longer are.
layout(constant_id = 20) const int unroll = 8;

const int kThreads = int(gl_WorkGroupSize.x);

shared uint any_is_spoiled;
shared vec4 sums_of_columns[kThreads];

bool is_finite(uint index) {
  uint exponent = destination_bits == 16 ? 0x7C00u : 0x7F800000u;
  uint bits = destination_bits == 16 ? uint(made16[index]) : made32[index];
  return (bits & exponent) != exponent;
}

bool is_spoiled(ivec2 p) {
  if (p.x >= size.x || !is_kept_column(p.x)) return false;
  uint index = destination_index(kept_place(p)) * uint(destination_channels);
  bool is_sound = true;
  [[unroll]] for (int c = 0; c < destination_channels; ++c) is_sound = is_sound && is_finite(index + uint(c));
  return !is_sound;
}

// Whether it is true of any thread of the group, which all ask.
bool any_of_group(bool is_true) {
  barrier();
  any_is_spoiled = 0u;
  barrier();
  if (is_true) any_is_spoiled = 1u;
  barrier();
  return any_is_spoiled != 0u;
}

// ---- Sums, and what they lose by rounding (Knuth's two-sum)

struct Sum {
  vec4 value;
  vec4 lost;
};

void add(inout Sum sum, vec4 v) {
  precise vec4 next = sum.value + v;
  precise vec4 added = next - sum.value;
  precise vec4 error = (sum.value - (next - added)) + (v - added);
  sum.lost += error;
  sum.value = next;
}

// Of what is infinite nothing sensible was lost.
vec4 total(Sum sum) {
  vec4 v = sum.value;
  [[unroll]] for (int c = 0; c < 4; ++c) {
    bool is_sound = (floatBitsToUint(sum.lost[c]) & 0x7F800000u) != 0x7F800000u;
    if (is_sound) v[c] += sum.lost[c];
  }
  return v;
}

vec4 sum_of_column(ivec2 p) {
  Sum sum = Sum(vec4(0.0), vec4(0.0));
  if (before_fraction.y > 0.0) add(sum, before_fraction.y * scale * load_pixel(p - ivec2(0, before.y + 1)));
  for (int first = -before.y; first <= after.y; first += unroll) {
    [[unroll]] for (int k = 0; k < unroll; ++k) {
      if (first + k <= after.y) add(sum, scale * load_pixel(p + ivec2(0, first + k)));
    }
  }
  if (after_fraction.y > 0.0) add(sum, after_fraction.y * scale * load_pixel(p + ivec2(0, after.y + 1)));
  return total(sum);
}

// What column i of those that a lane's window begins with counts for: the first and the last are beyond its whole pixels.
float weight_of(int i) {
  if (i == 0) return before_fraction.x;
  return i <= before.x + 1 + after.x ? 1.0 : after_fraction.x;
}

// The window at p of each lane, by as many columns at a time as there are lanes.
vec4 window_of_lane(int lane, ivec2 p) {
  int window = before.x + 3 + after.x;  // with the pixels beyond its ends
  Sum sum = Sum(vec4(0.0), vec4(0.0));
  for (int tile = 0; tile < kThreads + window - 1; tile += kThreads) {
    barrier();
    if (tile + lane < kThreads + window - 1) sums_of_columns[lane] = sum_of_column(p + ivec2(tile - before.x - 1, 0));
    barrier();
    int end = min(tile + kThreads, lane + window);
    for (int first = max(tile, lane); first < end; first += unroll) {
      [[unroll]] for (int k = 0; k < unroll; ++k) {
        int i = first + k;
        float weight = weight_of(i - lane);
        if (i < end && weight > 0.0) add(sum, weight * sums_of_columns[i - tile]);
      }
    }
  }
  return total(sum);
}

void main() {
  int lane = int(gl_LocalInvocationIndex);
  int x = int(gl_WorkGroupID.x) * kThreads + lane;
  int band = int(gl_WorkGroupID.y) * height;
  int begin = (max(band - skip, 0) + step_y - 1) / step_y * step_y;
  int end = min(band + height, size.y) - skip;
  if (!any_of_group(is_spoiled(ivec2(x, end - 1)))) return;
  for (int y = begin; y < end; y += step_y) {
    ivec2 p = ivec2(x, y);
    bool is_mended = is_spoiled(p);
    if (!any_of_group(is_mended)) continue;
    vec4 v = window_of_lane(lane, origin + p);
    if (is_mended) put(kept_place(p), encode(v));
  }
}
