//@ axis STORAGE buffer image
//@ axis SUMS u16x2 u32 f32
// box.any: both axes in one pass, two loads a pixel at any radius. A group owns a strip of columns and moves down it. A
// lane keeps the sum of its column's window: it adds the row that enters and takes away the one that leaves, both
// fetched a step ahead. A few lanes then slide along the rows of these sums, which lie in shared memory, in the same
// way. Of destinations that hold every n-th row, lanes slide along these alone, when as many have come as a step has rows. Strips and chunks are counted from the source's own corner where sums round, so that no region shows.
//
// SUMS: u16x2, two channels of a column's sum in one word; u32; f32, which may keep what its additions lose.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define KERNEL_PARAMETERS \
  ivec2 before; ivec2 after;                        /* whole pixels of the window on either side of its own */ \
  vec2 before_fraction; vec2 after_fraction;        /* what the pixels beyond its ends count for */ \
  ivec2 skip;                                       /* where the destination begins in what the groups make */ \
  float scale;                                      /* from sums to means; of f32, of each pixel */ \
  float along;                                      /* of f32, from sums of columns to what is summed along rows */ \
  float gain;                                       /* of f32, from sums along rows to means */ \
  int strip; int chunk_rows; int columns_per_lane;  /* columns and rows of a group; columns of a lane that slides along a row */
#include "io/pixel.glsl"
#include "io/places.glsl"
#include "io/numbers.glsl"

layout(constant_id = 20) const int rows_in_flight = 1;  // rows from one step to the next
layout(constant_id = 21) const int lanes_per_row = 1;   // that slide along a row
// Words that such a lane reads together. Not known to glslc, which would unroll the loops, and its copies of what is `precise`
// no longer are.
layout(constant_id = 24) const int unroll = 8;
#if SUMS == SUMS_f32
layout(constant_id = 22) const bool is_whole = true;  // no fractions
layout(constant_id = 23) const bool is_compensated = false;
#else
const bool is_whole = true;
#endif

const int kThreads = int(gl_WorkGroupSize.x);
const int kSlidingLanes = rows_in_flight * kPlanes * lanes_per_row;
const int kEdge = is_whole ? 0 : 1;            // pixels beyond either end of the window
const int kStride = kThreads + lanes_per_row;  // so that lanes side by side read from different banks
shared uint sums[rows_in_flight * kPlanes * kStride];  // of columns, of rows that the destination holds
shared uint means[rows_in_flight * kPlanes * kStride];

int plane(int row, int channel) { return (row * kPlanes + channel) * kStride; }

// ---- Sums of up to four numbers

#if SUMS == SUMS_f32
struct Sum {
  vec4 value;
  vec4 lost;  // by rounding
};

Sum nothing() { return Sum(vec4(0.0), vec4(0.0)); }

void enter(inout Sum s, vec4 v) {
  precise vec4 next = s.value + v;
  if (is_compensated) {
    precise vec4 added = next - s.value;
    precise vec4 error = (s.value - (next - added)) + (v - added);
    s.lost += error;
  }
  s.value = next;
}

void leave(inout Sum s, vec4 v) { enter(s, -v); }
vec4 total(Sum s) { return s.value + s.lost; }
#else
struct Sum {
  uvec4 value;
};

Sum nothing() { return Sum(uvec4(0u)); }
void enter(inout Sum s, uvec4 v) { s.value += v; }
void leave(inout Sum s, uvec4 v) { s.value -= v; }
uvec4 total(Sum s) { return s.value; }
#endif

// ---- Through shared memory: sums of columns as words, means as words, pixels

