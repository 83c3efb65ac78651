// Both axes of a separable filter in one pass. A warp moves down a strip of columns by itself: it copies source rows to a ring of rows in
// shared memory, some rows ahead, and waits for no other warp. A lane makes a few neighbouring components of each row. It reads what its
// taps along x need from the ring, and adds what they make, weighted, to the sums of all rows of the destination that it belongs to. Those
// sums are in registers.
#pragma once

#include "backends/cuda/kernels/coding.cuh"
#include "backends/cuda/kernels/copy_ahead.cuh"
#include "backends/cuda/kernels/sep_warps_shape.h"
#include "backends/cuda/kernels/sep_weights.cuh"

namespace mollify::cuda {
namespace {

template <class Pixels>
constexpr int kComponentBytes = sizeof(typename Pixels::Stored) / 4;
template <class Pixels, int kTaps>
constexpr SepWarpsShape kWarpsShape(Pixels::channels, 8 * kComponentBytes<Pixels>, kTaps);

// ---- Rows of the source

constexpr std::int64_t kOutsideRow = INT64_MIN;

/// Finds the source rows of a chunk: how many bytes each lies behind the first one of its image, or kOutsideRow of a constant border.
__device__ inline void find_rows(const Shared& a, std::int32_t first_row, std::int32_t rows, std::int64_t* found) {
  for (std::int32_t i = threadIdx.x; i < rows; i += blockDim.x) {
    const std::int32_t row = mapped(a.outside.mode_y, first_row + i, a.source.height);
    found[i] = row < 0 ? kOutsideRow : row * a.source.row_bytes;
  }
}

/// A warp's ring.
template <class Pixels, int kTaps>
class WarpsRing {
 public:
  static constexpr SepWarpsShape kShape = kWarpsShape<Pixels, kTaps>;
  static constexpr int kPixelBytes = Pixels::channels * kComponentBytes<Pixels>;
  static_assert(kShape.units() <= 64, "a lane copies one unit of a row, or two");

  /// Its rows begin at this column of the source, and have so many units. `found`: what find_rows() found.
  __device__ WarpsRing(const Shared& a, std::int32_t image, std::int32_t first_column, std::int32_t units, const std::int64_t* found,
                       char* memory)
      : found_(found),
        rows_(memory),
        columns_(reinterpret_cast<int*>(memory + kShape.ring_bytes())),
        lane_(threadIdx.x % 32),
        image_(row_of(a.source, image, 0)),
        first_unit_(in_register(image_ + std::int64_t{first_column + lane_ * kShape.pixels} * kPixelBytes)),
        to_(memory + lane_ * kShape.unit_bytes) {
    are_pixels_ = Pixels::channels == 1 || are_multiples(a.source, kPixelBytes);
    // Units that are inside the image are copied whole, and the pixels of others one by one.
    const bool is_whole = are_multiples(a.source, kShape.unit_bytes) && first_column % kShape.pixels == 0;
    const std::int32_t begin = is_whole ? min(max((kShape.pixels - 1 - first_column) / kShape.pixels, 0), units) : 0;
    const std::int32_t end = is_whole ? max(min((a.source.width - first_column) / kShape.pixels, units), begin) : 0;
    copies_first_ = lane_ >= begin && lane_ < end;
    copies_second_ = lane_ + 32 >= begin && lane_ + 32 < end;
    single_before_ = begin * kShape.pixels;
    skipped_ = (end - begin) * kShape.pixels;
    singles_ = units * kShape.pixels - skipped_;
    for (std::int32_t i = lane_; i < singles_; i += 32) {
      const std::int32_t column = mapped(a.outside.mode_x, first_column + place(i), a.source.width);
      columns_[i] = column;
      if (column >= 0) continue;
      for (int row = 0; row < kShape.stages * kSepWarpsRows; ++row) {
        for (int b = 0; b < kPixelBytes; ++b) rows_[row * kShape.row_bytes() + place(i) * kPixelBytes + b] = 0;
      }
    }
    __syncwarp();
  }

