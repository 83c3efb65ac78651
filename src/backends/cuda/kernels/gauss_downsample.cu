// gauss.decimate: coarse samples of an image's pixels, by sums of f32.
#include "backends/cuda/kernels/gauss_sums.cuh"

namespace mollify::cuda {
namespace {

/// What coarse samples of a row lack where pixels of a constant border were left out.
struct LeftOut {
  const float* columns = nullptr;  ///< of each coarse sample the weights of columns that lie there; none: nothing was left out
  float rows = 0.0F;               ///< the weights of rows that lie there

  /// `sum` of the m-th coarse sample, of a channel whose constant is `value`.
  __device__ float add_to(float sum, std::int32_t m, double value) const {
    const float weight = columns[m] + rows - columns[m] * rows;
    return weight == 0.0F ? sum : fmaf(weight, static_cast<float>(value), sum);
  }
};

/// Sums of finished columns along x: coarse samples of one row. `weights` are those of the places in a coarse sample.
template <int kChannels, int kSupportX>
__device__ void sum_across(const GaussDecimate& a, const DecimateShape& shape, const float* weights, const float* columns,
                           std::int32_t samples, const LeftOut& left_out, float* out) {
  const int next = shape.pitch * kChannels;  // from a coarse sample's first pixel to the next one's
  for (int m = threadIdx.x; m < samples * kChannels; m += blockDim.x) {
    const float* at = columns + m / kChannels * next + m % kChannels;
    float sum = 0.0F;
#pragma unroll 2
    for (std::int32_t i = 0; i < a.factor_x; ++i) {
      float w[whole_fours(kSupportX)];
      load_row_weights<kSupportX>(weights, i, w);
      float part = 0.0F;
#pragma unroll
      for (int j = 0; j < kSupportX; ++j) part = fmaf(w[j], at[j * next], part);
      sum += part;
      at += kChannels;
    }
    out[m] = left_out.columns == nullptr ? sum : left_out.add_to(sum, m / kChannels, a.outside.value[m % kChannels]);
  }
}

/// The same of four channels, of which a thread sums up all.
template <int kSupportX>
__device__ void sum_fours_across(const GaussDecimate& a, const DecimateShape& shape, const float* weights, const float4* columns,
                                 std::int32_t samples, const LeftOut& left_out, float4* out) {
  for (auto m = static_cast<std::int32_t>(threadIdx.x); m < samples; m += static_cast<std::int32_t>(blockDim.x)) {
    const float4* at = columns + m * shape.pitch;
    float4 sum = {};
#pragma unroll 2
    for (std::int32_t i = 0; i < a.factor_x; ++i) {
      float w[whole_fours(kSupportX)];
      load_row_weights<kSupportX>(weights, i, w);
      float4 part = {};
#pragma unroll
      for (int j = 0; j < kSupportX; ++j) {
        const float4 v = at[j * shape.pitch];
        part = make_float4(fmaf(w[j], v.x, part.x), fmaf(w[j], v.y, part.y), fmaf(w[j], v.z, part.z), fmaf(w[j], v.w, part.w));
      }
      sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
      ++at;
    }
    if (left_out.columns != nullptr) {
      const double* const value = a.outside.value;
      sum = make_float4(left_out.add_to(sum.x, m, value[0]), left_out.add_to(sum.y, m, value[1]), left_out.add_to(sum.z, m, value[2]),
                        left_out.add_to(sum.w, m, value[3]));
    }
    out[m] = sum;
  }
}

/// Calls body(integral_constant) with a support.
template <class Body>
__device__ void with_support(std::int32_t support, const Body& body) {
  switch (support) {
    case 2:
      return body(std::integral_constant<int, 2>{});
    case 3:
      return body(std::integral_constant<int, 3>{});
    case 4:
      return body(std::integral_constant<int, 4>{});
    case 5:
      return body(std::integral_constant<int, 5>{});
    case 6:
      return body(std::integral_constant<int, 6>{});
    case 7:
      return body(std::integral_constant<int, 7>{});
    case 8:
      return body(std::integral_constant<int, 8>{});
    default:
      return body(std::integral_constant<int, 1>{});
  }
}

/// Which component of a row stands in for each of four. That is the same in all rows.
template <int kChannels>
__device__ int4 mapped_columns(const GaussDecimate& a, std::int32_t component) {
  int at[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int32_t pixel = floor_of(component + i, kChannels);
    const std::int32_t inside = mapped(a.outside.mode_x, pixel, a.source.width);
    at[i] = inside < 0 ? -1 : inside * kChannels + (component + i - pixel * kChannels);
  }
  return make_int4(at[0], at[1], at[2], at[3]);
}

/// The same of a support that spans have.
template <int kMostSupport, class Body>
__device__ void with_span_support(std::int32_t support, const Body& body) {
  if (support == 3) return body(std::integral_constant<int, 3>{});
  if (kMostSupport == 4 || support == 4) return body(std::integral_constant<int, 4>{});
  if constexpr (kMostSupport > 4) {
    if (kMostSupport == 5 || support == 5) return body(std::integral_constant<int, 5>{});
    if constexpr (kMostSupport > 5) body(std::integral_constant<int, 6>{});
  }
}

/// A block of threads moves down a strip of columns. A thread sums up four components of rows for all coarse samples that these belong to.
/// The rows of a step are summed by themselves first, which rounds less.
template <class Pixels, int kSupport, bool kExact>
__device__ void gauss_decimate(const GaussDecimate& a) {
  constexpr int kChannels = Pixels::channels;
  const std::int32_t support_y = kExact ? kSupport : a.support_y;
  extern __shared__ int4 memory[];
  const DecimateShape shape(kChannels, static_cast<std::int32_t>(blockDim.x), 4, a.factor_x, a.support_x);
  auto* const weights_x = reinterpret_cast<float*>(memory);
  float* const weights_y = weights_x + floats_of_weights(a.factor_x, a.support_x);
  // Of each thread: which component of a row stands in for each of its four, -1 for a constant border.
  int4* const mapped_fours = reinterpret_cast<int4*>(weights_y + floats_of_weights(a.factor_y, kSupport));
  float* const finished = reinterpret_cast<float*>(mapped_fours + blockDim.x);  // two rows
  const auto* const splines = reinterpret_cast<const float*>(a.splines);
  put_row_weights(splines, a.factor_x, a.support_x, a.support_x, false, 1.0F, weights_x);
  put_row_weights(splines + a.factor_x * a.support_x, a.factor_y, support_y, kSupport, true, 1.0F, weights_y);

  const BlockPlace block = block_place(a);
  const std::int32_t left = block.across * shape.samples;  // of the coarse samples that the block makes
  const std::int32_t top = block.down * a.rows;
  const std::int32_t samples = min(shape.samples, a.destination.width - left);
  const std::int32_t bottom = min(top + a.rows, a.destination.height);
  const std::int32_t wanted = a.first_x + left * a.factor_x;  // the first column that counts
  constexpr int kPixels = pixels_of_fours(kChannels);
  const std::int32_t shift = wanted - floor_of(wanted, kPixels) * kPixels;
  const std::int32_t component = (wanted - shift) * kChannels + 4 * static_cast<std::int32_t>(threadIdx.x);
  mapped_fours[threadIdx.x] = mapped_columns<kChannels>(a, component);
  __syncthreads();

  // All threads of a warp go the same way: were it left to each, loads of one way would wait for those of the other.
  const bool is_inside = __all_sync(~0U, a.source.is_aligned && component >= 0 && component + 4 <= a.source.width * kChannels);
  const bool has_constant = a.outside.mode_x == kConstant || a.outside.mode_y == kConstant;
  const char* const image = row_of(a.source, block.image, 0);
  const std::int32_t first_row = a.first_y + top * a.factor_y;
  // Each lane of a warp finds one of the rows of a step: how far it lies from the first, or -1 for a constant border.
  const auto find = [&](std::int32_t row) {
    const std::int32_t at =
        mapped(a.outside.mode_y, first_row + row + static_cast<std::int32_t>(threadIdx.x % kDecimateRows), a.source.height);
    return at < 0 ? static_cast<std::int64_t>(-1) : at * a.source.row_bytes;
  };
  typename Pixels::Stored stored[kDecimateRows] = {};
  unsigned outside = 0;  // a bit for each row of a step
  const auto fetch = [&](int i, std::int64_t found) {
    const std::int64_t distance = __shfl_sync(~0U, found, i);
    if (has_constant) {
      outside = distance == -1 ? outside | 1U << i : outside & ~(1U << i);
      if (distance == -1) return;
    }
    if (is_inside) {
      stored[i] = Pixels::load(a, image + distance, component);
    } else {
      const int4 at = mapped_fours[threadIdx.x];
      stored[i] = Pixels::load_each(a, image + distance, max(at.x, 0), max(at.y, 0), max(at.z, 0), max(at.w, 0));
    }
  };
  const auto numbers = [&](int i) {
    Four v = Pixels::numbers(a, stored[i]);
    if (has_constant) {
      const Four constant = outside_four<kChannels>(a, component);
      const int4 at = mapped_fours[threadIdx.x];
      const bool is_row_outside = (outside >> i & 1U) != 0;
      const bool is_outside[4] = {at.x < 0 || is_row_outside, at.y < 0 || is_row_outside, at.z < 0 || is_row_outside,
                                  at.w < 0 || is_row_outside};
#pragma unroll
      for (int c = 0; c < 4; ++c) v.at[c] = is_outside[c] ? constant.at[c] : v.at[c];
    }
    return v;
  };

  const std::int32_t end = (bottom - top + support_y - 1) * a.factor_y;
  std::int64_t found = find(0);
#pragma unroll
  for (int i = 0; i < kDecimateRows; ++i) {
    if (i < a.step_rows) fetch(i, found);
  }
  float sums[kSupport][4] = {};
  std::int32_t phase = 0;  // of the step's first row in its coarse sample
  std::int32_t y = top - (support_y - 1);
  int filled = 0;
  for (std::int32_t row = 0; row < end; row += a.step_rows) {
    float step[kSupport][4] = {};
    const bool has_next = row + a.step_rows < end;
    found = find(row + a.step_rows);
#pragma unroll
    for (int i = 0; i < kDecimateRows; ++i) {
      if (i >= a.step_rows) break;
      const Four v = numbers(i);
      if (has_next) fetch(i, found);
      float weights[whole_fours(kSupport)];
      load_row_weights<kSupport>(weights_y, phase + i, weights);
#pragma unroll
      for (int j = 0; j < kSupport; ++j) {
        if (j >= support_y) break;
#pragma unroll
        for (int c = 0; c < 4; ++c) step[j][c] = fmaf(weights[j], v.at[c], step[j][c]);
      }
    }
#pragma unroll
    for (int j = 0; j < kSupport; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sums[j][c] += step[j][c];
    }
    phase += a.step_rows;
    if (phase < a.factor_y) continue;
    phase = 0;
    // The first sums are complete, and right once they have seen all rows of their spline. The barrier also tells that all threads are
    // done with the row before the last.
    if (y >= top) {
      float* const columns = finished + filled * shape.row_floats;
      const auto place = [&](int i) {
        const int pixel = (4 * static_cast<int>(threadIdx.x) + i) / kChannels - shift;
        const int channel = (4 * static_cast<int>(threadIdx.x) + i) % kChannels;
        const bool is_kept = pixel >= 0 && pixel < shape.columns - shift;
        return is_kept ? (pixel / a.factor_x * shape.pitch + pixel % a.factor_x) * kChannels + channel : -1;
      };
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (place(i) >= 0) columns[place(i)] = sums[0][i];
      }
      __syncthreads();
      float* const out = reinterpret_cast<float*>(row_of(a.destination, block.image, y)) + std::int64_t{left} * kChannels;
      with_support(a.support_x,
                   [&](auto support) { sum_across<kChannels, decltype(support)::value>(a, shape, weights_x, columns, samples, {}, out); });
      filled ^= 1;
    }
    ++y;
#pragma unroll
    for (int j = 0; j < kSupport; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sums[j][c] = j + 1 < kSupport ? sums[j + 1 < kSupport ? j + 1 : j][c] : 0.0F;
    }
  }
}

// ---- spans

/// Of each coarse sample of an axis, whose first weight is that of pixel `first`, the sum of its weights beyond a constant border.
__device__ __noinline__ void put_left_out(const float* spline, std::int32_t mode, std::int32_t first, std::int32_t factor,
                                          std::int32_t support, std::int32_t length, std::int32_t samples, float* out) {
  for (std::int32_t m = threadIdx.x; m < samples; m += blockDim.x) {
    double sum = 0.0;  // of many numbers
#pragma unroll 1
    for (std::int32_t i = 0; mode == kConstant && i < factor * support; ++i) {
      const std::int32_t at = first + m * factor + i;
      if (at < 0 || at >= length) sum += spline[i];
    }
    out[m] = static_cast<float>(sum);
  }
}

/// 16 bytes of whole pixels of four components.
template <class Pixels>
struct Span {
  static constexpr int kPixels = pixels_of_span(Pixels::component);
  static constexpr int kNumbers = 4 * kPixels;
  static constexpr std::int64_t kPixelBytes = 16 / kPixels;
  uint4 bits;