#if SUMS == SUMS_f32
uint to_word(float sum) { return floatBitsToUint(sum * along); }
vec4 from_word(uint word) { return vec4(uintBitsToFloat(word), 0.0, 0.0, 0.0); }
uint mean(vec4 sum) { return floatBitsToUint(sum.x * gain); }
#elif SUMS == SUMS_u32
uint to_word(uint sum) { return sum; }
uvec4 from_word(uint word) { return uvec4(word, 0u, 0u, 0u); }
uint mean(uvec4 sum) { return floatBitsToUint(float(sum.x) * scale); }
#else
uint to_word(uint sum) { return sum; }
uvec4 from_word(uint word) { return uvec4(word & 0xFFFFu, word >> 16, 0u, 0u); }
// As the destination stores it; 16 bits where it stores floats. See unorm_code(): a mean needs no clamp.
uint code(uint sum) { return floatBitsToUint(float(sum) * (scale * largest_code()) + 8388608.0); }
uint mean(uvec4 sum) { return code(sum.x) & 0xFFFFu | code(sum.y) << 16; }
#endif

void store_means(ivec2 p, int row, int x) {
#if SUMS == SUMS_u16x2
  uvec2 words = uvec2(means[plane(row, 0) + x], means[plane(row, kPlanes - 1) + x]);
#if STORAGE == STORAGE_buffer
  if (destination_channels == 4 && destination_bits == 8) {
    destination32[destination_index(p)] = words.x | words.y << 8;
    return;
  }
#endif
  vec4 v = vec4(0.0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    v[c] = float(words[c % kPlanes] >> (c / kPlanes * 16) & 0xFFFFu) / largest_code();
  }
#else
  vec4 v = vec4(0.0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) v[c] = uintBitsToFloat(means[plane(row, c) + x]);
#endif
  put(p, encode_running_sum(v));
}

// The window that ends with the word `young` of a row of sums; the next one begins after `old`.
void step_along(inout Sum sum, int left, int window, uint young, uint old) {
  enter(sum, from_word(young));
  NUMBERS v = total(sum);
#if SUMS == SUMS_f32
  if (!is_whole) v += before_fraction.x * from_word(sums[left]) + after_fraction.x * from_word(sums[left + window + 1]);
#endif
  means[left] = mean(v);
  leave(sum, from_word(old));
}

