//@ axis STORAGE buffer image
// box.scan, along columns: 16 lanes share a column and make 16 rows at a time. What changes from one row to the next
// is summed over the lanes before, in shared memory; with the window that the last 16 rows ended on that is each row's
// window. Sums begin anew at every multiple of `segment`, counted from the source's own corner.
#version 460
#extension GL_GOOGLE_include_directive : require
#define KERNEL_PARAMETERS \
  int before; int after; float before_fraction; float after_fraction; float in_scale; int segment; int base;
#include "io/pixel.glsl"

const int kLanes = 16;
const int kColumns = 16;
shared vec4 prefix[2][kLanes][kColumns];
shared vec4 carried[2][kColumns];  // windows of the last row of the last chunk; written while the other is read

vec4 scaled(ivec2 p) {
  return in_scale * load_pixel(p);
}

// This lane's share of the window of the row at y.
vec4 share_of_window(int x, int y, int lane) {
  vec4 sum = vec4(0.0);
  for (int i = lane - before; i <= after; i += kLanes) sum += scaled(ivec2(x, y + i));
  return sum;
}

vec4 change(int x, int y) {
  return scaled(ivec2(x, y + after)) - scaled(ivec2(x, y - before - 1));
}

void finish(ivec2 p, vec4 v) {
  if (before_fraction > 0.0) v += before_fraction * scaled(p - ivec2(0, before + 1));
  if (after_fraction > 0.0) v += after_fraction * scaled(p + ivec2(0, after + 1));
  store_pixel(p - origin, v);
}

void main() {
  int column = int(gl_LocalInvocationID.x);
  int lane = int(gl_LocalInvocationID.y);
  int x = origin.x + int(gl_WorkGroupID.x) * kColumns + column;
  int last = origin.y + size.y;
  // A region that begins inside a segment may touch one more than there are groups: the last group takes the rest.
  int group = int(gl_WorkGroupID.y);
  int begin = ((origin.y + base) / segment + group) * segment - base;
  int end = group == int(gl_NumWorkGroups.y) - 1 ? last : min(begin + segment, last);

  int parity = 0;
  for (; begin < end; begin += segment) {
    int stop = min(begin + segment, end);
    // The first chunk is no rows but the window just above the segment.
    for (int y = begin - kLanes; y < stop; y += kLanes) {
      bool is_first = y < begin;
      vec4 v = is_first ? share_of_window(x, begin - 1, lane) : change(x, y + lane);
      prefix[0][lane][column] = v;
      barrier();
      if (lane >= 1) v += prefix[0][lane - 1][column];
      prefix[1][lane][column] = v;
      barrier();
      if (lane >= 2) v += prefix[1][lane - 2][column];
      prefix[0][lane][column] = v;
      barrier();
      if (lane >= 4) v += prefix[0][lane - 4][column];
      prefix[1][lane][column] = v;
      barrier();
      if (lane >= 8) v += prefix[1][lane - 8][column];
      if (!is_first) v += carried[parity][column];
      parity = 1 - parity;
      if (lane == kLanes - 1) carried[parity][column] = v;
      if (!is_first && y + lane >= origin.y && y + lane < stop) finish(ivec2(x, y + lane), v);
    }
  }
}
