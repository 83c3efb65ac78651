//@ axis STORAGE buffer image
//@ skip STORAGE=image
// sep.fused on cooperative matrices: taps along an axis are a product with a banded matrix, 16 places from 16 n. A group
// owns a strip of columns and walks down 16 rows a turn. Source pixels go to shared memory as halves, one plane a channel;
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
// segment: rows that one group makes. row_start, column_start: what sums along x and then those along y begin with.
// gain: what sums along both axes are multiplied by.
#define KERNEL_PARAMETERS ivec2 before; int segment; float row_start; float column_start; vec2 gain;
#include "pixel.glsl"
#include "halves.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int subgroup_size = 32;
layout(constant_id = 23) const int blocks = 1;      // neighbouring blocks of 16 columns that a subgroup makes
layout(constant_id = 24) const int lead = 0;        // columns read before the first tap's, so that fours of pixels are whole
layout(constant_id = 25) const bool clamps = true;  // sums can leave the range of an integer format
// What is the sum of so many halves, the nearest one and the rest: rows between the axes, and taps.
layout(constant_id = 26) const int halves = 1;
layout(constant_id = 27) const int tap_halves_x = 1;
layout(constant_id = 28) const int tap_halves_y = 1;

// Those of x, then those of y.
#include "weights.glsl"

// Left operands, right ones and sums, which are stored as halves: see matrices.py.
#define Left fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>
#define Right fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>
#define Sum fcoopmatNV<32, gl_ScopeSubgroup, 16, 8>
#define Rounded fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>
const int kParts = 2;  // of a block: its columns are two right operands
const int kHeld = 16 * 8 / subgroup_size;  // numbers of a sum in a lane


const int kThreads = int(gl_WorkGroupSize.x);
const int kSubgroups = kThreads / subgroup_size;
const int kBeside = kSubgroups / source_channels;             // subgroups beside each other in a plane
const int kWidth = kBeside * blocks * 16;                     // columns of the strip
const int kBlocksX = (lead + taps_x + 30) / 16;               // of columns that 16 columns depend on
const int kBlocksY = (taps_y + 30) / 16;
const int kReach = kWidth + (kBlocksX - 1) * 16;              // columns that matrices read
const int kFours = (kWidth + lead + taps_x + 2) / 4;          // of pixels that are read of a row; the rest is zero
const int kRows = 16;                                          // of a turn
const int kLoads = (kRows * kFours + kThreads - 1) / kThreads;  // of a thread, a turn
const int kStores = (kRows * kWidth / 4 + kThreads - 1) / kThreads;
const int kWords = source_channels * source_bits / 8;         // of four pixels as they are stored

// In fours of halves. Rows begin an odd number of 16 bytes apart: those of a block then lie in different banks.
const int kRowPitch = kReach / 4 + 2;
const int kDonePitch = kWidth / 4 + 2;
const int kRowPlane = kRows * kRowPitch;
const int kDonePlane = kRows * kDonePitch;
// Small groups have shorter rows than the bands of taps, which lie here before the rows do.
const int kAcross = tap_halves_x * kBlocksX;  // matrices of taps
const int kDown = tap_halves_y * kBlocksY;
const int kBand = 64;
const int kBands = (kAcross + kDown) * kBand;
const int kPlanes = source_channels * kRowPlane;
shared uvec2 rows[kPlanes > kBands ? kPlanes : kBands];
// The taps lie here before.
const int kDone = source_channels * kDonePlane;
shared uvec2 done[kDone > taps_x + taps_y ? kDone : taps_x + taps_y];

// ---- Four neighbouring pixels of a row, as they are stored and as halves
//
// Codes of 8 bits go in as halves whose bits they are, code * 2^-24, which takes no conversion. They come out as 1024 + code: from
// there to 2048 halves are the whole numbers, so rounding a sum to a half rounds it to a code, which lies in the low byte.

struct Four {
  uint words[8];  // kWords of them
};

