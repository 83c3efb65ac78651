// Means of windows of any length, in two passes: along rows to means or sums, then down columns. The axis is divided into blocks as long as
// the window (van Herk 1992; Gil and Werman 1993). A window is the end of one block and the beginning of the next, so nothing is ever taken
// away from a sum. Sums are f64.
#include "backends/cuda/kernels/box_passes_shape.h"
#include "backends/cuda/kernels/pixels.cuh"

namespace mollify::cuda {
namespace {

template <int kChannels>
__device__ inline void add(double (&sum)[4], const FourOf<double>& v) {
#pragma unroll
  for (int c = 0; c < kChannels; ++c) sum[c] += v.at[c];
}

template <int kChannels>
__device__ inline void add_times(double (&sum)[4], double weight, const FourOf<double>& v) {
#pragma unroll
  for (int c = 0; c < kChannels; ++c) sum[c] = fma(weight, v.at[c], sum[c]);
}

template <class T>
__device__ inline FourOf<double> doubles_of(const FourOf<T>& v) {
  return {{double(v.at[0]), double(v.at[1]), double(v.at[2]), double(v.at[3])}};
}

/// A pixel of the result. All formats are a lot of code, so it is there once.
template <int kChannels, class Sum>
__device__ __noinline__ void store_mean(const Shared& a, char* row, std::int32_t x, FourOf<double> mean) {
  Sum v[4] = {};
#pragma unroll
  for (int c = 0; c < kChannels; ++c) v[c] = Sum(mean.at[c]);
  store_pixel<kChannels>(a, row, x, v);
}

/// A row of the source. Its results are components of the type Sum; until they are made, the ends of blocks lie there.
template <int kChannels, class Sum>
struct WindowsAlongRow {
  static constexpr bool has_any_format = true;
  const BoxPass& a;
  SourceRow source;
  Sum* result;

  __device__ FourOf<double> numbers(std::int32_t x) const { return doubles_of(load_pixel<kChannels, Sum>(a, source, x)); }
  __device__ Sum* kept(std::int32_t i) const { return result + std::int64_t{i} * kChannels; }
  __device__ void store(std::int32_t i, const double (&mean)[4]) const {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) kept(i)[c] = Sum(mean[c]);
  }
};

/// A column of what rows have become. The ends of blocks lie below its last row.
template <int kChannels, class Sum>
struct WindowsDownColumn {
  static constexpr bool has_any_format = false;
  const BoxPass& a;
  std::int32_t image;
  std::int32_t x;

  __device__ Sum* at(std::int32_t row) const { return reinterpret_cast<Sum*>(row_of(a.source, image, row)) + std::int64_t{x} * kChannels; }
  __device__ FourOf<double> numbers(std::int32_t y) const {
    const std::int32_t row = mapped(a.outside.mode_y, y, a.length);
    FourOf<double> v{};
#pragma unroll
    for (int c = 0; c < kChannels; ++c) v.at[c] = row < 0 ? a.outside_row[c] : double(at(row - a.across)[c]);
    return v;
  }
  __device__ Sum* kept(std::int32_t i) const {
    return at(a.kept_row + i);
  }
  __device__ void store(std::int32_t i, const double (&mean)[4]) const {
    store_mean<kChannels, Sum>(a, row_of(a.destination, image, i), x, {{mean[0], mean[1], mean[2], mean[3]}});
  }
};

/// Sums of all threads that share a line.
template <int kChannels>
struct Segments {
  double* totals;  ///< in shared memory, of each thread
  std::int32_t own;
  std::int32_t count;
  std::int32_t lines;  ///< of the block of threads

  __device__ void exchange(const FourOf<double>& total) const {
    __syncthreads();
#pragma unroll
    for (int c = 0; c < kChannels; ++c) totals[threadIdx.x * kChannels + c] = total.at[c];
    __syncthreads();
  }
  /// Adds those of some segments of this line.
  __device__ void add_to(double (&sum)[4], std::int32_t from, std::int32_t to) const {
    const std::int32_t line = static_cast<std::int32_t>(threadIdx.x) - own * lines;
    for (std::int32_t s = from; s < to; ++s) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) sum[c] += totals[(s * lines + line) * kChannels + c];
    }
  }
};

