// What tests of windows and of strips share: pixels in guarded memory, cases and algorithms at random.
#pragma once

#include <cstddef>
#include <vector>

#include "cases/cases.h"
#include "cases/random.h"
#include "mollify/mollify.h"

namespace mollify::test {

/// Rows of pixels that end, or begin, where memory that must not be touched does. What lies on their other side holds no pixels.
class GuardedPixels {
 public:
  enum class Side : bool { begin, end };

  GuardedPixels(const ImageDesc& desc, Side side);
  ~GuardedPixels();
  GuardedPixels(const GuardedPixels&) = delete;
  GuardedPixels& operator=(const GuardedPixels&) = delete;

  [[nodiscard]] ImageView view() const { return {desc_, pixels_, row_bytes_}; }

 private:
  ImageDesc desc_;
  std::byte* memory_;
  std::byte* pixels_;
  std::size_t bytes_;
  std::ptrdiff_t row_bytes_;
};

void copy_rows(const ConstImageView& from, const ImageView& to);

/// Every algorithm twice: with options at random, and without any.
[[nodiscard]] std::vector<AlgorithmChoice> random_choices(cases::Random& random);

/// A case at random. Half of them are larger, so that windows need a part of the source only, and they suit the algorithms that most cases
/// do not.
[[nodiscard]] cases::Case windowed_case(cases::Random& random);

}  // namespace mollify::test
