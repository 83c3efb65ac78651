//@ axis STORAGE buffer image
//@ skip STORAGE=image
// sep.fused on cooperative matrices: taps along an axis are a product with a banded matrix, 16 places from 16 n. A group
// owns a strip of columns and walks down 16 rows a turn. Source pixels go to shared memory as halves, one plane a channel;
// a subgroup multiplies blocks of a plane by the taps of x, keeps the last few results, and multiplies those by the taps
// of y. Sums are f32; pixels, taps and what lies between the axes are halves.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
#define KERNEL_PARAMETERS ivec2 before; int segment; float middle;  // rows that one group makes; what is added to sums
#include "pixel.glsl"

layout(constant_id = 20) const int taps_x = 1;
layout(constant_id = 21) const int taps_y = 1;
layout(constant_id = 22) const int subgroup_size = 32;
layout(constant_id = 23) const int blocks = 1;      // neighbouring blocks of 16 columns that a subgroup makes
layout(constant_id = 24) const int lead = 0;        // columns read before the first tap's, so that fours of pixels are whole
layout(constant_id = 25) const bool clamps = true;  // sums can leave the range of an integer format

// Those of x, then those of y; halves.
layout(std430, binding = 2) readonly uniform Weights { float weights[4096]; };

#define Half fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>
#define Single fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>

const int kThreads = int(gl_WorkGroupSize.x);
const int kSubgroups = kThreads / subgroup_size;
const int kAcross = kSubgroups / source_channels;             // subgroups beside each other in a plane
const int kWidth = kAcross * blocks * 16;                     // columns of the strip
const int kBlocksX = (lead + taps_x + 30) / 16;               // of columns that 16 columns depend on
const int kBlocksY = (taps_y + 30) / 16;
const int kReach = kWidth + (kBlocksX - 1) * 16;              // columns that matrices read
const int kFours = (kWidth + lead + taps_x + 2) / 4;          // of pixels that are read of a row; the rest is zero
const int kLoads = (16 * kFours + kThreads - 1) / kThreads;   // of a thread, a turn
const int kStores = (4 * kWidth + kThreads - 1) / kThreads;
const int kWords = source_channels * source_bits / 8;         // of four pixels as they are stored

// In fours of halves. Rows begin an odd number of 16 bytes apart: those of a block then lie in different banks.
const int kRowPitch = kReach / 4 + 2;
const int kDonePitch = kWidth / 4 + 2;
shared uvec2 rows[source_channels * 16 * kRowPitch];
shared uvec2 done[source_channels * 16 * kDonePitch];

// ---- Halves of integers: near 1024 halves are the whole numbers, so a code goes in and comes out as their low bits.

const uint kThousand = 0x64006400u;  // 1024, twice

// Two codes less half their range, so that they are small.
uint halves_of_codes(uint codes) {
  return packFloat2x16(unpackFloat2x16(codes | kThousand) - f16vec2(1152.0));
}

// ---- Four neighbouring pixels of a row

struct Four {
  uint words[8];  // kWords of them
};

