#include "cases/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cases/random.h"
#include "cases/side_by_side.h"
#include "reference/pixel.h"
#include "reference/reference.h"

namespace mollify::cases {
namespace {

constexpr std::int64_t kWholeUpTo = 1 << 20;

double magnitude(const std::vector<double>& weights, Normalization normalization) {
  double sum = 0.0;
  double absolute = 0.0;
  for (const double weight : weights) {
    sum += weight;
    absolute += std::abs(weight);
  }
  return normalization == Normalization::unit_sum ? absolute / std::abs(sum) : absolute;
}

/// sum|weights|; kernels without negative weights are normalised.
struct KernelMagnitude {
  double operator()(const Gaussian&) const { return 1.0; }
  double operator()(const Box&) const { return 1.0; }
  double operator()(const Tent&) const { return 1.0; }
  double operator()(const Taps& t) const { return magnitude(t.x.weights, t.normalization) * magnitude(t.y.weights, t.normalization); }
  double operator()(const Matrix& m) const { return magnitude(m.weights, m.normalization); }
};

double full_scale_of(const BlurSpec& spec, const ConstImageView& src) {
  const FormatInfo& format = info(src.desc.format);
  if (format.is_unorm()) return 1.0;
  double largest = 0.0;
  if (spec.border.mode.x == BorderMode::constant || spec.border.mode.y == BorderMode::constant) {
    for (int c = 0; c < format.channels; ++c) largest = std::max(largest, std::abs(spec.border.value[c]));
  }
  for (std::int32_t y = 0; y < src.desc.height; ++y) {
    for (std::int32_t x = 0; x < src.desc.width; ++x) {
      const auto pixel = reference::load_pixel(format, src.row(y) + std::ptrdiff_t{x} * format.pixel_bytes());
      for (int c = 0; c < format.channels; ++c) largest = std::max(largest, std::abs(pixel[c]));
    }
  }
  return largest * std::visit(KernelMagnitude{}, spec.kernel);
}

/// Half the distance from `got`, a number of the format, to its neighbour on the side of `exact`: what rounding to it may have
/// taken. The step at `exact` can be half or twice as long.
double half_step(const FormatInfo& format, double got, double exact) {
  if (!format.is_floating()) return 0.5 / format.unit();
  const int mantissa_bits = format.bits == 16 ? 10 : format.bits == 32 ? 23 : 52;
  const int least_exponent = format.bits == 16 ? -14 : format.bits == 32 ? -126 : -1022;
  if (got == 0.0) return std::ldexp(0.5, least_exponent - mantissa_bits);
  const bool is_power_of_two = std::abs(got) == std::ldexp(1.0, std::ilogb(got));
  const bool is_towards_zero = got > 0.0 ? exact < got : exact > got;
  const int exponent = std::ilogb(got) - (is_power_of_two && is_towards_zero ? 1 : 0);
  return std::ldexp(0.5, std::max(exponent, least_exponent) - mantissa_bits);
}

/// An infinity stands for the first number that the format no longer has; of doubles, for the last that there is.
double beyond_largest(const FormatInfo& format) {
  return format.bits == 16 ? 0x1p16 : format.bits == 32 ? 0x1p128 : std::numeric_limits<double>::max();
}

double to_range(const FormatInfo& format, double exact) {
  if (format.is_unorm()) return std::clamp(exact, 0.0, 1.0);
  if (format.component_class == ComponentClass::sint) return std::clamp(exact, -0x1p31, 0x1p31 - 1.0);
  if (format.component_class == ComponentClass::uint) return std::clamp(exact, 0.0, 0x1p32 - 1.0);
  return std::clamp(exact, -beyond_largest(format), beyond_largest(format));
}

/// Collects the largest error of a result.
class Comparer {
 public:
  Comparer(const BlurSpec& spec, double full_scale, const ConstImageView& result)
      : spec_(spec), full_scale_(full_scale), result_(result), format_(info(result.desc.format)) {}

  void compare_pixel(std::int32_t x, std::int32_t y, const double* exact_pixel) {
    const int channels = format_.channels;
    const auto out = reference::load_pixel(format_, result_.row(y) + std::ptrdiff_t{x} * format_.pixel_bytes());
    const bool premultiply = spec_.alpha == AlphaMode::premultiply;
    for (int c = 0; c < channels; ++c) {
      const double exact = to_range(format_, exact_pixel[c]);
      const double got = std::isinf(out[c]) ? std::copysign(beyond_largest(format_), out[c]) : out[c];
      double error = std::max(0.0, std::abs(got - exact) - half_step(format_, got, exact));
      if (std::isnan(got)) error = std::numeric_limits<double>::infinity();
      if (premultiply && c < channels - 1) {
        error *= std::abs(to_range(format_, exact_pixel[channels - 1]));
        // Where negative weights let alpha pass through zero, colours grow beyond all bounds.
        if (std::abs(exact) > full_scale_) error *= full_scale_ / std::abs(exact);
      }
      if (error != 0.0) error /= full_scale_;
      if (!(error <= comparison_.max_error)) {
        comparison_.max_error = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
        comparison_.worst = "pixel (" + std::to_string(x) + ", " + std::to_string(y) + ") channel " + std::to_string(c) + " is " +
                            std::to_string(out[c] * format_.unit()) + ", exactly " + std::to_string(exact * format_.unit());
      }
    }
  }

