// Names and sanity of what is asked for. Whatever passes validate() has a well-defined exact result.
#include "mollify/spec.h"

#include <cmath>
#include <limits>
#include <string>

#include "base/rounding.h"
#include "base/text.h"
#include "math/weights.h"

namespace mollify {
namespace {

constexpr double kMaxSigma = 1e6;
constexpr double kMaxRadius = 1 << 20;
constexpr std::int32_t kMaxMatrix = 128;
constexpr double kErrorOfDoubles = 1e-12;  // sums of some 18,000 doubles round as much

Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), {}};
}

/// One number per axis, each checked the same way.
Status check_range(std::string_view what, PerAxis<double> value, double largest) {
  for (const double v : {value.x, value.y}) {
    if (!(v >= 0.0 && v <= largest)) {
      return invalid(std::string(what) + " must be a number from 0 to " + number(largest) + ", not " + number(v));
    }
  }
  return {};
}

Status check_anchor(std::int64_t anchor, std::int64_t size) {
  if (anchor >= 0 && anchor < size) return {};
  return invalid("the anchor " + std::to_string(anchor) + " lies outside a kernel of " + std::to_string(size) + " taps");
}

Status check_weights(const std::vector<double>& weights, Normalization normalization) {
  double sum = 0.0;
  double magnitude = 0.0;
  for (const double w : weights) {
    if (!std::isfinite(w)) return invalid("a kernel weight is not a finite number");
    sum += w;
    magnitude += std::abs(w);
  }
  if (normalization == Normalization::unit_sum && std::abs(sum) <= 1e-12 * magnitude) {
    return invalid("the kernel's weights sum to zero, so they cannot be normalised");
  }
  return {};
}

/// Products and sums of f32 stay numbers, for pixels of about one.
Status check_size(double magnitude, Normalization normalization) {
  constexpr double kMost = 1e38;
  if (normalization == Normalization::unit_sum || magnitude <= kMost) return {};
  return invalid("the kernel's weights add up to more than " + number(kMost));
}

struct CheckKernel {
  Status operator()(const Gaussian& g) const {
    if (Status s = check_range("sigma", g.sigma, kMaxSigma); !s) return s;
    if (g.radius && g.truncate) return invalid("a Gaussian takes a radius or a truncation, not both");
    if (g.radius) return check_range("radius", {double(g.radius->x), double(g.radius->y)}, kMaxRadius);
    if (g.truncate) {
      if (Status s = check_range("truncate", {*g.truncate, *g.truncate}, kMaxRadius); !s) return s;
      return check_range("truncate * sigma", {*g.truncate * g.sigma.x, *g.truncate * g.sigma.y}, kMaxRadius);
    }
    return {};
  }
  Status operator()(const Box& b) const {
    if (Status s = check_range("the box's reach, or radius,", {b.extent.x.before, b.extent.y.before}, kMaxRadius); !s) return s;
    return check_range("the box's reach, or radius,", {b.extent.x.after, b.extent.y.after}, kMaxRadius);
  }
  Status operator()(const Tent& t) const { return check_range("tent radius", t.radius, kMaxRadius); }
  Status operator()(const Taps& t) const {
    for (const AxisTaps* axis : {&t.x, &t.y}) {
      if (axis->weights.empty() || static_cast<double>(axis->weights.size()) > 2 * kMaxRadius + 1) {
        return invalid("a kernel needs 1 to " + number(2 * kMaxRadius + 1) + " taps on each axis");
      }
      if (Status s = check_anchor(axis->anchor, static_cast<std::int64_t>(axis->weights.size())); !s) return s;
      if (Status s = check_weights(axis->weights, t.normalization); !s) return s;
    }
    return check_size(magnitude(t.x.weights) * magnitude(t.y.weights), t.normalization);
  }
  Status operator()(const Matrix& m) const {
    if (m.width < 1 || m.height < 1 || m.width > kMaxMatrix || m.height > kMaxMatrix) {
      return invalid("a kernel matrix has 1x1 to 128x128 weights, not " + std::to_string(m.width) + "x" + std::to_string(m.height));
    }
    if (m.weights.size() != static_cast<std::size_t>(m.width) * static_cast<std::size_t>(m.height)) {
      return invalid("a " + std::to_string(m.width) + "x" + std::to_string(m.height) + " kernel matrix was given " +
                     std::to_string(m.weights.size()) + " weights");
    }
    if (Status s = check_anchor(m.anchor.x, m.width); !s) return s;
    if (Status s = check_anchor(m.anchor.y, m.height); !s) return s;
    if (Status s = check_weights(m.weights, m.normalization); !s) return s;
    return check_size(magnitude(m.weights), m.normalization);
  }
};

