// One smaller copy of a picture that passes by in strips.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "blur_file.h"
#include "files/numbers.h"
#include "files/result.h"
#include "image_blur.h"
#include "page_blur.h"

namespace mollify::cli {

/// The sigma of level n: what n blurs by `sigma` add up to, each in the pixels of the level that it is of.
[[nodiscard]] double sigma_of_level(int level, double sigma);

/// Level n of a page: the Gaussian of sigma_of_level() at the centres of blocks of 2^n x 2^n pixels. All levels are made from the page
/// itself, so each pixel is rounded once. Beyond the largest stride of the library more pixels are made than the level has, and every 2nd,
/// 4th, ... of them is taken.
class PyramidLevel {
 public:
  /// `page` is the work of a copy of the page. `padded` is its source, with the last column and row repeated until the sizes are multiples
  /// of 2^n.
  PyramidLevel(const std::string& path, const Device& device, int level, double sigma, const files::PageWork& page,
               const files::Page& padded, BlurReport& report);
  PyramidLevel(const PyramidLevel&) = delete;
  PyramidLevel& operator=(const PyramidLevel&) = delete;

  /// As it is written.
  [[nodiscard]] const files::Page& page() const { return page_; }
  /// Bytes that it takes at most while strips of the page have up to so many rows.
  [[nodiscard]] std::int64_t memory_bytes(std::int32_t source_rows) const;

  static constexpr std::size_t kBuffers = 2;
  /// Takes the next rows of the padded page, and makes the rows of the level that are ready. They stay in one of the buffers.
  void advance(const files::PagePixels& strip, std::size_t buffer);
  [[nodiscard]] const files::PagePixels& rows(std::size_t buffer) const { return made_[buffer]; }

 private:
  [[nodiscard]] files::PagePixels rows_in(files::Bytes& bytes, const files::Page& page, files::RowRange rows) const;
  void pick(const files::PagePixels& from, std::size_t buffer);

  std::int32_t step_;  ///< from a pixel that is made to the next one, in pixels of the page
  std::int32_t pick_;  ///< every so many of them are the level's
  files::Page page_;
  files::PageWork work_;
  BlurRequest request_;
  DeviceBlurrer blurrer_;
  std::unique_ptr<PageBlur> blur_;
  files::Bytes unpicked_;
  std::array<files::Bytes, kBuffers> buffers_;
  std::array<files::PagePixels, kBuffers> made_;
};

}  // namespace mollify::cli
