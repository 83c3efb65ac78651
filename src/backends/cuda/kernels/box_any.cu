// Boxes: means of windows, whose cost hardly grows with the window. A block of threads moves down a strip of columns, eight rows at a time,
// and then along these rows, eight pixels a thread. Sums of integers slide: what enters is added, what leaves is taken away.
// Sums of floats are only added to, so that what left a window leaves no trace. Eight windows that follow one another have all but eight
// pixels at either end in common: each is the rest of a first run of eight, what lies between, and the beginning of a last run. Down
// columns, what lies between is a queue of runs, of which threads keep the sums as van Herk and Gil and Werman do: those of the older runs
// from each to the last, and that of the younger ones.
#include "backends/cuda/kernels/box_pixels.cuh"

namespace mollify::cuda {
namespace {

/// Of eight pixels from pixel `column` of a row of sums on.
template <int kChannels, class Number>
__device__ inline void load_run(const Number* row, std::int32_t column, Number (&v)[kRun * kChannels]) {
  constexpr int kNumbers = kRun * kChannels;
  if constexpr (kChannels == 4) {
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      const auto four = reinterpret_cast<const FourOf<Number>*>(row)[column + i];
#pragma unroll
      for (int c = 0; c < 4; ++c) v[4 * i + c] = four.at[c];
    }
  } else {
    const std::int32_t first = column * kChannels;
    const int skipped = first % 4;  // the same for all threads
    Number numbers[kNumbers + 4];
#pragma unroll
    for (int i = 0; i < kNumbers / 4 + 1; ++i) {
      const auto four = reinterpret_cast<const FourOf<Number>*>(row)[first / 4 + i];
#pragma unroll
      for (int c = 0; c < 4; ++c) numbers[4 * i + c] = four.at[c];
    }
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      if (skipped == s) {
#pragma unroll
        for (int i = 0; i < kNumbers; ++i) v[i] = numbers[s + i];
      }
    }
  }
}

/// Windows down a column, of integers.
template <class Pixels>
class Down {
 public:
  using Number = typename Pixels::Number;
  using Loaded = typename Pixels::Loaded;
  __device__ explicit Down(const BoxAny&) {}

  /// Before the windows that begin at row `y`.
  __device__ void begin(const BoxAny& a, const Column& column, std::int32_t y, std::int32_t) {
    const std::int32_t rows = a.window_y - 1;
    for (std::int32_t n = 0; n < rows; n += kRun) {
      typename Pixels::Loaded v[kRun];
      load<Pixels>(a, column, y + n, v);
#pragma unroll
      for (int j = 0; j < kRun; ++j) {
        if (n + j < rows) sum_ = sum_ + Pixels::numbers(a, v[j]);
      }
    }
  }
  /// Sums of the eight windows of which these rows leave and enter; `store` takes them.
  template <class Store>
  __device__ void sums(const BoxAny& a, const Loaded (&leaving)[kRun], const Loaded (&entering)[kRun], Store store) {
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      sum_ = sum_ + Pixels::numbers(a, entering[j]);
      store(j, sum_);
      sum_ = sum_ - Pixels::numbers(a, leaving[j]);
    }
  }

 private:
  FourOf<Number> sum_{};
};

