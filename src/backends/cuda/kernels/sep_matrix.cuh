// Both axes of a separable filter in one pass, on tensor cores. A warp moves down a strip of columns, 8 rows a step. Products with a banded
// matrix of the taps of x make rows between the axes, which stay in registers: as they lie, they are operands of products with the taps
// of y. Bytes are the halves whose bits they are, 2^-24 of their value, so that none is converted.
#pragma once

#include "backends/cuda/kernels/copy_ahead.cuh"
#include "backends/cuda/kernels/matrix_pixels.cuh"
#include "backends/cuda/kernels/sep_matrix_shape.h"

namespace mollify::cuda {
namespace {
/// How a warp loads and stores: four pixels at once, one by one as some columns or rows are outside, or component by component.
enum class Way { whole, edge, unaligned };

template <Component kComponent, int kChannels, int kAcross, int kDown>
struct Strip {
  using Four = FourPixels<kComponent, kChannels>;
  using Pixel = typename Four::Pixel;
  using Pair = typename Four::Pair;
  static constexpr int kBytes = sizeof(Pixel);
  static constexpr MatrixSize kSize{kAcross, kDown};
  static constexpr bool kSplits = kComponent == Component::f16;  // taps and rows between the axes are sums of two halves each
  static constexpr int kHalves = kSplits ? 2 : 1;
  static constexpr int kBlocks = matrix_blocks(kSize, kSplits, kChannels);
  static constexpr int kPairs = matrix_pairs(kSize);
  static constexpr int kRead = kBlocks + kAcross - 1;  // sixteens of columns
  static constexpr int kRowBytes = kRead * kMatrixSide * kBytes;
  static constexpr bool kPrefetches = kBytes > 1;  // images of one byte a pixel wait for little
  static constexpr bool kLoadsApart = kBytes < 4;  // pixels that lie in a word together: until they are used

  const SepMatrix& a;
  const int* columns;     // the pixel that stands in for each that the strip reads, or -1; from the lane's first on
  const int* row_places;  // the row that stands in for each, or -1
  const char* image;      // of the source; where columns are loaded together, from the lane's first on
  const char* outside;    // a pixel beyond a constant border
  char* results;          // of the destination, from the lane's first column on
  std::int32_t x;         // the first pixel of the destination that this lane makes
  std::int32_t y, end;    // its rows
  bool has_pairs;         // Way::edge: two pixels may be stored at once
  int prefetched;         // Way::whole: steps before which rows are brought nearer
  Sums start_x, start_y;  // what sums begin with
  unsigned taps_x[kHalves][kAcross][4];
  unsigned taps_y[kHalves][kPairs][2];
  unsigned rows[kDown][kBlocks][kChannels][kHalves][2];  // between the axes
  Four pixels[kRead];
  Pixel apart[kLoadsApart ? kRead : 1][kMatrixAligned];  // Way::edge

  /// Those of halves begin with zero, which takes no registers.
  static __device__ Sums begin(const Sums& start) {
    if constexpr (kSplits) return {};
    return start;
  }

  __device__ void get_taps(int lane) {
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
#pragma unroll
      for (int n = 0; n < kAcross; ++n) {
        const uint4 v = reinterpret_cast<const uint4*>(a.taps_x)[(h * kAcross + n) * 32 + lane];
        taps_x[h][n][0] = v.x;
        taps_x[h][n][1] = v.y;
        taps_x[h][n][2] = v.z;
        taps_x[h][n][3] = v.w;
      }
#pragma unroll
      for (int n = 0; n < kPairs; ++n) {
        const uint2 v = reinterpret_cast<const uint2*>(a.taps_y)[(h * kPairs + n) * 32 + lane];
        taps_y[h][n][0] = v.x;
        taps_y[h][n][1] = v.y;
      }
    }
  }

  /// The lane's row of the eight of step `step`; null outside a constant border.
  template <Way kWay>
  __device__ const char* row_of_step(int step) const {
    const std::int32_t row = row_places[step * kMatrixRows];
    return kWay != Way::whole && row < 0 ? nullptr : image + row * a.source.row_bytes;
  }

  template <Way kWay>
  __device__ void store_one(std::int32_t at, char* to, Pixel pixel) const {
    if (at < 0 || at >= a.destination.width) return;
    if constexpr (kWay == Way::edge) {
      *reinterpret_cast<Pixel*>(to) = pixel;
    } else {
      Four::store_by_component(to, pixel);
    }
  }
  /// Two pixels of block `b`; `row` is where the lane's first lies.
  template <Way kWay>
  __device__ void store(int b, char* row, const Pair& pair) const {
    char* const to = row + b * (kMatrixSide * kBytes);
    if constexpr (kWay == Way::whole) {
      *reinterpret_cast<Pair*>(to) = pair;
    } else if (const std::int32_t at = x + b * kMatrixSide; has_pairs && at >= 0 && at + 1 < a.destination.width) {
      *reinterpret_cast<Pair*>(to) = pair;
    } else {
      store_one<kWay>(x + b * kMatrixSide, to, Four::first(pair));
      store_one<kWay>(x + b * kMatrixSide + 1, to + kBytes, Four::second(pair));
    }
  }