Status check_desc(std::string_view what, const ImageDesc& desc) {
  const auto format = static_cast<std::size_t>(desc.format);
  if (format >= formats().size())
    return invalid(std::string(what) + " is of pixel format " + std::to_string(format) + ", which there is not");
  const std::string size = std::string(what) + " is " + std::to_string(desc.width) + "x" + std::to_string(desc.height);
  if (desc.width < 1 || desc.height < 1) return invalid(size + "; an image needs at least one pixel");
  if (desc.row_payload_bytes() > kMostImageBytes / desc.height) return invalid(size + "; an image has at most 2^56 bytes");
  return {};
}

constexpr std::array<BorderModeInfo, 5> kBorderModes = {{
    {BorderMode::clamp, "clamp", "aaa|abcd|ddd"},
    {BorderMode::mirror, "mirror", "dcb|abcd|cba"},
    {BorderMode::reflect, "reflect", "cba|abcd|dcb"},
    {BorderMode::wrap, "wrap", "bcd|abcd|abc"},
    {BorderMode::constant, "constant", "vvv|abcd|vvv"},
}};

Status check_border(const Border& border, const FormatInfo& source) {
  for (const BorderMode mode : {border.mode.x, border.mode.y}) {
    const auto index = static_cast<std::size_t>(mode);
    if (index >= kBorderModes.size()) return invalid("there is no border mode " + std::to_string(index));
  }
  for (const double v : border.value) {
    if (!std::isfinite(v)) return invalid("a border value is not a finite number");
    const double most = source.bits == 16   ? 65504.0
                        : source.bits == 32 ? static_cast<double>(std::numeric_limits<float>::max())
                                            : std::numeric_limits<double>::max();
    if (source.is_floating() && std::abs(v) > most) {
      return invalid("the border value " + number(v) + " is more than " + std::string(source.name) + " can hold");
    }
    if (source.is_integral()) {
      const auto [least, largest] = integer_range(source);
      if (v < least || v > largest) {
        return invalid("the border value " + number(v) + " is outside " + number(least, 10) + " to " + number(largest, 10) + ", all that " +
                       std::string(source.name) + " can hold");
      }
    }
    if (source.is_unorm() && (v < 0.0 || v > 1.0)) {
      return invalid("the border value " + number(v) + " is outside 0 to 1, all that " + std::string(source.name) + " can hold");
    }
  }
  return {};
}

/// Integers that stand for themselves have no 1 that full alpha or white would be.
Status check_colour(const BlurSpec& spec, const FormatInfo& from, const FormatInfo& to) {
  if (spec.alpha == AlphaMode::premultiply && from.channels % 2 != 0) {
    return invalid(std::string(from.name) + " has no alpha channel to premultiply by");
  }
  if (spec.alpha == AlphaMode::ignore && spec.transfer == TransferFunction::none) return {};
  for (const FormatInfo& format : {from, to}) {
    if (format.is_integral()) return invalid(std::string(format.name) + " holds plain integers, which are neither alpha nor colours");
  }
  return {};
}

Status check_roi(const Rect& roi, const ImageDesc& src) {
  if (roi.width < 1 || roi.height < 1) {
    return invalid("the region is " + std::to_string(roi.width) + "x" + std::to_string(roi.height) + "; it needs at least one pixel");
  }
  const bool inside =
      roi.x >= 0 && roi.y >= 0 && std::int64_t{roi.x} + roi.width <= src.width && std::int64_t{roi.y} + roi.height <= src.height;
  if (inside) return {};
  return invalid("the region " + std::to_string(roi.width) + "x" + std::to_string(roi.height) + "+" + std::to_string(roi.x) + "+" +
                 std::to_string(roi.y) + " does not lie inside the " + std::to_string(src.width) + "x" + std::to_string(src.height) +
                 " image");
}