const uint kLowBytes = 0x00FF00FFu;

uint component(Four four, int pixel, int c) {
  int bit = (pixel * source_channels + c) * source_bits;
  return four.words[bit / 32] >> (bit % 32) & ((1u << source_bits) - 1u);
}

// A channel of two pixels, side by side in a word.
uint two_halves(Four four, int pixel, int c) {
  uint two = component(four, pixel, c) | component(four, pixel + 1, c) << 16;
  return two;
}

void put_halves(int at, Four four) {
  if (source_channels == 4 && source_bits == 8) {
    uvec2 first = uvec2(low_halves(four.words[0], four.words[1]), low_halves(four.words[2], four.words[3]));   // two channels
    uvec2 last = uvec2(high_halves(four.words[0], four.words[1]), high_halves(four.words[2], four.words[3]));  // the other two
    rows[at] = first & kLowBytes;
    rows[at + kRowPlane] = first >> 8 & kLowBytes;
    rows[at + 2 * kRowPlane] = last & kLowBytes;
    rows[at + 3 * kRowPlane] = last >> 8 & kLowBytes;
    return;
  }
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    rows[c * kRowPlane + at] = uvec2(two_halves(four, 0, c), two_halves(four, 2, c));
  }
}

// Sums can leave the range of codes where taps are negative.
uvec2 done_halves(int at) {
  uvec2 v = done[at];
  if (!clamps) return v;
  const f16vec2 kLeast = f16vec2(1024.0), kMost = f16vec2(1279.0);
  return uvec2(packFloat2x16(clamp(unpackFloat2x16(v.x), kLeast, kMost)),
               packFloat2x16(clamp(unpackFloat2x16(v.y), kLeast, kMost)));
}

Four take_done(int at) {
  Four four;
  if (source_channels == 4 && source_bits == 8) {
    uvec2 v0 = done_halves(at), v1 = done_halves(at + kDonePlane);
    uvec2 v2 = done_halves(at + 2 * kDonePlane), v3 = done_halves(at + 3 * kDonePlane);
    uvec2 v01 = (v0 & kLowBytes) | (v1 << 8 & ~kLowBytes);
    uvec2 v23 = (v2 & kLowBytes) | (v3 << 8 & ~kLowBytes);
    four.words[0] = low_halves(v01.x, v23.x);
    four.words[1] = high_halves(v01.x, v23.x);
    four.words[2] = low_halves(v01.y, v23.y);
    four.words[3] = high_halves(v01.y, v23.y);
    return four;
  }
  [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = 0u;
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    uvec2 v = done_halves(at + c * kDonePlane);
    [[unroll]] for (int i = 0; i < 4; ++i) {
      int bit = (i * source_channels + c) * source_bits;
      uint half_bits = i % 2 == 0 ? v[i / 2] & 0xFFFFu : v[i / 2] >> 16;
      four.words[bit / 32] |= (source_bits == 8 ? half_bits & 0xFFu : half_bits) << (bit % 32);
    }
  }
  return four;
}

// ---- Memory. A place is that of four pixels in units of their words.

Four fetch_whole(uint place) {
  Four four;
  if (kWords % 4 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 4; ++i) {
      uvec4 v = source128[place * uint(kWords / 4) + uint(i)];
      [[unroll]] for (int w = 0; w < 4; ++w) four.words[4 * i + w] = v[w];
    }
  } else {
    [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = source32[place * uint(kWords) + uint(i)];
  }
  return four;
}

void store_whole(uint place, Four four) {
  if (kWords % 4 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 4; ++i) {
      destination128[place * uint(kWords / 4) + uint(i)] =
          uvec4(four.words[4 * i], four.words[4 * i + 1], four.words[4 * i + 2], four.words[4 * i + 3]);
    }
  } else {
    [[unroll]] for (int i = 0; i < kWords; ++i) destination32[place * uint(kWords) + uint(i)] = four.words[i];
  }
}