/// Some pixels of a line, which a thread adds up.
struct Part {
  std::int32_t begin;
  std::int32_t end;
};
__device__ inline Part part_of(std::int32_t length, std::int32_t own, std::int32_t count) {
  const std::int32_t each = (length + count - 1) / count;
  return {min(length, own * each), min(length, (own + 1) * each)};
}

/// The sum of some pixels.
template <int kChannels, class Line>
__device__ inline FourOf<double> total_here(const Line& line, std::int32_t first, Part part) {
  double total[4] = {};
#pragma unroll 4
  for (std::int32_t i = part.begin; i < part.end; ++i) add<kChannels>(total, line.numbers(first + i));
  return {{total[0], total[1], total[2], total[3]}};
}
template <int kChannels, class Line>
__device__ __noinline__ FourOf<double> total_aside(Line line, std::int32_t first, Part part) {
  return total_here<kChannels>(line, first, part);
}
/// The same. Loads of all formats are a lot of code, so that is there once.
template <int kChannels, class Line>
__device__ FourOf<double> total_of(const Line& line, std::int32_t first, Part part) {
  if constexpr (Line::has_any_format) {
    return total_aside<kChannels>(line, first, part);
  } else {
    return total_here<kChannels>(line, first, part);
  }
}

template <int kChannels, class Line>
__device__ FourOf<double> pixel_at(const Line& line, std::int32_t x) {
  return total_of<kChannels>(line, x, {0, 1});
}

/// The results whose windows begin in one block. All threads of a block of threads have the same one. `is_used`: else the thread only waits
/// for the others.
template <int kChannels, class Line>
__device__ void make_block(const BoxPass& a, const Line& line, std::int32_t block, const Segments<kChannels>& segments,
                           std::int32_t results, bool is_used) {
  const std::int32_t x0 = block * a.window;    // the place whose window is the block
  const std::int32_t first = x0 - a.before;    // the first pixel of the block
  const std::int32_t next = first + a.window;  // and of the next
  const auto ceil_div = [](std::int32_t p, std::int32_t q) { return (p + q - 1) / q; };
  const std::int32_t begin = ceil_div(max(x0 - a.first, 0), a.step);
  const std::int32_t end = min(ceil_div(max(x0 + a.window - a.first, 0), a.step), results);
  if (begin >= end) return;
  const std::int32_t first_place = a.first + begin * a.step - x0, last_place = a.first + (end - 1) * a.step - x0;
  const auto result_at = [&](std::int32_t place) {  // -1: none
    const std::int32_t distance = x0 + place - a.first;
    const std::int32_t i = a.step == 1 ? distance : distance / a.step;
    return place >= first_place && place <= last_place && i * a.step == distance ? i : -1;
  };

  // What every window has: whole periods of the border, and the pixels of an edge that lie further out than an image is long.
  double everywhere[4] = {};
  if (a.periods > 0.0) {
    double period[4] = {};
    FourOf<double> total{};
    if (is_used) total = total_of<kChannels>(line, 0, part_of(a.period, segments.own, segments.count));
    segments.exchange(total);
    segments.add_to(period, 0, segments.count);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) everywhere[c] = a.periods * period[c];
  }
  if (is_used && a.far_before > 0.0) add_times<kChannels>(everywhere, a.far_before, pixel_at<kChannels>(line, -1));
  if (is_used && a.far_after > 0.0) add_times<kChannels>(everywhere, a.far_after, pixel_at<kChannels>(line, a.edge));

  {  // from each place to the end of the block
    Part part = part_of(a.window, segments.own, segments.count);
    part.begin = max(part.begin, first_place);  // what lies before is in no window, and may not be there
    double sum[4] = {};
    FourOf<double> total{};
    if (is_used) total = total_of<kChannels>(line, first, part);
    segments.exchange(total);
    segments.add_to(sum, segments.own + 1, segments.count);
    if (is_used && part.begin <= last_place) {
#pragma unroll 2
      for (std::int32_t i = part.end - 1; i >= part.begin; --i) {
        add<kChannels>(sum, line.numbers(first + i));
        if (const std::int32_t result = result_at(i); result >= 0) {
          auto* const kept = line.kept(result);
#pragma unroll
          for (int c = 0; c < kChannels; ++c) kept[c] = sum[c] * a.scale;
        }
      }
    }
  }
  // From the beginning of the next block on. Threads read here what others kept: there is a barrier in between. What is shared out does not
  // depend on how much of it is needed, so that regions have the bits of the whole.
  Part part = part_of(a.window, segments.own, segments.count);
  part.end = min(part.end, last_place + 1);
  double sum[4] = {};
  FourOf<double> total{};
  if (is_used) total = total_of<kChannels>(line, next, part);
  segments.exchange(total);
  segments.add_to(sum, 0, segments.own);
  if (!is_used) return;