  // All threads of a warp load alike, and without branches: loads of one kind would wait for those of the other.
  template <Way kWay>
  __device__ void load(const char* row, int n) {
    if constexpr (kWay == Way::whole) {
      pixels[n].load(row + n * (kMatrixSide * kBytes));
    } else {
      const int4 four = *reinterpret_cast<const int4*>(columns + n * kMatrixSide);
      const int at[kMatrixAligned] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < kMatrixAligned; ++i) {
        const char* const pixel = row == nullptr || at[i] < 0 ? outside : row + std::int64_t{at[i]} * kBytes;
        if constexpr (kWay == Way::unaligned) {
          pixels[n].set(i, Four::load_by_component(pixel));
        } else if constexpr (kLoadsApart) {
          apart[n][i] = __ldg(reinterpret_cast<const Pixel*>(pixel));
        } else {
          pixels[n].set(i, __ldg(reinterpret_cast<const Pixel*>(pixel)));
        }
      }
    }
  }
  /// Brings rows nearer, to the second level of caches, that are loaded after those of `row`. Each lane of a row brings some lines of it.
  __device__ void prefetch(const char* row) const {
    constexpr int kLine = 64, kLanes = 4;
    const int q = static_cast<int>(threadIdx.x) % kLanes;
    const char* const line = row + kMatrixRows * a.source.row_bytes + q * (kLine - kMatrixAligned * kBytes);
#pragma unroll
    for (int at = 0; at < kRowBytes; at += kLanes * kLine) {
      if (at + kLanes * kLine <= kRowBytes || at + q * kLine < kRowBytes) prefetch_line(line + at);
    }
  }

  /// Filters the rows of a step along x, and loads those of `next`.
  template <Way kWay>
  __device__ void filter_rows(unsigned (&to)[kBlocks][kChannels][kHalves][2], bool has_next, const char* next) {
    Sums sums[kBlocks][kChannels];
#pragma unroll
    for (int n = 0; n < kRead; ++n) {
      unsigned operands[kChannels][2];
      if constexpr (kWay == Way::edge && kLoadsApart) {
#pragma unroll
        for (int i = 0; i < kMatrixAligned; ++i) pixels[n].set(i, apart[n][i]);
      }
      pixels[n].get_operands(operands);
      if (has_next) load<kWay>(next, n);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        if (n < b || n >= b + kAcross) continue;
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          multiply_add(sums[b][c], taps_x[0][n - b], operands[c][0], operands[c][1], n == b ? begin(start_x) : sums[b][c]);
        }
        if (kSplits && a.splits_x != 0) {
#pragma unroll
          for (int c = 0; c < kChannels; ++c)
            multiply_add(sums[b][c], taps_x[kHalves - 1][n - b], operands[c][0], operands[c][1], sums[b][c]);
        }
      }
    }
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float low = sums[b][c].at[2 * i], high = sums[b][c].at[2 * i + 1];
          if constexpr (kSplits) {
            to[b][c][0][i] = two_halves(upper_half(low), upper_half(high));
            to[b][c][1][i] = two_halves(low - upper_half(low), high - upper_half(high));
          } else {
            to[b][c][0][i] = two_halves(low, high);
          }
        }
      }
    }
  }

  /// Filters along y what slots from `slot` on hold, and stores it.
  template <Way kWay>
  __device__ void make(int slot) const {
    const bool has_first = y >= 0 && y < end, has_second = y >= -1 && y + 1 < end;
    char* const to = results + y * a.destination.row_bytes;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      Sums sums[kChannels];
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
#pragma unroll
        for (int n = 0; n < kPairs; ++n) {
          const auto& upper = rows[(slot + 2 * n) % kDown][b][c];
          const bool has_lower = 2 * n + 1 < kDown;
          const auto& lower = rows[(slot + 2 * n + 1) % kDown][b][c];
          const auto product = [&](int row_half, int tap_half, const Sums& addend) {
            const unsigned left[4] = {upper[row_half][0], upper[row_half][1], has_lower ? lower[row_half][0] : 0,
                                      has_lower ? lower[row_half][1] : 0};
            multiply_add(sums[c], left, taps_y[tap_half][n][0], taps_y[tap_half][n][1], addend);
          };
          product(0, 0, n == 0 ? begin(start_y) : sums[c]);
          // The product of both rests is left out: the declared error has it.
          if constexpr (kSplits) {
            product(1, 0, sums[c]);
            if (a.splits_y != 0) product(0, 1, sums[c]);
          }
        }
      }
      if constexpr (kComponent == Component::u8) {
        if (a.clamps != 0) {
#pragma unroll
          for (Sums& of_channel : sums) {
#pragma unroll
            for (float& v : of_channel.at) v = fminf(fmaxf(v, kCodeZero), kCodeMost);
          }
        }
      }
      if (has_first) store<kWay>(b, to, Four::made(a, sums, 0));
      if (has_second) store<kWay>(b, to + a.destination.row_bytes, Four::made(a, sums, 1));
    }
  }

  /// `steps`: whose rows are read. The first make no rows of the result yet. Unaligned images are rare: there the rows between the
  /// axes move up, which is less code, see kUnrollsRows.
  template <Way kWay>
  __device__ void march(int steps) {
    constexpr int kStepsOfTurn = kUnrollsRows && kWay != Way::unaligned ? kDown : 1;
    const char* row = row_of_step<kWay>(0);
#pragma unroll
    for (int n = 0; n < kRead; ++n) load<kWay>(row, n);
    y -= (kDown - 1) * kMatrixRows;
    for (int done = 0; done < steps; done += kStepsOfTurn) {
#pragma unroll
      for (int s = 0; s < kStepsOfTurn; ++s) {
        const int step = done + s;
        if (step >= steps) return;
        const bool has_next = step + 1 < steps;
        if (has_next) row = row_of_step<kWay>(step + 1);
        const int slot = kStepsOfTurn == 1 ? kDown - 1 : s;
        filter_rows<kWay>(rows[slot], has_next, row);
        if (kPrefetches && kWay == Way::whole && step < prefetched) prefetch(row);
        if (step >= kDown - 1) make<kWay>((slot + 1) % kDown);
        if constexpr (kStepsOfTurn == 1) move_rows_up();
        y += kMatrixRows;
      }
    }
  }

  __device__ void move_rows_up() {
#pragma unroll
    for (int n = 1; n < kDown; ++n) {
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
#pragma unroll
          for (int h = 0; h < kHalves; ++h) {
#pragma unroll
            for (int i = 0; i < 2; ++i) rows[n - 1][b][c][h][i] = rows[n][b][c][h][i];
          }
        }
      }
    }
  }
};

