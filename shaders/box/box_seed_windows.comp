//@ axis SUMS u16x2 u32 f32
// box.any by corners, second step: from sums of blocks to those of windows. A window is `whole` blocks and the first part of
// the next; in a run of windows each follows from the one before by a block that enters and one that leaves. x: windows of
// rows, that end before each strip; y: those of columns, that end before each band. Two sums in one word come out as two.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0, local_size_y_id = 1) in;

layout(push_constant) uniform Parameters {
  ivec2 windows;  // that are made
  ivec2 numbers;  // of a block, words: planes times rows or columns
  ivec2 made;     // of a window: channels times rows or columns
  ivec2 whole;
  ivec2 part;     // pixels
  ivec2 run;      // windows of one lane
  ivec2 blocks;   // where those of x and y begin
  int runs_down;  // that come before those of x
  uint source_stride;  // words from one image to the next
  uint destination_stride;
};

#include "io/layers.glsl"

layout(std430, binding = 0) restrict readonly buffer Source { uint block_sums[]; };
layout(std430, binding = 1) restrict writeonly buffer Destination { uint sums_of_windows[]; };

#if SUMS == SUMS_f32
#define NUMBER float
#define from_word uintBitsToFloat
#define to_words(v) uvec2(floatBitsToUint(v), 0u)
#elif SUMS == SUMS_u16x2
#define NUMBER uvec2
#define from_word(v) uvec2((v) & 0xFFFFu, (v) >> 16)
#define to_words(v) (v)
#else
#define NUMBER uint
#define from_word(v) (v)
#define to_words(v) uvec2(v, 0u)
#endif

const int kAhead = 4;  // windows

// Two sums in one word become two, `apart` from each other, if `has_both`.
void store(int place, NUMBER sum, bool has_both, int apart) {
  uvec2 words = to_words(sum);
  sums_of_windows[place] = words.x;
#if SUMS == SUMS_u16x2
  if (has_both) sums_of_windows[place + apart] = words.y;
#endif
}

void main() {
  int index = int(gl_WorkGroupID.y);
  bool is_down = index < runs_down;
  int count = is_down ? numbers.y : numbers.x;
  int count_made = is_down ? made.y : made.x;
  int length = is_down ? run.y : run.x;
  int last = is_down ? windows.y : windows.x;
  int blocks_of_window = is_down ? whole.y : whole.x;
  bool has_part = (is_down ? part.y : part.x) > 0;
  int source = (is_down ? blocks.y : blocks.x) + int(layer_start(source_stride));
  int destination = (is_down ? 0 : windows.y * made.y) + int(layer_start(destination_stride));
  int number = int(gl_GlobalInvocationID.x);
  if (number >= count) return;

  int first = (is_down ? index : index - runs_down) * length;
  NUMBER sum = NUMBER(0);
  for (int i = 0; i < blocks_of_window; ++i) sum += from_word(block_sums[source + 2 * (first + i) * count + number]);
  if (length == 1) {
    if (has_part) sum += from_word(block_sums[source + (2 * (first + blocks_of_window) + 1) * count + number]);
    store(destination + first * count_made + number, sum, number + count < count_made, count);
    return;
  }
  int end = min(first + length, last);
  for (int window = first; window < end; window += kAhead) {
    // What enters and leaves is on its way together.
    NUMBER parts[kAhead], entering[kAhead], leaving[kAhead];
    [[unroll]] for (int i = 0; i < kAhead; ++i) {
      int left = source + 2 * min(window + i, end - 1) * count + number;
      int next = left + 2 * blocks_of_window * count;
      parts[i] = has_part ? from_word(block_sums[next + count]) : NUMBER(0);
      entering[i] = from_word(block_sums[next]);
      leaving[i] = from_word(block_sums[left]);
    }
    [[unroll]] for (int i = 0; i < kAhead; ++i) {
      if (window + i < end) {
        store(destination + (window + i) * count_made + number, sum + parts[i], number + count < count_made, count);
      }
      sum += entering[i] - leaving[i];
    }
  }
}
