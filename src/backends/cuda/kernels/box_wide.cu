// Boxes wider than a strip of box_any.cu, in two passes: sums down columns become an image, and windows along rows are summed up from that.
// Runs of eight pixels are put together eight by eight, so that a window is few sums.
#include "backends/cuda/kernels/box_sums.cuh"

namespace mollify::cuda {
namespace {

/// A thread moves down four components of a row.
template <class Pixels>
__device__ void box_down(const BoxAny& a) {
  using Number = typename Pixels::Number;
  constexpr int kChannels = Pixels::channels;
  const BlockPlace block = block_place(a);
  const std::int32_t component = 4 * (block.across * static_cast<std::int32_t>(blockDim.x) + static_cast<std::int32_t>(threadIdx.x));
  const std::int32_t first = a.across * kChannels + component;
  const std::int32_t components = a.source.width * kChannels;
  // What lies behind the last pixel is not used.
  Column column{row_of(a.source, block.image, 0), component};
#pragma unroll
  for (int i = 0; i < 4; ++i) column.at[i] = min((first + i) / kChannels, a.source.width - 1) * kChannels + (first + i) % kChannels;
  column.component = first;
  column.is_inside = __all_sync(~0U, a.source.is_aligned && first + 4 <= components);
  column.is_in_image = true;
  const bool stores = component < a.destination.width * kChannels;

  const std::int32_t y0 = block.down * a.rows;
  const std::int32_t rows = min(a.rows, a.size_y + a.skip_y - y0);
  Down<Pixels> down(a);
  down.begin(a, column, a.first_y + y0, a.first_run + y0 / kRun);
  char* const out = row_of(a.destination, block.image, 0) + component * std::int64_t{sizeof(Number)};
  for (std::int32_t y = 0; y < rows; y += kRun) {
    const std::int32_t from = a.first_y + y0 + y;
    typename Pixels::Loaded leaving[kRun], entering[kRun];
    load<Pixels>(a, column, from, leaving);
    load<Pixels>(a, column, from + a.window_y - 1, entering);
    FourOf<Number> sums[kRun];
    down.sums(a, leaving, entering, [&](int j, const FourOf<Number>& sum) { sums[j] = sum; });
    if constexpr (!Pixels::is_plain) {
      const auto add_edge = [&](float weight, std::int32_t row) {
        typename Pixels::Loaded edge[kRun];
        load<Pixels>(a, column, row, edge);
#pragma unroll
        for (int j = 0; j < kRun; ++j) {
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[j].at[i] = fmaf(weight, Pixels::numbers(a, edge[j]).at[i], sums[j].at[i]);
        }
      };
      if (a.before_y > 0.0F) add_edge(a.before_y, from - 1);
      if (a.after_y > 0.0F) add_edge(a.after_y, from + a.window_y);
    }
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      const std::int32_t made = y0 + y + j - a.skip_y;
      if (!stores || y + j >= rows || made < 0 || made % a.step_y != 0) continue;
      *reinterpret_cast<FourOf<Number>*>(out + made / a.step_y * a.destination.row_bytes) = sums[j];
    }
  }
}

/// A block of threads makes neighbouring pixels of a row, eight a thread.
template <class Pixels>
__device__ void box_along(const BoxAny& a) {
  using Number = typename Pixels::Number;
  using Stored = typename Pixels::Stored;
  constexpr int kChannels = Pixels::channels;
  constexpr int kNumbers = kRun * kChannels;
  const auto threads = static_cast<std::int32_t>(blockDim.x);
  const auto run = static_cast<std::int32_t>(threadIdx.x);
  const BoxAlongShape shape(kChannels, threads, sizeof(Stored));
  extern __shared__ int4 memory[];
  auto* const bytes = reinterpret_cast<char*>(memory);
  auto* const sums = reinterpret_cast<Number*>(bytes);
  auto* const runs = reinterpret_cast<Number*>(bytes + shape.runs_at());
  auto* const groups = reinterpret_cast<Number*>(bytes + shape.groups_at());
  auto* const stored = reinterpret_cast<Stored*>(bytes + shape.stored_at());
  // Of four channels, a gap after each run keeps threads of a warp from the same banks.
  const auto place = [](std::int32_t pixel) { return kChannels == 4 ? 4 * (pixel + pixel / kRun) : kChannels * pixel; };
  const auto load_pixels = [&](std::int32_t pixel, Number(&v)[kNumbers]) {
    if constexpr (kChannels == 4) {
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        const auto four = *reinterpret_cast<const FourOf<Number>*>(sums + place(pixel + i));
#pragma unroll
        for (int c = 0; c < 4; ++c) v[4 * i + c] = four.at[c];
      }
    } else {
      load_run<kChannels>(sums, pixel, v);
    }
  };

