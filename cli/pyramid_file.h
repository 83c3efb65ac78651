// One picture to a tiled TIFF of it and its smaller copies, in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "blur_file.h"
#include "mollify/mollify.h"
#include "progress.h"

namespace mollify::cli {

struct PyramidRequest {
  std::optional<int> levels{};       ///< smaller copies; unset: until one has no side of more than kLargestTop pixels
  double sigma = 0.7;                ///< of each level, in the pixels of the level that is twice as large
  std::int32_t tile = 256;           ///< side of a tile, a multiple of 16
  bool as_overviews = false;         ///< the copies are pages behind the picture, instead of its SubIFDs
  std::optional<int> page{};         ///< of the source, counted from 1; unset: the only one
  std::optional<int> compression{};  ///< 0: none; 1 to 9: of deflate; unset: that of the source
  bool replaces = false;             ///< the result a file that has its name
  std::int64_t memory_bytes = 0;     ///< that may be taken
  bool shows_progress = false;

  static constexpr std::int32_t kLargestTop = 256;
};

struct PyramidReport {
  std::int32_t width = 0, height = 0;
  int levels = 0;
  std::int32_t top_width = 0, top_height = 0;  ///< of the smallest copy
  BlurReport blur;                             ///< algorithms, error, seconds, notes
};

/// Throws Failure, and then what had the name of the result is as it was.
[[nodiscard]] PyramidReport make_pyramid(const std::string& in, const std::string& out, const PyramidRequest& request,
                                         const Device& device);

}  // namespace mollify::cli
