// What tests of windows and of strips share: pixels in guarded memory, cases and algorithms at random.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
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

/// Windows of an image that lie far from each other in memory, each as large as it is asked to be.
class SourceWindows {
 public:
  explicit SourceWindows(const ConstImageView& image) : image_(image) {}

  void add(const Rect& place, GuardedPixels::Side side);
  /// The rectangle in a few windows, one above the other, in any order.
  void add_stacked(const Rect& place, cases::Random& random);

  [[nodiscard]] std::span<const ConstWindow> windows() const { return windows_; }

 private:
  ConstImageView image_;
  std::deque<GuardedPixels> pixels_;
  std::vector<ConstWindow> windows_;
};

[[nodiscard]] std::vector<Rect> region_of(const Plan& plan, const Rect& destination);

/// Whether the algorithm can run the case by windows, and then that windows give the bits of the whole.
bool expect_same_bits(const cases::Case& c, const AlgorithmChoice& algorithm, const Device& device, cases::Random& random);

/// On so many cases at random that the algorithm can run on windows, with options at random, on one of the devices each: windows give the
/// bits of the whole. The error that a case allows may be given, for algorithms that err by more than most cases allow.
void expect_same_bits_on_windows(std::string_view algorithm, const std::vector<Device>& devices, int cases,
                                 std::optional<double> max_error = {});

/// Whether the algorithm can run the case by a stream, and then that strips of any heights give the bits of the whole. Where there is no
/// stream, that is because a border wraps down the image.
bool expect_same_bits_in_strips(const cases::Case& c, const AlgorithmChoice& algorithm, const Device& device, cases::Random& random);

/// The same as expect_same_bits_on_windows(), by streams.
void expect_same_bits_in_strips(std::string_view algorithm, const std::vector<Device>& devices, int cases,
                                std::optional<double> max_error = {});

/// Every algorithm twice: with options at random, and without any.
[[nodiscard]] std::vector<AlgorithmChoice> random_choices(cases::Random& random);

/// A case at random. Half of them are larger, so that windows need a part of the source only, and they suit the algorithms that most cases
/// do not.
[[nodiscard]] cases::Case windowed_case(cases::Random& random);

/// Floats of 32 bits and a Gaussian that is cut at 4 sigma.
[[nodiscard]] cases::Case cut_floats(cases::Random& random);

}  // namespace mollify::test
