#include "cases/axes.h"

#include <algorithm>
#include <cmath>

#include "cases/random.h"

namespace mollify::cases {
namespace {

std::vector<AlgorithmChoice> algorithm_choices() {
  std::vector<AlgorithmChoice> choices{{}};
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const std::string id(algorithm.id);
    choices.push_back({id, {}});
    for (const OptionInfo& option : algorithm.options) {
      std::vector<std::string> values(option.values.begin(), option.values.end());
      if (values.empty()) values = {"1", "3"};
      for (const std::string& value : values) {
        if (value != option.default_value) choices.push_back({id, {{std::string(option.name), value}}});
      }
    }
  }
  return choices;
}

/// Small whole numbers keep the names of matrices short.
Matrix whole_number_matrix(PerAxis<std::int32_t> size, PerAxis<std::int32_t> anchor, Normalization normalization,
                           std::int32_t least, std::int32_t most) {
  Random random(static_cast<std::uint64_t>(size.x * 1000 + size.y));
  Matrix matrix{size.x, size.y, {}, anchor, normalization};
  for (std::int32_t i = 0; i < size.x * size.y; ++i) matrix.weights.push_back(random.between(least, most));
  return matrix;
}

std::vector<KernelSpec> kernel_specs() {
  using enum Normalization;
  std::vector<KernelSpec> kernels;
  for (const PerAxis<double> sigma :
       {PerAxis<double>{0, 0}, {0.3, 0.3}, {0.8, 0.8}, {1.5, 4}, {0, 3}, {5, 5}, {12, 0.5}, {40, 25}}) {
    kernels.emplace_back(Gaussian{sigma, {}, {}});
  }
  kernels.emplace_back(Gaussian{{2, 2}, {{0, 0}}, {}});
  kernels.emplace_back(Gaussian{{1, 1}, {{1, 1}}, {}});
  kernels.emplace_back(Gaussian{{2, 2}, {{2, 5}}, {}});
  kernels.emplace_back(Gaussian{{3, 3}, {{9, 9}}, {}});
  kernels.emplace_back(Gaussian{{11, 1}, {{32, 3}}, {}});
  kernels.emplace_back(Gaussian{{2, 2}, {}, 4.0});
  kernels.emplace_back(Gaussian{{1, 6}, {}, 3.0});

  for (const PerAxis<double> radius : {PerAxis<double>{0, 0},
                                       {1, 1},
                                       {2, 0},
                                       {4, 4},
                                       {9, 9},
                                       {15, 32},
                                       {1.5, 1.5},
                                       {0.25, 3.75},
                                       {100, 128},
                                       {300, 1},
                                       {2100.5, 5000}}) {
    kernels.emplace_back(Box::of_radius(radius.x, radius.y));
  }
  kernels.emplace_back(Box::of_size({2, 2}, {0, 0}));
  kernels.emplace_back(Box::of_size({4, 7}, {1, 6}));
  kernels.emplace_back(Box{{{0.5, 3}, {2.25, 0}}});

  for (const PerAxis<double> radius : {PerAxis<double>{1, 1}, {2.5, 4}, {20, 20}}) kernels.emplace_back(Tent{radius});

  kernels.emplace_back(Taps{{{1, 4, 6, 4, 1}, 2}, {{1, 2, 1}, 1}, unit_sum});
  kernels.emplace_back(Taps{{{-0.25, 1.5, -0.25}, 1}, {{-0.1, 0.4, 0.8, 0.1, -0.2}, 4}, none});
  kernels.emplace_back(Taps{{{1, 0, -1}, 0}, {{1}, 0}, none});
  kernels.emplace_back(Taps{{{0.1, 0.2, 0.3, 0.4}, 3}, {{0.7, 0.3}, 0}, none});

  kernels.emplace_back(Matrix{1, 1, {0.5}, {0, 0}, none});
  kernels.emplace_back(Matrix{3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, {1, 1}, unit_sum});
  kernels.emplace_back(Matrix{3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, {1, 1}, none});
  kernels.emplace_back(whole_number_matrix({2, 5}, {1, 0}, unit_sum, 0, 9));
  kernels.emplace_back(whole_number_matrix({7, 7}, {3, 3}, none, -2, 2));
  kernels.emplace_back(whole_number_matrix({9, 9}, {8, 2}, unit_sum, 0, 9));
  kernels.emplace_back(whole_number_matrix({33, 17}, {16, 8}, unit_sum, 0, 9));
  kernels.emplace_back(whole_number_matrix({1, 128}, {0, 64}, unit_sum, 0, 9));
  return kernels;
}

/// Edges of vectors, tiles and 16-bit indices; primes; both kinds of line.
std::vector<PerAxis<std::int32_t>> image_sizes() {
  return {{1, 1},   {1, 7},    {7, 1},    {1, 200},  {300, 1},   {2, 2},     {3, 5},
          {8, 8},   {15, 17},  {16, 16},  {17, 3},   {31, 9},    {32, 33},   {33, 32},
          {63, 5},  {64, 64},  {65, 7},   {100, 75}, {127, 33},  {128, 20},  {129, 130},
          {255, 4}, {257, 19}, {640, 31}, {37, 641}, {1031, 67}, {65537, 2}, {2, 65537}};
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

}  // namespace

const Axes& axes() {
  static const Axes kAxes = [] {
    Axes a;
    a.algorithms = algorithm_choices();
    a.kernels = kernel_specs();
    a.sizes = image_sizes();
    for (const FormatInfo& format : formats()) a.sources.push_back(format.format);
    a.destinations = {{ComponentClass::unorm, 8},
                      {ComponentClass::unorm, 16},
                      {ComponentClass::floating, 16},
                      {ComponentClass::floating, 32}};
    for (const BorderModeInfo& mode : border_modes()) a.border_modes.push_back(mode.mode);
    a.border_values = {{0, 0, 0, 0}, {0.25, 0.8, 0.1, 0.6}, {-0.5, 1.75, 0.3, 1}};
    a.layouts = {Layout::packed, Layout::padded, Layout::in_place};
    a.insets = {{}, 0, 1, 13};
    a.colours = {{AlphaMode::ignore, TransferFunction::none},
                 {AlphaMode::ignore, TransferFunction::srgb},
                 {AlphaMode::premultiply, TransferFunction::none},
                 {AlphaMode::premultiply, TransferFunction::srgb}};
    a.max_errors = {{}, 0.0, 0.01, 0.5};
    return a;
  }();
  return kAxes;
}

Choice Axes::counts() const {
  return {algorithms.size(),   kernels.size(),      sizes.size(),        sources.size(),
          destinations.size(), border_modes.size(), border_modes.size(), border_values.size(),
          layouts.size(),      insets.size(),       colours.size(),      max_errors.size()};
}

Case Axes::at(const Choice& choice, std::uint64_t seed) const {
  const auto size = sizes[choice[kSize]];
  const PixelFormat source = sources[choice[kSource]];
  const ComponentType destination = destinations[choice[kDestination]];
  Case c;
  c.algorithm = algorithms[choice[kAlgorithm]];
  c.spec.kernel = kernels[choice[kKernel]];
  c.spec.border.mode = {border_modes[choice[kBorderX]], border_modes[choice[kBorderY]]};
  c.spec.border.value = border_values[choice[kBorderValue]];
  c.spec.accuracy.max_error = max_errors[choice[kMaxError]];
  c.spec.alpha = colours[choice[kColour]].alpha;
  c.spec.transfer = colours[choice[kColour]].transfer;
  if (const auto inset = insets[choice[kInset]]) c.spec.roi = inset_region(size, *inset);
  c.src = {size.x, size.y, source};
  c.dst = destination_desc(c.spec, c.src,
                           find_format(destination.component_class, destination.bits, info(source).channels).value());
  c.layout = layouts[choice[kLayout]];
  c.seed = seed;
  return c;
}

bool has_plan(const Case& c) {
  const PlanOptions options{c.algorithm.id.empty() ? std::nullopt : std::optional(c.algorithm),
                            c.layout == Layout::in_place ? Overlap::in_place : Overlap::none};
  const auto devices = list_devices();
  return std::any_of(devices.begin(), devices.end(), [&](const DeviceEntry& device) {
    return make_plan(c.spec, c.src, c.dst, device.info, options).ok();
  });
}

bool compatible(const Axes& axes, Axis a, std::size_t index_a, Axis b, std::size_t index_b) {
  if (a > b) return compatible(axes, b, index_b, a, index_a);
  if (a == kSource && b == kColour) {
    const bool has_alpha = info(axes.sources[index_a]).channels % 2 == 0;
    return has_alpha || axes.colours[index_b].alpha == AlphaMode::ignore;
  }
  if (a == kSource && b == kBorderValue) {
    const auto& value = axes.border_values[index_b];
    const bool in_range = std::all_of(value.begin(), value.end(), [](double v) { return v >= 0.0 && v <= 1.0; });
    return in_range || !info(axes.sources[index_a]).is_unorm();
  }
  if (a == kKernel && b == kSize && !affordable(axes.kernels[index_a], axes.sizes[index_b])) return false;
  if (a != kAlgorithm || index_a == 0) return true;

  // An algorithm and a value go together where a plain case with both has a plan for some kernel, with the default
  // accuracy or, for approximations, with the loosest.
  const auto plans_with = [&](std::size_t kernel) {
    Choice choice{};
    choice[kAlgorithm] = index_a;
    choice[kKernel] = kernel;
    choice[kSize] = 15;
    choice[kSource] = static_cast<std::size_t>(PixelFormat::rgba8);
    choice[b] = index_b;
    if (has_plan(axes.at(choice, 1))) return true;
    if (b != kMaxError) choice[kMaxError] = axes.max_errors.size() - 1;
    return has_plan(axes.at(choice, 1));
  };
  if (b == kKernel) return plans_with(index_b);
  for (std::size_t kernel = 0; kernel < axes.kernels.size(); ++kernel) {
    if (plans_with(kernel)) return true;
  }
  return false;
}

}  // namespace mollify::cases
