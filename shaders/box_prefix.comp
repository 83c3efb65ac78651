//@ axis STORAGE buffer image
//@ skip STORAGE=image
//@ axis SUMS u16x2 u32 f32
//@ axis WORDS 1 2 4
//@ skip SUMS=u16x2 WORDS=1
//@ skip SUMS=u16x2 WORDS=4
//@ skip SUMS=u32 WORDS=2
//@ skip SUMS=f32 WORDS=2
// box.any by prefix sums, last step. From one row to the next a window's sum changes by the sum over its columns of
// (entering - leaving row). A group owns a strip of columns and walks down a band of rows; it adds these differences up
// along the strip, so that those of any window are the difference of two places. Two loads a pixel at any radius. What
// windows begin a band with follows in the same way from sums of cells, which box_cells leaves of every column.
//
// WORDS: numbers of a place in shared memory.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#define KERNEL_PARAMETERS \
  ivec2 before;     /* whole pixels of the window before its own */ \
  ivec2 window;     /* all of them */ \
  ivec2 skip;       /* where the destination begins in what the groups make */ \
  int width;        /* columns of a strip */ \
  int height;       /* rows of a band */ \
  int columns;      /* of cells */ \
  int whole;        /* cells of a window, */ \
  int part;         /* and rows of the next one */ \
  uint beside_stride;  /* words from the cells of one image to those of the next */ \
  float scale;      /* from sums to means; of f32, of each pixel */
#include "pixel.glsl"
#include "numbers.glsl"
#include "cells.glsl"

layout(constant_id = 23) const int chunks = 1;  // of a lane; the same chunk of all lanes lies side by side
layout(constant_id = 24) const int parts = 1;   // of a window, each with differences that its words can hold

layout(std430, binding = 3) readonly buffer Beside { uint cells[]; };

#if SUMS == SUMS_f32
#define NUMBER float
#else
#define NUMBER uint
#endif
#if WORDS == WORDS_1
#define PLACE NUMBER
#define to_place(v) (v).x
#define of_place(v) NUMBERS(v, 0, 0, 0)
const int kWords = 1;
#elif WORDS == WORDS_2
#define PLACE uvec2
#define to_place(v) (v).xy
#define of_place(v) NUMBERS(v, 0, 0)
const int kWords = 2;
#else
#define PLACE NUMBERS
#define to_place(v) v
#define of_place(v) v
const int kWords = 4;
#endif

const int kOwn = chunks * pixels;           // of a lane, of a row
const int kReach = kThreads * kOwn;         // columns that a group reads
const int kSubgroups = kThreads / lanes;
const int kSums = chunks * kSubgroups;      // of a row: what subgroups add up by themselves
const int kGap = 32 / kWords;               // places as wide as all banks
const int kPitch = kReach + kReach / kGap;

shared PLACE sums_up_to[batch * kPitch];
shared PLACE sums_of_chunks[batch * kSums];

// Lanes that write chunks beside each other then use different banks.
int place_of(int row, int column) {
  return row * kPitch + column + column / kGap;
}

// Turns numbers into what they add up to within the subgroup's chunks.
void add_up_chunks(inout PLACE v[kOwn], int row) {
  [[unroll]] for (int q = 0; q < chunks; ++q) {
    [[unroll]] for (int p = 1; p < pixels; ++p) v[q * pixels + p] += v[q * pixels + p - 1];
    PLACE last = v[q * pixels + pixels - 1];
    PLACE before_lane = subgroupExclusiveAdd(last);
    [[unroll]] for (int p = 0; p < pixels; ++p) v[q * pixels + p] += before_lane;
    if (int(gl_SubgroupInvocationID) == lanes - 1) {
      sums_of_chunks[row * kSums + q * kSubgroups + int(gl_SubgroupID)] = v[q * pixels + pixels - 1];
    }
  }
}

// Leaves what they add up to from the start of the strip.
void put_sums(PLACE v[kOwn], int row, int thread) {
  [[unroll]] for (int q = 0; q < chunks; ++q) {
    int count = q * kSubgroups + int(gl_SubgroupID);
    PLACE sum = PLACE(0);
    [[unroll]] for (int i = 0; i < kSums; i += lanes) {
      int other = i + int(gl_SubgroupInvocationID);
      if (other < count) sum += sums_of_chunks[row * kSums + other];
    }
    PLACE before_chunk = subgroupAdd(sum);
    [[unroll]] for (int p = 0; p < pixels; ++p) {
      sums_up_to[place_of(row, (q * kThreads + thread) * pixels + p)] = v[q * pixels + p] + before_chunk;
    }
  }
}

// A window of which `length` columns from `first` on count.
PLACE sum_of_columns(int row, int first, int length) {
  return sums_up_to[place_of(row, first + length)] - sums_up_to[place_of(row, first)];
}