/// The same of floats, which are only added.
template <class Pixels>
requires(!Pixels::is_exact) class Down<Pixels> {
 public:
  using Loaded = typename Pixels::Loaded;
  __device__ explicit Down(const BoxAny& a) : runs_(box_runs(a.window_y)), rest_((a.window_y - kBoxLeastWindow) % kRun) {}

  __device__ void begin(const BoxAny& a, const Column& column, std::int32_t y, std::int32_t run) {
    // A run of the queue begins where the runs that windows begin with do. Run n of the image has place n of the queue, modulo its length.
    if (runs_ > 0) place_ = (run + 1) % runs_;
    for (std::int32_t n = 0; n <= runs_; ++n) {
      Loaded loaded[kRun];
      load<Pixels>(a, column, y + kRun * (n + 1), loaded);
      Four v[kRun];
#pragma unroll
      for (int j = 0; j < kRun; ++j) v[j] = Pixels::numbers(a, loaded[j]);
      Four head{}, tail{};
      split(v, rest_, head, tail);
      if (n == runs_) {
        head_ = head;
      } else {
        queue_[(run + 1 + n) % runs_] = rest_ > 0 ? head + tail : all_of(v);
      }
    }
    for (std::int32_t i = 0; i < place_; ++i) young_ = i == 0 ? queue_[0] : young_ + queue_[i];
    add_older();
  }

  template <class Store>
  __device__ void sums(const BoxAny& a, const Loaded (&left)[kRun], const Loaded (&entered)[kRun], Store store) {
    Four leaving[kRun], entering[kRun];
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      leaving[j] = Pixels::numbers(a, left[j]);
      entering[j] = Pixels::numbers(a, entered[j]);
    }
#pragma unroll
    for (int j = kRun - 2; j >= 0; --j) leaving[j] = leaving[j] + leaving[j + 1];
    const Four middle = between();
    Four all = entering[0];
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      if (j > 0) all = all + entering[j];
      store(j, (leaving[j] + middle) + all);
    }
    push(entering, all);
  }

 private:
  __device__ Four between() const {
    if (runs_ == 0) return head_;
    const Four old = queue_[place_];
    return (place_ == 0 ? old : old + young_) + head_;
  }
  /// The last run moves in: its first rows end the run that began with `head_`, the others begin the next. `all`: their sum.
  __device__ void push(const Four (&v)[kRun], const Four& all) {
    Four run = all;
    if (rest_ > 0) {
      Four tail{}, head{};
      split(v, kRun - rest_, tail, head);
      run = head_ + tail;
      head_ = head;
    }
    if (runs_ == 0) return;
    queue_[place_] = run;
    young_ = place_ == 0 ? run : young_ + run;
    if (++place_ == runs_) {
      place_ = 0;
      add_older();
    }
  }
  static __device__ Four all_of(const Four (&v)[kRun]) {
    Four all = v[0];
#pragma unroll
    for (int j = 1; j < kRun; ++j) all = all + v[j];
    return all;
  }
  /// Sums of the rows before row `at` and of the others.
  static __device__ void split(const Four (&v)[kRun], int at, Four& before, Four& after) {
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      if (j < at) {
        before = before + v[j];
      } else {
        after = after + v[j];
      }
    }
  }
  /// Makes of each run, from `place_` on, the sum of it and all behind it.
  __device__ void add_older() {
    for (std::int32_t i = runs_ - 2; i >= place_; --i) queue_[i] = queue_[i] + queue_[i + 1];
  }

  std::int32_t runs_;
  std::int32_t rest_;  ///< rows between, that are no whole run
  std::int32_t place_ = 0;
  Four head_{};
  Four young_{};
  Four queue_[kBoxMostRuns];
};

/// Means that become components `at` and the three after it of a row, of those that lie in the destination. By value: see coding.cuh.
template <int kChannels>
__device__ __noinline__ void store_means(const BoxAny& a, char* row, std::int32_t at, Four v) {
  encode<kChannels>(a.to, v.at);
  const std::int32_t components = a.destination.width * kChannels;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (at + c >= 0 && at + c < components) store_component(a.to.component, row, at + c, v.at[c] * static_cast<float>(a.to.scale));
  }
}