Status check_stride(const BlurSpec& spec) {
  for (const Stride& stride : {spec.stride.x, spec.stride.y}) {
    if (stride.step < 1 || stride.step > Stride::kMaxStep) {
      return invalid("a stride takes steps of 1 to " + std::to_string(Stride::kMaxStep) + " pixels, not " + std::to_string(stride.step));
    }
    const std::int32_t last = 2 * stride.step - 1;
    if (stride.phase_halves < 0 || stride.phase_halves > last) {
      return invalid("the phase of a stride of " + std::to_string(stride.step) + " is 0 to " + std::to_string(last) +
                     " halves of a pixel, not " + std::to_string(stride.phase_halves));
    }
    const bool has_formula = !std::holds_alternative<Taps>(spec.kernel) && !std::holds_alternative<Matrix>(spec.kernel);
    if (stride.phase_halves % 2 != 0 && !has_formula) {
      return invalid("taps and matrices have no weights between pixels, so a phase of " + std::to_string(stride.phase_halves) +
                     " halves is not for them");
    }
  }
  return {};
}

}  // namespace

Box Box::of_radius(double radius_x, double radius_y) {
  return {{{radius_x, radius_x}, {radius_y, radius_y}}};
}

Box Box::of_size(PerAxis<std::int32_t> size, PerAxis<std::int32_t> anchor) {
  const auto extent = [](std::int32_t n, std::int32_t a) { return BoxExtent{double(a), double(n) - 1.0 - double(a)}; };
  return {{extent(size.x, anchor.x), extent(size.y, anchor.y)}};
}

std::array<BorderModeInfo, 5> border_modes() {
  return kBorderModes;
}

std::string_view name(BorderMode mode) {
  return kBorderModes[static_cast<std::size_t>(mode)].name;
}

std::optional<BorderMode> parse_border_mode(std::string_view name) {
  for (const BorderModeInfo& row : kBorderModes) {
    if (row.name == name) return row.mode;
  }
  return std::nullopt;
}

double default_max_error(PixelFormat destination) {
  const FormatInfo& f = info(destination);
  if (f.is_wide()) return kErrorOfDoubles;
  if (f.is_unorm() && f.bits == 8) return 0.125 / 255.0;
  return f.bits == 16 ? 1e-4 : 2e-5;
}

double exact_max_error(PixelFormat destination) {
  const FormatInfo& f = info(destination);
  if (f.is_wide()) return kErrorOfDoubles;
  if (f.is_unorm()) return 0.02 / f.unit();
  return f.bits == 16 ? 1e-4 : 1e-6;
}

ImageDesc destination_desc(const BlurSpec& spec, const ImageDesc& src, PixelFormat format) {
  const Rect region = spec.roi.value_or(Rect{0, 0, src.width, src.height});
  const auto count = [](std::int64_t length, std::int64_t step) {
    return step < 1 ? 0 : static_cast<std::int32_t>((length + step - 1) / step);
  };
  return {count(region.width, spec.stride.x.step), count(region.height, spec.stride.y.step), format};
}

Status validate(const BlurSpec& spec, const ImageDesc& src, const ImageDesc& dst) {
  if (Status s = check_desc("the source", src); !s) return s;
  if (Status s = check_desc("the destination", dst); !s) return s;
  if (Status s = std::visit(CheckKernel{}, spec.kernel); !s) return s;
  const FormatInfo& from = info(src.format);
  const FormatInfo& to = info(dst.format);
  if (from.channels != to.channels) {
    return invalid("source " + std::string(from.name) + " and destination " + std::string(to.name) + " differ in their number of channels");
  }
  if (Status s = check_border(spec.border, from); !s) return s;
  if (spec.accuracy.max_error && !(*spec.accuracy.max_error >= 0.0)) {
    return invalid("the largest allowed error must be a number from 0 up, not " + number(*spec.accuracy.max_error));
  }
  if (Status s = check_colour(spec, from, to); !s) return s;
  if (spec.roi) {
    if (Status s = check_roi(*spec.roi, src); !s) return s;
  }
  if (Status s = check_stride(spec); !s) return s;
  const ImageDesc expected = destination_desc(spec, src, dst.format);
  if (expected != dst) {
    return invalid("the destination is " + std::to_string(dst.width) + "x" + std::to_string(dst.height) + ", the blur writes " +
                   std::to_string(expected.width) + "x" + std::to_string(expected.height));
  }
  return {};
}

}  // namespace mollify
