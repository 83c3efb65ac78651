// Boxes: means of windows, whose cost hardly grows with the window. A block of threads moves down a strip of columns, eight rows at a time,
// and then along these rows, eight pixels a thread. Sums of integers slide: what enters is added, what leaves is taken away.
// Sums of floats are only added to, so that what left a window leaves no trace. Eight windows that follow one another have all but eight
// pixels at either end in common: each is the rest of a first run of eight, what lies between, and the beginning of a last run. Down
// columns, what lies between is a queue of runs, of which threads keep the sums as van Herk and Gil and Werman do: those of the older runs
// from each to the last, and that of the younger ones.
#include "backends/cuda/kernels/box_sums.cuh"

namespace mollify::cuda {
namespace {

template <class Pixels>
__device__ void box_any(const BoxAny& a) {
  using Number = typename Pixels::Number;
  using Stored = typename Pixels::Stored;
  constexpr int kChannels = Pixels::channels;
  constexpr int kNumbers = kRun * kChannels;                // of a run
  constexpr int kRounds = (4 + kChannels - 1) / kChannels;  // in which all threads make all runs of eight rows
  const auto threads = static_cast<std::int32_t>(blockDim.x);
  const BoxShape shape(kChannels, threads, sizeof(Stored));
  extern __shared__ int4 memory[];
  auto* const bytes = reinterpret_cast<char*>(memory);
  auto* const sums = reinterpret_cast<Number*>(bytes);
  auto* const runs = reinterpret_cast<Number*>(bytes + shape.runs_at());
  auto* const columns = reinterpret_cast<int*>(bytes + shape.columns_at());

  const BlockPlace block = block_place(a);
  const bool has_before = a.before_x > 0.0F;
  const std::int32_t wanted = a.first_x + block.across * a.made - (has_before ? 1 : 0);
  // Loads begin at multiples of four components.
  constexpr int kPixelsOfFours = pixels_of_fours(kChannels);
  const std::int32_t begin = floor_of(wanted, kPixelsOfFours) * kPixelsOfFours;
  const std::int32_t ahead = wanted - begin + (has_before ? 1 : 0);  // pixels that lie before the first window
  for (std::int32_t i = threadIdx.x; i < shape.columns + kRun; i += threads) {
    columns[i] = mapped(a.outside.mode_x, begin + i, a.source.width);
  }
  __syncthreads();

  const std::int32_t local = 4 * static_cast<std::int32_t>(threadIdx.x);
  Column column{row_of(a.source, block.image, 0), local};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int pixel = columns[(local + i) / kChannels];
    column.at[i] = pixel < 0 ? -1 : pixel * kChannels + (local + i) % kChannels;
  }
  // Of four channels, four components are a pixel wherever it lies.
  column.component = kChannels == 4 ? column.at[0] : begin * kChannels + local;
  column.is_inside = __all_sync(~0U, a.source.is_aligned && column.component >= 0 && column.component + 4 <= a.source.width * kChannels);
  column.is_in_image = __all_sync(~0U, min(min(column.at[0], column.at[1]), min(column.at[2], column.at[3])) >= 0);

  const std::int32_t y0 = block.down * a.rows;
  const std::int32_t rows = min(a.rows, a.size_y + a.skip_y - y0);
  const std::int32_t x0 = block.across * a.made - a.skip_x;  // the pixel that is made first
  const std::int32_t runs_across = min(a.made, a.size_x - x0 + kRun - 1) / kRun;
  const std::int32_t between_x = box_runs(a.window_x);
  const std::int32_t rest_x = (a.window_x - kBoxLeastWindow) % kRun;

