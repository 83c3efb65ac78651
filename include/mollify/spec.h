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

/// One value for each axis.
template <class T>
struct PerAxis {
  T x{};  ///< The value for the horizontal axis.
  T y{};  ///< The value for the vertical axis.
  bool operator==(const PerAxis&) const = default;
};

/// The true Gaussian: weights exp(-i^2 / (2 sigma^2)), computed in float64 and divided by their sum. Without `radius` and `truncate` the
/// kernel has all the taps that the accuracy can notice. With one of them it has exactly the taps -radius to radius. Setting both is an
/// error.
struct Gaussian {
  PerAxis<double> sigma{1.0, 1.0};                ///< Standard deviation in pixels, 0 to 1e6. An axis of sigma 0 is not blurred.
  std::optional<PerAxis<std::int32_t>> radius{};  ///< The outermost tap in pixels, 0 to 2^20.
  /// Sets the radius to floor(truncate * sigma + 0.5), as SciPy does. Both `truncate` and that radius are 0 to 2^20.
  std::optional<double> truncate{};
  bool operator==(const Gaussian&) const = default;
};

/// How far a box reaches on one axis. A fraction is the weight of the outermost pixel on that side: 1.25 is one whole pixel and a quarter.
struct BoxExtent {
  double before = 1.0;  ///< Pixels before the output pixel's place, 0 to 2^20.
  double after = 1.0;   ///< Pixels after the output pixel's place, 0 to 2^20.
  bool operator==(const BoxExtent&) const = default;
};

/// The mean of the pixels in a window around each pixel.
struct Box {
  PerAxis<BoxExtent> extent{};  ///< The window on each axis.
  /// A window of 2 * radius + 1 pixels on each axis, centred on the output pixel. Radii may be fractions.
  static Box of_radius(double radius_x, double radius_y);
  /// A window of `size` pixels, also of an even number. `anchor` is the pixel of the window that falls on the output pixel, from 0 to
  /// size - 1.
  static Box of_size(PerAxis<std::int32_t> size, PerAxis<std::int32_t> anchor);
  bool operator==(const Box&) const = default;
};

/// Weights that fall linearly: max(0, radius + 1 - |i|), divided by their sum.
struct Tent {
  PerAxis<double> radius{1.0, 1.0};  ///< Pixels on each side, 0 to 2^20.
  bool operator==(const Tent&) const = default;
};

/// Whether given weights are used as they are.
enum class Normalization : std::uint8_t {
  none,      ///< Weights are used as they are given.
  unit_sum,  ///< Weights are divided by their sum, which must not be zero.
};

/// The weights of one axis, applied as a correlation: out(x) is the sum of weights[i] * in(x + i - anchor).
struct AxisTaps {
  std::vector<double> weights{1.0};  ///< 1 to 2^21 + 1 weights.
  std::int32_t anchor = 0;           ///< The weight that falls on the output pixel, from 0 to weights.size() - 1.
  bool operator==(const AxisTaps&) const = default;
};

/// Any separable kernel: 1-D weights for each axis. Without normalization, the sum of the absolute weights of one axis times that of the
/// other is at most 1e38.
struct Taps {
  AxisTaps x{};                                       ///< Weights along rows.
  AxisTaps y{};                                       ///< Weights along columns.
  Normalization normalization = Normalization::none;  ///< Whether each axis' weights are divided by their sum.
  bool operator==(const Taps&) const = default;
};

/// A two-dimensional kernel, applied as a correlation. A matrix that is the product of a column and a row runs as fast as Taps.
struct Matrix {
  std::int32_t width = 1;                             ///< Columns, 1 to 128.
  std::int32_t height = 1;                            ///< Rows, 1 to 128.
  std::vector<double> weights{1.0};                   ///< width * height weights, row by row.
  PerAxis<std::int32_t> anchor{0, 0};                 ///< The weight that falls on the output pixel.
  Normalization normalization = Normalization::none;  ///< Whether the weights are divided by their sum.
  bool operator==(const Matrix&) const = default;
};

/// What to blur with.
using KernelSpec = std::variant<Gaussian, Box, Tent, Taps, Matrix>;

/// What stands beyond the image on one axis. In the patterns `abcd` is a row of the image.
enum class BorderMode : std::uint8_t {
  clamp,     ///< The edge pixel repeats: aaa|abcd|ddd.
  mirror,    ///< The image is mirrored at the edge pixel, which is not repeated: dcb|abcd|cba. One pixel alone is clamped.
  reflect,   ///< The image is mirrored at its edge, so that the edge pixel is repeated: cba|abcd|dcb.
  wrap,      ///< The image repeats: bcd|abcd|abc.
  constant,  ///< There is one value everywhere, Border::value: vvv|abcd|vvv.
};

/// How a BorderMode is called and pictured.
struct BorderModeInfo {
  BorderMode mode;           ///< The mode that this describes.
  std::string_view name;     ///< The name that the command line uses, such as "clamp".
  std::string_view pattern;  ///< A row of the image with what stands beyond it, such as "aaa|abcd|ddd".
};
/// All border modes.
[[nodiscard]] std::array<BorderModeInfo, 5> border_modes();
/// The name that the command line uses, such as "clamp".
[[nodiscard]] std::string_view name(BorderMode mode);
/// The mode of this name, or nothing if there is none.
[[nodiscard]] std::optional<BorderMode> parse_border_mode(std::string_view name);

