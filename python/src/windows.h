// A blur of an image that is never in memory as a whole, window by window.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mollify/image.h"
#include "prepared.h"
#include "request.h"

namespace mollify::python {

/// A part of an image: rows and columns from a place on.
struct WindowPlace {
  std::int64_t y = 0;
  std::int64_t x = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// An array in memory that is a part of the source.
struct SourceWindow {
  nb::object array;
  std::int64_t y = 0;
  std::int64_t x = 0;
};

/// Makes windows of the result that a call with the whole image would give, with the same bits. Many threads may use one at once.
class Windows {
 public:
  /// `shape` has rows, columns, and up to 4 channels if there is a third number. With a `stride` above 1, the result has a pixel in the
  /// middle of each block of so many rows and columns. Throws std::invalid_argument and Unsupported.
  Windows(const Request& request, const std::vector<std::int64_t>& shape, const std::string& dtype, std::int32_t stride);
  /// Of the result.
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }

  /// The parts of the source that this part of the result is made from.
  [[nodiscard]] std::vector<WindowPlace> source(const WindowPlace& result) const;
  /// Makes the part of the result that begins at (y, x) and has the shape of `out`.
  void run(const std::vector<SourceWindow>& sources, std::int64_t y, std::int64_t x, nb::handle out) const;

 private:
  [[nodiscard]] ImageDesc desc_of(const Geometry& geometry, const char* argument) const;
  /// `whole` has the rows and columns that the place is in.
  [[nodiscard]] Rect rect_of(const WindowPlace& place, const std::vector<std::int64_t>& whole) const;

  Task task_;
  std::unique_ptr<Prepared> prepared_;
  std::optional<Executable> executable_;
  std::vector<std::int64_t> shape_;  ///< of the result
  int channels_ = 1;                 ///< of a pixel of the library
  std::int64_t per_column_ = 1;      ///< pixels of the library
};

}  // namespace mollify::python