Four fetch_one_by_one(ivec2 p) {
  Four four;
  [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = 0u;
  int y = map_index(border_y, p.y, source_size.y);
  [[unroll]] for (int i = 0; i < 4; ++i) {
    ivec2 q = ivec2(map_index(border_x, p.x + i, source_size.x), y);
    uvec4 stored = uvec4(0u);
    if (!is_beyond(q)) {
      stored = fetch_stored(q);
    } else if (source_bits == 8) {
      uint codes = packUnorm4x8(outside);
      stored = source_channels == 4 ? uvec4(codes, 0u, 0u, 0u)
                                    : uvec4(codes, codes >> 8, codes >> 16, 0u) & 0xFFu;
    } else {
      uvec2 halves = uvec2(packHalf2x16(outside.xy), packHalf2x16(outside.zw));
      stored = source_channels == 4 ? uvec4(halves, 0u, 0u)
                                    : uvec4(halves.x & 0xFFFFu, halves.x >> 16, halves.y & 0xFFFFu, 0u);
    }
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

// Aligned: rows begin at multiples of four pixels.
Four fetch_four(ivec2 p, bool aligned) {
  if (!aligned || p.x < 0 || p.x + 4 > source_size.x || uint(p.y) >= uint(source_size.y)) return fetch_one_by_one(p);
  Four four;
  uint index = (uint(p.y) * uint(source_pitch) + uint(p.x)) / 4u * uint(kWords);
  if (kWords % 4 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 4; ++i) {
      uvec4 v = source128[index / 4u + uint(i)];
      [[unroll]] for (int w = 0; w < 4; ++w) four.words[4 * i + w] = v[w];
    }
  } else {
    [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = source32[index + uint(i)];
  }
  return four;
}

uint component(Four four, int pixel, int c) {
  int bit = (pixel * source_channels + c) * source_bits;
  return four.words[bit / 32] >> (bit % 32) & ((1u << source_bits) - 1u);
}

// Of four pixels of a channel, as halves.
uvec2 channel(Four four, int c) {
  uvec2 v = uvec2(component(four, 0, c) | component(four, 1, c) << 16, component(four, 2, c) | component(four, 3, c) << 16);
  return source_bits == 8 ? uvec2(halves_of_codes(v.x), halves_of_codes(v.y)) : v;
}

// As they come out of the sums: codes above 1024, or halves.
uint stored_half(uint two, int which) {
  uint bits = which == 0 ? two & 0xFFFFu : two >> 16;
  return source_bits == 8 ? bits & 0xFFu : bits;
}

uint clamped(uint two) {
  return packFloat2x16(clamp(unpackFloat2x16(two), f16vec2(1024.0), f16vec2(1279.0)));
}

void store_four(ivec2 p, int row, int x, bool aligned) {
  Four four;
  [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = 0u;
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    uvec2 v = done[(c * 16 + row) * kDonePitch + x / 4];
    if (clamps) v = uvec2(clamped(v.x), clamped(v.y));
    [[unroll]] for (int i = 0; i < 4; ++i) {
      int bit = (i * source_channels + c) * source_bits;
      four.words[bit / 32] |= stored_half(v[i / 2], i % 2) << (bit % 32);
    }
  }
  uint index = uint(p.y) * uint(destination_pitch) + uint(p.x);
  if (aligned && p.x + 4 <= size.x) {
    index = index / 4u * uint(kWords);
    if (kWords % 4 == 0) {
      [[unroll]] for (int i = 0; i < kWords / 4; ++i) {
        destination128[index / 4u + uint(i)] =
            uvec4(four.words[4 * i], four.words[4 * i + 1], four.words[4 * i + 2], four.words[4 * i + 3]);
      }
    } else {
      [[unroll]] for (int i = 0; i < kWords; ++i) destination32[index + uint(i)] = four.words[i];
    }
    return;
  }
  [[unroll]] for (int i = 0; i < 4; ++i) {
    if (p.x + i >= size.x) continue;
    [[unroll]] for (int c = 0; c < source_channels; ++c) {
      put_component((index + uint(i)) * uint(source_channels) + uint(c), component(four, i, c));
    }
  }
}

// ---- Matrices of taps

float tap_x(int i) { return i >= 0 && i < taps_x ? weights[i] : 0.0; }
float tap_y(int i) { return i >= 0 && i < taps_y ? weights[taps_x + i] : 0.0; }

// Row by row, those of x and then those of y, into `rows`. Column j of matrix n of x has the taps of output column j for
// columns 16 n and on; row j of matrix n of y has those of output row j.
void make_bands(int thread) {
  for (int i = thread; i < (kBlocksX + kBlocksY) * 64; i += kThreads) {
    int n = i / 64;
    int row = i / 4 % 16;
    int column = i % 4 * 4;
    vec4 v;
    [[unroll]] for (int k = 0; k < 4; ++k) {
      v[k] = n < kBlocksX ? tap_x(n * 16 + row - (column + k) - lead) : tap_y((n - kBlocksX) * 16 + (column + k) - row);
    }
    rows[i] = uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw));
  }
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  int left = int(gl_WorkGroupID.x) * kWidth;
  int start = int(gl_WorkGroupID.y) * segment;
  int end = min(start + segment, size.y);
  ivec2 corner = origin + ivec2(left - lead, start) - before;
  bool aligned_in = source_pitch % 4 == 0;
  bool aligned_out = destination_pitch % 4 == 0;
  int subgroup = int(gl_SubgroupID);
  int plane = subgroup / kAcross * 16;                     // its first row
  int first = subgroup % kAcross * blocks * 4;             // its first column, in fours

  make_bands(thread);
  barrier();
  Half across[kBlocksX];
  Half down[kBlocksY];
  [[unroll]] for (int n = 0; n < kBlocksX; ++n) coopMatLoadNV(across[n], rows, n * 64, 4, false);
  [[unroll]] for (int n = 0; n < kBlocksY; ++n) coopMatLoadNV(down[n], rows, (kBlocksX + n) * 64, 4, false);
  barrier();
  for (int i = thread; i < source_channels * 16 * kRowPitch; i += kThreads) rows[i] = uvec2(0u);

  Four ahead[kLoads];
  Half kept[kBlocksY * blocks];  // rows that have been filtered horizontally, those of each block from the oldest
  [[unroll]] for (int i = 0; i < kBlocksY * blocks; ++i) kept[i] = Half(0.0);

  // Turn n fetches 16 rows, and filters those that turn n - 1 fetched.
  int turns = (end - start + 15) / 16 + kBlocksY - 1;
  for (int turn = 0; turn <= turns; ++turn) {
    barrier();
    if (turn > 0) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kFours;
        int x = (thread + i * kThreads) % kFours;
        if (row < 16) {
          [[unroll]] for (int c = 0; c < source_channels; ++c) rows[(c * 16 + row) * kRowPitch + x] = channel(ahead[i], c);
        }
      }
    }
    barrier();
    if (turn < turns) {
      [[unroll]] for (int i = 0; i < kLoads; ++i) {
        int row = (thread + i * kThreads) / kFours;
        int x = (thread + i * kThreads) % kFours;
        if (row < 16) ahead[i] = fetch_four(corner + ivec2(4 * x, turn * 16 + row), aligned_in);
      }
    }
    if (turn > 0) {
      Half source_blocks[blocks + kBlocksX - 1];
      [[unroll]] for (int b = 0; b < blocks + kBlocksX - 1; ++b) {
        coopMatLoadNV(source_blocks[b], rows, plane * kRowPitch + first + b * 4, kRowPitch, false);
      }
      [[unroll]] for (int b = 0; b < blocks; ++b) {
        Single sum = Single(0.0);
        [[unroll]] for (int n = 0; n < kBlocksX; ++n) sum = coopMatMulAddNV(source_blocks[b + n], across[n], sum);
        [[unroll]] for (int n = 0; n < kBlocksY - 1; ++n) kept[b * kBlocksY + n] = kept[b * kBlocksY + n + 1];
        kept[b * kBlocksY + kBlocksY - 1] = Half(sum);
        Single result = Single(middle);
        [[unroll]] for (int n = 0; n < kBlocksY; ++n) result = coopMatMulAddNV(down[n], kept[b * kBlocksY + n], result);
        coopMatStoreNV(Half(result), done, plane * kDonePitch + first + b * 4, kDonePitch, false);
      }
    }
    barrier();
    if (turn >= kBlocksY) {
      int top = start + (turn - kBlocksY) * 16;
      [[unroll]] for (int i = 0; i < kStores; ++i) {
        int row = (thread + i * kThreads) / (kWidth / 4);
        int x = (thread + i * kThreads) % (kWidth / 4) * 4;
        if (row < 16 && top + row < end && left + x < size.x) {
          store_four(ivec2(left + x, top + row), row, x, aligned_out);
        }
      }
    }
  }
}
