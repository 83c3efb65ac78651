//@ axis SUMS u32 f32
// box.any by corners, second step: from sums of cells to those of windows. A window is `whole` cells and the first part of
// the next; in a run of windows each follows from the one before by a cell that enters and one that leaves. x: windows of
// rows, that end before each strip; y: those of columns, that end before each band.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0, local_size_y_id = 1) in;

layout(push_constant) uniform Parameters {
  ivec2 windows;   // that are made
  ivec2 numbers;   // beside each other in each of them: channels times rows or columns
  ivec2 whole;
  ivec2 part;      // pixels
  ivec2 run;       // windows of one lane
  ivec2 cells;     // where those of x and y begin
  int runs_down;   // that come before those of x
  uint source_stride;  // words from one image to the next
  uint destination_stride;
};

#include "layers.glsl"

layout(std430, binding = 0) restrict readonly buffer Source { uint sums_of_cells[]; };
layout(std430, binding = 1) restrict writeonly buffer Destination { uint sums_of_windows[]; };

#if SUMS == SUMS_f32
#define NUMBER float
uint to_word(float v) { return floatBitsToUint(v); }
float from_word(uint word) { return uintBitsToFloat(word); }
#else
#define NUMBER uint
uint to_word(uint v) { return v; }
uint from_word(uint word) { return word; }
#endif

void main() {
  int index = int(gl_WorkGroupID.y);
  bool is_down = index < runs_down;
  int count = is_down ? numbers.y : numbers.x;
  int length = is_down ? run.y : run.x;
  int last = is_down ? windows.y : windows.x;
  int cells_of_window = is_down ? whole.y : whole.x;
  bool has_part = (is_down ? part.y : part.x) > 0;
  int source = (is_down ? cells.y : cells.x) + int(layer_start(source_stride));
  int destination = (is_down ? 0 : windows.y * numbers.y) + int(layer_start(destination_stride));
  int number = int(gl_GlobalInvocationID.x);
  if (number >= count) return;

  int first = (is_down ? index : index - runs_down) * length;
  NUMBER sum = NUMBER(0);
  for (int i = 0; i < cells_of_window; ++i) sum += from_word(sums_of_cells[source + 2 * (first + i) * count + number]);
  for (int window = first; window < min(first + length, last); ++window) {
    int next = source + 2 * (window + cells_of_window) * count + number;
    NUMBER v = sum;
    if (has_part) v += from_word(sums_of_cells[next + count]);
    sums_of_windows[destination + window * count + number] = to_word(v);
    if (length > 1) sum += from_word(sums_of_cells[next]) - from_word(sums_of_cells[source + 2 * window * count + number]);
  }
}