  const BlockPlace block = block_place(a);
  const bool has_before = a.before_x > 0.0F;
  const std::int32_t wanted = a.first_x + block.across * a.made - (has_before ? 1 : 0);
  constexpr int kPixelsOfFours = pixels_of_fours(kChannels);
  const std::int32_t begin = floor_of(wanted, kPixelsOfFours) * kPixelsOfFours;
  const std::int32_t ahead = wanted - begin + (has_before ? 1 : 0);
  const char* const row = row_of(a.source, block.image, block.down);
  const std::int32_t end = min(a.across + a.source.width, a.length);  // pixels of the image that the source holds
  for (std::int32_t i = run; i < shape.columns * kChannels / 4; i += threads) {
    const std::int32_t first = begin * kChannels + 4 * i;
    FourOf<Number> four;
    if (first >= a.across * kChannels && first + 4 <= end * kChannels) {
      four = reinterpret_cast<const FourOf<Number>*>(row)[(first - a.across * kChannels) / 4];
    } else {
#pragma unroll 1
      for (int j = 0; j < 4; ++j) {
        const std::int32_t pixel = floor_of(first + j, kChannels);
        const std::int32_t channel = first + j - pixel * kChannels;
        const std::int32_t inside = mapped(a.outside.mode_x, pixel, a.length);
        Number number{};
        if (inside >= a.across && inside < end) {
          number = reinterpret_cast<const Number*>(row)[std::int64_t{inside - a.across} * kChannels + channel];
        } else if (inside < 0) {
          number = outside_of_columns<Pixels>(a, channel);
        }
        sums[place(i * 4 / kChannels) + (kChannels == 4 ? j : (4 * i) % kChannels + j)] = number;
      }
      continue;
    }
    *reinterpret_cast<FourOf<Number>*>(sums + (kChannels == 4 ? place(i) : 4 * i)) = four;
  }
  __syncthreads();

  Number rests[kNumbers];
  if (ahead + (run + 1) * kRun <= shape.columns) {
    load_pixels(ahead + run * kRun, rests);
    rests_of_run<Pixels>(rests, runs + run * kChannels);
  }
  __syncthreads();
  if (run < threads / kRun) {
    Number all[kChannels] = {};
    for (int n = 0; n < kRun; ++n) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) all[c] += runs[(run * kRun + n) * kChannels + c];
    }
#pragma unroll
    for (int c = 0; c < kChannels; ++c) groups[run * kChannels + c] = all[c];
  }
  __syncthreads();

  const std::int32_t x0 = block.across * a.made - a.skip_x;
  const std::int32_t runs_across = min(a.made, a.size_x - x0 + kRun - 1) / kRun;
  if (run < runs_across) {
    Number middle[kChannels] = {};
    const auto add = [&](const Number* some) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) middle[c] += some[c];
    };
    const std::int32_t last = run + 1 + box_runs(a.window_x);
    std::int32_t n = run + 1;
    for (; n < last && n % kRun != 0; ++n) add(runs + n * kChannels);
    for (; n + kRun <= last; n += kRun) add(groups + n / kRun * kChannels);
    for (; n < last; ++n) add(runs + n * kChannels);
    const std::int32_t rest = (a.window_x - kBoxLeastWindow) % kRun;
    for (std::int32_t i = 0; i < rest; ++i) add(sums + place(ahead + last * kRun + i));
    Number entering[kNumbers];
    load_pixels(ahead + run * kRun + a.window_x - 1, entering);
    windows_of_run<Pixels>(a, runs + run * kChannels, middle, rests, entering);
    if constexpr (!Pixels::is_plain) {
      const auto add_edge = [&](float weight, std::int32_t from) {
#pragma unroll
        for (int i = 0; i < kNumbers; ++i) rests[i] = fmaf(weight, sums[place(from + i / kChannels) + i % kChannels], rests[i]);
      };
      if (a.before_x > 0.0F) add_edge(a.before_x, ahead + run * kRun - 1);
      if (a.after_x > 0.0F) add_edge(a.after_x, ahead + run * kRun + a.window_x);
    }
    keep_results<Pixels>(a, rests, stored + run * (kNumbers / 4));
  }
  __syncthreads();
  char* const out = row_of(a.destination, block.image, block.down);
  if (a.step_x == 1) {
    store_row<Pixels>(a, stored, x0 * kChannels, runs_across * (kNumbers / 4), out, run, threads);
  } else {
    store_kept<Pixels>(a, stored, x0, runs_across * kRun, out, run, threads);
  }
}

}  // namespace

#define MOLLIFY_BOX_WIDE(name, pixels)                                                                    \
  __global__ void __launch_bounds__(kBoxMostThreads) box_down_##name(const __grid_constant__ BoxAny a) {  \
    take_turn();                                                                                          \
    box_down<pixels>(a);                                                                                  \
  }                                                                                                       \
  __global__ void __launch_bounds__(kBoxMostThreads) box_along_##name(const __grid_constant__ BoxAny a) { \
    take_turn();                                                                                          \
    box_along<pixels>(a);                                                                                 \
  }

extern "C" {
MOLLIFY_OF_BOXES(MOLLIFY_BOX_WIDE)
}

}  // namespace mollify::cuda