  /// Starts to copy the rows from the s-th of the chunk on to a stage. Rows outside a constant border are left as they are; where
  /// kIsInside, there are none, not even among those that only fill the last stage.
  template <bool kIsInside>
  __device__ void fetch(std::int32_t s, int stage) const {
    std::int64_t found[kSepWarpsRows];
#pragma unroll
    for (int r = 0; r < kSepWarpsRows; r += 2) {
      const longlong2 two = *reinterpret_cast<const longlong2*>(found_ + s + r);
      found[r] = two.x;
      found[r + 1] = two.y;
    }
    const SharedPlace to = to_ + stage * kSepWarpsRows * kShape.row_bytes();
#pragma unroll
    for (int r = 0; r < kSepWarpsRows; ++r) {
      if (!kIsInside && found[r] == kOutsideRow) continue;
      const char* const from = first_unit_ + found[r];
      if (copies_first_) copy_ahead<kShape.unit_bytes>(to + r * kShape.row_bytes(), from);
      if (copies_second_)
        copy_ahead<kShape.unit_bytes>(to + (r * kShape.row_bytes() + 32 * kShape.unit_bytes), from + 32 * kShape.unit_bytes);
    }
    if (singles_ == 0) return;
    if (are_pixels_) {
      copy_singles<kIsInside>(found, stage);
    } else {
      copy_components<kIsInside>(found, stage);
    }
  }

  /// Whether the s-th row of the chunk is outside a constant border.
  [[nodiscard]] __device__ bool is_outside(std::int32_t s) const {
    return found_[s] == kOutsideRow;
  }

  /// Where the halo of the lane's components begins, in the first row of a stage.
  [[nodiscard]] __device__ const char* rows(int stage) const {
    return rows_ + stage * kSepWarpsRows * kShape.row_bytes() + lane_ * kShape.unit_bytes;
  }

 private:
  /// Pixel of a row that the i-th one is which is copied by itself.
  [[nodiscard]] __device__ std::int32_t place(std::int32_t i) const {
    return i < single_before_ ? i : i + skipped_;
  }

  template <bool kIsInside>
  __device__ void copy_singles(const std::int64_t (&found)[kSepWarpsRows], int stage) const {
#pragma unroll 1
    for (std::int32_t first = 0; first < singles_; first += 32) {
      const std::int32_t i = first + lane_;
      const std::int32_t column = i < singles_ ? columns_[i] : -1;
      const SharedPlace to(rows_ + stage * kSepWarpsRows * kShape.row_bytes() + place(i) * kPixelBytes);
      const char* const pixel = in_register(image_ + std::int64_t{column} * kPixelBytes);
      if constexpr (kPixelBytes >= 4) {
#pragma unroll
        for (int r = 0; r < kSepWarpsRows; ++r) {
          if (column >= 0 && (kIsInside || found[r] != kOutsideRow)) copy_ahead<kPixelBytes>(to + r * kShape.row_bytes(), pixel + found[r]);
        }
      } else {  // Too small for a copy without registers. All are loaded before one is stored.
        using Pixel = std::conditional_t<kPixelBytes == 2, unsigned short, unsigned char>;
        Pixel pixels[kSepWarpsRows] = {};
#pragma unroll
        for (int r = 0; r < kSepWarpsRows; ++r) {
          if (column >= 0 && (kIsInside || found[r] != kOutsideRow)) pixels[r] = *reinterpret_cast<const Pixel*>(pixel + found[r]);
        }
#pragma unroll
        for (int r = 0; r < kSepWarpsRows; ++r) {
          if (column >= 0) *static_cast<Pixel*>((to + r * kShape.row_bytes()).pointer()) = pixels[r];
        }
      }
    }
  }

