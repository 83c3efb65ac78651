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
// windows begin a band with follows in the same way from the sums of columns: of their pixels where windows are low, else of
// cells, which box_cells leaves.
//
// WORDS: numbers of a place in shared memory.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
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

layout(constant_id = 23) const int chunks = 1;         // of a lane; the same chunk of all lanes lies side by side
layout(constant_id = 24) const int parts = 1;          // of a window, each with differences that its words can hold
layout(constant_id = 26) const int beyond = 0;         // places behind a row's, where lanes that make nothing look
layout(constant_id = 27) const bool has_cells = true;  // for what bands begin with, else
layout(constant_id = 28) const int ahead = 1;          // so many rows are fetched together

layout(std430, binding = 3) readonly buffer Beside32 { uint cells32[]; };
layout(std430, binding = 3) readonly buffer Beside64 { uvec2 cells64[]; };
layout(std430, binding = 3) readonly buffer Beside128 { uvec4 cells128[]; };

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
const int kFetched = batch * chunks;        // of a lane, in a turn
const int kSubgroups = kThreads / lanes;
const int kSums = chunks * kSubgroups;      // of a row: what subgroups add up by themselves
// Lanes that add up these sums among themselves, a power of two.
const int kEnough = kSums > 16 ? 32 : kSums > 8 ? 16 : kSums > 4 ? 8 : kSums > 2 ? 4 : kSums;
const int kAdders = kEnough < lanes ? kEnough : lanes;
// Places as wide as all banks, after which one is left out: lanes that write chunks beside each other then use different
// banks. From a lane's place to its next one it is the same way everywhere.
const int kGap = 32 / kWords;
const int kGapsOfThreads = kThreads % kGap == 0 ? kThreads / kGap : 0;
const int kStep = kThreads + kGapsOfThreads;
const int kPitch = kStep * kOwn;            // of a row

shared PLACE sums_up_to[batch * kPitch + beyond];
shared PLACE sums_of_chunks[batch * kSums];

int place_of(int column) {
  return kGapsOfThreads > 0 ? column + column / kGap : column;
}

// What those of the lanes before come to.
PLACE sum_of_lanes_before(PLACE v) {
  int lane = int(gl_SubgroupInvocationID);
  PLACE sum = v;
  [[unroll]] for (int step = 1; step < lanes; step *= 2) {
    PLACE other = subgroupShuffle(sum, uint(lane >= step ? lane - step : lane));
    if (lane >= step) sum += other;
  }
  return sum - v;
}

// Turns numbers into what they add up to within the subgroup's chunks.
void add_up_chunks(inout PLACE v[kOwn], int row) {
  [[unroll]] for (int q = 0; q < chunks; ++q) {
    [[unroll]] for (int p = 1; p < pixels; ++p) v[q * pixels + p] += v[q * pixels + p - 1];
    PLACE last = v[q * pixels + pixels - 1];
    PLACE before_lane = sum_of_lanes_before(last);
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
    // By shuffles: a driver was seen to leave some lanes out of subgroupAdd() here.
    PLACE before_chunk = PLACE(0);
    [[unroll]] for (int i = 0; i < kSums; i += kAdders) {
      int other = i + int(gl_SubgroupInvocationID) % kAdders;
      if (other < count) before_chunk += sums_of_chunks[row * kSums + other];
    }
    [[unroll]] for (int step = 1; step < kAdders; step *= 2) before_chunk += subgroupShuffleXor(before_chunk, uint(step));
    [[unroll]] for (int p = 0; p < pixels; ++p) {
      int place = row * kPitch + place_of(thread * pixels + p) + q * pixels * kStep;
      sums_up_to[place] = v[q * pixels + p] + before_chunk;
    }
  }
}

// Sums of columns, from the channel c on.
PLACE channels_of(NUMBERS down, int c) {
#if SUMS == SUMS_u16x2
  uvec2 v = uvec2(0u);
  [[unroll]] for (int j = 0; j < kWords; ++j) {
    if (c + j < source_channels) v[j] = down[(c + j) % kPlanes] >> (c + j) / kPlanes * 16 & 0xFFFFu;
  }
  return v;
#else
  return to_place(down);
#endif
}

// So many sums of cells lie side by side, at a multiple of their number.
const int kTogether = pixels % 4 == 0 ? 4 : pixels % 2 == 0 ? 2 : 1;

uvec4 fetch_cells(uint index) {
  if (kTogether == 4) return cells128[index / 4u];
  if (kTogether == 2) return uvec4(cells64[index / 2u], 0u, 0u);
  return uvec4(cells32[index], 0u, 0u, 0u);
}

// Adds the sums of cells of the band to those of a lane's columns, from the channel c on.
void add_cells(inout PLACE v[kOwn], int band, int kind, int c, int x) {
  [[unroll]] for (int i = 0; i < kOwn; i += kTogether) {
    uvec4 fetched[kWords];
    int column = x + i / pixels * kThreads * pixels + i % pixels;
    [[unroll]] for (int j = 0; j < kWords; ++j) {
      int plane = (2 * band + kind) * source_channels + c + j;
      fetched[j] = uvec4(0u);
      if (c + j < source_channels) fetched[j] = fetch_cells(uint(plane * columns + column) + layer_start(beside_stride));
    }
    [[unroll]] for (int k = 0; k < kTogether; ++k) {
      NUMBERS cell = NUMBERS(0);
      [[unroll]] for (int j = 0; j < kWords; ++j) cell[j] = from_word(fetched[j][k]);
      v[i + k] += to_place(cell);
    }
  }
}