/// What stands beyond the edges of the image.
struct Border {
  PerAxis<BorderMode> mode{BorderMode::clamp, BorderMode::clamp};  ///< The mode of each axis.
  /// The value that BorderMode::constant puts beyond the image, one for each channel. 1 is full scale. It is encoded and not premultiplied,
  /// like a pixel of the source, and rounded to the source's format. A pixel that is outside on any constant axis has this value.
  /// All four numbers must be ones that the source's format can hold, whatever the mode and the number of channels.
  std::array<double, 4> value{0.0, 0.0, 0.0, 0.0};
  bool operator==(const Border&) const = default;
};

/// How exact the result must be. The error of a pixel is its distance from the exact result, less half a step of the output's format,
/// divided by full scale. Full scale is 1 for unorm sources. For others it is the largest magnitude of source and border value,
/// times the sum of the absolute weights. Under AlphaMode::premultiply the error of a colour is multiplied by the exact output alpha, and a
/// colour beyond full scale, as negative weights can make it, counts relative to itself.
struct Accuracy {
  /// The largest allowed error. Where it is not set, default_max_error() of the destination's format holds. 0, like any
  /// value below exact_max_error(), allows exact algorithms only, which are held to exact_max_error().
  std::optional<double> max_error{};
  bool operator==(const Accuracy&) const = default;
};
/// The largest error that is allowed by default: 0.125/255 for 8-bit unorm, 1e-4 for 16-bit unorm and half floats, 2e-5 for floats,
/// 1e-12 for doubles and for integers that stand for themselves.
[[nodiscard]] double default_max_error(PixelFormat destination);
/// The error that exact algorithms are held to: 0.02 of a step for unorm; 1e-4, a tenth of a step at full scale, for half floats; 1e-6 for
/// floats; 1e-12 for doubles and for integers that stand for themselves.
[[nodiscard]] double exact_max_error(PixelFormat destination);

/// Whether the last channel is alpha.
enum class AlphaMode : std::uint8_t {
  ignore,  ///< All channels are blurred alike.
  /// The last of 2 or 4 channels is unassociated alpha. Colours are multiplied by it, blurred, and divided by the blurred alpha; they are 0
  /// where that is 0. If the blurred alpha is about 1e-7 or less, colours of float outputs are undefined.
  premultiply,
};

/// How stored numbers relate to light.
enum class TransferFunction : std::uint8_t {
  none,  ///< Stored numbers are blurred as they are.
  srgb,  ///< Colours are decoded from sRGB to linear light, blurred, and encoded again. Alpha is linear already.
};

/// Which pixels of a blur are made along one axis: every `step`-th one. Destination pixel i is the blur centred on the source coordinate
/// first + i * step + phase_halves / 2, where `first` is the first pixel of the region, or 0. A phase of step - 1 halves puts it in the
/// middle of its block of `step` pixels, where the levels of image pyramids have their pixels.
///
/// Where the phase is odd, the kernel is centred between two pixels. A Gaussian or a tent then has the weights that its formula gives at
/// half pixels; a radius lets it have taps up to half a pixel beyond that radius, and a sigma of 0 makes it the mean of two pixels. A box
/// weighs a pixel by the part of it that lies in the window. Taps and matrices have no weights between pixels, so their phases are even.
struct Stride {
  std::int32_t step = 1;                        ///< Source pixels from one destination pixel to the next, 1 to kMaxStep.
  std::int32_t phase_halves = 0;                ///< Half pixels from the first pixel of the source to the first centre, 0 to 2 * step - 1.
  static constexpr std::int32_t kMaxStep = 16;  ///< The largest step.
  /// Each destination pixel is centred on its block of `step` pixels.
  static constexpr Stride of_blocks(std::int32_t step) { return {step, step - 1}; }
  bool operator==(const Stride&) const = default;
};

/// What to blur: the definition of the result. Nothing here says how it is computed.
struct BlurSpec {
  KernelSpec kernel = Gaussian{};                      ///< The weights.
  Border border{};                                     ///< What stands beyond the edges of the source.
  Accuracy accuracy{};                                 ///< How exact the result must be.
  AlphaMode alpha = AlphaMode::ignore;                 ///< Whether the last channel is alpha.
  TransferFunction transfer = TransferFunction::none;  ///< Whether colours are blurred in linear light.
  /// The part of the source to blur, in its coordinates; all of it where this is not set. The destination has the size of this region,
  /// unless there is a stride, and its pixels are those that a blur of the whole source would have there.
  std::optional<Rect> roi{};
  /// Which pixels of the blur are made. The destination then has the size of the region divided by the step, rounded up: it has a pixel for
  /// each block of `step` pixels, also where the last block is cut by the region's edge.
  PerAxis<Stride> stride{};
  bool operator==(const BlurSpec&) const = default;
};

/// The shape of the destination for a blur of `src` by `spec`: the size of the region, or of the source, divided by the stride and rounded
/// up, with format `format`.
[[nodiscard]] ImageDesc destination_desc(const BlurSpec& spec, const ImageDesc& src, PixelFormat format);

/// Checks everything about a request that can be wrong whatever runs it, such as NaN, negative sizes or a region outside the image. The
/// error says what. Pixels are not looked at. Where a pixel is NaN or infinite, all results whose kernel has a weight for it are so too,
/// and with some algorithms others within Plan::reach.
[[nodiscard]] Status validate(const BlurSpec& spec, const ImageDesc& src, const ImageDesc& dst);

}  // namespace mollify
