#include "fuzz/random_case.h"

#include <algorithm>
#include <cmath>

namespace mollify::cases {
namespace {

/// Small numbers most of the time, now and then up to `most`.
std::int32_t skewed(Random& random, std::int32_t most) {
  const double exponent = random.uniform(0.0, std::log2(most + 1.0));
  return std::min(most, static_cast<std::int32_t>(std::exp2(exponent)) - (random.one_in(2) ? 1 : 0));
}

/// On both axes.
enum class Lengths : std::uint8_t { whole, any };

double length(Random& random, std::int32_t most, Lengths lengths = Lengths::any) {
  const double whole = skewed(random, most);
  return lengths == Lengths::whole || random.one_in(2) ? whole : whole + random.uniform();
}

std::vector<double> weights(Random& random, std::size_t count, Normalization normalization) {
  const double low = normalization == Normalization::unit_sum ? 0.0 : -1.0;
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(random.one_in(6) ? 0.0 : random.uniform(low, 1.0));
  result[random.below(count)] = random.uniform(0.1, 1.0);  // never all zero
  return result;
}

AxisTaps axis_taps(Random& random, Normalization normalization) {
  const std::int32_t count = 1 + skewed(random, 40);
  return {weights(random, static_cast<std::size_t>(count), normalization), random.between(0, count - 1)};
}

KernelSpec random_kernel(Random& random) {
  const Normalization normalization = random.one_in(2) ? Normalization::unit_sum : Normalization::none;
  const Lengths lengths = random.one_in(2) ? Lengths::whole : Lengths::any;
  switch (random.below(6)) {
    case 0: {
      Gaussian g{{length(random, 30) * 0.7, length(random, 30) * 0.7}, {}, {}};
      if (random.one_in(3)) g.radius = {skewed(random, 60), skewed(random, 60)};
      if (!g.radius && random.one_in(3)) g.truncate = random.uniform(0.0, 6.0);
      return g;
    }
    case 1:
      return Box::of_radius(length(random, 200, lengths), length(random, 200, lengths));
    case 2: {
      const auto side = [&] { return length(random, 50, lengths); };
      return Box{{{side(), side()}, {side(), side()}}};
    }
    case 3:
      return Tent{{length(random, 40), length(random, 40)}};
    case 4:
      return Taps{axis_taps(random, normalization), axis_taps(random, normalization), normalization};
    default: {
      const std::int32_t width = 1 + skewed(random, 11);
      const std::int32_t height = 1 + skewed(random, 11);
      return Matrix{width,
                    height,
                    weights(random, static_cast<std::size_t>(width * height), normalization),
                    {random.between(0, width - 1), random.between(0, height - 1)},
                    normalization};
    }
  }
}

Rect random_region(Random& random, const ImageDesc& src) {
  const std::int32_t x = random.between(0, src.width - 1);
  const std::int32_t y = random.between(0, src.height - 1);
  return {x, y, random.between(1, src.width - x), random.between(1, src.height - y)};
}

}  // namespace

PerAxis<Stride> random_stride(Random& random, const KernelSpec& kernel) {
  const bool has_formula = !std::holds_alternative<Taps>(kernel) && !std::holds_alternative<Matrix>(kernel);
  const auto axis = [&] {
    const std::int32_t step = random.one_in(2) ? random.between(1, 3) : random.between(2, Stride::kMaxStep);
    const std::int32_t phase = random.one_in(2) ? step - 1 : random.between(0, 2 * step - 1);
    return Stride{step, has_formula ? phase : phase / 2 * 2};
  };
  return {axis(), axis()};
}

/// Seldom one that only CPUs take.
const FormatInfo& random_format(Random& random) {
  while (true) {
    const FormatInfo& format = random.pick(formats());
    if (!format.is_wide() || random.one_in(4)) return format;
  }
}

Case random_case(Random& random) {
  const FormatInfo& source = random_format(random);
  const bool only_blurs = random.one_in(2);  // the fastest kernels do nothing else
  const FormatInfo& kind = only_blurs ? source : random_format(random);
  const bool has_colours = !only_blurs && !source.is_integral() && !kind.is_integral();
  Case c;
  c.src = {1 + skewed(random, 300), 1 + skewed(random, 150), source.format};
  c.spec.kernel = random_kernel(random);
  c.spec.border.mode = {random.pick(border_modes()).mode, random.pick(border_modes()).mode};
  for (double& value : c.spec.border.value) {
    value = source.is_unorm() ? random.uniform() : random.uniform(source.component_class == ComponentClass::uint ? 0.0 : -1.0, 2.0);
  }
  if (random.one_in(3)) c.spec.accuracy.max_error = random.one_in(2) ? 0.0 : std::exp2(random.uniform(-16.0, -5.0));
  if (has_colours && source.channels % 2 == 0 && random.one_in(3)) c.spec.alpha = AlphaMode::premultiply;
  if (has_colours && random.one_in(4)) c.spec.transfer = TransferFunction::srgb;
  if (random.one_in(3)) c.spec.roi = random_region(random, c.src);
  // Of matrices no algorithm takes a stride, unless they are separable.
  if (!std::holds_alternative<Matrix>(c.spec.kernel) && random.one_in(4)) c.spec.stride = random_stride(random, c.spec.kernel);
  c.dst = destination_desc(c.spec, c.src, *find_format(kind.component_class, kind.bits, source.channels));
  if (source.is_floating() && random.one_in(3)) c.content = random.pick(std::array{Content::outliers, Content::bad});
  if (c.content == Content::outliers && c.spec.transfer != TransferFunction::none) c.content = Content::bad;  // curves bend them too far
  c.layout = random.pick(std::array{Layout::packed, Layout::padded, Layout::in_place});
  c.seed = 1 + random.below(1'000'000);
  return c;
}

}  // namespace mollify::cases