// The columns of the window of the row before the band, from their pixels.
void sum_columns(Columns own[chunks], int top, NUMBERS numbers_outside, out NUMBERS down[kOwn]) {
  [[unroll]] for (int i = 0; i < kOwn; ++i) down[i] = NUMBERS(0);
  for (int first = 0; first < window.y; first += ahead) {
    int rows[ahead];
    uvec4 fetched[ahead * chunks];
    [[unroll]] for (int i = 0; i < ahead; ++i) {
      rows[i] = map_index(border_y, top + min(first + i, window.y - 1), source_size.y);
      [[unroll]] for (int q = 0; q < chunks; ++q) fetched[i * chunks + q] = fetch_row(own[q], rows[i]).low;
    }
    [[unroll]] for (int i = 0; i < ahead; ++i) {
      if (first + i < window.y) {
        [[unroll]] for (int k = 0; k < kOwn; ++k) {
          down[k] += pixel_of_row(own[k / pixels], rows[i], fetched[i * chunks + k / pixels], k % pixels, numbers_outside);
        }
      }
    }
  }
}

// The chunks of the rows that leave and enter in a turn.
void fetch_turn(Columns own[chunks], int y, int end, int top, out uvec4 leaving[kFetched],
                out uvec4 entering[kFetched]) {
  [[unroll]] for (int i = 0; i < batch; ++i) {
    int row = top + min(y + i, end - 1);
    int leaves = map_index(border_y, row, source_size.y);
    int enters = map_index(border_y, row + window.y, source_size.y);
    [[unroll]] for (int q = 0; q < chunks; ++q) {
      leaving[i * chunks + q] = fetch_row(own[q], leaves).low;
      entering[i * chunks + q] = fetch_row(own[q], enters).low;
    }
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
  // What a lane makes lies `kThreads` apart, and each of it where windows end, the whole ones and their parts.
  int ends[parts + 1];
  [[unroll]] for (int i = 0; i <= parts; ++i) ends[i] = place_of(lead + thread + window.x * i / parts);
  int columns_left = min(width, size.x - corner.x) - thread;

  NUMBERS numbers_outside = to_numbers(outside);
  int top = origin.y + corner.y - before.y - 1;  // the row that leaves when the band's first is made
  NUMBERS down[kOwn];
  if (!has_cells) sum_columns(own, top, numbers_outside, down);

  // The windows of the row before the band.
  NUMBERS sums[kOwn];
  [[unroll]] for (int k = 0; k < kOwn; ++k) sums[k] = NUMBERS(0);
  [[unroll]] for (int c = 0; c < source_channels; c += kWords) {
    PLACE v[kOwn];
    [[unroll]] for (int i = 0; i < kOwn; ++i) v[i] = has_cells ? PLACE(0) : channels_of(down[i], c);
    if (has_cells) {
      for (int i = 0; i < whole; ++i) add_cells(v, group.y + i, 0, c, corner.x + thread * pixels);
      if (part > 0) add_cells(v, group.y + whole, 1, c, corner.x + thread * pixels);
    }
    add_up_chunks(v, 0);
    barrier();
    put_sums(v, 0, thread);
    barrier();
    [[unroll]] for (int k = 0; k < kOwn; ++k) {
      NUMBERS begun = of_place(sums_up_to[ends[parts] + k * kStep] - sums_up_to[ends[0] + k * kStep]);
      [[unroll]] for (int j = 0; j < kWords; ++j) {
        if (c + j < source_channels) sums[k][c + j] = begun[j];
      }
    }
  }

  uvec4 leaving[kFetched];
  uvec4 entering[kFetched];
  fetch_turn(own, 0, end, top, leaving, entering);
  for (int y = 0; y < end; y += batch) {
    PLACE changes[batch][kOwn];
    [[unroll]] for (int i = 0; i < batch; ++i) {
      int leaves = map_index(border_y, top + min(y + i, end - 1), source_size.y);
      int enters = map_index(border_y, top + min(y + i, end - 1) + window.y, source_size.y);
      [[unroll]] for (int q = 0; q < chunks; ++q) {
        [[unroll]] for (int p = 0; p < pixels; ++p) {
          changes[i][q * pixels + p] = to_place(pixel_of_row(own[q], enters, entering[i * chunks + q], p, numbers_outside) -
                                                pixel_of_row(own[q], leaves, leaving[i * chunks + q], p, numbers_outside));
        }
      }
      add_up_chunks(changes[i], i);
    }
    // The next turn's rows are on their way while this one's are summed.
    fetch_turn(own, y + batch, end, top, leaving, entering);
    barrier();
    [[unroll]] for (int i = 0; i < batch; ++i) put_sums(changes[i], i, thread);
    barrier();
    [[unroll]] for (int i = 0; i < batch; ++i) {
      ivec2 to = corner - skip + ivec2(thread, y + i);
      bool makes = to.y >= 0 && y + i < end;
      uint index = destination_index(to);
      [[unroll]] for (int k = 0; k < kOwn; ++k) {
        int place = i * kPitch + k * kStep;
        [[unroll]] for (int j = 0; j < parts; ++j) {
          sums[k] += to_totals(of_place(sums_up_to[place + ends[j + 1]] - sums_up_to[place + ends[j]]));
        }
        uvec4 codes = codes_of(sums[k]);
        if (makes && to.x + k * kThreads >= 0 && k * kThreads < columns_left) put_stored(index + uint(k * kThreads), codes);
      }
    }
  }
}
