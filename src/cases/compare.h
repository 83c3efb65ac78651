// The measured error of a result: max(0, |out - exact| - half an output step) over full scale, as mollify::Accuracy
// says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mollify/mollify.h"

namespace mollify::cases {

struct Comparison {
  double max_error = 0.0;  ///< infinite where a result is no number
  std::string worst;       ///< where it is, what came out and what should have
};

/// Which pixels of a destination count; empty: all of them.
using PixelFilter = std::function<bool(std::int32_t x, std::int32_t y)>;

/// What a blur has to come out as, computed once for any number of results: the whole destination up to a megapixel, above
/// it the corners, pieces of the edges and 2,000 random pixels.
class ExactAnswer {
 public:
  /// `dst` is the shape of the results to come.
  static Result<ExactAnswer> create(const BlurSpec& spec, const ConstImageView& src, const ImageDesc& dst, int threads = 1);
  /// Of the numbers that the kernel adds up, no sum is larger.
  [[nodiscard]] double full_scale() const { return full_scale_; }
  [[nodiscard]] Comparison compare(const ConstImageView& result, const PixelFilter& counts = {}) const;

 private:
  struct Part {
    Rect rect;                  ///< of the destination
    std::vector<double> exact;  ///< pixel by pixel
  };
  ExactAnswer(BlurSpec spec, double full_scale, std::vector<Part> parts)
      : spec_(std::move(spec)), full_scale_(full_scale), parts_(std::move(parts)) {}

  BlurSpec spec_;
  double full_scale_;
  std::vector<Part> parts_;
};

/// One result beside its exact answer.
[[nodiscard]] Result<Comparison> compare_with_reference(const BlurSpec& spec, const ConstImageView& src, const ConstImageView& dst);

}  // namespace mollify::cases