  /// What weights of y and of x are multiplied by. The bits of a byte, read as a float, are 2^-149 of its value.
  static constexpr float kGainY = Pixels::component == Component::u8 ? 0x1p100F : 1.0F;
  static constexpr float kGainX = Pixels::component == Component::u8 ? 0x1p49F : 1.0F;
  static __device__ Four numbers(const Shared& a, const typename Pixels::Stored& stored) {
    if constexpr (Pixels::component == Component::u8) {
      Four four;
#pragma unroll
      for (unsigned c = 0; c < 4; ++c) four.at[c] = __uint_as_float(__byte_perm(stored, 0U, 0x4440U | c));
      return four;
    } else {
      return Pixels::numbers(a, stored);
    }
  }

  /// All of it at once, whose address is a multiple of 16.
  static __device__ Span load(const char* at) {
    return {reinterpret_cast<const uint4*>(at)[0]};
  }
  /// Each pixel of a row so many pixels from `at`. Addresses are multiples of a pixel's size.
  static __device__ Span load_each(const char* at, const std::int32_t (&x)[kPixels]) {
    using Pixel = typename Pixels::Stored;
    Span span;
#pragma unroll
    for (int p = 0; p < kPixels; ++p) reinterpret_cast<Pixel*>(&span)[p] = reinterpret_cast<const Pixel*>(at)[x[p]];
    return span;
  }
  /// Wherever pixels lie.
  static __device__ Span load_anywhere(const Shared& a, const char* at, const std::int32_t (&x)[kPixels]) {
    Span span;
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      const std::int32_t i = 4 * x[p];
      reinterpret_cast<typename Pixels::Stored*>(&span)[p] = Pixels::load_each(a, at, i, i + 1, i + 2, i + 3);
    }
    return span;
  }
};

