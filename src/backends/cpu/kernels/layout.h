// How each CPU kernel divides its scratch memory. The planner asks for the size, the kernel for the places.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mollify::cpu {

inline constexpr std::int64_t kRowBatch = 4;      ///< rows that a vertical filter makes at once, from one load of each input
inline constexpr std::int64_t kPadElements = 64;  ///< after every row, so that whole vectors may be stored at its end

/// Hands out 64-byte aligned pieces; with a null base it only measures.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  T* take(std::int64_t count) {
    std::byte* piece = base_ ? base_ + used_ : nullptr;
    used_ += (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
    return reinterpret_cast<T*>(piece);
  }
  [[nodiscard]] std::int64_t used() const { return used_; }

 private:
  std::byte* base_;
  std::int64_t used_ = 0;
};

/// Elements from one row to the next: padded, whole cache lines.
[[nodiscard]] constexpr std::int64_t row_stride(std::int64_t elements) {
  return (elements + 15) / 16 * 16 + kPadElements;
}

template <class T>
struct SepFusedScratch {
  std::int64_t stride;  ///< elements between rows of `ring` and of `vertical`
  std::int64_t ring_rows;
  T* ring;              ///< decoded source rows
  T* vertical;          ///< kRowBatch rows
  T* out;               ///< one row
  const T** rows;       ///< ring_rows pointers, in image order
  std::int64_t bytes;

  SepFusedScratch(std::byte* base, std::int64_t tile_columns, std::int64_t taps_x, std::int64_t taps_y, int channels) {
    Carver carver(base);
    stride = row_stride((tile_columns + taps_x - 1) * channels);
    ring_rows = taps_y + kRowBatch - 1;
    ring = carver.take<T>(stride * ring_rows);
    vertical = carver.take<T>(stride * kRowBatch);
    out = carver.take<T>(stride);
    rows = carver.take<const T*>(ring_rows);
    bytes = carver.used();
  }
};

template <class T>
struct NxnDirectScratch {
  std::int64_t stride;
  T* ring;
  T* out;
  const T** rows;
  std::int64_t bytes;

  NxnDirectScratch(std::byte* base, std::int64_t tile_columns, std::int64_t width, std::int64_t height, int channels) {
    Carver carver(base);
    stride = row_stride((tile_columns + width - 1) * channels);
    ring = carver.take<T>(stride * height);
    out = carver.take<T>(stride);
    rows = carver.take<const T*>(height);
    bytes = carver.used();
  }
};

struct BoxIntegerScratch {
  std::int32_t* sums;    ///< vertical sums, the tile's columns with their halo
  std::int32_t* prefix;  ///< prefix[i] = the sum of all before i
  float* out;
  std::int64_t bytes;

  BoxIntegerScratch(std::byte* base, std::int64_t tile_columns, std::int64_t window_x, int channels) {
    Carver carver(base);
    sums = carver.take<std::int32_t>(row_stride((tile_columns + window_x - 1) * channels));
    prefix = carver.take<std::int32_t>(row_stride((tile_columns + window_x) * channels));
    out = carver.take<float>(row_stride(tile_columns * channels));
    bytes = carver.used();
  }
};

template <class T>
struct BoxFloatScratch {
  T* entering;
  T* leaving;
  double* sums;    ///< vertical sums of whole pixels
  double* fresh;   ///< the same, summed anew
  double* values;  ///< with the fractional ends
  double* prefix;  ///< from the start of the block up to, not including
  double* suffix;  ///< to the end of the block
  T* out;
  std::int64_t bytes;

  BoxFloatScratch(std::byte* base, std::int64_t tile_columns, std::int64_t reach_x, int channels) {
    Carver carver(base);
    const std::int64_t stride = row_stride((tile_columns + reach_x + 1) * channels);
    entering = carver.take<T>(stride);
    leaving = carver.take<T>(stride);
    sums = carver.take<double>(stride);
    fresh = carver.take<double>(stride);
    values = carver.take<double>(stride);
    prefix = carver.take<double>(stride);
    suffix = carver.take<double>(stride);
    out = carver.take<T>(stride);
    bytes = carver.used();
  }
};

}  // namespace mollify::cpu
