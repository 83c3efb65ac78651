#include "cases/axes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cases/random.h"

namespace mollify::cases {
namespace {

/// Small whole numbers keep the names of matrices short.
Matrix whole_number_matrix(PerAxis<std::int32_t> size, PerAxis<std::int32_t> anchor, Normalization normalization, std::int32_t least,
                           std::int32_t most) {
  Random random(static_cast<std::uint64_t>(size.x * 1000 + size.y));
  Matrix matrix{size.x, size.y, {}, anchor, normalization};
  for (std::int32_t i = 0; i < size.x * size.y; ++i) matrix.weights.push_back(random.between(least, most));
  return matrix;
}

/// The simplest first. `few` are enough to meet each way in which an algorithm treats kernels.
std::vector<KernelSpec> kernel_specs(bool few) {
  using enum Normalization;
  std::vector<KernelSpec> kernels;
  kernels.emplace_back(Box::of_radius(1, 1));
  for (const PerAxis<double> sigma : {PerAxis<double>{0.8, 0.8}, {2, 2}, {3, 3}, {8, 8}, {20, 20}, {1.5, 4}, {0, 3}, {12, 0.5}, {40, 25}}) {
    kernels.emplace_back(Gaussian{sigma, {}, {}});
  }
  kernels.emplace_back(Gaussian{{1, 1}, {{1, 1}}, {}});
  kernels.emplace_back(Gaussian{{3, 3}, {{9, 9}}, {}});
  kernels.emplace_back(Gaussian{{11, 1}, {{32, 3}}, {}});
  kernels.emplace_back(Gaussian{{12, 9}, {}, 4.0});
  kernels.emplace_back(Gaussian{{40, 36}, {{128, 122}}, {}});
  for (const PerAxis<double> radius :
       {PerAxis<double>{2, 0}, {4, 4}, {15, 32}, {64, 50}, {100, 128}, {0.25, 3.75}, {300, 1}, {2100.5, 5000}}) {
    kernels.emplace_back(Box::of_radius(radius.x, radius.y));
  }
  kernels.emplace_back(Box::of_size({4, 7}, {1, 6}));
  kernels.emplace_back(Box{{{0.5, 3}, {2.25, 0}}});
  kernels.emplace_back(Tent{{2.5, 4}});
  kernels.emplace_back(Taps{{{-0.25, 1.5, -0.25}, 1}, {{-0.1, 0.4, 0.8, 0.1, -0.2}, 4}, none});
  kernels.emplace_back(Taps{{{1, 0, -1}, 0}, {{1}, 0}, none});
  kernels.emplace_back(Matrix{1, 1, {0.5}, {0, 0}, none});
  kernels.emplace_back(Matrix{2, 2, {0, 0, 0, 0}, {0, 0}, none});
  kernels.emplace_back(Matrix{3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, {1, 1}, none});
  kernels.emplace_back(whole_number_matrix({2, 5}, {1, 0}, unit_sum, 0, 9));
  kernels.emplace_back(whole_number_matrix({9, 9}, {8, 2}, unit_sum, 0, 9));
  kernels.emplace_back(whole_number_matrix({33, 17}, {16, 8}, unit_sum, 0, 9));
  if (few) return kernels;

  for (const PerAxis<double> sigma : {PerAxis<double>{0, 0}, {0.3, 0.3}, {5, 5}}) {
    kernels.emplace_back(Gaussian{sigma, {}, {}});
  }
  kernels.emplace_back(Gaussian{{2, 2}, {{0, 0}}, {}});
  kernels.emplace_back(Gaussian{{2, 2}, {{2, 5}}, {}});
  kernels.emplace_back(Gaussian{{2, 2}, {}, 4.0});
  kernels.emplace_back(Gaussian{{1, 6}, {}, 3.0});
  kernels.emplace_back(Gaussian{{9, 14}, {{27, 42}}, {}});
  for (const PerAxis<double> radius : {PerAxis<double>{0, 0}, {9, 9}, {1.5, 1.5}}) {
    kernels.emplace_back(Box::of_radius(radius.x, radius.y));
  }
  kernels.emplace_back(Box::of_size({2, 2}, {0, 0}));
  for (const PerAxis<double> radius : {PerAxis<double>{1, 1}, {20, 20}}) kernels.emplace_back(Tent{radius});
  kernels.emplace_back(Taps{{{1, 4, 6, 4, 1}, 2}, {{1, 2, 1}, 1}, unit_sum});
  kernels.emplace_back(Taps{{{0.1, 0.2, 0.3, 0.4}, 3}, {{0.7, 0.3}, 0}, none});
  kernels.emplace_back(Matrix{3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, {1, 1}, unit_sum});
  kernels.emplace_back(whole_number_matrix({7, 7}, {3, 3}, none, -2, 2));
  kernels.emplace_back(whole_number_matrix({1, 128}, {0, 64}, unit_sum, 0, 9));
  return kernels;
}

/// A plain one first. Edges of vectors, tiles and 16-bit indices; primes; both kinds of line.
std::vector<PerAxis<std::int32_t>> image_sizes(bool few) {
  std::vector<PerAxis<std::int32_t>> sizes{{64, 64}, {1, 1},    {1, 200}, {300, 1},  {3, 5},     {16, 16}, {31, 9},
                                           {33, 32}, {127, 33}, {65, 7},  {257, 19}, {129, 130}, {37, 641}};
  if (!few) {
    sizes.insert(sizes.end(), {{65537, 2},
                               {2, 65537},
                               {1, 7},
                               {7, 1},
                               {2, 2},
                               {8, 8},
                               {15, 17},
                               {17, 3},
                               {32, 33},
                               {63, 5},
                               {100, 75},
                               {128, 20},
                               {255, 4},
                               {640, 31},
                               {1031, 67}});
  }
  return sizes;
}

std::int64_t gaussian_taps(double sigma) {
  return 2 * static_cast<std::int64_t>(std::ceil(8.0 * sigma)) + 1;
}

/// Taps of a kernel along each axis, as the reference counts them.
struct Extent {
  PerAxis<std::int64_t> operator()(const Gaussian& g) const {
    if (g.radius) return {2 * std::int64_t{g.radius->x} + 1, 2 * std::int64_t{g.radius->y} + 1};
    return {gaussian_taps(g.sigma.x), gaussian_taps(g.sigma.y)};
  }
  PerAxis<std::int64_t> operator()(const Box& b) const {
    return {static_cast<std::int64_t>(b.extent.x.before + b.extent.x.after) + 1,
            static_cast<std::int64_t>(b.extent.y.before + b.extent.y.after) + 1};
  }
  PerAxis<std::int64_t> operator()(const Tent& t) const {
    return {2 * static_cast<std::int64_t>(t.radius.x) + 1, 2 * static_cast<std::int64_t>(t.radius.y) + 1};
  }
  PerAxis<std::int64_t> operator()(const Taps& t) const {
    return {static_cast<std::int64_t>(t.x.weights.size()), static_cast<std::int64_t>(t.y.weights.size())};
  }
  PerAxis<std::int64_t> operator()(const Matrix& m) const { return {m.width, m.height}; }
};

/// So that the reference takes a fraction of a second.
bool affordable(const KernelSpec& kernel, PerAxis<std::int32_t> size) {
  constexpr std::int64_t kMostTaps = 60'000'000;
  const auto taps = std::visit(Extent{}, kernel);
  const std::int64_t pixels = std::int64_t{size.x} * size.y;
  if (std::holds_alternative<Matrix>(kernel)) return pixels * taps.x * taps.y <= kMostTaps;
  return pixels * (taps.x + taps.y) <= kMostTaps;
}

Rect inset_region(PerAxis<std::int32_t> size, std::int32_t inset) {
  const std::int32_t x = std::min(inset, (size.x - 1) / 2);
  const std::int32_t y = std::min(inset, (size.y - 1) / 2);
  return {x, y, size.x - 2 * x, size.y - 2 * y};
}

/// The destination that keeps what pixels are made of.
std::size_t like(const Axes& axes, PixelFormat source) {
  const FormatInfo& format = info(source);
  const auto same = [&](const ComponentType& d) { return d.component_class == format.component_class && d.bits == format.bits; };
  return static_cast<std::size_t>(std::ranges::find_if(axes.destinations, same) - axes.destinations.begin());
}

/// What to try on an axis: where it is open, enough values that an algorithm with a plan for any has one for these.
std::vector<std::size_t> candidates(const Axes& axes, const Choice& choice, Axis::Index axis) {
  if (choice[axis] != kOpen) return {choice[axis]};
  if (axis == Axis::kSource) {
    std::vector<std::size_t> few;
    using enum PixelFormat;
    for (const PixelFormat format : {rgba8, rgba16f, rgba32f, rgba32i, rgba64f}) {
      const auto found = std::ranges::find(axes.sources, format);
      if (found != axes.sources.end()) few.push_back(static_cast<std::size_t>(found - axes.sources.begin()));
    }
    return few;
  }
  if (axis == Axis::kMaxError) return {axes.max_errors.size() - 1, 0};
  std::vector<std::size_t> all(axes.counts()[axis]);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// The algorithms that take a stride on the device, of kernels that some algorithm is for each.
std::vector<std::string> algorithms_with_stride(const DeviceInfo& device) {
  std::vector<std::string> found;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    for (const KernelSpec& kernel :
         {KernelSpec(Box::of_radius(4, 4)), KernelSpec(Gaussian{{2, 2}, {}, {}}), KernelSpec(Gaussian{{20, 20}, {}, {}})}) {
      Case c;
      c.algorithm.id = algorithm.id;
      c.spec.kernel = kernel;
      c.spec.stride = {{2, 0}, {2, 0}};
      c.src = {64, 64, PixelFormat::rgba8};
      c.dst = destination_desc(c.spec, c.src, c.src.format);
      if (!plan_of(c, device)) continue;
      found.emplace_back(algorithm.id);
      break;
    }
  }
  return found;
}

bool is_wide(const ComponentType& type) {
  return info(*find_format(type.component_class, type.bits, 1)).is_wide();
}

/// Whether the formats do not go together, or not with the colours and the border.
bool formats_contradict(const Axes& axes, const Choice& choice) {
  const FormatInfo& source = info(axes.sources[choice[Axis::kSource]]);
  const ComponentType& destination = axes.destinations[choice[Axis::kDestination]];
  if (axes.formats == Formats::wide && !source.is_wide() && !is_wide(destination)) return true;
  const FormatInfo& written = info(*find_format(destination.component_class, destination.bits, source.channels));
  const Colour& colour = axes.colours[choice[Axis::kColour]];
  const bool is_plain = colour.alpha == AlphaMode::ignore && colour.transfer == TransferFunction::none;
  if (!is_plain && (source.is_integral() || written.is_integral())) return true;
  const auto& value = axes.border_values[choice[Axis::kBorderValue]];
  if (!is_plain && std::ranges::max(value) > 2.0) return true;
  return source.component_class == ComponentClass::uint && std::ranges::min(value) < 0.0;
}

bool contradicts(const Axes& axes, const Choice& choice) {
  if (formats_contradict(axes, choice)) return true;
  const FormatInfo& source = info(axes.sources[choice[Axis::kSource]]);
  if (source.channels % 2 != 0 && axes.colours[choice[Axis::kColour]].alpha != AlphaMode::ignore) return true;
  const Content content = axes.contents[choice[Axis::kContent]];
  if (content != Content::ordinary && !source.is_floating()) return true;
  // Curves bend outliers beyond what floats hold.
  if (content == Content::outliers && axes.colours[choice[Axis::kColour]].transfer != TransferFunction::none) return true;
  const auto& value = axes.border_values[choice[Axis::kBorderValue]];
  const bool in_range = std::all_of(value.begin(), value.end(), [](double v) { return v >= 0.0 && v <= 1.0; });
  if (source.is_unorm() && !in_range) return true;
  return !affordable(axes.kernels[choice[Axis::kKernel]], axes.sizes[choice[Axis::kSize]]);
}

}  // namespace

Axes axes(const DeviceInfo& device, Formats which) {
  Axes a;
  a.device = device;
  a.formats = which;
  // A driver that runs on the processor takes tens of milliseconds to compile a pipeline, and nearly each case has its own:
  // 0.1 to 0.3 s a case under the validation layer. Half of the kernels and sizes must do there, with all algorithms, options
  // and formats. Images beyond 16 bits take seconds: another test has one for each algorithm.
  a.is_slow = device.gpu.is_software;
  a.kernels = kernel_specs(a.is_slow);
  a.sizes = image_sizes(a.is_slow);
  for (const FormatInfo& format : formats()) {
    if (format.is_wide() == (which == Formats::wide)) a.sources.push_back(format.format);
  }
  a.destinations = {
      {ComponentClass::unorm, 8}, {ComponentClass::unorm, 16}, {ComponentClass::floating, 16}, {ComponentClass::floating, 32}};
  if (which == Formats::wide) {
    a.sources.insert(a.sources.end(), {PixelFormat::rgba8, PixelFormat::rg16f, PixelFormat::rgb32f});
    a.destinations.insert(a.destinations.begin(), {{ComponentClass::floating, 64}, {ComponentClass::sint, 32}, {ComponentClass::uint, 32}});
  }
  for (const BorderModeInfo& mode : border_modes()) a.border_modes.push_back(mode.mode);
  a.border_values = {{0, 0, 0, 0}, {0.25, 0.8, 0.1, 0.6}, {-0.5, 1.75, 0.3, 1}};
  if (which == Formats::wide) a.border_values.push_back({2e9, 123456.5, 7, 1});
  a.layouts = {Layout::packed, Layout::padded, Layout::in_place};
  a.insets = {{}, 0, 1, 13};
  a.with_stride = algorithms_with_stride(device);
  a.strides = {{}, {{2, 1}, {2, 1}}, {{3, 2}, {1, 0}}, {{2, 0}, {5, 4}}, {{16, 15}, {7, 13}}};
  a.colours = {{AlphaMode::ignore, TransferFunction::none},
               {AlphaMode::ignore, TransferFunction::srgb},
               {AlphaMode::premultiply, TransferFunction::none},
               {AlphaMode::premultiply, TransferFunction::srgb}};
  a.max_errors = {{}, 0.0, 0.01, 0.5};
  a.contents = {Content::ordinary, Content::outliers, Content::bad};
  return a;
}

Choice Axes::counts() const {
  return {kernels.size(),      sizes.size(),         sources.size(), destinations.size(), border_modes.size(),
          border_modes.size(), border_values.size(), layouts.size(), insets.size(),       strides.size(),
          colours.size(),      max_errors.size(),    contents.size()};
}

Case Axes::at(const AlgorithmChoice& algorithm, const Choice& choice, std::uint64_t seed) const {
  const auto size = sizes[choice[Axis::kSize]];
  const PixelFormat source = sources[choice[Axis::kSource]];
  const ComponentType destination = destinations[choice[Axis::kDestination]];
  Case c;
  c.algorithm = algorithm;
  c.spec.kernel = kernels[choice[Axis::kKernel]];
  c.spec.border.mode = {border_modes[choice[Axis::kBorderX]], border_modes[choice[Axis::kBorderY]]};
  c.spec.border.value = border_values[choice[Axis::kBorderValue]];
  c.spec.accuracy.max_error = max_errors[choice[Axis::kMaxError]];
  c.spec.alpha = colours[choice[Axis::kColour]].alpha;
  c.spec.transfer = colours[choice[Axis::kColour]].transfer;
  if (const auto inset = insets[choice[Axis::kInset]]) c.spec.roi = inset_region(size, *inset);
  c.spec.stride = strides[choice[Axis::kStride]];
  c.src = {size.x, size.y, source};
  c.dst = destination_desc(c.spec, c.src, find_format(destination.component_class, destination.bits, info(source).channels).value());
  c.content = contents[choice[Axis::kContent]];
  c.layout = layouts[choice[Axis::kLayout]];
  c.seed = seed;
  return c;
}

Result<Plan> plan_of(const Case& c, const DeviceInfo& device) {
  const PlanOptions options{c.algorithm.id.empty() ? std::nullopt : std::optional(c.algorithm),
                            c.layout == Layout::in_place ? Overlap::in_place : Overlap::none};
  return make_plan(c.spec, c.src, c.dst, device, options);
}

bool is_held_to(const DeviceInfo& device, const Plan& plan, Content content) {
  if (content == Content::ordinary) return true;
  return device.backend == Backend::cpu || plan.algorithm.id.starts_with("box.");
}

bool can_run(const Axes& axes, const AlgorithmChoice& algorithm, const Choice& choice) {
  constexpr double kMostSeconds = 0.3;
  // To ask for everything else would take long.
  const bool has_stride = choice[Axis::kStride] != kOpen && choice[Axis::kStride] != 0;
  const bool takes_stride =
      algorithm.id.empty() ? !axes.with_stride.empty() : std::ranges::find(axes.with_stride, algorithm.id) != axes.with_stride.end();
  if (has_stride && !takes_stride) return false;
  const auto runs = [&](const Choice& full) {
    if (contradicts(axes, full)) return false;
    // The CPU backend promises a plan for everything without a stride in usual formats, and a test holds it to that.
    const Content content = axes.contents[full[Axis::kContent]];
    const bool is_promised = axes.formats == Formats::usual && content == Content::ordinary && !has_stride;
    if (algorithm.id.empty() && axes.device.backend == Backend::cpu && is_promised) return true;
    const Result<Plan> plan = plan_of(axes.at(algorithm, full, 1), axes.device);
    return plan && is_held_to(axes.device, *plan, content) && !(axes.is_slow && plan->predicted_seconds > kMostSeconds);
  };
  Choice full = choice;
  for (std::size_t axis = 0; axis < Axis::kCount; ++axis) {
    if (full[axis] == kOpen) full[axis] = 0;
  }
  for (const std::size_t kernel : candidates(axes, choice, Axis::kKernel)) {
    for (const std::size_t source : candidates(axes, choice, Axis::kSource)) {
      for (const std::size_t max_error : candidates(axes, choice, Axis::kMaxError)) {
        full[Axis::kKernel] = kernel;
        full[Axis::kSource] = source;
        full[Axis::kMaxError] = max_error;
        if (choice[Axis::kDestination] == kOpen) full[Axis::kDestination] = like(axes, axes.sources[source]);
        if (runs(full)) return true;
      }
    }
  }
  return false;
}

}  // namespace mollify::cases
