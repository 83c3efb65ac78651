//@ axis STORAGE buffer image
//@ axis BETWEEN memory registers
//@ skip STORAGE=image
// sep.fused on cooperative matrices: taps along an axis are a product with a banded matrix, 16 places from 16 n. A group
// owns a strip of columns and moves down 16 rows a step. Source pixels go to shared memory as halves, one plane a channel;
// a subgroup multiplies blocks of a plane by the taps of x, keeps the last few results, and multiplies those by the taps
// of y. Sums are f32; pixels, taps and what lies between the axes are halves, or the latter two are sums of two halves.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
// skip: columns and rows before the destination where groups begin. chunk_rows: rows that one group makes. row_start, column_start: what
// sums along x and then those along y begin with. gain: what the latter are multiplied by.
#define KERNEL_PARAMETERS ivec2 before; ivec2 skip; int chunk_rows; float row_start; float column_start; float gain;
#include "io/pixel.glsl"
#include "io/skip.glsl"
#include "io/split.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int subgroup_size = 32;
layout(constant_id = 23) const int blocks = 1;      // neighbouring blocks of 16 columns that a subgroup makes
layout(constant_id = 24) const int lead = 0;        // columns read before the first tap's, so that fours of pixels are whole
layout(constant_id = 25) const bool clamps = true;  // sums can leave the range of an integer format
// f16 numbers that a value is split into, the nearest one and the rest: rows between the axes, and taps.
layout(constant_id = 26) const int split = 1;
layout(constant_id = 27) const int tap_split_x = 1;
layout(constant_id = 28) const int tap_split_y = 1;

// Those of x, then those of y.
#include "sep/weights.glsl"

// Left operands, right ones and sums, which are stored as halves: see matrices.py.
#define Left fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>
#define Right fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>
#define Sum fcoopmatNV<32, gl_ScopeSubgroup, 16, 8>
#define Rounded fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>
const int kParts = 2;  // of a block: its columns are two right operands
const int kAllParts = blocks * kParts;
const int kHeld = 16 * 8 / subgroup_size;  // numbers of a sum in a lane

const int kThreads = int(gl_WorkGroupSize.x);
const int kSubgroups = kThreads / subgroup_size;
const int kSideBySide = kSubgroups / source_channels;  // subgroups beside each other in a plane
const int kWidth = kSideBySide * blocks * 16;          // columns of the strip
const int kBlocksX = (lead + taps_x + 30) / 16;        // of columns that 16 columns depend on
const int kBlocksY = (taps_y + 30) / 16;
const int kReach = kWidth + (kBlocksX - 1) * 16;              // columns that matrices read
// Of pixels that are read of a row; the rest is zero. Of floats all that matrices read: a large pixel without a tap leaves a trace in a
// product, so that each block must have the same ones wherever strips begin.
const int kFours = source_is_float ? kReach / 4 : (kWidth + lead + taps_x + 2) / 4;
const int kRows = 16;  // of a step
const int kLoads = (kRows * kFours + kThreads - 1) / kThreads;  // of a thread, a step
const int kStores = (kRows * kWidth / 4 + kThreads - 1) / kThreads;

// In fours of halves. Rows begin an odd number of 16 bytes apart: those of a block then lie in different banks.
const int kRowPitch = kReach / 4 + 2;
const int kDonePitch = kWidth / 4 + 2;
const int kRowPlane = kRows * kRowPitch;
const int kDonePlane = kRows * kDonePitch;
// Small groups have shorter rows than the bands of taps, which lie here before the rows do.
const int kAcross = tap_split_x * kBlocksX;  // matrices of taps
const int kDown = tap_split_y * kBlocksY;
const int kBand = 64;
const int kBands = (kAcross + kDown) * kBand;
const int kPlanes = source_channels * kRowPlane;
shared uvec2 rows[kPlanes > kBands ? kPlanes : kBands];
// The taps lie here before.
const int kDone = source_channels * kDonePlane;
const int kTaps = (taps_x + taps_y + 1) / 2 * 2;  // whole 16 bytes, so that `rows`, wherever it lies, begins at such
shared uvec2 done[kDone > kTaps ? kDone : kTaps];

#include "coopmat/fours.glsl"

// ---- Matrices of taps