// Of a pixel beyond a constant border, as fetch_stored() gives them.
uvec4 outside_stored() {
  if (source_bits == 8) {
    uint codes = packUnorm4x8(outside);
    return source_channels == 4 ? uvec4(codes, 0u, 0u, 0u) : uvec4(codes, codes >> 8, codes >> 16, 0u) & 0xFFu;
  }
  uvec2 halves = uvec2(packHalf2x16(outside.xy), packHalf2x16(outside.zw));
  return source_channels == 4 ? uvec4(halves, 0u, 0u) : uvec4(halves.x & 0xFFFFu, halves.x >> 16, halves.y & 0xFFFFu, 0u);
}

// Anywhere, wherever rows begin.
Four fetch_mapped(ivec2 p) {
  Four four;
  [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = 0u;
  int y = map_index(border_y, p.y, source_size.y);
  [[unroll]] for (int i = 0; i < 4; ++i) {
    ivec2 q = ivec2(map_index(border_x, p.x + i, source_size.x), y);
    uvec4 stored = is_beyond(q) ? outside_stored() : fetch_stored(q);
    if (source_channels == 4) {
      [[unroll]] for (int w = 0; w < kWords / 4; ++w) four.words[i * (kWords / 4) + w] = stored[w];
    } else {
      [[unroll]] for (int c = 0; c < source_channels; ++c) {
        int bit = (i * source_channels + c) * source_bits;
        four.words[bit / 32] |= stored[c] << (bit % 32);
      }
    }
  }
  return four;
}

void store_each(ivec2 p, Four four) {
  [[unroll]] for (int i = 0; i < 4; ++i) {
    uvec4 stored = uvec4(0u);
    if (source_channels == 4) {
      [[unroll]] for (int w = 0; w < kWords / 4; ++w) stored[w] = four.words[i * (kWords / 4) + w];
    } else {
      [[unroll]] for (int c = 0; c < source_channels; ++c) stored[c] = component(four, i, c);
    }
    if (p.x + i < size.x) put_words(destination_index(ivec2(p.x + i, p.y)), stored);
  }
}

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
  int left = int(gl_WorkGroupID.x) * kWidth;
  int start = int(gl_WorkGroupID.y) * segment;
  int end = min(start + segment, size.y);
  ivec2 corner = origin + ivec2(left - lead, start) - before;
  int subgroup = int(gl_SubgroupID);
  int row_block = subgroup / kBeside * kRowPlane + subgroup % kBeside * blocks * 4;
  int done_block = subgroup / kBeside * kDonePlane + subgroup % kBeside * blocks * 4;

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

  // Where whole fours of pixels can be fetched, and stored, in most turns and groups.
  bool whole_rows_in = source_pitch % 4 == 0 && source_start() % 4u == 0u;
  bool whole_rows_out = destination_pitch % 4 == 0 && destination_start() % 4u == 0u;
  bool whole_columns_in = whole_rows_in && corner.x >= 0 && corner.x + 4 * kFours <= source_size.x;
  bool whole_columns_out = whole_rows_out && left + kWidth <= size.x;
  // A thread fetches, and stores, the same places of every turn.
  int puts[kLoads];
  uint fetches[kLoads];
  [[unroll]] for (int i = 0; i < kLoads; ++i) {
    ivec2 p = ivec2((thread + i * kThreads) % kFours, (thread + i * kThreads) / kFours);
    puts[i] = p.y * kRowPitch + p.x;
    fetches[i] = uint((corner.y + p.y) * (source_pitch / 4) + corner.x / 4 + p.x) + source_start() / 4u;
  }

  Four ahead[kLoads];
  const int kKept = blocks * kParts * halves * kBlocksY;
  Right kept[kKept];  // rows that have been filtered horizontally, those of each part of a block from the oldest
  [[unroll]] for (int i = 0; i < kKept; ++i) kept[i] = Right(0.0);

  // Each turn filters the rows that the one before fetched; turn -1 only fetches.
  int turns = (end - start + kRows - 1) / kRows + kBlocksY - 1;
  for (int turn = -1; turn < turns; ++turn) {
    if (turn >= 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        if (thread + i * kThreads < kRows * kFours) put_halves(puts[i], ahead[i]);
      }
    }
    barrier();
    if (turn + 1 < turns) {
      int top = corner.y + (turn + 1) * kRows;
      if (whole_columns_in && top >= 0 && top + kRows <= source_size.y) {
        uint skipped = uint((turn + 1) * kRows * (source_pitch / 4));
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
    if (turn >= 0) {
      Left source_blocks[blocks + kBlocksX - 1];
      [[unroll]] for (int b = 0; b < blocks + kBlocksX - 1; ++b) {
        coopMatLoadNV(source_blocks[b], rows, row_block + b * 4, kRowPitch, false);
      }
      Sum rest[blocks * kParts];
      [[unroll]] for (int part = 0; part < blocks * kParts; ++part) {
        Sum sum = Sum(row_start);
        [[unroll]] for (int n = 0; n < kAcross; ++n) {
          sum = coopMatMulAddNV(source_blocks[part / kParts + n % kBlocksX], across[n * kParts + part % kParts], sum);
        }
        if (halves > 1) {
          sum *= gain.x;
          [[unroll]] for (int i = 0; i < kHeld; ++i) {
            rest[part][i] = rest_of(sum[i], 1);
            sum[i] -= rest[part][i];
          }
        }
        coopMatStoreNV(Rounded(sum), done, done_block + part * 2, kDonePitch, false);
      }
      // What is a sum becomes a right operand by way of memory, all parts at once: none has to wait for another.
      [[unroll]] for (int h = 0; h < halves; ++h) {
        if (h > 0) {
          [[unroll]] for (int part = 0; part < blocks * kParts; ++part) {
            coopMatStoreNV(Rounded(rest[part]), done, done_block + part * 2, kDonePitch, false);
          }
        }
        subgroupBarrier();
        [[unroll]] for (int part = 0; part < blocks * kParts; ++part) {
          int first = (part * halves + h) * kBlocksY;
          [[unroll]] for (int n = 0; n < kBlocksY - 1; ++n) kept[first + n] = kept[first + n + 1];
          coopMatLoadNV(kept[first + kBlocksY - 1], done, done_block + part * 2, kDonePitch, false);
        }
        subgroupBarrier();
      }
      [[unroll]] for (int part = 0; part < blocks * kParts; ++part) {
        // What is left of both would add nothing that f32 holds.
        Sum result = Sum(column_start);
        [[unroll]] for (int h = halves - 1; h >= 0; --h) {
          int first = part * halves * kBlocksY;
          [[unroll]] for (int n = 0; n < kBlocksY; ++n) {
            if (h > 0 && h < tap_halves_y) result = coopMatMulAddNV(down[h * kBlocksY + n], kept[first + n], result);
            result = coopMatMulAddNV(down[n], kept[first + h * kBlocksY + n], result);
          }
        }
        if (halves > 1) result *= gain.y;
        coopMatStoreNV(Rounded(result), done, done_block + part * 2, kDonePitch, false);
      }
    }
    barrier();
    int top = start + (turn - (kBlocksY - 1)) * kRows;
    if (top >= start) {
      bool whole = whole_columns_out && top + kRows <= end;
      [[unroll]] for (int i = 0; i < kStores; ++i) {
        ivec2 p = ivec2((thread + i * kThreads) % (kWidth / 4), (thread + i * kThreads) / (kWidth / 4));
        if (p.y < kRows) {
          Four four = take_done(p.y * kDonePitch + p.x);
          if (whole) {
            store_whole(uint((top + p.y) * (destination_pitch / 4) + left / 4 + p.x) + destination_start() / 4u, four);
          } else if (top + p.y < end) {
            store_each(ivec2(left + 4 * p.x, top + p.y), four);
          }
        }
      }
    }
  }
}