  [[nodiscard]] const Comparison& comparison() const { return comparison_; }

 private:
  const BlurSpec& spec_;
  double full_scale_;
  ConstImageView result_;
  const FormatInfo& format_;
  Comparison comparison_;
};

/// Every pixel, a band for each thread, or a sample of them.
std::vector<Rect> rects(const ImageDesc& dst, int threads) {
  const std::int32_t width = dst.width;
  const std::int32_t height = dst.height;
  std::vector<Rect> result;
  if (std::int64_t{width} * height <= kWholeUpTo) {
    const std::int32_t band = (height + threads - 1) / threads;
    for (std::int32_t y = 0; y < height; y += band) result.push_back({0, y, width, std::min(band, height - y)});
    return result;
  }

  const auto add = [&](std::int32_t x, std::int32_t y, std::int32_t w, std::int32_t h) {
    w = std::min(w, width);
    h = std::min(h, height);
    result.push_back({std::clamp(x, 0, width - w), std::clamp(y, 0, height - h), w, h});
  };
  for (const std::int32_t x : {0, width}) {
    for (const std::int32_t y : {0, height}) add(x, y, 16, 16);
  }
  Random random(1);
  for (int i = 0; i < 16; ++i) {
    const std::int32_t x = random.between(0, width - 1);
    const std::int32_t y = random.between(0, height - 1);
    for (const std::int32_t edge : {0, height}) add(x, edge, 16, 4);
    for (const std::int32_t edge : {0, width}) add(edge, y, 4, 16);
  }
  for (int i = 0; i < 125; ++i) add(random.between(0, width - 1), random.between(0, height - 1), 4, 4);
  return result;
}

/// The region that a part of the destination is made of.
Rect source_of(const BlurSpec& spec, const Rect& part) {
  const Rect origin = spec.roi.value_or(Rect{});
  const std::int32_t across = spec.stride.x.step;
  const std::int32_t down = spec.stride.y.step;
  return {origin.x + part.x * across, origin.y + part.y * down, (part.width - 1) * across + 1, (part.height - 1) * down + 1};
}

}  // namespace

Result<ExactAnswer> ExactAnswer::create(const BlurSpec& spec, const ConstImageView& src, const ImageDesc& dst, int threads) {
  std::vector<Part> parts;
  for (const Rect& rect : rects(dst, std::max(threads, 1))) parts.push_back({rect, {}});
  std::vector<Status> statuses(parts.size());
  side_by_side(parts.size(), static_cast<std::size_t>(std::max(threads, 1)), [&](std::size_t i) {
    BlurSpec part = spec;
    part.roi = source_of(spec, parts[i].rect);
    Result<std::vector<double>> exact = reference_blur(part, src);
    if (exact) {
      parts[i].exact = std::move(*exact);
    } else {
      statuses[i] = exact.error();
    }
    return true;
  });
  for (const Status& status : statuses) {
    if (!status) return status.error();
  }
  return ExactAnswer(spec, full_scale_of(spec, src), std::move(parts));
}

Comparison ExactAnswer::compare(const ConstImageView& result, const PixelFilter& counts) const {
  Comparer comparer(spec_, full_scale_, result);
  const int channels = info(result.desc.format).channels;
  for (const auto& [rect, exact] : parts_) {
    const double* pixel = exact.data();
    for (std::int32_t y = rect.y; y < rect.y + rect.height; ++y) {
      for (std::int32_t x = rect.x; x < rect.x + rect.width; ++x, pixel += channels) {
        if (!counts || counts(x, y)) comparer.compare_pixel(x, y, pixel);
      }
    }
  }
  return comparer.comparison();
}

Result<Comparison> compare_with_reference(const BlurSpec& spec, const ConstImageView& src, const ConstImageView& dst) {
  const Result<ExactAnswer> exact = ExactAnswer::create(spec, src, dst.desc);
  if (!exact) return exact.error();
  return exact->compare(dst);
}

}  // namespace mollify::cases
