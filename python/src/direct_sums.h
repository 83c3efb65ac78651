// Blurs in float64, by summing the weighted numbers of a window. For numbers that float32 cannot hold.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "copy.h"
#include "mollify/spec.h"
#include "weighted_sums.h"

namespace mollify::python {

/// An axis that numbers are summed along.
struct WindowAxis {
  std::size_t axis = 0;     ///< of the array
  std::int64_t extent = 1;  ///< of the window
  std::int64_t anchor = 0;  ///< the number of the window that lies at the place of the result
  BorderMode border = BorderMode::clamp;
};

/// Weights along one axis or more, the last of these the fastest. Results are correlations with them.
struct WeightWindow {
  std::vector<WindowAxis> axes;
  std::vector<double> weights;
  double border_value = 0.0;  ///< beyond the edges of BorderMode::constant
};

/// The sums of one window over an array, made ready for one shape and its strides. Source and destination share no memory.
class DirectSums {
 public:
  DirectSums(std::span<const std::int64_t> shape, std::span<const std::ptrdiff_t> src_strides, std::span<const std::ptrdiff_t> dst_strides,
             const WeightWindow& window);

  /// Elements are float64, or integers of 32 bits. Results that are integers are rounded and held within their range. Once `stop` is true,
  /// which may be null, it ends before the result is made.
  void run(Element src_element, const std::byte* src, Element dst_element, std::byte* dst, std::int32_t threads,
           const std::atomic<bool>* stop) const;
  /// A bound of the error, relative to the largest magnitude of the source times the sum of the absolute weights.
  [[nodiscard]] double error() const;
  [[nodiscard]] std::size_t weights() const { return offsets_.size(); }
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] const std::vector<WindowAxis>& window_axes() const { return window_axes_; }

 private:
  /// An axis of the array, or several whose elements follow each other without gaps. `before` and `after` are what the window reaches.
  struct Axis {
    std::int64_t extent = 1;
    std::ptrdiff_t src_stride = 0;
    std::ptrdiff_t dst_stride = 0;
    std::int64_t before = 0;
    std::int64_t after = 0;
    BorderMode border = BorderMode::clamp;
    std::ptrdiff_t number = -1;   ///< of the array, where the window has weights along it
    std::int64_t tile = 1;        ///< elements of a tile
    std::ptrdiff_t distance = 1;  ///< of neighbours in the memory of a tile

    [[nodiscard]] std::int64_t reach() const { return before + after; }
    [[nodiscard]] std::int64_t tiles() const { return (extent + tile - 1) / tile; }
  };
  struct Memory;
  class Tile;

  void merge_axes();
  void choose_tiles();
  void find_offsets(const WeightWindow& window);

  std::vector<Axis> axes_;    ///< the one whose elements are closest in the source first
  std::size_t run_axis_ = 0;  ///< sums along the axes up to this one lie without gaps in a tile
  std::vector<OffsetWeight> offsets_;
  double border_value_ = 0.0;
  std::vector<WindowAxis> window_axes_;
};

}  // namespace mollify::python
