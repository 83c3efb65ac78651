// Sums of windows down columns and along rows, eight of them at a time, and where results go. See box_any.cu.
#pragma once

#include "backends/cuda/kernels/box_pixels.cuh"

namespace mollify::cuda {

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

/// Puts the sum of a run's pixels at `all`. Of floats, each becomes the sum of it and of those behind it.
template <class Pixels, int kNumbers>
__device__ inline void rests_of_run(typename Pixels::Number (&pixels)[kNumbers], typename Pixels::Number* all) {
  constexpr int kChannels = Pixels::channels;
  typename Pixels::Number sum[kChannels] = {};
#pragma unroll
  for (int i = kNumbers - 1; i >= 0; --i) {
    sum[i % kChannels] += pixels[i];
    if constexpr (!Pixels::is_exact) pixels[i] = sum[i % kChannels];
  }
#pragma unroll
  for (int c = 0; c < kChannels; ++c) all[c] = sum[c];
}

/// Makes the sums of eight windows: of what rests_of_run() left of their first pixels and of those pixels' sum `all`, of what lies between,
/// and of the pixels that they end with.
template <class Pixels, int kNumbers>
__device__ inline void windows_of_run(const BoxAny& a, const typename Pixels::Number* all,
                                      typename Pixels::Number (&middle)[Pixels::channels], typename Pixels::Number (&first)[kNumbers],
                                      typename Pixels::Number (&entering)[kNumbers]) {
  using Number = typename Pixels::Number;
  constexpr int kChannels = Pixels::channels;
  if constexpr (Pixels::is_exact) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) middle[c] += all[c] + a.half;
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      Number& window = middle[i % kChannels];
      window += entering[i];
      const Number leaves = first[i];
      first[i] = window;
      window -= leaves;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      if (i >= kChannels) entering[i] += entering[i - kChannels];
      first[i] = (first[i] + middle[i % kChannels]) + entering[i];
    }
  }
}

/// Means that become components `at` and the three after it of a row, of those from 0 to before `end`. By value: see coding.cuh.
template <int kChannels>
__device__ __noinline__ void store_means(const BoxAny& a, char* row, std::int32_t at, std::int32_t end, Four v) {
  encode<kChannels>(a.to, v.at);
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (at + c >= 0 && at + c < end) store_component(a.to.component, row, at + c, v.at[c] * static_cast<float>(a.to.scale));
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

template <class Pixels, int kNumbers>
__device__ inline void keep_results(const BoxAny& a, const typename Pixels::Number (&sums)[kNumbers], typename Pixels::Stored* out) {
  typename Pixels::Stored results[kNumbers / 4];
#pragma unroll
  for (int i = 0; i < kNumbers / 4; ++i) results[i] = Pixels::result(a, {{sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]}});
  keep(results, out);
}

/// Results become components `at` of a row and those behind it, of those that lie in the destination. `first`, `step`: which of the fours
/// this thread stores.
template <class Pixels>
__device__ inline void store_row(const BoxAny& a, const typename Pixels::Stored* from, std::int32_t at, std::int32_t fours, char* row,
                                 std::int32_t first, std::int32_t step) {
  using Stored = typename Pixels::Stored;
  constexpr int kBytes = sizeof(Stored) / 4;  // of a component
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
    for (std::int32_t i = first; i < fours; i += step) store_means<Pixels::channels>(a, row, at + 4 * i, components, from[i]);
  }
}

/// The same where the destination holds every n-th pixel. The first result is of pixel `x` of a row; there are `pixels` of them.
template <class Pixels>
__device__ inline void store_kept(const BoxAny& a, const typename Pixels::Stored* from, std::int32_t x, std::int32_t pixels, char* row,
                                  std::int32_t first, std::int32_t step) {
  using Stored = typename Pixels::Stored;
  constexpr int kChannels = Pixels::channels;
  const std::int32_t begin = (max(x, 0) + a.step_x - 1) / a.step_x;
  const std::int32_t end = min((x + pixels + a.step_x - 1) / a.step_x, a.destination.width);
  if constexpr (Pixels::is_plain) {
    constexpr int kBytes = sizeof(Stored) / 4 * kChannels;  // of a pixel
    const auto* const bytes = reinterpret_cast<const char*>(from);
    for (std::int32_t i = begin + first; i < end; i += step) {
      const std::int32_t result = i * a.step_x - x;
      char* const out = row + std::int64_t{i} * kBytes;
      if constexpr (kChannels == 4) {
        if (a.destination.is_aligned) {
          *reinterpret_cast<Stored*>(out) = from[result];
          continue;
        }
      }
#pragma unroll
      for (int b = 0; b < kBytes; ++b) out[b] = bytes[result * kBytes + b];
    }
  } else {
    const auto* const numbers = reinterpret_cast<const float*>(from);
    for (std::int32_t at = begin * kChannels + 4 * first; at < end * kChannels; at += 4 * step) {
      Four v;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const std::int32_t i = min((at + c) / kChannels, end - 1);
        v.at[c] = numbers[(i * a.step_x - x) * kChannels + (at + c) % kChannels];
      }
      store_means<kChannels>(a, row, at, end * kChannels, v);
    }
  }
}

}  // namespace mollify::cuda

/// Kernels of boxes: `kernel` of a name and of what it sums up.
#define MOLLIFY_OF_BOXES_OF(kernel, channels)                 \
  using Bytes##channels = Integers<channels, Component::u8>;  \
  using Words##channels = Integers<channels, Component::u16>; \
  kernel(channels##_u8, Bytes##channels) kernel(channels##_u16, Words##channels) kernel(channels##_any, AnyFloats<channels>)
// Floats of four channels slide along segments: see box_segments.cuh.
#define MOLLIFY_OF_BOXES(kernel)              \
  MOLLIFY_OF_BOXES_OF(kernel, 1)              \
  MOLLIFY_OF_BOXES_OF(kernel, 2)              \
  MOLLIFY_OF_BOXES_OF(kernel, 3)              \
  MOLLIFY_OF_BOXES_OF(kernel, 4)              \
  using Halves1 = Floats<1, Component::f16>;  \
  using Singles1 = Floats<1, Component::f32>; \
  kernel(1_f16, Halves1) kernel(1_f32, Singles1)