/// A barrier of the block that its warps may reach at different places of the code.
__device__ inline void sync_block() {
#if defined(__CUDA_ARCH__)
  asm volatile("barrier.sync 0;" ::: "memory");
#else
  __syncthreads();
#endif
}

/// A block of threads moves down a strip of columns. A thread sums up the pixels of 16 bytes of each row for all coarse samples that these
/// belong to, and loads some rows ahead. Rows of floats are summed by themselves for each step first, which rounds less. Pixels of a
/// constant border are left out: rows of them become zeros, and so do sums of columns. What coarse samples lack for it is known beforehand.
template <class Pixels, int kSupport>
__device__ void gauss_spans(const GaussDecimate& a) {
  using OneSpan = Span<Pixels>;
  constexpr int kPixels = OneSpan::kPixels, kNumbers = OneSpan::kNumbers;
  constexpr bool kByStep = Pixels::component == Component::f32;
  extern __shared__ int4 memory[];
  const DecimateShape shape(4, static_cast<std::int32_t>(blockDim.x), kNumbers, a.factor_x, a.support_x);
  auto* const weights_x = reinterpret_cast<float*>(memory);
  float* const weights_y = weights_x + floats_of_weights(a.factor_x, a.support_x);
  auto* const finished = weights_y + floats_of_weights(a.factor_y, kSupport);  // two rows
  // How far a source row lies from the one before, the first one from the beginning of the image.
  auto* const rows = reinterpret_cast<std::int64_t*>(finished + 2 * shape.row_floats);
  const std::int32_t most_rows = span_rows(a.rows, a.factor_y, kSupport);
  auto* const masks = reinterpret_cast<std::uint32_t*>(rows + most_rows);  // no bits where a row is left out
  auto* const left_out_x = reinterpret_cast<float*>(masks + most_rows);
  float* const left_out_y = left_out_x + shape.samples;

  const BlockPlace block = block_place(a);
  const std::int32_t left = block.across * shape.samples;  // of the coarse samples that the block makes
  const std::int32_t top = block.down * a.rows;
  const std::int32_t samples = min(shape.samples, a.destination.width - left);
  const std::int32_t bottom = min(top + a.rows, a.destination.height);
  const auto* const splines = reinterpret_cast<const float*>(a.splines);
  put_row_weights(splines, a.factor_x, a.support_x, a.support_x, false, OneSpan::kGainX, weights_x);
  put_row_weights(splines + a.factor_x * a.support_x, a.factor_y, kSupport, kSupport, true, OneSpan::kGainY, weights_y);
  const std::int32_t first_row = a.first_y + top * a.factor_y;
  const std::int32_t count = span_rows(bottom - top, a.factor_y, kSupport);
  // The pixel that is read for one, along an axis.
  const auto read_for = [](std::int32_t mode, std::int32_t i, std::int32_t length) {
    return mode == kConstant ? clamped(i, length) : mapped(mode, i, length);
  };
  for (std::int32_t i = threadIdx.x; i < count; i += blockDim.x) {
    const std::int32_t y = first_row + i;
    const auto row_for = [&](std::int32_t row) { return read_for(a.outside.mode_y, row, a.source.height); };
    rows[i] = (row_for(y) - (i == 0 ? 0 : row_for(y - 1))) * a.source.row_bytes;
    masks[i] = a.outside.mode_y == kConstant && (y < 0 || y >= a.source.height) ? 0U : ~0U;
  }
  const bool has_constant = a.outside.mode_x == kConstant || a.outside.mode_y == kConstant;
  if (has_constant) {
    put_left_out(splines, a.outside.mode_x, a.first_x + left * a.factor_x, a.factor_x, a.support_x, a.source.width, samples, left_out_x);
    put_left_out(splines + a.factor_x * a.support_x, a.outside.mode_y, first_row, a.factor_y, kSupport, a.source.height, bottom - top,
                 left_out_y);
  }

  const std::int32_t wanted = a.first_x + left * a.factor_x;  // the first column that counts
  const std::int32_t shift = wanted - floor_of(wanted, kPixels) * kPixels;
  const std::int32_t x = wanted - shift + kPixels * static_cast<std::int32_t>(threadIdx.x);
  std::int32_t places[kPixels];  // of each pixel in shared memory, -1 where it is not needed
  const auto column_for = [&](std::int32_t column) { return read_for(a.outside.mode_x, column, a.source.width); };
  const std::int32_t nearest = kPixels == 1 ? column_for(x) : clamped(x, a.source.width);
  std::int32_t apart[kPixels];  // how far the column that stands in for it lies from that
  unsigned outside = 0;         // a bit for each that is left out
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    const std::int32_t column = kPixels * static_cast<std::int32_t>(threadIdx.x) + p - shift;
    const bool is_kept = column >= 0 && column < shape.columns - shift;
    places[p] = is_kept ? (column / a.factor_x * shape.pitch + column % a.factor_x) * 4 : -1;
    apart[p] = column_for(x + p) - nearest;
    if (a.outside.mode_x == kConstant && (x + p < 0 || x + p >= a.source.width)) outside |= 1U << p;
  }
  __syncthreads();

  const char* const image = row_of(a.source, block.image, 0);
  // All threads of a warp go the same way: were it left to each, loads of one way would wait for those of the other.
  const bool is_whole = __all_sync(~0U, are_multiples(a.source, 16) && x >= 0 && x + kPixels <= a.source.width);
  // The address that was loaded last, to which the next row adds its distance. So it keeps its registers. If they were free at once, the
  // compiler would give them to the next load from shared memory, which would wait until this load has read them.
  const char* at = image + nearest * OneSpan::kPixelBytes;
  constexpr int kAhead = span_rows_ahead(Pixels::component, kSupport);
  OneSpan spans[kAhead];
  const auto fetch = [&](auto whole, int i, std::int32_t row) {
    at += rows[row];
    if constexpr (decltype(whole)::value) {
      spans[i] = OneSpan::load(at);
    } else {
      spans[i] = OneSpan::load_each(at, apart);
    }
  };
  // Without the mask the compiler keeps floats where they were loaded, loads the next ones elsewhere, and waits for them to move.
  const auto numbers = [&](const OneSpan& span, std::uint32_t mask, float(&v)[kNumbers]) {
    const OneSpan kept{make_uint4(span.bits.x & mask, span.bits.y & mask, span.bits.z & mask, span.bits.w & mask)};
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      const Four four = OneSpan::numbers(a, reinterpret_cast<const typename Pixels::Stored*>(&kept)[p]);
#pragma unroll
      for (int c = 0; c < 4; ++c) v[4 * p + c] = four.at[c];
    }
  };
  float sums[kSupport][kNumbers] = {};
  float step[kByStep ? kSupport : 1][kNumbers];
  const auto add = [&](const float(&v)[kNumbers], std::int32_t phase) {
    float weights[whole_fours(kSupport)];
    load_row_weights<kSupport>(weights_y, phase, weights);
#pragma unroll
    for (int j = 0; j < kSupport; ++j) {
#pragma unroll
      for (int n = 0; n < kNumbers; ++n) {
        float& sum = kByStep ? step[kByStep ? j : 0][n] : sums[j][n];
        sum = fmaf(weights[j], v[n], sum);
      }
    }
  };

  const auto march = [&](auto whole) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (i < a.step_rows && a.source.is_aligned) fetch(whole, i, i);
    }
    std::int32_t row = 0;
    int filled = 0;
    for (std::int32_t y = top - (kSupport - 1); y < bottom; ++y) {
      for (std::int32_t phase = 0; phase < a.factor_y; phase += a.step_rows) {
        if constexpr (kByStep) {
#pragma unroll
          for (int j = 0; j < kSupport; ++j) {
#pragma unroll
            for (int n = 0; n < kNumbers; ++n) step[j][n] = 0.0F;
          }
        }
        if (a.source.is_aligned) {
#pragma unroll
          for (int i = 0; i < kAhead; ++i) {
            if (i >= a.step_rows) break;
            float v[kNumbers];
            numbers(spans[i], masks[row + i], v);
            fetch(whole, i, row + a.step_rows + i);
            add(v, phase + i);
          }
        } else {
#pragma unroll 1
          for (int i = 0; i < a.step_rows; ++i) {
            float v[kNumbers];
            at += rows[row + i];
            numbers(OneSpan::load_anywhere(a, at, apart), masks[row + i], v);
            add(v, phase + i);
          }
        }
        if constexpr (kByStep) {
#pragma unroll
          for (int j = 0; j < kSupport; ++j) {
#pragma unroll
            for (int n = 0; n < kNumbers; ++n) sums[j][n] += step[j][n];
          }
        }
        row += a.step_rows;
      }
      // The first sums are complete, and right once they have seen all rows of their spline. The barrier also tells that all threads are
      // done with the row before the last.
      if (y >= top) {
        float* const columns = finished + filled * shape.row_floats;
#pragma unroll
        for (int p = 0; p < kPixels; ++p) {
          const float* const v = sums[0] + 4 * p;
          const float4 sum = (outside >> p & 1U) != 0 ? float4{} : make_float4(v[0], v[1], v[2], v[3]);
          if (places[p] >= 0) *reinterpret_cast<float4*>(columns + places[p]) = sum;
        }
        sync_block();
        auto* const out = reinterpret_cast<float4*>(row_of(a.destination, block.image, y)) + left;
        // A thread sums up one channel, or all four where one channel a thread would take more than one round.
        const LeftOut left_out{has_constant ? left_out_x : nullptr, has_constant ? left_out_y[y - top] : 0.0F};
        const bool by_channels = 4 * samples <= static_cast<std::int32_t>(blockDim.x);
        with_span_support<most_span_support(Pixels::component)>(a.support_x, [&](auto support) {
          constexpr int kSupportX = decltype(support)::value;
          if (by_channels) {
            sum_across<4, kSupportX>(a, shape, weights_x, columns, samples, left_out, reinterpret_cast<float*>(out));
          } else {
            sum_fours_across<kSupportX>(a, shape, weights_x, reinterpret_cast<const float4*>(columns), samples, left_out, out);
          }
        });
        filled ^= 1;
      }
#pragma unroll
      for (int j = 0; j < kSupport; ++j) {
#pragma unroll
        for (int n = 0; n < kNumbers; ++n) sums[j][n] = j + 1 < kSupport ? sums[j + 1 < kSupport ? j + 1 : j][n] : 0.0F;
      }
    }
  };
  if (kPixels == 1 || is_whole) {
    march(std::true_type{});
  } else {
    march(std::false_type{});
  }
}

}  // namespace

