//@ axis STORAGE buffer image
//@ skip STORAGE=image
// sep.fused on cooperative matrices whose lanes fetch what they hold. A subgroup owns a strip of columns and moves down it 16 rows a
// step. A lane fetches the pixels at its own places of 8x8 matrices, of which each channel is an operand as it lies; taps of y make
// sums of 16 rows from these, which are halves for the product with the taps of x, and what that makes a lane stores. After the first
// step there is no shared memory and no barrier: what lies between the axes stays in the lanes that made it. Pixels, taps and what lies
// between the axes are halves, or the latter two are sums of two halves; sums are f32.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_NV_cooperative_matrix : require
// skip: columns and rows before the destination where groups begin. chunk_rows: rows that one subgroup makes. between_start, end_start:
// what sums along y and then those along x begin with. gain: what the latter are multiplied by.
#define KERNEL_PARAMETERS ivec2 before; ivec2 skip; int chunk_rows; float between_start; float end_start; float gain;
#include "io/pixel.glsl"
#include "io/skip.glsl"
#include "coopmat/blocks.glsl"
#include "io/split.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 23) const int blocks = 1;      // neighbouring blocks of 8 columns that a subgroup makes
layout(constant_id = 24) const bool clamps = true;  // sums can leave the range of an integer format
// f16 numbers that a value is split into, the nearest one and the rest: what lies between the axes, and taps.
layout(constant_id = 25) const int split = 1;
layout(constant_id = 26) const int tap_split_x = 1;
layout(constant_id = 27) const int tap_split_y = 1;

// Those of x, then those of y.
#include "sep/weights.glsl"

const int kThreads = int(gl_WorkGroupSize.x);
const int kSubgroups = kThreads / subgroup_size;
const int kAcross = (taps_x + 2 * kSide - 2) / kSide;    // blocks of columns that 8 columns depend on
const int kDown = (taps_y + kRows + kSide - 2) / kSide;  // blocks of rows that 16 rows depend on
const int kNew = kRows / kSide;                          // of these: what a step brings,
const int kKept = kDown - kNew;                          // and what it has of steps before
const int kRead = blocks + kAcross - 1;                  // blocks of columns that are read

const int kBandsX = tap_split_x * kAcross;  // matrices of taps
const int kBandsY = tap_split_y * kDown;
const int kBands = kBandsX * kSide + kBandsY * kRows;  // rows of these
shared float taps[taps_x + taps_y];
shared uvec4 bands[kBands];

float tap_x(int i) { return i >= 0 && i < taps_x ? taps[i] : 0.0; }
float tap_y(int i) { return i >= 0 && i < taps_y ? taps[taps_x + i] : 0.0; }

// Column j of matrix n of x has the taps of output column j for columns 8 n and on; row j of matrix n of y has those of output row j.
void make_bands(int thread) {
  for (int i = thread; i < kBands; i += kThreads) {
    bool is_x = i < kBandsX * kSide;
    int n = is_x ? i / kSide : (i - kBandsX * kSide) / kRows;
    int row = is_x ? i % kSide : (i - kBandsX * kSide) % kRows;
    float v[kSide];
    [[unroll]] for (int column = 0; column < kSide; ++column) {
      v[column] = is_x ? rest_of(tap_x(n % kAcross * kSide + row - column), n / kAcross)
                       : rest_of(tap_y(n % kDown * kSide + column - row), n / kDown);
    }
    bands[i] = row_of_halves(v);
  }
}

// ---- Pixels

uint within_codes(uint two) {
  if (!clamps) return two;
  return packFloat2x16(clamp(unpackFloat2x16(two), f16vec2(1024.0), f16vec2(1279.0)));
}

// The i-th pixel that a lane made. Codes come out as 1024 more: from there to 2048 halves are the whole numbers, so that the low byte
// is the rounded code.
uvec2 pixel_made(Sum sums[4], int i) {
  if (source_bits == 8) {
    uint even = within_codes(packed_halves(sums[0][i], sums[2][i]));
    uint odd = within_codes(packed_halves(sums[1][i], sums[3][i]));
    return uvec2((even & kLowBytes) | (odd << 8 & ~kLowBytes), 0u);
  }
  return uvec2(packed_halves(sums[0][i], sums[1][i]), source_channels == 4 ? packed_halves(sums[2][i], sums[3][i]) : 0u);
}

