//@ axis STORAGE buffer image
//@ skip STORAGE=image
// gauss.decimate, first step, by cooperative matrices: the sums of gauss_decimate.comp, but along rows first. Sixteen rows of
// a strip lie in shared memory as they are stored. Sixteen numbers of coarse samples side by side, of all channels in turn, are what
// these rows hold from the first coarse sample's first pixel on, times a banded matrix of the spline of x; every fourth number or so
// of its columns is a tap. Taps have 16 bits, the upper and the lower in a matrix each. What a row comes to is then added up by
// lanes that own a number of a coarse sample each and move down. For pixels of 8 bits that are not converted; samples are left as f32.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#define KERNEL_PARAMETERS \
  ivec2 first; ivec2 centre;  /* the first coarse sample; the tap of a spline that lies on its coarse sample's own pixel */ \
  int coarse_rows;                /* rows of coarse samples that one group makes */ \
  float scale;                /* sums of numbers times taps, times this, are pixels */
#include "io/pixel.glsl"
#include "io/spans.glsl"

layout(constant_id = 20) const int factor_x = 2;
layout(constant_id = 21) const int factor_y = 2;
layout(constant_id = 22) const int taps_x = 1;
layout(constant_id = 23) const int support_y = 4;         // that a pixel belongs to
layout(constant_id = 24) const int step_rows = 16;          // rows of a step: 16 at most, and a multiple of factor_y or a part of it
layout(constant_id = 25) const int lead = 0;            // columns read before the first tap's, so that spans are whole
layout(constant_id = 26) const int subgroup_size = 32;

// The spline of x, in whole numbers of up to 16 bits; that of y, coarse samples * factor taps.
#include "sep/weights.glsl"

#define Rows ucoopmatNV<8, gl_ScopeSubgroup, 16, 32>
#define Band ucoopmatNV<8, gl_ScopeSubgroup, 32, 16>
#define Sums ucoopmatNV<32, gl_ScopeSubgroup, 16, 16>

// Memory is counted in units of 16 bytes: a span, and half of what a matrix takes of a row.
const int kThreads = int(gl_WorkGroupSize.x);
const int kSide = 16;
const int kHeld = kSide * kSide / subgroup_size;                     // numbers of a matrix of sums in a lane
const int kTilesOfSubgroup = subgroup_size / kSide;                  // of 16 numbers of coarse samples: as many as it has lanes
const int kTiles = kThreads / kSide;
const int kSamplesOfTile = kSide / source_channels;
const int kSamples = kTiles * kSamplesOfTile;                            // that a group makes of a row
const int kReach = lead + (kSamplesOfTile - 1) * factor_x + taps_x;    // columns that a tile depends on
const int kSteps = (kReach * source_channels + 31) / 32;
const int kUnits = (kTiles - 1) * factor_x + 2 * kSteps;             // of a row
const int kPitch = kUnits | 1;                                       // rows of a matrix then lie in different banks
const int kLoads = (step_rows * kUnits + kThreads - 1) / kThreads;       // of a lane, a step
const int kDonePitch = kThreads + 8;
const bool kWholeSamples = step_rows % factor_y == 0;
// Matrices of taps lie where the rows do later.
const int kRowUnits = kSide * kPitch;
const int kBandUnits = 2 * kSteps * 2 * kSide;

shared uvec4 rows[kRowUnits > kBandUnits ? kRowUnits : kBandUnits];
shared uint done[kSide * kDonePitch];

// Column by column: the upper bytes of all taps, then the lower ones. Number k of a row counts for number n of a tile if it is of
// the same channel. Lanes need taps of their own, so that these lie in shared memory before: constants are one for all lanes.
void make_bands(int thread) {
  for (int i = thread; i < taps_x; i += kThreads) done[i] = uint(weights[i]);
  barrier();
  for (int unit = thread; unit < kBandUnits; unit += kThreads) {
    int n = unit / 2 % kSide;
    int matrix = unit / (2 * kSide);
    int first_k = (matrix % kSteps * 2 + unit % 2) * 16;
    int first_tap = first_k / source_channels - lead - n / source_channels * factor_x;
    uvec4 band = uvec4(0u);
    [[unroll]] for (int j = 0; j < span; ++j) {
      int k = j * source_channels + n % source_channels;
      int i = first_tap + j;
      uint tap = i >= 0 && i < taps_x ? done[i] : 0u;
      band[k / 4] |= (matrix < kSteps ? tap >> 8 : tap & 0xFFu) << (k % 4 * 8);
    }
    rows[unit] = band;
  }
}

// Of the units of a step's rows.
ivec2 place_of(int unit) { return ivec2(unit % kUnits, unit / kUnits); }

// Anywhere.
uvec4 unit_at(ivec2 p) {
  p.y = map_index(border_y, p.y, source_size.y);
  uint words[kWords];
  fetch_mapped(words, p);
  uvec4 unit;
  [[unroll]] for (int w = 0; w < kWords; ++w) unit[w] = words[w];
  return unit;
}

