// What to blur: the mathematical kernel, the border, the accuracy, colour handling. Nothing here says how.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "mollify/image.h"

namespace mollify {

template <class T>
struct PerAxis {
  T x{};
  T y{};
  bool operator==(const PerAxis&) const = default;
};

/// The true Gaussian: weights exp(-i^2 / (2 sigma^2)) computed in float64, normalised to a sum of one.
/// Without `radius` and `truncate` the kernel has all the taps that the accuracy can notice;
/// with one of them, not both, it has exactly the taps -radius .. radius. Sigma 0 leaves that axis as it is.
struct Gaussian {
  PerAxis<double> sigma{1.0, 1.0};                ///< pixels, 0 to 1e6
  std::optional<PerAxis<std::int32_t>> radius{};  ///< pixels, 0 to 2^20
  std::optional<double> truncate{};               ///< radius = floor(truncate * sigma + 0.5), as SciPy does; it and truncate 0 to 2^20
  bool operator==(const Gaussian&) const = default;
};

/// The mean over [-before, after] around a pixel. A fractional extent gives its outermost tap the fraction as weight.
struct BoxExtent {
  double before = 1.0;  ///< pixels, 0 to 2^20
  double after = 1.0;   ///< pixels, 0 to 2^20
  bool operator==(const BoxExtent&) const = default;
};

struct Box {
  PerAxis<BoxExtent> extent{};
  /// 2 * radius + 1 pixels on each axis.
  static Box of_radius(double radius_x, double radius_y);
  /// size_x by size_y pixels; `anchor` is the tap that falls on the output pixel, 0 <= anchor < size.
  static Box of_size(PerAxis<std::int32_t> size, PerAxis<std::int32_t> anchor);
  bool operator==(const Box&) const = default;
};

/// Weights proportional to max(0, radius + 1 - |i|), normalised.
struct Tent {
  PerAxis<double> radius{1.0, 1.0};  ///< pixels, 0 to 2^20
  bool operator==(const Tent&) const = default;
};

enum class Normalization : std::uint8_t {
  none,      ///< weights are used as given
  unit_sum,  ///< divided by their sum, which must not be zero
};

/// 1-D taps for each axis, applied as correlation: out(x) = sum_i x.weights[i] * in(x + i - x.anchor).
struct AxisTaps {
  std::vector<double> weights{1.0};
  std::int32_t anchor = 0;  ///< the tap that falls on the output pixel, 0 <= anchor < weights.size()
  bool operator==(const AxisTaps&) const = default;
};

/// 1 to 2^21 + 1 weights on each axis, whose sizes add up to 1e38 at most.
struct Taps {
  AxisTaps x{};
  AxisTaps y{};
  Normalization normalization = Normalization::none;
  bool operator==(const Taps&) const = default;
};

/// A two-dimensional correlation kernel, row-major, up to 128 x 128. A matrix of rank one runs as two 1-D passes.
struct Matrix {
  std::int32_t width = 1;
  std::int32_t height = 1;
  std::vector<double> weights{1.0};
  PerAxis<std::int32_t> anchor{0, 0};  ///< the tap that falls on the output pixel
  Normalization normalization = Normalization::none;
  bool operator==(const Matrix&) const = default;
};

using KernelSpec = std::variant<Gaussian, Box, Tent, Taps, Matrix>;

/// Where pixels outside the image come from; `abcd` is the image.
enum class BorderMode : std::uint8_t {
  clamp,     ///< aaa|abcd|ddd
  mirror,    ///< dcb|abcd|cba: the edge pixel is not repeated; on an axis of one pixel the same as clamp
  reflect,   ///< cba|abcd|dcb
  wrap,      ///< bcd|abcd|abc
  constant,  ///< vvv|abcd|vvv
};

struct BorderModeInfo {
  BorderMode mode;
  std::string_view name;
  std::string_view pattern;  ///< as in the comments above
};
[[nodiscard]] std::array<BorderModeInfo, 5> border_modes();
[[nodiscard]] std::string_view name(BorderMode mode);
[[nodiscard]] std::optional<BorderMode> parse_border_mode(std::string_view name);

struct Border {
  PerAxis<BorderMode> mode{BorderMode::clamp, BorderMode::clamp};
  /// For `constant`: one value a channel, full scale = 1, encoded and unpremultiplied like a pixel of the source,
  /// to whose format it is rounded. A pixel outside on any constant axis has this value. All four must be what the source's format can
  /// hold, whatever the mode and however many channels there are.
  std::array<double, 4> value{0.0, 0.0, 0.0, 0.0};
  bool operator==(const Border&) const = default;
};

/// The largest allowed error, where error is max(0, |out - exact| - half an output step) over full scale: 1 for unorm
/// sources, max(|source|, |border value|) * sum|weights| for float ones. Under AlphaMode::premultiply the error of a
/// colour channel is weighted by the exact output alpha, and a colour beyond full scale (negative weights can bring
/// alpha close to zero) counts relative to itself.
struct Accuracy {
  /// Unset: the default of the destination format, see default_max_error(). 0, or less than exact_max_error(): exact algorithms only,
  /// which are held to that.
  std::optional<double> max_error{};
  bool operator==(const Accuracy&) const = default;
};
/// unorm8 0.125/255, unorm16 and f16 1e-4, f32 2e-5.
[[nodiscard]] double default_max_error(PixelFormat destination);
/// What `max_error = 0`, or any below it, holds an algorithm to: unorm 0.02 of a step, f16 1e-4, a tenth of a step at full scale, f32 1e-6.
[[nodiscard]] double exact_max_error(PixelFormat destination);

enum class AlphaMode : std::uint8_t {
  ignore,       ///< every channel is blurred alike
  /// The last of 2 or 4 channels is unassociated alpha: multiply, blur, divide (0 where alpha is 0). Errors of a colour count in proportion
  /// to alpha: where sums of floats leave 1e-7 or less of it instead of 0, float colours are arbitrary.
  premultiply,
};

enum class TransferFunction : std::uint8_t {
  none,  ///< stored numbers are blurred as they are
  srgb,  ///< colour is decoded to linear light before the blur and encoded after it; alpha is linear already
};

struct BlurSpec {
  KernelSpec kernel = Gaussian{};
  Border border{};
  Accuracy accuracy{};
  AlphaMode alpha = AlphaMode::ignore;
  TransferFunction transfer = TransferFunction::none;
  /// In source coordinates. The destination has the size of the region, whose pixels see their true neighbours.
  std::optional<Rect> roi{};
  bool operator==(const BlurSpec&) const = default;
};

/// The shape that a blur of `src` by `spec` writes, in format `format`.
[[nodiscard]] ImageDesc destination_desc(const BlurSpec& spec, const ImageDesc& src, PixelFormat format);

/// Everything about the request that can be wrong whatever runs it: NaN, negative sizes, a region outside the image. Pixels are not
/// looked at: where one is NaN or infinite, so are those whose kernel has a weight for it, and with some algorithms others within Plan::reach.
[[nodiscard]] Status validate(const BlurSpec& spec, const ImageDesc& src, const ImageDesc& dst);

}  // namespace mollify