// ---- Memory

int left;        // columns and rows of the destination that this subgroup makes
int start, end;
int first_row;   // of the source, that these depend on

// The block whose corner is p of the destination.
void store(bool whole, ivec2 p, Sum sums[4]) {
  if (whole) {
    [[unroll]] for (int i = 0; i < kMade; i += 2) {
      ivec2 q = p + made[i];
      uvec2 a = pixel_made(sums, i), b = pixel_made(sums, i + 1);
      uint pair = destination_index(q) / 2u;
      if (q.y < end && !is_skipped(q.y)) {
        if (kPixelWords == 1) {
          destination64[pair] = uvec2(a.x, b.x);
        } else {
          destination128[pair] = uvec4(a, b);
        }
      }
    }
  } else {
    [[unroll]] for (int i = 0; i < kMade; ++i) {
      ivec2 q = p + made[i];
      uvec2 v = pixel_made(sums, i);
      if (q.x < size.x && q.y < end && !is_skipped(q.x) && !is_skipped(q.y)) {
        if (kPixelWords == 1) {
          destination32[destination_index(q)] = v.x;
        } else {
          destination64[destination_index(q)] = v;
        }
      }
    }
  }
}

// ---- Down the chunk

Left down[kBandsY];
Right across[kBandsX];
Right kept[(kKept > 0 ? kKept : 1) * kRead * 4];  // the last rows, by blocks
uint coming[kNew * kRead * kWords];               // those on their way
const int kBetween = kAcross * 4 * split;  // what lies between the axes, of as many blocks as are needed together

// The sum as a left operand, or as the sum of two.
void put_between(inout Left between[kBetween], int at, Sum sum) {
  if (split > 1) {
    Sum rest;
    [[unroll]] for (int i = 0; i < kMade; ++i) {
      float upper = upper_half(sum[i]);
      rest[i] = sum[i] - upper;
      sum[i] = upper;
    }
    between[at + 1] = Left(rest);
  }
  between[at] = Left(sum);
}

// What the first step needs: on its way while matrices of taps are made, where there are registers for both. Where pixels have two
// channels, it was measured to take longer.
const bool kFetchesEarly = kKept <= 2 && source_channels == 4;
uint first[kDown * kRead * kWords];

void fetch_first(bool whole) {
  [[unroll]] for (int b = 0; b < kDown; ++b) {
    uint places[kFetched];
    find_rows(whole, first_row + b * kSide, places);
    [[unroll]] for (int n = 0; n < kRead; ++n) {
      uint words[kWords];
      fetch(whole, places, n, words);
      [[unroll]] for (int w = 0; w < kWords; ++w) first[(b * kRead + n) * kWords + w] = words[w];
    }
  }
}

void keep_first() {
  [[unroll]] for (int b = 0; b < kDown; ++b) {
    [[unroll]] for (int n = 0; n < kRead; ++n) {
      uint words[kWords];
      [[unroll]] for (int w = 0; w < kWords; ++w) words[w] = first[(b * kRead + n) * kWords + w];
      if (b < kKept) {
        if (border_x == kConstant || border_y == kConstant) put_outside(first_row + b * kSide, n, words);
        [[unroll]] for (int c = 0; c < source_channels; ++c) kept[(b * kRead + n) * 4 + c] = operand(words, c);
      } else {
        [[unroll]] for (int w = 0; w < kWords; ++w) coming[((b - kKept) * kRead + n) * kWords + w] = words[w];
      }
    }
  }
}