#pragma unroll 2
  for (std::int32_t i = part.begin; i < part.end; ++i) {
    if (const std::int32_t result = result_at(i); result >= 0) {
      double more[4], mean[4];
#pragma unroll
      for (int c = 0; c < kChannels; ++c) more[c] = sum[c] + everywhere[c];
      if (a.fraction_before > 0.0) add_times<kChannels>(more, a.fraction_before, pixel_at<kChannels>(line, x0 + i - a.fraction_before_at));
      if (a.fraction_after > 0.0) add_times<kChannels>(more, a.fraction_after, pixel_at<kChannels>(line, x0 + i + a.fraction_after_at));
      const auto* const kept = line.kept(result);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        mean[c] = fma(more[c], a.scale, double(kept[c]));
        if (a.divisor > 0.0) mean[c] = floor(mean[c] / a.divisor + 0.5);
      }
      line.store(result, mean);
    }
    add<kChannels>(sum, line.numbers(next + i));
  }
}

template <int kChannels, class Sum>
__device__ void box_rows(const BoxPass& a) {
  extern __shared__ double bytes[];
  const BlockPlace block = block_place(a);
  const WindowsAlongRow<kChannels, Sum> row{a, source_row(a, block.image, a.across + block.down),
                                            reinterpret_cast<Sum*>(row_of(a.destination, block.image, block.down))};
  const Segments<kChannels> segments{bytes, static_cast<std::int32_t>(threadIdx.x), static_cast<std::int32_t>(blockDim.x), 1};
  make_block(a, row, a.first_block + block.across, segments, a.destination.width, true);
}

template <int kChannels, class Sum>
__device__ void box_columns(const BoxPass& a) {
  extern __shared__ double bytes[];
  const BlockPlace block = block_place(a);
  const std::int32_t segment = static_cast<std::int32_t>(threadIdx.x) / kBoxColumnsAcross;
  const std::int32_t x = block.across * kBoxColumnsAcross + static_cast<std::int32_t>(threadIdx.x) - segment * kBoxColumnsAcross;
  const WindowsDownColumn<kChannels, Sum> column{a, block.image, x};
  const Segments<kChannels> segments{bytes, segment, static_cast<std::int32_t>(blockDim.x) / kBoxColumnsAcross, kBoxColumnsAcross};
  make_block(a, column, a.first_block + block.down, segments, a.destination.height, x < a.destination.width);
}

}  // namespace

#define MOLLIFY_BOX_PASSES(name, channels, sum)                                                                                         \
  __global__ void __launch_bounds__(kBoxRowsMostThreads) box_rows_##name(const __grid_constant__ BoxPass a) {                           \
    take_turn();                                                                                                                        \
    box_rows<channels, sum>(a);                                                                                                         \
  }                                                                                                                                     \
  __global__ void __launch_bounds__(kBoxColumnsAcross* kBoxColumnsMostSegments) box_columns_##name(const __grid_constant__ BoxPass a) { \
    take_turn();                                                                                                                        \
    box_columns<channels, sum>(a);                                                                                                      \
  }

extern "C" {
MOLLIFY_BOX_PASSES(1_f32, 1, float)
MOLLIFY_BOX_PASSES(2_f32, 2, float)
MOLLIFY_BOX_PASSES(3_f32, 3, float)
MOLLIFY_BOX_PASSES(4_f32, 4, float)
MOLLIFY_BOX_PASSES(1_f64, 1, double)
MOLLIFY_BOX_PASSES(2_f64, 2, double)
MOLLIFY_BOX_PASSES(3_f64, 3, double)
MOLLIFY_BOX_PASSES(4_f64, 4, double)
}

}  // namespace mollify::cuda