ivec2 corner;        // of the source: what the group's first coarse sample depends on, after `lead` columns
bool whole_columns;  // all that the group reads, in whole units
// A lane fetches the same places of every step. Few registers leave room for more groups, so that the rest follows from where
// it puts them.
int puts[kLoads];
uvec4 coming[kLoads];

void fetch_step(int thread, int step) {
  int top = corner.y + step * step_rows;
  if (whole_columns && top >= 0 && top + step_rows <= source_size.y) {
    int pitch = source_pitch / span;
    int first_unit = top * pitch + corner.x / span + int(source_start() / uint(span));
    [[unroll]] for (int i = 0; i < kLoads; ++i) {
      // The row begins where it would if rows lay as they do in shared memory, and the difference of pitches further for each.
      int unit = first_unit + puts[i] + puts[i] / kPitch * (pitch - kPitch);
      if (thread + i * kThreads < step_rows * kUnits) coming[i] = source128[unit];
    }
  } else {
    [[unroll]] for (int i = 0; i < kLoads; ++i) {
      ivec2 place = place_of(thread + i * kThreads);
      if (place.y < step_rows) coming[i] = unit_at(ivec2(corner.x + place.x * span, top + place.y));
    }
  }
}

void main() {
  int thread = int(gl_LocalInvocationIndex);
  ivec2 coarse = ivec2(int(gl_WorkGroupID.x) * kSamples, int(gl_WorkGroupID.y) * coarse_rows);  // counted from `first`
  int last = min(coarse.y + coarse_rows, size.y);
  corner = (first + coarse) * ivec2(factor_x, factor_y) - centre;
  corner.x -= lead;
  whole_columns = has_whole_source() && corner.x >= 0 && corner.x + kUnits * span <= source_size.x;
  int first_tile = int(gl_SubgroupID) * kTilesOfSubgroup;
  [[unroll]] for (int i = 0; i < kLoads; ++i) {
    ivec2 place = place_of(thread + i * kThreads);
    puts[i] = place.y * kPitch + place.x;
  }

  // On its way while matrices of taps are made.
  fetch_step(thread, 0);
  make_bands(thread);
  barrier();
  Band bands[2 * kSteps];
  [[unroll]] for (int n = 0; n < 2 * kSteps; ++n) coopMatLoadNV(bands[n], rows, n * 2 * kSide, 2, true);
  barrier();

  float sums[support_y];
  [[unroll]] for (int j = 0; j < support_y; ++j) sums[j] = 0.0;
  int steps = ((last - coarse.y + support_y - 1) * factor_y + step_rows - 1) / step_rows;
  for (int step = 0; step < steps; ++step) {
    [[unroll]] for (int i = 0; i < kLoads; ++i) {
      if (thread + i * kThreads < step_rows * kUnits) rows[puts[i]] = coming[i];
    }
    barrier();
    if (step + 1 < steps) fetch_step(thread, step + 1);
    // One tile after another: registers that more of them at once would take are worth more to other groups.
    [[unroll]] for (int t = 0; t < kTilesOfSubgroup; ++t) {
      Sums upper = Sums(0);
      Sums lower = Sums(0);
      [[unroll]] for (int n = 0; n < kSteps; ++n) {
        Rows numbers;
        coopMatLoadNV(numbers, rows, (first_tile + t) * factor_x + 2 * n, kPitch, false);
        upper = coopMatMulAddNV(numbers, bands[n], upper);
        lower = coopMatMulAddNV(numbers, bands[kSteps + n], lower);
      }
      [[unroll]] for (int i = 0; i < kHeld; ++i) upper[i] = (upper[i] << 8) + lower[i];
      coopMatStoreNV(upper, done, (first_tile + t) * kSide, kDonePitch, false);
    }
    barrier();
    [[unroll]] for (int i = 0; i < step_rows; ++i) {
      int phase = kWholeSamples ? i % factor_y : (step * step_rows + i) % factor_y;
      float v = float(done[i * kDonePitch + thread]);
      [[unroll]] for (int j = 0; j < support_y; ++j) {
        sums[j] = fma(v, weights[taps_x + phase + factor_y * (support_y - 1 - j)], sums[j]);
      }
      if (phase + 1 == factor_y) {
        // The sum at the front is complete, and right once it has seen all rows of its spline.
        int row = kWholeSamples ? step * (step_rows / factor_y) + i / factor_y : (step * step_rows + i) / factor_y;
        int y = coarse.y + row - (support_y - 1);
        int x = coarse.x + thread / source_channels;
        if (y >= coarse.y && y < last && x < size.x) {
          uint index = destination_index(ivec2(x, y)) * uint(source_channels) + uint(thread % source_channels);
          destination32[index] = floatBitsToUint(sums[0] * scale);
        }
        [[unroll]] for (int j = 0; j < support_y - 1; ++j) sums[j] = sums[j + 1];
        sums[support_y - 1] = 0.0;
      }
    }
  }
}