// `whole`: all columns lie inside, and pixels side by side can be stored together.
void march(bool whole) {
  bool has_outside = !whole && (border_x == kConstant || border_y == kConstant);
  if (!kFetchesEarly) fetch_first(whole);
  keep_first();
  for (int y = start; y < end; y += kRows) {
    int top = first_row + y - start + kKept * kSide;  // of what has come
    uint places[kNew][kFetched];
    [[unroll]] for (int b = 0; b < kNew; ++b) find_rows(whole, top + kRows + b * kSide, places[b]);
    Left between[kBetween];
    [[unroll]] for (int n = 0; n < kRead; ++n) {
      Right come[kNew * 4];
      [[unroll]] for (int b = 0; b < kNew; ++b) {
        uint words[kWords];
        [[unroll]] for (int w = 0; w < kWords; ++w) words[w] = coming[(b * kRead + n) * kWords + w];
        if (has_outside) put_outside(top + b * kSide, n, words);
        [[unroll]] for (int c = 0; c < source_channels; ++c) come[b * 4 + c] = operand(words, c);
        fetch(whole, places[b], n, words);
        [[unroll]] for (int w = 0; w < kWords; ++w) coming[(b * kRead + n) * kWords + w] = words[w];
      }
      [[unroll]] for (int c = 0; c < source_channels; ++c) {
        Sum sum = Sum(between_start);
        [[unroll]] for (int b = 0; b < kDown; ++b) {
          Right pixels = b < kKept ? kept[(b * kRead + n) * 4 + c] : come[(b - kKept) * 4 + c];
          [[unroll]] for (int h = 0; h < tap_split_y; ++h) sum = coopMatMulAddNV(down[h * kDown + b], pixels, sum);
        }
        put_between(between, (n % kAcross * 4 + c) * split, sum);
        [[unroll]] for (int b = 0; b < kKept; ++b) {
          int from = b + kNew;
          kept[(b * kRead + n) * 4 + c] = from < kKept ? kept[(from * kRead + n) * 4 + c] : come[(from - kKept) * 4 + c];
        }
      }
      if (n >= kAcross - 1) {
        int block = n - (kAcross - 1);
        Sum sums[4];
        [[unroll]] for (int c = 0; c < source_channels; ++c) {
          Sum sum = Sum(end_start);
          [[unroll]] for (int m = 0; m < kAcross; ++m) {
            int at = ((block + m) % kAcross * 4 + c) * split;
            // The product of both rests is left out: the declared error has it.
            if (split > 1) sum = coopMatMulAddNV(between[at + 1], across[m], sum);
            if (tap_split_x > 1) sum = coopMatMulAddNV(between[at], across[kAcross + m], sum);
            sum = coopMatMulAddNV(between[at], across[m], sum);
          }
          if (split > 1) sum *= gain;
          sums[c] = sum;
        }
        store(whole, ivec2(left + block * kSide, y), sums);
      }
    }
  }
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  put_numbers(thread);
  for (int i = thread; i < taps_x + taps_y; i += kThreads) taps[i] = weights[i];
  barrier();
  find_places();
  left = (int(gl_WorkGroupID.x) * kSubgroups + int(gl_SubgroupID)) * blocks * kSide - skipped().x;
  start = int(gl_WorkGroupID.y) * chunk_rows - skipped().y;
  end = min(start + chunk_rows, size.y);
  first_column = origin.x + left - before.x;
  first_row = origin.y + start - before.y;
  // Of whole blocks, wherever a region ends: a large pixel changes bits of sums beside it even where its tap is 0.
  last_row = first_row + kKept * kSide + (end - start + kRows - 1) / kRows * kRows - 1;

  if (kFetchesEarly) fetch_first(false);
  make_bands(thread);
  barrier();
  if (left >= size.x) return;
  [[unroll]] for (int n = 0; n < kBandsX; ++n) coopMatLoadNV(across[n], bands, n * kSide, 1, false);
  [[unroll]] for (int n = 0; n < kBandsY; ++n) coopMatLoadNV(down[n], bands, kBandsX * kSide + n * kRows, 1, false);
  bool has_pairs = destination_pitch % 2 == 0 && destination_start() % 2u == 0u && left + blocks * kSide <= size.x;
  if (skips) has_pairs = has_pairs && left >= 0 && left % 2 == 0;
  [[unroll]] for (int i = 0; i < kMade; i += 2) {
    has_pairs = has_pairs && made[i].x % 2 == 0 && made[i + 1] == made[i] + ivec2(1, 0);
  }
  bool lies_inside = first_column >= 0 && first_column + kRead * kSide <= source_size.x;
  if (border_y == kConstant) lies_inside = lies_inside && first_row >= 0 && last_row < source_size.y;
  // One branch around all that is done, by whole subgroups.
  if (subgroupAll(has_pairs && lies_inside)) {
    march(true);
  } else {
    march(false);
  }
}