/// Where a warp's strip lies, and where it finds which columns and rows stand in for those that it reads.
struct StripPlace {
  std::int32_t image;
  std::int32_t left, top, end;  ///< of the destination: its first column, its first row and the one behind its last
  std::int32_t steps;           ///< whose rows are read
  bool writes_pairs;            ///< two pixels may be stored at once
  const int* columns;
  const int* row_places;
};

template <Way kWay, Component kComponent, int kChannels, int kAcross, int kDown>
__device__ inline void make_strip(const SepMatrix& a, const StripPlace& place) {
  using Work = Strip<kComponent, kChannels, kAcross, kDown>;
  const int lane = threadIdx.x % 32, q = lane % 4, g = lane / 4;
  const std::int32_t first_column = a.first_x + place.left, first_row = a.first_y + place.top;
  Work work{.a = a};
  work.columns = place.columns + 4 * q;
  work.image = row_of(a.source, place.image, 0);
  if constexpr (kWay == Way::whole) work.image += std::int64_t{first_column + 4 * q} * Work::kBytes;
  work.outside = reinterpret_cast<const char*>(a.outside_pixel);
  work.results = row_of(a.destination, place.image, 0) + static_cast<std::int64_t>(place.left + 2 * g) * Work::kBytes;
  work.row_places = place.row_places + g;
  work.x = place.left + 2 * g;
  work.y = place.top + 2 * q;
  work.end = place.end;
  work.has_pairs = kWay == Way::edge && place.writes_pairs;
  if constexpr (Work::kPrefetches) {
    // The rows after those of the next step are inside the image. Rows before the image are none of its last ones.
    constexpr std::int32_t kHigh = 2 * (kDown + 1) * kMatrixRows;
    const bool is_inside = first_row >= 0 || (a.outside.mode_y != kWrap && a.source.height >= kHigh);
    work.prefetched = is_inside ? min(place.steps, (a.source.height - first_row) / kMatrixRows) - 2 : 0;
  }
  work.get_taps(lane);
  work.start_x = reinterpret_cast<const Sums*>(a.starts)[0];
  work.start_y = reinterpret_cast<const Sums*>(a.starts)[1];
  work.template march<kWay>(place.steps);
}