// Windows of the columns first ... last - 1 of a row of sums. Words are read some steps before they are needed.
void slide(int row, int first, int last) {
  int window = before.x + 1 + after.x;
  Sum sum = nothing();
  int left = row + first;
  int end = row + first + window - 1;
  for (; left + unroll <= end; left += unroll) {
    [[unroll]] for (int k = 0; k < unroll; ++k) enter(sum, from_word(sums[left + kEdge + k]));
  }
  for (; left < end; ++left) enter(sum, from_word(sums[left + kEdge]));

  left = row + first;
  end = row + last;
  for (; left + unroll <= end; left += unroll) {
    uint young[unroll];
    uint old[unroll];
    [[unroll]] for (int k = 0; k < unroll; ++k) {
      young[k] = sums[left + kEdge + window - 1 + k];
      old[k] = sums[left + kEdge + k];
    }
    [[unroll]] for (int k = 0; k < unroll; ++k) step_along(sum, left + k, window, young[k], old[k]);
  }
  for (; left < end; ++left) step_along(sum, left, window, sums[left + kEdge + window - 1], sums[left + kEdge]);
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  ivec2 corner = ivec2(gl_WorkGroupID.xy) * ivec2(strip, chunk_rows);
  int end = min(corner.y + chunk_rows, size.y);
  int column = map_index(border_x, origin.x + corner.x - before.x - kEdge + thread, source_size.x);
  int top = origin.y + corner.y - before.y - 1;    // the row that leaves the first window
  int bottom = origin.y + corner.y + after.y + 1;  // the one that enters after it
  NUMBERS numbers_outside = to_numbers(outside);

  // As if the chunk had begun a row before. As many pixels are on their way at once as in the steps that follow.
  const int kTogether = 2 * rows_in_flight;
  Sum sum = nothing();
  for (int first = top; first < bottom; first += kTogether) {
    uvec4 stored[kTogether];
    bool beyond[kTogether];
    [[unroll]] for (int row = 0; row < kTogether; ++row) {
      ivec2 q = ivec2(column, map_index(border_y, first + row, source_size.y));
      beyond[row] = is_beyond(q);
      if (!beyond[row]) stored[row] = fetch_stored(q);
    }
    [[unroll]] for (int row = 0; row < kTogether; ++row) {
      if (first + row < bottom) enter(sum, beyond[row] ? numbers_outside : entering_numbers_of(stored[row]));
    }
  }

  uvec4 leaving[rows_in_flight];
  uvec4 entering[rows_in_flight];
  bool leaving_outside[rows_in_flight];
  bool entering_outside[rows_in_flight];

  int held = (skip.y - corner.y % step_y + step_y) % step_y;  // the first row of the chunk that is kept
  int slid = 0;                                               // rows that are kept and that lanes have slid along
  int waiting = 0;                                            // those that they have not
  // Step n fetches its rows, and sums those of step n - 1. In as many steps as rows are apart that are kept, there are as many of these as
  // a step has: so those that wait always fill the room for them, and never more.
  int steps = (end - corner.y + rows_in_flight - 1) / rows_in_flight;
  for (int step = 0; step <= steps; ++step) {
    if (step > 0) {
      [[unroll]] for (int row = 0; row < rows_in_flight; ++row) {
        NUMBERS old = leaving_outside[row] ? numbers_outside : numbers_of(leaving[row]);
        NUMBERS young = entering_outside[row] ? numbers_outside : entering_numbers_of(entering[row]);
        leave(sum, old);
        NUMBERS v = total(sum);
#if SUMS == SUMS_f32
        if (!is_whole) v += before_fraction.y * old + after_fraction.y * young;
#endif
        enter(sum, young);
        if (step_y == 1) {
          [[unroll]] for (int c = 0; c < kPlanes; ++c) sums[plane(row, c) + thread] = to_word(v[c]);
        } else if (((step - 1) * rows_in_flight + row + step_y - held) % step_y == 0) {
          [[unroll]] for (int c = 0; c < kPlanes; ++c) sums[plane(waiting, c) + thread] = to_word(v[c]);
          ++waiting;
        }
      }
      if (step_y == 1) waiting = rows_in_flight;
    }
    bool slides = waiting == rows_in_flight || (step == steps && waiting > 0);  // all threads agree
    if (slides) barrier();
    if (step < steps) {
      [[unroll]] for (int row = 0; row < rows_in_flight; ++row) {
        ivec2 q = ivec2(column, map_index(border_y, top + step * rows_in_flight + row, source_size.y));
        leaving_outside[row] = is_beyond(q);
        if (!leaving_outside[row]) leaving[row] = fetch_stored(q);
        q.y = map_index(border_y, bottom + step * rows_in_flight + row, source_size.y);
        entering_outside[row] = is_beyond(q);
        if (!entering_outside[row]) entering[row] = fetch_stored(q);
      }
    }
    // Every step another subgroup slides along rows: each belongs to one of a processor's schedulers.
    int sliding_lane = (thread + step * 32) % kThreads;
    if (slides && sliding_lane < kSlidingLanes) {
      int first = sliding_lane / (rows_in_flight * kPlanes) * columns_per_lane;
      slide(sliding_lane % (rows_in_flight * kPlanes) * kStride, first, min(first + columns_per_lane, strip));
    }
    if (slides) {
      barrier();
      [[unroll]] for (int row = 0; row < rows_in_flight; ++row) {
        ivec2 p = corner + ivec2(thread, held + (slid + row) * step_y);
        bool is_made = thread < strip && p.x < size.x && p.y < end && row < waiting;
        if (is_made && p.x >= skip.x && p.y >= skip.y && is_kept_column(p.x - skip.x)) store_means(kept_place(p - skip), row, thread);
      }
      slid += waiting;
      waiting = 0;
    }
  }
}
