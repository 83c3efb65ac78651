// Element-wise steps of masked means and of sharpening, on packed numbers in the memory of an NVIDIA GPU. It may change in any version.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "mollify/cuda.h"

namespace mollify::cuda {

/// What arrays are made of that images are not.
enum class NumberType : std::uint8_t { f32, boolean, i8, i16, bf16 };

/// Kernels that are loaded for the device of an executable. Each call launches one in a stream of that device and waits for nothing; a
/// stream may be under capture. Float is float or double.
class Numbers {
 public:
  /// The error says why they cannot be loaded.
  [[nodiscard]] static Result<Numbers> prepare(const Executable& executable);
  /// Sets all numbers to one value.
  template <class Float>
  [[nodiscard]] Status fill(Float* to, std::int64_t count, Float value, Stream stream) const;
  /// image *= weights; both become 0 where the weight is, and with `skips_nan` where the image is NaN.
  template <class Float>
  [[nodiscard]] Status weigh(Float* weights, Float* image, std::int64_t count, bool skips_nan, Stream stream) const;
  /// image /= weights, or `otherwise` where a weight is not above `least`.
  template <class Float>
  [[nodiscard]] Status divide(const Float* weights, Float* image, std::int64_t count, Float least, Float otherwise, Stream stream) const;
  /// image += amount * (image - blurred)
  template <class Float>
  [[nodiscard]] Status sharpen(const Float* blurred, Float* image, std::int64_t count, Float amount, Stream stream) const;
  /// Numbers at these distances in bytes into floats without gaps. The last axis is that of neighbouring results; there are eight at most.
  template <class Float>
  [[nodiscard]] Status gather(const void* from, NumberType type, std::span<const std::int64_t> extents,
                              std::span<const std::int64_t> strides, Float* to, Stream stream) const;
  /// Floats without gaps into such numbers. Integers are rounded to the nearest and held within their range; a bool is true from 0.5 up.
  [[nodiscard]] Status scatter(const float* from, void* to, NumberType type, std::span<const std::int64_t> extents,
                               std::span<const std::int64_t> strides, Stream stream) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace mollify::cuda