#define MOLLIFY_GAUSS_DECIMATE(name, pixels, support, exact)                                                                       \
  __global__ void __launch_bounds__(kDecimateThreads) gauss_decimate_##name##_##support(const __grid_constant__ GaussDecimate a) { \
    take_turn();                                                                                                                   \
    gauss_decimate<pixels, support, exact>(a);                                                                                     \
  }
#define MOLLIFY_GAUSS_SPANS(name, pixels, support)                                                                       \
  __global__ void __launch_bounds__(span_threads(pixels::component), kDecimateThreads / span_threads(pixels::component)) \
      gauss_spans_##name##_##support(const __grid_constant__ GaussDecimate a) {                                          \
    take_turn();                                                                                                         \
    gauss_spans<pixels, support>(a);                                                                                     \
  }
#define MOLLIFY_OF_GAUSS_DECIMATE(add)                                                                                                \
  add(1_f32, FloatsOf<1>, 3, true) add(1_f32, FloatsOf<1>, 4, true) add(1_f32, FloatsOf<1>, 5, true) add(1_f32, FloatsOf<1>, 6, true) \
      add(1_any, AnyCoding<1>, 8, false) add(2_any, AnyCoding<2>, 8, false) add(3_any, AnyCoding<3>, 8, false)                        \
          add(4_any, AnyCoding<4>, 8, false)
#define MOLLIFY_OF_SPANS_OF_BYTES(add) add(4_u8, BytesOf<4>, 3) add(4_u8, BytesOf<4>, 4)
#define MOLLIFY_OF_SPANS_OF_HALVES(add) add(4_f16, HalvesOf<4>, 3) add(4_f16, HalvesOf<4>, 4) add(4_f16, HalvesOf<4>, 5)
#define MOLLIFY_OF_SPANS_OF_FLOATS(add) \
  add(4_f32, FloatsOf<4>, 3) add(4_f32, FloatsOf<4>, 4) add(4_f32, FloatsOf<4>, 5) add(4_f32, FloatsOf<4>, 6)
#define MOLLIFY_OF_GAUSS_SPANS(add) MOLLIFY_OF_SPANS_OF_BYTES(add) MOLLIFY_OF_SPANS_OF_HALVES(add) MOLLIFY_OF_SPANS_OF_FLOATS(add)

extern "C" {
MOLLIFY_OF_GAUSS_DECIMATE(MOLLIFY_GAUSS_DECIMATE)
MOLLIFY_OF_GAUSS_SPANS(MOLLIFY_GAUSS_SPANS)
}

}  // namespace mollify::cuda