// Adds the sums of cells of the band to those of a lane's columns, from the channel c on.
void add_cells(inout PLACE v[kOwn], int band, int kind, int c, int x) {
  [[unroll]] for (int i = 0; i < kOwn; ++i) {
    NUMBERS cell = NUMBERS(0);
    int column = x + i / pixels * kThreads * pixels + i % pixels;
    [[unroll]] for (int j = 0; j < kWords; ++j) {
      int plane = (2 * band + kind) * source_channels + c + j;
      if (c + j < source_channels) cell[j] = from_word(cells[uint(plane * columns + column) + layer_start(beside_stride)]);
    }
    v[i] += to_place(cell);
  }
}

void main() {
  int thread = thread_index();
  ivec2 group = ivec2(gl_WorkGroupID.xy);
  ivec2 corner = group * ivec2(width, height);
  int end = min(height, size.y - corner.y);
  // What is read begins at a multiple of a lane's pixels, with the column before the first window or earlier.
  int first_column = origin.x + corner.x - before.x - 1;
  int lead = positive_remainder(first_column, pixels);
  Columns own[chunks];
  [[unroll]] for (int q = 0; q < chunks; ++q) {
    own[q] = columns_of(first_column - lead + q * kThreads * pixels, thread);
  }

  // The windows of the row before the band.
  NUMBERS sums[kOwn];
  [[unroll]] for (int k = 0; k < kOwn; ++k) sums[k] = NUMBERS(0);
  [[unroll]] for (int c = 0; c < source_channels; c += kWords) {
    PLACE v[kOwn];
    [[unroll]] for (int i = 0; i < kOwn; ++i) v[i] = PLACE(0);
    for (int i = 0; i < whole; ++i) add_cells(v, group.y + i, 0, c, corner.x + thread * pixels);
    if (part > 0) add_cells(v, group.y + whole, 1, c, corner.x + thread * pixels);
    add_up_chunks(v, 0);
    barrier();
    put_sums(v, 0, thread);
    barrier();
    [[unroll]] for (int k = 0; k < kOwn; ++k) {
      int first = lead + min(thread + k * kThreads, width - 1);
      NUMBERS down = of_place(sum_of_columns(0, first, window.x));
      [[unroll]] for (int j = 0; j < kWords; ++j) {
        if (c + j < source_channels) sums[k][c + j] = down[j];
      }
    }
  }

  NUMBERS numbers_outside = to_numbers(outside);
  int top = origin.y + corner.y - before.y - 1;  // leaves when the band's first row is made
  Fetched leaving[batch * chunks];
  Fetched entering[batch * chunks];
  for (int y = -batch; y < end; y += batch) {
    PLACE changes[batch][kOwn];
    if (y >= 0) {
      [[unroll]] for (int i = 0; i < batch; ++i) {
        int leaves = map_index(border_y, top + min(y + i, end - 1), source_size.y);
        int enters = map_index(border_y, top + min(y + i, end - 1) + window.y, source_size.y);
        [[unroll]] for (int q = 0; q < chunks; ++q) {
          uvec4 old = chunk_of(own[q], leaves, leaving[i * chunks + q]);
          uvec4 young = chunk_of(own[q], enters, entering[i * chunks + q]);
          [[unroll]] for (int p = 0; p < pixels; ++p) {
            changes[i][q * pixels + p] = to_place(pixel_of_row(own[q], enters, young, p, numbers_outside) -
                                                  pixel_of_row(own[q], leaves, old, p, numbers_outside));
          }
        }
        add_up_chunks(changes[i], i);
      }
    }
    // The next turn's rows are on their way while this one's are summed.
    [[unroll]] for (int i = 0; i < batch; ++i) {
      int row = top + min(y + batch + i, end - 1);
      int leaves = map_index(border_y, row, source_size.y);
      int enters = map_index(border_y, row + window.y, source_size.y);
      [[unroll]] for (int q = 0; q < chunks; ++q) {
        leaving[i * chunks + q] = fetch_row(own[q], leaves);
        entering[i * chunks + q] = fetch_row(own[q], enters);
      }
    }
    if (y < 0) continue;
    barrier();
    [[unroll]] for (int i = 0; i < batch; ++i) put_sums(changes[i], i, thread);
    barrier();
    [[unroll]] for (int k = 0; k < kOwn; ++k) {
      int x = thread + k * kThreads;
      int first = lead + min(x, width - 1);
      [[unroll]] for (int i = 0; i < batch; ++i) {
        [[unroll]] for (int part_of_window = 0; part_of_window < parts; ++part_of_window) {
          int begin = window.x * part_of_window / parts;
          int length = window.x * (part_of_window + 1) / parts - begin;
          sums[k] += to_totals(of_place(sum_of_columns(i, first + begin, length)));
        }
        ivec2 to = ivec2(corner.x + x, corner.y + y + i) - skip;
        if (x < width && y + i < end && to.x >= 0 && to.y >= 0 && corner.x + x < size.x) {
          put_stored(destination_index(to), codes_of(sums[k]));
        }
      }
    }
  }
}
