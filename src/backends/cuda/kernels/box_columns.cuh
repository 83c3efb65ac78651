// Columns of pixels of four channels, for boxes: how a block of threads loads rows of them and sums these up.
#pragma once

#include "backends/cuda/kernels/box_segments_shape.h"
#include "backends/cuda/kernels/pixels.cuh"

namespace mollify::cuda {
namespace {

// A Kind says what is summed up:
//   Pixel, Sums of a column in registers, and Column, these in shared memory; Number, of which four are the sums of a window.
//   can_spoil: whether sums may be not finite
//   load(), store() of a pixel, whose components lie at any multiple of their length
//   outside(): the pixel of a constant border
//   enter(), slide(): a pixel becomes part of a column's sums, and another leaves it
//   column(), add(), take(): to shared memory, and from there to and from the sums of a window
//   begin(): adds to the sums of a first window what mean() wants beside those of pixels
//   where sums may be not finite: is_finite(); share(), what a pixel adds to a mean; stored(), a mean as a pixel

template <int kColumns, class Pixel>
struct alignas(sizeof(Pixel) == 16 ? 16 : kColumns * sizeof(Pixel)) Loaded {
  Pixel at[kColumns];
};

/// How a block of threads reads and writes pixels: together, where all that it reads is inside the image; one by one, at the edges; or any,
/// where the constant of a border stands beyond these, or images or rows begin at no multiples of a pixel.
enum class Access : std::uint8_t { together, single, any };

/// A pixel that begins at no multiple of its length.
template <class Kind>
__device__ __noinline__ typename Kind::Pixel load_components(const char* pixel) {
  return Kind::load(pixel);
}

/// The pixels of a thread in rows of the source: kStep columns apart.
template <class Kind, int kColumns, int kStep, Access kAccess>
class Columns {
 public:
  using Pixel = typename Kind::Pixel;
  using Row = Loaded<kColumns, Pixel>;
  static constexpr int kAlignment = kStep == 1 ? kColumns : 1;  ///< of the first column

  __device__ Columns(const BoxAny& a, const char* data, std::int32_t first, bool are_aligned) {
    // All threads of a warp go the same way: were it left to each, loads of one way would wait for those of the other.
    is_inside_ =
        kAccess == Access::together || __all_sync(~0U, are_aligned && first >= 0 && first + (kColumns - 1) * kStep < a.source.width);
    data_ = data + (is_inside_ ? kBytes * first : 0);
    if constexpr (kAccess == Access::any) {
      outside_ = Kind::outside(a);
      is_constant_y_ = a.outside.mode_y == kConstant;
      are_pixels_ = are_multiples(a.source, kBytes);
    }
    if constexpr (kAccess != Access::together) {
#pragma unroll
      for (int p = 0; p < kColumns; ++p) at_[p] = mapped(a.outside.mode_x, first + p * kStep, a.source.width);
    }
  }

  /// Of rows that lie so many bytes from the first of the image.
  template <int kRows>
  __device__ void load(const std::int64_t* places, Row (&rows)[kRows]) const {
    if (kAccess == Access::together || (kAccess == Access::single && is_inside_)) {
#pragma unroll
      for (int n = 0; n < kRows; ++n) {
        if constexpr (kStep == 1) {
          rows[n] = *reinterpret_cast<const Row*>(data_ + places[n]);
        } else {
#pragma unroll
          for (int p = 0; p < kColumns; ++p) rows[n].at[p] = *reinterpret_cast<const Pixel*>(data_ + places[n] + p * kStep * kBytes);
        }
      }
    } else if (kAccess == Access::single || are_pixels_) {
      each<kRows>(places, rows, [](const char* pixel) { return *reinterpret_cast<const Pixel*>(pixel); });
    } else {
      each<kRows>(places, rows, [](const char* pixel) { return load_components<Kind>(pixel); });
    }
  }

  /// Puts the constant of a border where it stands. `y`: of the row.
  __device__ void settle(const BoxAny& a, std::int32_t y, Row& row) const {
    if constexpr (kAccess == Access::any) {
      const bool is_outside = is_constant_y_ && (y < 0 || y >= a.source.height);
#pragma unroll
      for (int p = 0; p < kColumns; ++p) {
        if (is_outside || at_[p] < 0) row.at[p] = outside_;
      }
    }
  }