  Down<Pixels> down(a);
  down.begin(a, column, a.first_y + y0, a.first_run + y0 / kRun);
  // What takes few registers is loaded for the next rows while these are made.
  constexpr bool kIsAhead = sizeof(typename Pixels::Loaded) == 4;
  typename Pixels::Loaded leaving[kRun], entering[kRun];
  const auto load_rows = [&](std::int32_t first) {
    load<Pixels>(a, column, first, leaving);
    load<Pixels>(a, column, first + a.window_y - 1, entering);
  };
  if constexpr (kIsAhead) load_rows(a.first_y + y0);
  for (std::int32_t y = 0; y < rows; y += kRun) {
    {
      const std::int32_t first = a.first_y + y0 + y;
      if constexpr (!kIsAhead) load_rows(first);
      down.sums(a, leaving, entering,
                [&](int j, const FourOf<Number>& sum) { *reinterpret_cast<FourOf<Number>*>(sums + j * shape.row_floats + local) = sum; });
      if constexpr (!Pixels::is_plain) {
        // Pixels that count in part lie before the whole ones, and behind them.
        const auto add_edge = [&](float weight, std::int32_t from) {
          typename Pixels::Loaded edge[kRun];
          load<Pixels>(a, column, from, edge);
#pragma unroll
          for (int j = 0; j < kRun; ++j) {
            auto& sum = *reinterpret_cast<FourOf<Number>*>(sums + j * shape.row_floats + local);
#pragma unroll
            for (int i = 0; i < 4; ++i) sum.at[i] = fmaf(weight, Pixels::numbers(a, edge[j]).at[i], sum.at[i]);
          }
        };
        if (a.before_y > 0.0F) add_edge(a.before_y, first - 1);
        if (a.after_y > 0.0F) add_edge(a.after_y, first + a.window_y);
      }
    }
    if constexpr (kIsAhead) {
      if (y + kRun < rows) load_rows(a.first_y + y0 + y + kRun);
    }
    const std::int32_t out_y = y0 + y - a.skip_y;
    const std::int32_t first_row = (max(out_y, 0) + a.step_y - 1) / a.step_y * a.step_y - out_y;  // that the destination holds
    if (y + first_row >= rows || first_row >= kRun) continue;
    __syncthreads();

    // Along rows a thread makes eight pixels of a row, in each round.
    const std::int32_t kept_rows = box_kept_rows(a.step_y);
    const std::int32_t row = first_row + static_cast<std::int32_t>(threadIdx.x) % kept_rows * a.step_y;
    const Number* const row_sums = sums + row * shape.row_floats;
    const std::int32_t run_step = threads / kept_rows;
    const std::int32_t first_run = row < kRun ? static_cast<std::int32_t>(threadIdx.x) / kept_rows : shape.columns;
    const std::int32_t last_run = (shape.columns - ahead) / kRun;
    Number rests[kRounds][kNumbers];
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const std::int32_t run = first_run + round * run_step;
      if (run >= last_run) continue;
      load_run<kChannels>(row_sums, ahead + run * kRun, rests[round]);
      rests_of_run<Pixels>(rests[round], runs + (run * kRun + row) * kChannels);
    }
    __syncthreads();
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const std::int32_t run = first_run + round * run_step;
      if (run >= runs_across) continue;
      Number middle[kChannels] = {};
      for (std::int32_t n = 1; n <= between_x; ++n) {
#pragma unroll
        for (int c = 0; c < kChannels; ++c) middle[c] += runs[((run + n) * kRun + row) * kChannels + c];
      }
      const Number* const rest = row_sums + (ahead + (run + 1 + between_x) * kRun) * kChannels;
      for (std::int32_t i = 0; i < rest_x; ++i) {
#pragma unroll
        for (int c = 0; c < kChannels; ++c) middle[c] += rest[i * kChannels + c];
      }
      Number entering[kNumbers];
      load_run<kChannels>(row_sums, ahead + run * kRun + a.window_x - 1, entering);
      windows_of_run<Pixels>(a, runs + (run * kRun + row) * kChannels, middle, rests[round], entering);
      if constexpr (!Pixels::is_plain) {
        const auto add_edge = [&](float weight, std::int32_t from) {
          const Number* const edge = row_sums + from * kChannels;
#pragma unroll
          for (int i = 0; i < kNumbers; ++i) rests[round][i] = fmaf(weight, edge[i], rests[round][i]);
        };
        if (a.before_x > 0.0F) add_edge(a.before_x, ahead + run * kRun - 1);
        if (a.after_x > 0.0F) add_edge(a.after_x, ahead + run * kRun + a.window_x);
      }
      keep_results<Pixels>(a, rests[round],
                           reinterpret_cast<Stored*>(bytes + shape.stored_at() + row * shape.stored_bytes) + run * (kNumbers / 4));
    }
    __syncthreads();

    // A warp stores a row, or part of one: warps that have the same row take turns.
    const std::int32_t lane = static_cast<std::int32_t>(threadIdx.x) / 32 / kRun * 32 + static_cast<std::int32_t>(threadIdx.x) % 32;
    const std::int32_t lanes = max(threads / kRun, 32);
    for (std::int32_t n = static_cast<std::int32_t>(threadIdx.x) / 32 % kRun; n < kRun; n += min(threads / 32, kRun)) {
      const std::int32_t r = first_row + n * a.step_y;
      if (r >= kRun || y + r >= rows) break;
      const auto* const from = reinterpret_cast<const Stored*>(bytes + shape.stored_at() + r * shape.stored_bytes);
      char* const out = row_of(a.destination, block.image, (out_y + r) / a.step_y);
      if (a.step_x == 1) {
        store_row<Pixels>(a, from, x0 * kChannels, runs_across * (kNumbers / 4), out, lane, lanes);
      } else {
        store_kept<Pixels>(a, from, x0, runs_across * kRun, out, lane, lanes);
      }
    }
  }
}

}  // namespace

#define MOLLIFY_BOX_ANY(name, pixels)                                                                   \
  __global__ void __launch_bounds__(kBoxMostThreads) box_any_##name(const __grid_constant__ BoxAny a) { \
    box_any<pixels>(a);                                                                                 \
  }

extern "C" {
MOLLIFY_OF_BOXES(MOLLIFY_BOX_ANY)
}

}  // namespace mollify::cuda