/// Sixteen bytes at once, as far as that goes.
template <int kCount>
__device__ inline void keep(const unsigned (&v)[kCount], unsigned* out) {
  if constexpr (kCount % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) reinterpret_cast<uint4*>(out)[i / 4] = make_uint4(v[i], v[i + 1], v[i + 2], v[i + 3]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) reinterpret_cast<uint2*>(out)[i / 2] = make_uint2(v[i], v[i + 1]);
  }
}
template <int kCount>
__device__ inline void keep(const uint2 (&v)[kCount], uint2* out) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) reinterpret_cast<uint4*>(out)[i / 2] = make_uint4(v[i].x, v[i].y, v[i + 1].x, v[i + 1].y);
}
template <class Stored, int kCount>
__device__ inline void keep(const Stored (&v)[kCount], Stored* out) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) out[i] = v[i];
}

/// Results become components `at` of a row and those behind it, of those that lie in the destination. Warps that have the same row take
/// turns.
template <class Pixels>
__device__ inline void store_row(const BoxAny& a, const typename Pixels::Stored* from, std::int32_t at, std::int32_t fours, char* row) {
  using Stored = typename Pixels::Stored;
  constexpr int kBytes = sizeof(Stored) / 4;  // of a component
  const std::int32_t step = max(static_cast<std::int32_t>(blockDim.x) / kRun, 32);
  const std::int32_t first = static_cast<std::int32_t>(threadIdx.x) / 32 / kRun * 32 + static_cast<std::int32_t>(threadIdx.x) % 32;
  const std::int32_t components = a.destination.width * Pixels::channels;
  if constexpr (Pixels::is_plain) {
    char* const begin = row + std::int64_t{at} * kBytes;
    if (at >= 0 && at + 4 * fours <= components && reinterpret_cast<std::uint64_t>(begin) % 16 == 0) {
      constexpr int kOfSixteen = 16 / sizeof(Stored);
      for (std::int32_t i = first; i < fours / kOfSixteen; i += step) {
        reinterpret_cast<uint4*>(begin)[i] = reinterpret_cast<const uint4*>(from)[i];
      }
      const std::int32_t i = fours / kOfSixteen * kOfSixteen + first;
      if (i < fours) reinterpret_cast<Stored*>(begin)[i] = from[i];
      return;
    }
    const auto* const bytes = reinterpret_cast<const char*>(from);
    for (std::int32_t i = first; i < 4 * fours; i += step) {
      if (at + i < 0 || at + i >= components) continue;
#pragma unroll
      for (int b = 0; b < kBytes; ++b) begin[std::int64_t{i} * kBytes + b] = bytes[i * kBytes + b];
    }
  } else {
    for (std::int32_t i = first; i < fours; i += step) store_means<Pixels::channels>(a, row, at + 4 * i, from[i]);
  }
}

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
  const std::int32_t rows = min(a.rows, a.destination.height + a.skip_y - y0);
  const std::int32_t x0 = block.across * a.made - a.skip_x;  // the destination's pixel that is made first
  const std::int32_t runs_across = min(a.made, a.destination.width - x0 + kRun - 1) / kRun;
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
    __syncthreads();

    // Along rows a thread makes eight pixels of a row, in each round.
    const int row = static_cast<int>(threadIdx.x % kRun);
    const Number* const row_sums = sums + row * shape.row_floats;
    const std::int32_t run_step = threads / kRun;
    const auto first_run = static_cast<std::int32_t>(threadIdx.x) / kRun;
    const std::int32_t last_run = (shape.columns - ahead) / kRun;
    Number rests[kRounds][kNumbers];
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
      const std::int32_t run = first_run + round * run_step;
      if (run >= last_run) continue;
      load_run<kChannels>(row_sums, ahead + run * kRun, rests[round]);
      Number all[kChannels] = {};
#pragma unroll
      for (int i = kNumbers - 1; i >= 0; --i) {
        all[i % kChannels] += rests[round][i];
        if constexpr (!Pixels::is_exact) rests[round][i] = all[i % kChannels];
      }