 private:
  static constexpr std::int64_t kBytes = sizeof(Pixel);

  template <int kRows, class Load>
  __device__ void each(const std::int64_t* places, Row (&rows)[kRows], const Load& load_pixel) const {
#pragma unroll
    for (int n = 0; n < kRows; ++n) {
#pragma unroll
      for (int p = 0; p < kColumns; ++p) {
        const std::int32_t at = kAccess == Access::any ? max(at_[p], 0) : at_[p];
        rows[n].at[p] = load_pixel(data_ + places[n] + kBytes * at);
      }
    }
  }

  const char* data_;
  int at_[kAccess == Access::together ? 1 : kColumns];
  Pixel outside_;
  bool is_inside_, is_constant_y_, are_pixels_;
};

constexpr int kRareRows = 4;  ///< that are loaded together by code that rarely runs

/// Adds the rows from `first` to before `last` to sums of columns. Row 0 is row `first_y` of the image. So many rows are loaded together,
/// and so many are added up by themselves: sums of floats must not depend on how rows are loaded.
template <class Kind, int kAtOnce, int kGroup, int kColumns, int kStep, Access kAccess>
__device__ inline void sum_rows(const BoxAny& a, const Columns<Kind, kColumns, kStep, kAccess>& columns, const std::int64_t* places,
                                std::int32_t first, std::int32_t last, std::int32_t first_y, typename Kind::Sums (&sums)[kColumns]) {
  static_assert(kGroup % kAtOnce == 0);
  for (std::int32_t group = first; group < last; group += kGroup) {
    typename Kind::Sums some[kColumns] = {};  // of floats: sums of few numbers lose little
#pragma unroll 1
    for (std::int32_t y = group; y < min(group + kGroup, last); y += kAtOnce) {
      typename Columns<Kind, kColumns, kStep, kAccess>::Row rows[kAtOnce];
      columns.load(places + y, rows);
#pragma unroll
      for (int n = 0; n < kAtOnce; ++n) {
        columns.settle(a, first_y + y + n, rows[n]);
        // Nothing of those behind the last. A branch would hold the loads back until it is taken.
        if (y + n >= last) rows[n] = {};
#pragma unroll
        for (int p = 0; p < kColumns; ++p) Kind::enter(a, Kind::can_spoil ? some[p] : sums[p], rows[n].at[p]);
      }
      if constexpr (kAtOnce == kGroup) break;
    }
    if constexpr (Kind::can_spoil) {
#pragma unroll
      for (int p = 0; p < kColumns; ++p) Kind::add(sums[p], some[p]);
    }
  }
}

/// The place of each row that a block of threads reads, counted from the first of the image.
__device__ inline std::int64_t* find_rows(const BoxAny& a, std::int32_t first, std::int32_t count, int4* memory) {
  auto* const places = reinterpret_cast<std::int64_t*>(memory);
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < count; i += static_cast<std::int32_t>(blockDim.x)) {
    places[i] = max(mapped(a.outside.mode_y, first + i, a.source.height), 0) * a.source.row_bytes;
  }
  __syncthreads();
  return places;
}

/// How a block of threads reads so many columns and rows.
__device__ inline Access access_to(const BoxAny& a, unsigned pixel_bytes, bool are_aligned, std::int32_t first_column, std::int32_t columns,
                                   std::int32_t first_row, std::int32_t rows) {
  const bool are_columns_inside = first_column >= 0 && first_column + columns <= a.source.width;
  const bool are_rows_inside = first_row >= 0 && first_row + rows <= a.source.height;
  const bool is_constant = (a.outside.mode_x == kConstant && !are_columns_inside) || (a.outside.mode_y == kConstant && !are_rows_inside);
  if (is_constant || !are_multiples(a.source, pixel_bytes)) return Access::any;
  return are_aligned && are_columns_inside ? Access::together : Access::single;
}

}  // namespace
}  // namespace mollify::cuda