  /// The same of images whose pixels begin at multiples of a component only.
  template <bool kIsInside>
  __device__ void copy_components(const std::int64_t (&found)[kSepWarpsRows], int stage) const {
    using Component = std::conditional_t<kComponentBytes<Pixels> == 4, float,
                                         std::conditional_t<kComponentBytes<Pixels> == 2, unsigned short, unsigned char>>;
#pragma unroll 1
    for (std::int32_t i = lane_; i < singles_ * Pixels::channels; i += 32) {
      const std::int32_t pixel = i / Pixels::channels, component = i % Pixels::channels;
      const std::int32_t column = columns_[pixel];
      auto* to =
          reinterpret_cast<Component*>(rows_ + stage * kSepWarpsRows * kShape.row_bytes()) + place(pixel) * Pixels::channels + component;
      for (int r = 0; r < kSepWarpsRows; ++r) {
        if (column >= 0 && (kIsInside || found[r] != kOutsideRow)) {
          *to = reinterpret_cast<const Component*>(image_ + found[r])[std::int64_t{column} * Pixels::channels + component];
        }
        to += kShape.row_bytes() / sizeof(Component);
      }
    }
  }

  const std::int64_t* found_;
  char* rows_;
  int* columns_;  ///< the pixel that stands in for each that is copied by itself, or -1
  int lane_;
  const char* image_;
  const char* first_unit_;  ///< of the lane, in the image's first row
  SharedPlace to_;          ///< where that goes, in the ring's first row
  bool are_pixels_;         ///< pixels begin at multiples of a pixel
  bool copies_first_;       ///< that unit, and the one that is 32 units further
  bool copies_second_;
  std::int32_t single_before_;  ///< pixels that are copied by themselves before those that are not
  std::int32_t skipped_;        ///< pixels that are not
  std::int32_t singles_;
};

// ---- Along x

/// The bits of a byte, read as a float, are 2^-149 of its value. Weights make up for that.
template <Component kComponent>
__device__ inline float number_of(unsigned word, int i) {
  if constexpr (kComponent == Component::u8) {
    return __uint_as_float(__byte_perm(word, 0, 0x4440U | static_cast<unsigned>(i)));
  } else if constexpr (kComponent == Component::f16) {
    const float2 both = __half22float2(reinterpret_cast<const __half2&>(word));
    return i == 0 ? both.x : both.y;
  } else {
    return __uint_as_float(word);
  }
}

/// Words kFirst to kLast of a row, by as few loads as where they lie allows. Words below kFirst are left as they are.
template <int kFirst, int kLast, int kUnitBytes>
__device__ inline void load_words(const char* from, unsigned (&words)[kLast + 1]) {
  const auto has = [](int begin, int count) { return kUnitBytes >= 4 * count && begin >= kFirst && begin + count - 1 <= kLast; };
#pragma unroll
  for (int i = kFirst; i <= kLast; ++i) {
    const int four = i / 4 * 4, pair = i / 2 * 2;
    if (has(four, 4)) {
      if (i != four) continue;
      const uint4 v = reinterpret_cast<const uint4*>(from)[i / 4];
      words[i] = v.x, words[i + 1] = v.y, words[i + 2] = v.z, words[i + 3] = v.w;
    } else if (has(pair, 2)) {
      if (i != pair) continue;
      const uint2 v = reinterpret_cast<const uint2*>(from)[i / 2];
      words[i] = v.x, words[i + 1] = v.y;
    } else {
      words[i] = reinterpret_cast<const unsigned*>(from)[i];
    }
  }
}

// ---- Both axes

/// What a warp makes, and what its taps weigh that lie outside a constant border.
struct WarpsStrip {
  std::int32_t component;  ///< of a row of the destination, that a lane begins with
  std::int32_t source_rows;
  std::int32_t rows;
  bool stores;               ///< the lane's components are some of the strip
  bool is_whole;             ///< all of them are in the image, and can be stored together
  bool has_outside_columns;  ///< of a constant border
  const float* outside;      ///< of each of the lane's pixels: what its taps weigh that lie outside along x
  float all;                 ///< what all taps along x weigh
};

/// kIsPlain: no pixel is outside a constant border, and all lanes that store their components do it together.
template <bool kIsPlain, class Pixels, int kTaps, class Weights>
__device__ inline void move_down(const Shared& a, const Weights& weights, const WarpsRing<Pixels, kTaps>& ring, const WarpsStrip& strip,
                                 char* out) {
  constexpr SepWarpsShape kShape = kWarpsShape<Pixels, kTaps>;
  constexpr int kChannels = Pixels::channels;
  constexpr int kOwn = kShape.own;
  constexpr int kOfWord = 4 / kComponentBytes<Pixels>;
  constexpr int kLead = kShape.halo * kOwn - kTaps / 2 * kChannels;  // components of a lane's row before its first tap
  constexpr int kLastWord = (kLead + kOwn + (kTaps - 1) * kChannels - 1) / kOfWord;
  constexpr int kUnrolled = kUnrollsRows && kIsPlain && kShape.is_unrolled ? kSepWarpsRows : 1;
  constexpr int kAhead = (kShape.stages - 1) * kSepWarpsRows;  // rows
  float sums[kTaps][kOwn] = {};                                // of the rows from the one on that is complete next
  int stage = 0, ahead = 0;
  for (std::int32_t s = -kAhead; s < strip.source_rows; s += kSepWarpsRows) {
    if (s + kAhead < strip.source_rows) ring.template fetch<kIsPlain>(s + kAhead, ahead);
    end_stage();
    ahead = ahead + 1 == kShape.stages ? 0 : ahead + 1;
    if (s < 0) continue;
    wait_for_stage<kShape.stages - 1>();
    __syncwarp();
    const char* const rows = ring.rows(stage);
#pragma unroll kUnrolled
    for (int r = 0; r < kSepWarpsRows; ++r) {
      unsigned words[kLastWord + 1];
      load_words<kLead / kOfWord, kLastWord, kShape.unit_bytes>(rows + r * kShape.row_bytes(), words);
      float filtered[kOwn] = {};
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
          const int place = kLead + k * kChannels + i;
          filtered[i] = fmaf(weights.x(k), number_of<Pixels::component>(words[place / kOfWord], place % kOfWord), filtered[i]);
        }
      }
      if constexpr (!kIsPlain) {
        const bool is_outside = ring.is_outside(s + r);
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
          const auto value = static_cast<float>(a.outside.value[i % kChannels]);
          if (strip.has_outside_columns) filtered[i] = fmaf(strip.outside[i / kChannels], value, filtered[i]);
          if (is_outside) filtered[i] = strip.all * value;
        }
      }
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
          sums[k][i] = fmaf(weights.y(kTaps - 1 - k), filtered[i], k + 1 < kTaps ? sums[k + 1][i] : 0.0F);
        }
      }
      const std::int32_t y = s + r - (kTaps - 1);
      if (y < 0 || y >= strip.rows) continue;
      if (strip.stores && (kIsPlain || strip.is_whole)) {
        std::conditional_t<kShape.unit_bytes == 16, uint4, uint2> unit;
#pragma unroll
        for (int i = 0; i < kOwn; i += 4) {
          float four[4] = {sums[0][i], sums[0][i + 1], sums[0][i + 2], sums[0][i + 3]};
          Pixels::store_fractions(a, reinterpret_cast<char*>(&unit), i, four);
        }
        *reinterpret_cast<decltype(unit)*>(out + std::int64_t{strip.component} * kComponentBytes<Pixels>) = unit;
      } else if (!kIsPlain && strip.stores) {
#pragma unroll
        for (int i = 0; i < kOwn; i += 4) {
          if (strip.component + i >= a.destination.width * kChannels) continue;
          Pixels::store_fraction_each(a, out, strip.component + i, {{sums[0][i], sums[0][i + 1], sums[0][i + 2], sums[0][i + 3]}});
        }
      }
      out += a.destination.row_bytes;
    }
    stage = stage + 1 == kShape.stages ? 0 : stage + 1;
    __syncwarp();
  }
}