#pragma unroll
      for (int c = 0; c < kChannels; ++c) runs[(run * kRun + row) * kChannels + c] = all[c];
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
      if constexpr (Pixels::is_exact) {
#pragma unroll
        for (int c = 0; c < kChannels; ++c) middle[c] += runs[(run * kRun + row) * kChannels + c] + a.half;
#pragma unroll
        for (int i = 0; i < kNumbers; ++i) {
          Number& window = middle[i % kChannels];
          window += entering[i];
          const Number leaves = rests[round][i];
          rests[round][i] = window;
          window -= leaves;
        }
      } else {
#pragma unroll
        for (int i = 0; i < kNumbers; ++i) {
          if (i >= kChannels) entering[i] += entering[i - kChannels];
          rests[round][i] = (rests[round][i] + middle[i % kChannels]) + entering[i];
        }
      }
      if constexpr (!Pixels::is_plain) {
        const auto add_edge = [&](float weight, std::int32_t from) {
          const Number* const edge = row_sums + from * kChannels;
#pragma unroll
          for (int i = 0; i < kNumbers; ++i) rests[round][i] = fmaf(weight, edge[i], rests[round][i]);
        };
        if (a.before_x > 0.0F) add_edge(a.before_x, ahead + run * kRun - 1);
        if (a.after_x > 0.0F) add_edge(a.after_x, ahead + run * kRun + a.window_x);
      }
      Stored results[kNumbers / 4];
#pragma unroll
      for (int i = 0; i < kNumbers / 4; ++i) {
        results[i] = Pixels::result(a, {{rests[round][4 * i], rests[round][4 * i + 1], rests[round][4 * i + 2], rests[round][4 * i + 3]}});
      }
      keep(results, reinterpret_cast<Stored*>(bytes + shape.stored_at() + row * shape.stored_bytes) + run * (kNumbers / 4));
    }
    __syncthreads();

    // A warp stores a row, or part of one.
    const std::int32_t out_y = y0 + y - a.skip_y;
    for (std::int32_t r = static_cast<std::int32_t>(threadIdx.x) / 32 % kRun; r < kRun; r += min(threads / 32, kRun)) {
      if (out_y + r < 0 || y + r >= rows) continue;
      const auto* const from = reinterpret_cast<const Stored*>(bytes + shape.stored_at() + r * shape.stored_bytes);
      store_row<Pixels>(a, from, x0 * kChannels, runs_across * (kNumbers / 4), row_of(a.destination, block.image, out_y + r));
    }
  }
}

}  // namespace

#define MOLLIFY_BOX_ANY(name, pixels)                                                                   \
  __global__ void __launch_bounds__(kBoxMostThreads) box_any_##name(const __grid_constant__ BoxAny a) { \
    box_any<pixels>(a);                                                                                 \
  }
#define MOLLIFY_BOX_ANY_CHANNELS(channels)                    \
  using Bytes##channels = Integers<channels, Component::u8>;  \
  using Words##channels = Integers<channels, Component::u16>; \
  MOLLIFY_BOX_ANY(channels##_u8, Bytes##channels)             \
  MOLLIFY_BOX_ANY(channels##_u16, Words##channels)            \
  MOLLIFY_BOX_ANY(channels##_any, AnyFloats<channels>)
#define MOLLIFY_BOX_ANY_FLOATS(channels)                      \
  using Halves##channels = Floats<channels, Component::f16>;  \
  using Singles##channels = Floats<channels, Component::f32>; \
  MOLLIFY_BOX_ANY(channels##_f16, Halves##channels)           \
  MOLLIFY_BOX_ANY(channels##_f32, Singles##channels)

extern "C" {
MOLLIFY_BOX_ANY_CHANNELS(1)
MOLLIFY_BOX_ANY_CHANNELS(2)
MOLLIFY_BOX_ANY_CHANNELS(3)
MOLLIFY_BOX_ANY_CHANNELS(4)
MOLLIFY_BOX_ANY_FLOATS(1)
MOLLIFY_BOX_ANY_FLOATS(4)
}

}  // namespace mollify::cuda
