// One smaller copy of a picture that passes by in strips.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blur_file.h"
#include "files/numbers.h"
#include "files/result.h"
#include "image_blur.h"
#include "page_blur.h"

namespace mollify::cli {

/// How an image follows from a finer one. Both are blurred pictures, and their pixels lie in the middle of blocks of the picture's.
struct PyramidStep {
  int parent = -1;       ///< the finer one, of a list of steps; -1: the picture itself
  int level = 0;         ///< how often the picture's side is halved
  int halvings = 0;      ///< from the finer one on
  double sigma = 0.0;    ///< of the blur between the two, in pixels of the finer one
  double alias = 0.0;    ///< bound of what the finer one's grid adds to the error
  bool is_level = true;  ///< else only other images are made from it
};

/// What is made for so many levels. Level n is the Gaussian of sigma * sqrt((4^n - 1) / 3) of the picture: what n blurs by `sigma` add up
/// to, each in the pixels of the level that it is of. High levels are made from images of more bits that are a half, an 8th, a 32nd, ... as
/// wide as the picture, and blurred so far that their grids add `most_alias` at most to the error. Finer images come first.
[[nodiscard]] std::vector<PyramidStep> pyramid_steps(int levels, double sigma, double most_alias);
/// Pixels that the picture needs around it, whose edge is repeated there: as far as the images between are blurred.
[[nodiscard]] std::int32_t pyramid_margin(const std::vector<PyramidStep>& steps);
/// Makes such an image, in strips that follow those of the finer one.
class PyramidImage {
 public:
  /// `finer` is the work of a copy of the finer image; its region is the picture without the margin. It needs no longer live.
  PyramidImage(const std::string& path, const Device& device, const PyramidStep& step, const files::PageWork& finer);
  PyramidImage(const PyramidImage&) = delete;
  PyramidImage& operator=(const PyramidImage&) = delete;

  [[nodiscard]] const files::Page& page() const { return page_; }
  /// For images that are made from this one.
  [[nodiscard]] files::PageWork copy() const;
  [[nodiscard]] const BlurReport& report() const { return report_; }
  /// What making it from the finer image adds to the error of that.
  [[nodiscard]] double error() const { return report_.predicted_error + added_error_; }
  /// Rows that a strip has at most while those of the finer image have up to so many.
  [[nodiscard]] std::int32_t most_rows(std::int32_t finer_rows) const;
  /// Bytes that it takes at most meanwhile.
  [[nodiscard]] std::int64_t memory_bytes(std::int32_t finer_rows) const;

  static constexpr std::size_t kBuffers = 2;
  /// Takes the next rows of the finer image, and makes the rows that are ready. They stay in one of the buffers.
  void advance(const files::PagePixels& finer, std::size_t buffer);
  [[nodiscard]] const files::PagePixels& rows(std::size_t buffer) const { return made_[buffer]; }

 private:
  [[nodiscard]] std::int32_t most_blurred_rows(std::int32_t finer_rows) const;
  void pick(const files::PagePixels& blurred, std::size_t buffer);

  std::int32_t stride_;  ///< from a pixel that is blurred to the next one, in pixels of the finer image
  std::int32_t pick_;    ///< every so many of them are the image, where a block has more pixels than the largest stride
  files::PageWork work_;
  files::Page page_;
  std::optional<Rect> picture_;  ///< without the margin, where there is one
  BlurRequest request_;
  double added_error_;  ///< by the coarse grid and by 16 bits, beside the error of the blur
  BlurReport report_;
  DeviceBlurrer blurrer_;
  std::unique_ptr<PageBlur> blur_;
  files::Bytes unpicked_;
  std::array<files::Bytes, kBuffers> buffers_;
  std::array<files::PagePixels, kBuffers> made_;
};

}  // namespace mollify::cli