// From `done`, where they lie while matrices are made: lanes need taps of their own, and constants are one for all lanes.
float tap_x(int i) { return i >= 0 && i < taps_x ? uintBitsToFloat(done[i].x) : 0.0; }
float tap_y(int i) { return i >= 0 && i < taps_y ? uintBitsToFloat(done[taps_x + i].x) : 0.0; }

// Row by row, those of x and then those of y, into `rows`; of each axis those of its taps, then those of what is left of them.
// Column j of matrix n of x has the taps of output column j for columns 16 n and on; row j of matrix n of y has those of
// output row j.
void make_bands(int thread) {
  for (int i = thread; i < taps_x + taps_y; i += kThreads) done[i].x = floatBitsToUint(weights[i]);
  barrier();
  for (int i = thread; i < kBands; i += kThreads) {
    int n = i / kBand;
    int row = i / 4 % 16;
    int column = i % 4 * 4;
    vec4 v;
    [[unroll]] for (int k = 0; k < 4; ++k) {
      if (n < kAcross) {
        v[k] = rest_of(tap_x(n % kBlocksX * 16 + row - (column + k) - lead), n / kBlocksX);
      } else {
        v[k] = rest_of(tap_y((n - kAcross) % kBlocksY * 16 + (column + k) - row), (n - kAcross) / kBlocksY);
      }
    }
    rows[i] = uvec2(packFloat2x16(f16vec2(v.xy)), packFloat2x16(f16vec2(v.zw)));
  }
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  int left = int(gl_WorkGroupID.x) * kWidth - skipped().x;
  int start = int(gl_WorkGroupID.y) * chunk_rows - skipped().y;
  int end = min(start + chunk_rows, size.y);
  ivec2 corner = origin + ivec2(left - lead, start) - before;
  int subgroup = int(gl_SubgroupID);
  int row_block = subgroup / kSideBySide * kRowPlane + subgroup % kSideBySide * blocks * 4;
  int done_block = subgroup / kSideBySide * kDonePlane + subgroup % kSideBySide * blocks * 4;

  make_bands(thread);
  barrier();
  Right across[kAcross * kParts];
  [[unroll]] for (int n = 0; n < kAcross * kParts; ++n) {
    coopMatLoadNV(across[n], rows, n / kParts * kBand + n % kParts * 2, 4, false);
  }
  Left down[kDown];
  [[unroll]] for (int n = 0; n < kDown; ++n) coopMatLoadNV(down[n], rows, (kAcross + n) * kBand, 4, false);
  barrier();
  for (int i = thread; i < kPlanes; i += kThreads) rows[i] = uvec2(0u);
  barrier();

  // Where whole fours of pixels can be fetched, and stored, in most steps and groups.
  bool whole_rows_in = source_pitch % 4 == 0 && source_start() % 4u == 0u;
  bool whole_rows_out = destination_pitch % 4 == 0 && destination_start() % 4u == 0u;
  bool whole_columns_in = whole_rows_in && corner.x >= 0 && corner.x + 4 * kFours <= source_size.x;
  bool whole_columns_out = whole_rows_out && left + kWidth <= size.x;
  if (skips) whole_columns_out = whole_columns_out && left >= 0 && left % 4 == 0;
  // A thread fetches, and stores, the same places of every step.
  int puts[kLoads];
  uint fetches[kLoads];
  [[unroll]] for (int i = 0; i < kLoads; ++i) {
    ivec2 p = ivec2((thread + i * kThreads) % kFours, (thread + i * kThreads) / kFours);
    puts[i] = p.y * kRowPitch + p.x;
    fetches[i] = uint((corner.y + p.y) * (source_pitch / 4) + corner.x / 4 + p.x) + source_start() / 4u;
  }

  Four ahead[kLoads];
  const int kKept = kAllParts * split * kBlocksY;
  Right kept[kKept];  // rows that have been filtered horizontally, those of each part of a block from the oldest
  [[unroll]] for (int i = 0; i < kKept; ++i) kept[i] = Right(0.0);

  // Each step filters the rows that the one before fetched; step -1 only fetches.
  int steps = (end - start + kRows - 1) / kRows + kBlocksY - 1;
  for (int step = -1; step < steps; ++step) {
    if (step >= 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        if (thread + i * kThreads < kRows * kFours) put_halves(puts[i], ahead[i]);
      }
    }
    barrier();
    if (step + 1 < steps) {
      int top = corner.y + (step + 1) * kRows;
      if (whole_columns_in && top >= 0 && top + kRows <= source_size.y) {
        uint skipped = uint((step + 1) * kRows * (source_pitch / 4));
        [[unroll]] for (int i = 0; i < kLoads; ++i) {
          if (thread + i * kThreads < kRows * kFours) ahead[i] = fetch_whole(fetches[i] + skipped);
        }
      } else {
        [[unroll]] for (int i = 0; i < kLoads; ++i) {
          ivec2 p = ivec2((thread + i * kThreads) % kFours, (thread + i * kThreads) / kFours);
          if (p.y < kRows) ahead[i] = fetch_mapped(ivec2(corner.x + 4 * p.x, top + p.y));
        }
      }
    }
    if (step >= 0) {
      Left source_blocks[blocks + kBlocksX - 1];
      [[unroll]] for (int b = 0; b < blocks + kBlocksX - 1; ++b) {
        coopMatLoadNV(source_blocks[b], rows, row_block + b * 4, kRowPitch, false);
      }
      Sum sums[split * kAllParts];
      [[unroll]] for (int part = 0; part < kAllParts; ++part) {
        Sum sum = Sum(row_start);
        [[unroll]] for (int n = 0; n < kAcross; ++n) {
          sum = coopMatMulAddNV(source_blocks[part / kParts + n % kBlocksX], across[n * kParts + part % kParts], sum);
        }
        sums[part] = sum;
        if (split > 1) {
          [[unroll]] for (int i = 0; i < kHeld; ++i) {
            float upper = upper_half(sum[i]);
            sums[part][i] = upper;
            sums[kAllParts + part][i] = sum[i] - upper;
          }
        }
      }
      // What is a sum becomes a right operand; by way of memory all parts at once, so that none has to wait for another.
      [[unroll]] for (int h = 0; h < split; ++h) {
#if BETWEEN == BETWEEN_memory
        [[unroll]] for (int part = 0; part < kAllParts; ++part) {
          coopMatStoreNV(Rounded(sums[h * kAllParts + part]), done, done_block + part * 2, kDonePitch, false);
        }
        subgroupBarrier();
#endif
        [[unroll]] for (int part = 0; part < kAllParts; ++part) {
          int first = (part * split + h) * kBlocksY;
          int last = first + kBlocksY - 1;
          [[unroll]] for (int n = first; n < last; ++n) kept[n] = kept[n + 1];
#if BETWEEN == BETWEEN_memory
          coopMatLoadNV(kept[last], done, done_block + part * 2, kDonePitch, false);
#else
          kept[last] = Right(sums[h * kAllParts + part]);
#endif
        }
#if BETWEEN == BETWEEN_memory
        subgroupBarrier();
#endif
      }
      [[unroll]] for (int part = 0; part < kAllParts; ++part) {
        // The product of both rests is left out: the declared error has it.
        Sum result = Sum(column_start);
        [[unroll]] for (int h = split - 1; h >= 0; --h) {
          int first = part * split * kBlocksY;
          [[unroll]] for (int n = 0; n < kBlocksY; ++n) {
            if (h > 0 && h < tap_split_y) result = coopMatMulAddNV(down[h * kBlocksY + n], kept[first + n], result);
            result = coopMatMulAddNV(down[n], kept[first + h * kBlocksY + n], result);
          }
        }
        if (split > 1) result *= gain;
        coopMatStoreNV(Rounded(result), done, done_block + part * 2, kDonePitch, false);
      }
    }
    barrier();
    int top = start + (step - (kBlocksY - 1)) * kRows;
    if (top >= start) {
      bool whole = whole_columns_out && top + kRows <= end && !is_skipped(top);
      [[unroll]] for (int i = 0; i < kStores; ++i) {
        ivec2 p = ivec2((thread + i * kThreads) % (kWidth / 4), (thread + i * kThreads) / (kWidth / 4));
        if (p.y < kRows) {
          Four four = take_done(p.y * kDonePitch + p.x);
          if (whole) {
            store_whole(uint((top + p.y) * (destination_pitch / 4) + left / 4 + p.x) + destination_start() / 4u, four);
          } else if (top + p.y < end && !is_skipped(top + p.y)) {
            store_each(ivec2(left + 4 * p.x, top + p.y), four);
          }
        }
      }
    }
  }
}