/// What taps along x weigh that lie outside, for each of a lane's pixels, and what all of them weigh.
template <class Pixels, int kTaps, class Weights>
__device__ inline float weigh_outside(const Shared& a, const Weights& weights, std::int32_t centre, float* outside) {
  constexpr SepWarpsShape kShape = kWarpsShape<Pixels, kTaps>;
  constexpr float kOfNumber = Pixels::component == Component::u8 ? 0x1p-149F : 1.0F;
#pragma unroll 1
  for (int p = 0; p < kShape.pixels; ++p) {
    const std::int32_t first = centre + static_cast<std::int32_t>(threadIdx.x % 32) * kShape.pixels + p - kTaps / 2;
    float sum = 0.0F;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) sum += first + k >= 0 && first + k < a.source.width ? 0.0F : weights.x(k) * kOfNumber;
    outside[p] = sum;
  }
  float all = 0.0F;
#pragma unroll
  for (int k = 0; k < kTaps; ++k) all += weights.x(k) * kOfNumber;
  return all;
}

template <class Pixels, int kTaps, template <int> class WeightsOf, class Arguments>
__device__ void sep_warps(const Arguments& a) {
  constexpr SepWarpsShape kShape = kWarpsShape<Pixels, kTaps>;
  extern __shared__ int4 memory[];
  auto* const weights_at = reinterpret_cast<char*>(memory);
  auto* const found = reinterpret_cast<std::int64_t*>(weights_at + WeightsOf<kTaps>::kSharedBytes);
  const BlockPlace block = block_place(a);
  const WeightsOf<kTaps> weights(a, block.image, weights_at);
  const std::int32_t y0 = block.down * a.rows;
  WarpsStrip strip;
  strip.rows = min(a.rows, a.destination.height - y0);
  strip.source_rows = strip.rows + kTaps - 1;
  const std::int32_t first_row = y0 + weights.first_y();
  find_rows(a, first_row, sep_warps_source_rows(strip.rows, kTaps), found);
  __syncthreads();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int32_t x0 = (block.across * static_cast<std::int32_t>(blockDim.x / 32) + warp) * a.strip;
  if (x0 >= a.destination.width) return;
  char* const own_memory = reinterpret_cast<char*>(found + sep_warps_source_rows(a.rows, kTaps)) + warp * kShape.warp_bytes();
  const std::int32_t centre = x0 + weights.first_x() + kTaps / 2;  // column of the source that the strip's first pixel lies on
  const WarpsRing<Pixels, kTaps> ring(a, weights.image, centre - kShape.halo * kShape.pixels, a.strip / kShape.pixels + 2 * kShape.halo,
                                      found, own_memory);
  auto* const outside = reinterpret_cast<float*>(own_memory + kShape.warp_bytes()) - 32 * kShape.pixels + lane * kShape.pixels;
  const std::int32_t pixel = x0 + lane * kShape.pixels;
  strip.component = pixel * Pixels::channels;
  strip.stores = lane * kShape.pixels < a.strip && pixel < a.destination.width;
  strip.is_whole = are_multiples(a.destination, kShape.unit_bytes) && pixel + kShape.pixels <= a.destination.width;
  // Where the border is constant, what lies outside counts as zeros in the ring, and is added to the sums along x.
  strip.has_outside_columns = a.outside.mode_x == kConstant && (centre < kTaps / 2 || centre + a.strip + kTaps / 2 > a.source.width);
  strip.outside = outside;
  strip.all = 0.0F;
  const bool has_outside_rows =
      a.outside.mode_y == kConstant && (first_row < 0 || first_row + sep_warps_source_rows(strip.rows, kTaps) > a.source.height);
  char* const out = row_of(a.destination, weights.image, y0);
  if (__all_sync(~0U, !strip.has_outside_columns && !has_outside_rows && (strip.is_whole || !strip.stores))) {
    move_down<true, Pixels, kTaps>(a, weights, ring, strip, out);
  } else {
    strip.all = weigh_outside<Pixels, kTaps>(a, weights, centre, outside);
    move_down<false, Pixels, kTaps>(a, weights, ring, strip, out);
  }
}

}  // namespace

}  // namespace mollify::cuda