template <Component kComponent, int kChannels, int kAcross, int kDown>
__device__ void sep_matrix(const SepMatrix& a) {
  using Work = Strip<kComponent, kChannels, kAcross, kDown>;
  constexpr int kBytes = Work::kBytes;
  constexpr int kWarps = kMatrixThreads / 32;
  constexpr int kColumns = Work::kRead * kMatrixSide;
  constexpr int kWidth = Work::kBlocks * kMatrixSide;
  constexpr int kLoaded = kMatrixAligned * kBytes < 16 ? kMatrixAligned * kBytes : 16;  // bytes, at once
  extern __shared__ int4 memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int32_t image = blockIdx.x / a.blocks_across;
  // Strips at the edges make the upper part of their chunks, and the lower parts come last.
  std::int32_t nth = (static_cast<std::int32_t>(blockIdx.x) - image * a.blocks_across) * kWarps + warp;
  const std::int32_t edges = a.left_strips + a.right_strips;
  const bool is_lower = nth >= a.strips * a.chunks;
  if (is_lower) nth -= a.strips * a.chunks;
  const std::int32_t beside = is_lower ? edges : a.strips, chunk = nth / max(beside, 1);
  if (chunk >= a.chunks || (is_lower && a.edge_rows == a.rows)) return;
  std::int32_t strip = nth - chunk * beside;
  if (is_lower && strip >= a.left_strips) strip += a.strips - edges;
  const bool is_edge = strip < a.left_strips || strip >= a.strips - a.right_strips;
  StripPlace place;
  place.image = image;
  place.left = strip * kWidth - a.skip_x;
  place.top = chunk * a.rows + (is_lower ? a.edge_rows : 0) - a.skip_y;
  place.end = min(place.top + (is_lower ? a.rows - a.edge_rows : is_edge ? a.edge_rows : a.rows), a.destination.height);
  if (place.top >= place.end) return;
  place.steps = (place.end - place.top + kMatrixRows - 1) / kMatrixRows + kDown - 1;
  const std::int32_t first_column = a.first_x + place.left, first_row = a.first_y + place.top;
  int* const columns = reinterpret_cast<int*>(memory) + warp * (kColumns + a.rows + kDown * kMatrixRows);
  int* const row_places = columns + kColumns;
  for (int i = lane; i < kColumns; i += 32) columns[i] = mapped(a.outside.mode_x, first_column + i, a.source.width);
  for (int i = lane; i < place.steps * kMatrixRows; i += 32) row_places[i] = mapped(a.outside.mode_y, first_row + i, a.source.height);
  __syncwarp();
  place.columns = columns;
  place.row_places = row_places;

  // All lanes of a warp go the same way.
  const bool reads_fours = first_column % kMatrixAligned == 0 && are_multiples(a.source, kLoaded);
  place.writes_pairs = place.left % 2 == 0 && are_multiples(a.destination, 2 * kBytes);
  const bool has_columns = reads_fours && first_column >= 0 && first_column + kColumns <= a.source.width;
  const bool has_rows = a.outside.mode_y != kConstant || (first_row >= 0 && first_row + place.steps * kMatrixRows <= a.source.height);
  const bool is_stored = place.writes_pairs && place.left >= 0 && place.left + kWidth <= a.destination.width;
  if (has_columns && has_rows && is_stored) {
    make_strip<Way::whole, kComponent, kChannels, kAcross, kDown>(a, place);
  } else if (kChannels == 1 || (a.source.is_aligned && a.destination.is_aligned)) {
    make_strip<Way::edge, kComponent, kChannels, kAcross, kDown>(a, place);
  } else if constexpr (kChannels > 1) {
    make_strip<Way::unaligned, kComponent, kChannels, kAcross, kDown>(a, place);
  }
}

}  // namespace

#define MOLLIFY_SEP_MATRIX(name, component, channels, across, down)                                                        \
  __global__ void __launch_bounds__(kMatrixThreads, matrix_at_once({across, down}, component == Component::f16, channels)) \
      sep_matrix_##name##_##across##_##down(const __grid_constant__ SepMatrix a) {                                         \
    sep_matrix<component, channels, across, down>(a);                                                                      \
  }
#define MOLLIFY_SEP_MATRIX_LARGE_SIZES(add, name, component, channels)                                           \
  add(name, component, channels, 3, 5) add(name, component, channels, 4, 6) add(name, component, channels, 4, 7) \
      add(name, component, channels, 5, 8)
#define MOLLIFY_SEP_MATRIX_SIZES(add, name, component, channels)                                                 \
  add(name, component, channels, 2, 2) add(name, component, channels, 2, 3) add(name, component, channels, 3, 4) \
      MOLLIFY_SEP_MATRIX_LARGE_SIZES(add, name, component, channels)

}  // namespace mollify::cuda
