// What several tests need: images with an owner, the device under test, cases that must pass.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cases/cases.h"
#include "mollify/mollify.h"

namespace mollify::test {

/// The larger of two errors. One that is NaN is infinitely large, where std::max() would pass over it.
[[nodiscard]] inline double larger_error(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::infinity() : std::max(a, b);
}

inline constexpr std::array kBorderModes = {BorderMode::clamp, BorderMode::mirror, BorderMode::reflect, BorderMode::wrap,
                                            BorderMode::constant};

/// Packed pixels.
class Pixels {
 public:
  explicit Pixels(const ImageDesc& desc);
  /// Random, as `spec` would have its sources.
  static Pixels random(const ImageDesc& desc, std::uint64_t seed = 1, const BlurSpec& spec = {});
  /// Every channel of every pixel is `value`, full scale 1.
  static Pixels constant(const ImageDesc& desc, double value);

  [[nodiscard]] const ImageDesc& desc() const { return desc_; }
  [[nodiscard]] ImageView view() { return {desc_, bytes_.data(), static_cast<std::ptrdiff_t>(desc_.row_payload_bytes())}; }
  [[nodiscard]] ConstImageView view() const { return {desc_, bytes_.data(), static_cast<std::ptrdiff_t>(desc_.row_payload_bytes())}; }
  [[nodiscard]] double at(std::int32_t x, std::int32_t y, int channel = 0) const;  ///< full scale 1
  void set(std::int32_t x, std::int32_t y, int channel, double value);
  bool operator==(const Pixels&) const = default;

 private:
  ImageDesc desc_;
  std::vector<std::byte> bytes_;
};

/// The CPU with `threads` threads; the same device each time.
[[nodiscard]] const Device& cpu(std::int32_t threads = 2);

/// A GPU that does not exist, with every kernel that the Vulkan backend has: images and buffers of all formats but those of three
/// channels, 32 KiB of shared memory. A software one is slow.
[[nodiscard]] DeviceInfo fake_gpu(bool is_software);
/// One with cooperative matrices.
[[nodiscard]] DeviceInfo fake_matrix_gpu();
/// The same by the name and the limits of the device that plans were fitted to.
[[nodiscard]] DeviceInfo fake_h200();
/// The same device as the CUDA backend describes it.
[[nodiscard]] DeviceInfo fake_cuda();

/// How a test wants its blur run.
struct How {
  PixelFormat format = PixelFormat::rgba8;  ///< of the result
  AlgorithmChoice algorithm;                ///< an empty id lets the planner choose
  std::int32_t threads = 2;
};

/// The blurred image; a test that cannot get it throws std::runtime_error, which gtest reports.
[[nodiscard]] Pixels blurred(const BlurSpec& spec, const ConstImageView& src, const How& how);
[[nodiscard]] Executable prepared(const BlurSpec& spec, const ImageDesc& src, const How& how);

/// The part of `image` inside `rect`.
[[nodiscard]] Pixels cropped(const Pixels& image, const Rect& rect);

void expect_pass(const cases::Case& c, const Device& device = cpu());

/// A spec per kind of kernel, small and asymmetric.
[[nodiscard]] std::vector<KernelSpec> sample_kernels();

[[nodiscard]] BlurSpec spec_of(const KernelSpec& kernel, BorderMode mode = BorderMode::clamp);

}  // namespace mollify::test
