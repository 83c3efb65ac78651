// The planner, on devices that do not exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/registry.h"
#include "base/text.h"
#include "base/transfer.h"
#include "math/accuracy.h"
#include "model/tuning.h"
#include "mollify/build.h"
#include "support.h"

namespace mollify::test {
namespace {

const ImageDesc kImage{640, 480, PixelFormat::rgba8};

DeviceInfo fake_device(std::vector<std::string> kernels) {
  DeviceInfo device;
  device.name = "Imaginary 9000";
  device.threads = 8;
  device.kernels = std::move(kernels);
  return device;
}

/// Has whatever kernels the real one has.
DeviceInfo full_device() {
  return fake_device(cpu().info().kernels);
}

Result<Plan> plan_with(const BlurSpec& spec, const DeviceInfo& device, std::string_view algorithm = "") {
  PlanOptions options;
  if (!algorithm.empty()) options.algorithm = parse_algorithm(algorithm).value();
  return make_plan(spec, kImage, kImage, device, options);
}

/// A device and a request that an algorithm is made for.
struct Home {
  DeviceInfo device;
  BlurSpec spec;
  ImageDesc image;
};

[[maybe_unused]] Result<Plan> plan_at(const Home& home, std::string_view algorithm) {
  return make_plan(home.spec, home.image, home.image, home.device, {.algorithm = parse_algorithm(algorithm).value()});
}

[[maybe_unused]] std::vector<Home> homes_of(std::string_view algorithm) {
  std::vector<Home> homes;
  for (const DeviceInfo& device : {full_device(), fake_gpu(false), fake_matrix_gpu(), fake_cuda()}) {
    for (const KernelSpec& kernel :
         {KernelSpec(Box::of_radius(2, 2)), KernelSpec(Box::of_radius(1, 1)), KernelSpec(Gaussian{{20, 20}, {}, {}}),
          KernelSpec(Gaussian{{2, 2}, {}, {}}), KernelSpec(Gaussian{{3, 3}, {}, {}}), KernelSpec(Gaussian{{8, 8}, {}, {}}),
          KernelSpec(Gaussian{{20, 20}, {{60, 60}}, {}}), KernelSpec(Gaussian{{40, 40}, {{128, 128}}, {}}),
          KernelSpec(Matrix{3, 3, {1, 2, 1, 2, 3, 2, 1, 2, 1}, {1, 1}, Normalization::unit_sum})}) {
      BlurSpec spec = spec_of(kernel);
      spec.accuracy.max_error = 0.5;
      for (const PixelFormat format : {kImage.format, PixelFormat::rgba16f}) {
        const Home home{device, spec, {kImage.width, kImage.height, format}};
        if (plan_at(home, algorithm).ok()) homes.push_back(home);
      }
    }
  }
  return homes;
}

const Refusal* refusal_of(const Plan& plan, std::string_view algorithm) {
  for (const Refusal& refusal : plan.refusals) {
    if (refusal.algorithm == algorithm) return &refusal;
  }
  return nullptr;
}

TEST(Plan, EveryAlgorithmIsChosenOrRefusedWithAReason) {
  for (const KernelSpec& kernel : sample_kernels()) {
    const Result<Plan> plan = plan_with(spec_of(kernel), full_device());
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (const AlgorithmInfo& algorithm : algorithms()) {
      if (algorithm.id == plan->algorithm.id) continue;
      const Refusal* refusal = refusal_of(*plan, algorithm.id);
      ASSERT_NE(refusal, nullptr) << algorithm.id;
      EXPECT_FALSE(refusal->reason.empty()) << algorithm.id;
    }
    EXPECT_EQ(plan->refusals.size() + 1, algorithms().size());
  }
}

TEST(Plan, IsPure) {
  for (const KernelSpec& kernel : sample_kernels()) {
    EXPECT_EQ(*plan_with(spec_of(kernel), full_device()), *plan_with(spec_of(kernel), full_device()));
  }
}

TEST(Plan, OneThreadTakesTheTallestImageAsItIsWide) {
  const ImageDesc image{64, 2'000'000'000, PixelFormat::r32f};
  DeviceInfo device = full_device();
  device.threads = 1;
  const Result<Plan> plan =
      make_plan(spec_of(Box::of_radius(1, 1)), image, image, device, {.algorithm = parse_algorithm("box.any").value()});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->passes.front().tile.x, image.width);
}

TEST(Plan, ADeviceWithoutKernelsRefusesAndSaysWhyOfEach) {
  const Result<Plan> plan = plan_with(spec_of(Box::of_radius(2, 2)), fake_device({}));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  std::ptrdiff_t on_cpus = 0;
  for (const Algorithm* algorithm : registry()) {
    if (is_gpu_only(*algorithm)) continue;
    ++on_cpus;
    const auto names_it = [&](const std::string& reason) { return reason.starts_with(std::string(algorithm->info.id) + ": "); };
    EXPECT_EQ(std::ranges::count_if(plan.error().reasons, names_it), 1) << algorithm->info.id;
  }
  const std::ptrdiff_t on_gpus = std::ssize(registry()) - on_cpus;
  EXPECT_EQ(std::ssize(plan.error().reasons), on_cpus + (on_gpus > 0 ? 1 : 0));
  if (on_gpus > 0) {
    EXPECT_EQ(plan.error().reasons.back(), std::to_string(on_gpus) + " GPU-only algorithms");
  }
}

TEST(Plan, WhatTheBuildLeavesOutIsRefusedWithTheWayOut) {
  for (const RegistryRow& row : registry_rows()) {
    if (row.algorithm != nullptr) {
      EXPECT_EQ(row.algorithm->info.id, row.id);
      continue;
    }
    const Result<Plan> plan = plan_with(spec_of(Box::of_radius(2, 2)), full_device(), row.id);
    ASSERT_FALSE(plan.ok()) << row.id;
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_NE(plan.error().message.find(row.id), std::string::npos);
    EXPECT_NE(plan.error().message.find("-DMOLLIFY_"), std::string::npos) << plan.error().message;
  }
  EXPECT_EQ(algorithms().size() + absent_algorithms().size(), registry_rows().size());
#ifndef MOLLIFY_VULKAN
  EXPECT_FALSE(absent_algorithms().empty());
  const Result<Plan> plan = plan_with(spec_of(Box::of_radius(2, 2)), fake_gpu(false));
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().reasons.front().find("without a GPU backend"), std::string::npos) << plan.error().reasons.front();
#endif
}

/// Whatever the kernel is, and in the tool's text only by their number.
TEST(Plan, OnCpusAlgorithmsOfGpusAreCounted) {
  for (const KernelSpec& kernel : sample_kernels()) {
    const Plan plan = plan_with(spec_of(kernel), full_device()).value();
    const std::string text = explain(plan);
    std::ptrdiff_t counted = 0;
    for (const Algorithm* algorithm : registry()) {
      const Refusal* refusal = refusal_of(plan, algorithm->info.id);
      if (refusal == nullptr) continue;
      const bool is_listed = text.find("  not      " + refusal->algorithm + ": ") != std::string::npos;
      EXPECT_EQ(is_listed, !is_gpu_only(*algorithm)) << refusal->algorithm;
      EXPECT_EQ(refusal->is_gpu_only, is_gpu_only(*algorithm)) << refusal->algorithm;
      if (is_gpu_only(*algorithm)) ++counted;
    }
    const bool says_how_many = text.find("  not      " + std::to_string(counted) + " GPU-only algorithms\n") != std::string::npos;
    EXPECT_EQ(says_how_many, counted > 0) << text;
  }
#ifdef MOLLIFY_VULKAN  // else algorithms of GPUs have no home
  for (const Algorithm* algorithm : registry()) {
    const auto on_cpu = [](const Home& home) { return home.device.backend == Backend::cpu; };
    EXPECT_NE(std::ranges::any_of(homes_of(algorithm->info.id), on_cpu), is_gpu_only(*algorithm)) << algorithm->info.id;
  }
  // A GPU's plan lists all.
  const Plan plan = plan_with(spec_of(Box::of_radius(2, 2)), fake_gpu(false)).value();
  EXPECT_TRUE(std::ranges::none_of(plan.refusals, &Refusal::is_gpu_only));
#endif
}

TEST(Plan, AMissingKernelIsNamedInTheRefusal) {
  const BlurSpec spec = spec_of(Box::of_radius(9, 9));
  const Result<Plan> whole = plan_with(spec, full_device());
  ASSERT_TRUE(whole.ok());
  const std::string missing = whole->passes.front().kernel;
  std::vector<std::string> kernels = full_device().kernels;
  std::erase(kernels, missing);

  const Result<Plan> plan = plan_with(spec, fake_device(kernels));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_NE(plan->algorithm.id, whole->algorithm.id);
  const Refusal* refusal = refusal_of(*plan, whole->algorithm.id);
  ASSERT_NE(refusal, nullptr);
  EXPECT_NE(refusal->reason.find(missing), std::string::npos) << refusal->reason;
}

TEST(Plan, TheRightFamilyIsChosen) {
  EXPECT_EQ(plan_with(spec_of(Gaussian{{2, 2}, {}, {}}), full_device())->algorithm.id, "sep.fused");
  EXPECT_EQ(plan_with(spec_of(Box::of_radius(32, 32)), full_device())->algorithm.id, "box.any");
  EXPECT_EQ(plan_with(spec_of(Matrix{2, 2, {1, 2, 3, 5}, {0, 0}, Normalization::unit_sum}), full_device())->algorithm.id, "nxn.direct");
}

/// The rounding that is promised must leave room for the fit.
TEST(Plan, LargeGaussiansOfFloatsAreDecimated) {
  const ImageDesc desc{4096, 4096, PixelFormat::rgba32f};
  for (const double sigma : {10.0, 40.0, 100.0, 400.0}) {
    const Result<Plan> plan = make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, full_device());
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->algorithm.id, "gauss.decimate") << explain(*plan);
  }
}

/// Splines that alias least allow factors where all taps would be summed.
TEST(Plan, SmallGaussiansOfFloatsAreDecimated) {
  for (const auto& [format, sigma] : {std::pair{PixelFormat::rgba32f, 4.0}, {PixelFormat::r32f, 6.0}, {PixelFormat::rgba16f, 3.5}}) {
    const ImageDesc desc{4096, 4096, format};
    const Plan plan = make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), desc, desc, full_device()).value();
    EXPECT_EQ(plan.algorithm.id, "gauss.decimate") << explain(plan);
  }
}

/// Where sums round by next to nothing, nearly all of the allowed error is the fit's.
TEST(Plan, DecimationLeavesTheFitWhatRoundingDoesNotNeed) {
  struct Cells {
    double sigma;
    std::string_view factor, count;
  };
  for (const Cells& cells : {Cells{5, "3", "4x3"}, Cells{7, "5", "4"}, Cells{30, "12", "3"}, Cells{100, "40x28", "3"}}) {
    const ImageDesc desc{4096, 4096, PixelFormat::rgba8};
    const PlanOptions options{.algorithm = AlgorithmChoice{"gauss.decimate", {}}};
    const Plan plan = make_plan(spec_of(Gaussian{{cells.sigma, cells.sigma}, {}, {}}), desc, desc, full_device(), options).value();
    EXPECT_EQ(plan.algorithm.options.at("factor"), cells.factor) << "sigma " << cells.sigma;
    EXPECT_EQ(plan.algorithm.options.at("support"), cells.count) << "sigma " << cells.sigma;
    EXPECT_GT(plan.predicted_error, 0.85 * plan.allowed_error) << "sigma " << cells.sigma;
    EXPECT_LE(plan.predicted_error, plan.allowed_error) << "sigma " << cells.sigma;
  }
}

/// How far coarse samples lie apart follows from the jump at which the kernel ends. That at 3 sigma is too high for floats; of 8 bits
/// a window makes it, until coarse samples that follow it themselves are far enough apart.
TEST(Plan, LargeCutGaussiansAreDecimated) {
  struct Cut {
    double sigma;
    double truncate;
    std::string_view algorithm;
  };
  for (const Cut& cut : {Cut{10, 4, "gauss.pyramid"}, Cut{5, 4, "gauss.pyramid"}, Cut{5, 3, "sep.fused"}, Cut{8, 3, "gauss.cut"},
                         Cut{22, 3, "gauss.cut"}, Cut{32, 3, "gauss.cut"}, Cut{42.5, 3, "gauss.decimate"}, Cut{300, 3, "gauss.decimate"}}) {
    const ImageDesc desc{4096, 4096, PixelFormat::rgba8};
    const Result<Plan> plan = make_plan(spec_of(Gaussian{{cut.sigma, cut.sigma}, {}, cut.truncate}), desc, desc, full_device());
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->algorithm.id, cut.algorithm) << explain(*plan);
  }
  const ImageDesc floats{1000, 1000, PixelFormat::rgba32f};
  EXPECT_EQ(make_plan(spec_of(Gaussian{{22, 22}, {}, 3.0}), floats, floats, full_device())->algorithm.id, "sep.fused");
}

/// Of floats the tails beyond 4 sigma are taken from the endless Gaussian, where that is cheaper than all taps. They weigh too much at 3.
TEST(Plan, CutGaussiansOfFloatsAreEndlessOnesLessTheirTails) {
  for (const auto& [sigma, truncate, algorithm] :
       {std::tuple{5.0, 4.0, "sep.fused"}, {10.0, 4.0, "gauss.cut"}, {30.0, 4.0, "gauss.cut"}, {10.0, 3.0, "sep.fused"}}) {
    for (const PixelFormat format : {PixelFormat::r32f, PixelFormat::rgba32f}) {
      const ImageDesc desc{4096, 4096, format};
      const Result<Plan> plan = make_plan(spec_of(Gaussian{{sigma, sigma}, {}, truncate}), desc, desc, full_device());
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_EQ(plan->algorithm.id, algorithm) << explain(*plan);
    }
  }
}

/// Of wide ones, whose jumps are low, the tails down are made for several rows at once, unless the error is too small for that.
TEST(Plan, TailsDownAreMadeForSeveralRowsWhereTheJumpIsLow) {
  const ImageDesc desc{4096, 4096, PixelFormat::r32f};
  for (const auto& [sigma, max_error, rows] : {std::tuple{10.0, 2e-5, 1}, {40.0, 2e-5, 2}, {80.0, 2e-5, 3}, {80.0, 1e-5, 1}}) {
    BlurSpec spec = spec_of(Gaussian{{sigma, sigma}, {}, 4.0});
    spec.accuracy.max_error = max_error;
    const Result<Plan> plan = make_plan(spec, desc, desc, full_device(), {.algorithm = AlgorithmChoice{"gauss.cut", {}}});
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->passes.front().constants.at("down_factor_y"), rows) << explain(*plan);
  }
}

/// Each axis has its own cut: a window, its sums' 16 bits, and levels.
TEST(Plan, CutGaussiansSayWhyNot) {
  const ImageDesc desc{1000, 1000, PixelFormat::rgba8};
  const PlanOptions options{.algorithm = AlgorithmChoice{"gauss.cut", {}}};
  const auto plan = [&](const Gaussian& gaussian) { return make_plan(spec_of(gaussian), desc, desc, full_device(), options); };
  const Result<Plan> unequal = plan({{40, 10}, {{120, 30}}, {}});
  ASSERT_TRUE(unequal.ok()) << unequal.error().message;
  EXPECT_GT(unequal->passes[0].constants.at("levels_x"), unequal->passes[0].constants.at("levels_y"));
  for (const auto& [gaussian, why] : {std::pair{Gaussian{{10, 10}, {}, {}}, "endless"},
                                      {Gaussian{{43, 43}, {{129, 129}}, {}}, "windows of radius 129"},
                                      {Gaussian{{10, 10}, {{10, 10}}, {}}, "jump"},
                                      {Gaussian{{10, 2}, {{30, 6}}, {}}, "sigma 2 is not"}}) {
    const Result<Plan> refused = plan(gaussian);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
  }
}

/// Levels of three channels take the room of four, floats do not.
TEST(Plan, ThreeChannelsOf8BitsAreDecimatedAsFloats) {
  for (const auto& [format, algorithm] : {std::pair{PixelFormat::rgba8, "gauss.pyramid"}, {PixelFormat::rgb8, "gauss.decimate"}}) {
    const ImageDesc desc{4096, 4096, format};
    EXPECT_EQ(make_plan(spec_of(Gaussian{{10, 10}, {}, {}}), desc, desc, full_device())->algorithm.id, algorithm);
  }
}

TEST(Plan, GaussiansOf8BitsAreSummedIn16) {
  const ImageDesc desc{1000, 1000, PixelFormat::rgba8};
  for (std::int32_t radius = 0; radius <= 56; ++radius) {
    const BlurSpec spec = spec_of(Gaussian{{radius / 3.0 + 0.1, radius / 3.0 + 0.1}, {{radius, radius}}, {}});
    const PlanOptions options{.algorithm = AlgorithmChoice{"sep.fused", {}}};
    const Result<Plan> plan = make_plan(spec, desc, desc, full_device(), options);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->algorithm.options.at("accumulator"), "u16") << "radius " << radius;
  }
}

TEST(Plan, AMatrixOfRankOneRunsAsTwoPassesOfTaps) {
  Matrix matrix{5, 5, {}, {2, 2}, Normalization::unit_sum};
  for (const double y : {1, 4, 6, 4, 1}) {
    for (const double x : {1, 2, 0, -2, 3}) matrix.weights.push_back(x * y);
  }
  EXPECT_EQ(plan_with(spec_of(matrix), full_device())->algorithm.id, "sep.fused");
  matrix.weights[7] += 1e-3;
  EXPECT_EQ(plan_with(spec_of(matrix), full_device())->algorithm.id, "nxn.direct");
}

TEST(Plan, NeitherRegionNorThreadsChangeTheChoice) {
  // Results do not depend on them, so the algorithm may not either.
  for (const KernelSpec& kernel : {KernelSpec(Box::of_radius(1, 1)), KernelSpec(Box::of_radius(3, 2)), KernelSpec(Box::of_radius(2.5, 7)),
                                   KernelSpec(Box::of_radius(40, 40))}) {
    for (const PixelFormat format : {PixelFormat::r8, PixelFormat::rgba32f}) {
      const ImageDesc src{1000, 800, format};
      const AlgorithmChoice whole = make_plan(spec_of(kernel), src, src, full_device())->algorithm;
      for (const std::int32_t threads : {1, 2, 64}) {
        DeviceInfo device = full_device();
        device.threads = threads;
        for (const Rect& roi : {Rect{0, 0, 1000, 800}, Rect{500, 0, 1, 800}, Rect{0, 300, 1000, 1}, Rect{9, 9, 1, 1}}) {
          BlurSpec spec = spec_of(kernel);
          spec.roi = roi;
          EXPECT_EQ(make_plan(spec, src, destination_desc(spec, src, format), device)->algorithm, whole);
        }
      }
    }
  }
}

TEST(Plan, AForcedAlgorithmThatCannotIsAnErrorThatSaysWhy) {
  const Result<Plan> plan = plan_with(spec_of(Gaussian{{2, 2}, {}, {}}), full_device(), "box.any");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  EXPECT_NE(plan.error().message.find("box.any"), std::string::npos);
}

/// What a rounding error in proportion to a number in linear light becomes behind the sRGB curve.
TEST(Plan, RoundingGainIsNoLessThanWhatTheCurveDoes) {
  BlurSpec spec;
  spec.transfer = TransferFunction::srgb;
  const AxisTaps smooth{{0.25, 0.5, 0.25}, 1};
  const AxisTaps sharp{{-0.5, 2.0, -0.5}, 1};
  const double gain = rounding_gain(spec, PixelFormat::rgb16, {smooth, smooth});
  double worst = 0.0;
  constexpr double kError = 1e-6;
  for (int i = 0; i <= 65535; ++i) {
    const double v = i / 65535.0;
    worst = std::max(worst, (linear_to_srgb(v * (1.0 + kError)) - linear_to_srgb(v)) / kError);
  }
  EXPECT_GE(gain, worst * (1.0 - 1e-5));
  EXPECT_LE(gain, worst * 1.01) << "a bound that is too wide asks for more precision than is needed";
  EXPECT_EQ(rounding_gain(spec, PixelFormat::rgb32f, {smooth, smooth}), 12.92) << "sums of floats can cancel";
  EXPECT_EQ(rounding_gain(spec, PixelFormat::rgb16, {sharp, smooth}), 12.92);
  EXPECT_EQ(rounding_gain(spec, PixelFormat::rgb16, {smooth, sharp}), 12.92);
}

/// Bounds hold for pixels from 0 to 1; of a border it is known whether it is more.
TEST(Plan, BrightBordersCostAccuracyAndPixelsAreAssumedToBeDim) {
  const auto planned = [](AlphaMode alpha, TransferFunction transfer, double border, PixelFormat format = PixelFormat::rgba32f) {
    BlurSpec spec = spec_of(Gaussian{{3, 3}, PerAxis<std::int32_t>{9, 9}, {}}, BorderMode::constant);
    spec.alpha = alpha;
    spec.transfer = transfer;
    spec.border.value = {border, border, border, border};
    spec.accuracy.max_error = 0.5;
    const ImageDesc desc{64, 64, format};
    return make_plan(spec, desc, desc, cpu().info(), {parse_algorithm("sep.fused:accumulator=f32").value()}).value();
  };
  using enum AlphaMode;
  using enum TransferFunction;
  EXPECT_GT(planned(premultiply, none, 100).predicted_error, 50.0 * planned(premultiply, none, 1).predicted_error);
  EXPECT_GT(planned(ignore, srgb, 100).predicted_error, 200.0 * planned(ignore, srgb, 1).predicted_error);
  EXPECT_EQ(planned(ignore, none, 100).predicted_error, planned(ignore, none, 1).predicted_error);
  EXPECT_EQ(planned(ignore, none, 1).assumption, "");
  EXPECT_EQ(planned(premultiply, none, 1).assumption, "alpha of 0 to 1");
  EXPECT_EQ(planned(ignore, srgb, 1).assumption, "numbers of about 0 to 1");
  EXPECT_EQ(planned(premultiply, srgb, 1, PixelFormat::rgba8).assumption, "");
}

TEST(Plan, UnknownAlgorithmsAndOptionsAreRefusedByName) {
  const auto error = [](std::string_view algorithm) {
    const Result<Plan> plan = plan_with(spec_of(Box{}), full_device(), algorithm);
    return plan.ok() ? Error{} : plan.error();
  };
  EXPECT_EQ(error("box.none").code, ErrorCode::invalid_argument);
  EXPECT_NE(error("box.none").message.find("box.none"), std::string::npos);
  EXPECT_EQ(error("box.any:turbo=on").code, ErrorCode::invalid_argument);
  EXPECT_NE(error("box.any:turbo=on").message.find("turbo"), std::string::npos);
}

#ifdef MOLLIFY_VULKAN  // else algorithms of GPUs have no home

TEST(Plan, HalvesDoNotHoldBordersBeyondTheirRange) {
  const ImageDesc desc{64, 64, PixelFormat::r32f};
  BlurSpec spec = spec_of(Gaussian{{2, 2}, {}, {}}, BorderMode::constant);
  spec.accuracy.max_error = 0.01;
  for (const auto& [value, way, is_fine] : {std::tuple{6e4, "sep.inline:cache=f16", true}, std::tuple{-1e6, "sep.inline:cache=f16", false},
                                            std::tuple{1e6, "sep.inline:cache=f32", true}}) {
    spec.border.value[0] = value;
    const Result<Plan> plan = make_plan(spec, desc, desc, fake_gpu(false), {parse_algorithm(way).value()});
    EXPECT_EQ(plan.ok(), is_fine) << way << ", " << value;
  }
}

TEST(Plan, AForcedAlgorithmIsTaken) {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const std::vector<Home> homes = homes_of(algorithm.id);
    EXPECT_FALSE(homes.empty()) << algorithm.id;
    std::set<std::string> resolved;
    for (const Home& home : homes) {
      const Plan plan = plan_at(home, algorithm.id).value();
      EXPECT_EQ(plan.algorithm.id, algorithm.id);
      for (const auto& [option, value] : plan.algorithm.options) resolved.insert(option);
      // What was resolved can be asked for, and gives the same plan.
      EXPECT_EQ(plan_at(home, to_string(plan.algorithm)).value(), plan) << to_string(plan.algorithm);
    }
    for (const OptionInfo& option : algorithm.options) {
      const std::string asked = std::string(algorithm.id) + ":" + std::string(option.name) + "=" + std::string(option.values[0]);
      const auto is_resolved_at = [&](const Home& home) {  // one of a form that nothing chooses by default
        const Result<Plan> plan = plan_at(home, asked);
        return plan.ok() && plan->algorithm.options.at(std::string(option.name)) == option.values[0];
      };
      EXPECT_TRUE(resolved.contains(std::string(option.name)) || std::ranges::any_of(homes, is_resolved_at))
          << algorithm.id << ": " << option.name << " is not resolved";
    }
  }
}

TEST(Plan, UnknownValuesOfOptionsAreRefusedByName) {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    for (const OptionInfo& option : algorithm.options) {
      const std::string text = std::string(algorithm.id) + ":" + std::string(option.name) + "=never";
      std::string messages;
      for (const Home& home : homes_of(algorithm.id)) {
        const Result<Plan> plan = plan_at(home, text);
        ASSERT_FALSE(plan.ok()) << text;
        messages += plan.error().message + "\n";
      }
      EXPECT_NE(messages.find("never"), std::string::npos) << text << ": " << messages;
    }
  }
}

TEST(Plan, EveryOptionValueIsAcceptedSomewhere) {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const std::vector<Home> homes = homes_of(algorithm.id);
    for (const OptionInfo& option : algorithm.options) {
      for (const std::string_view value : option.values) {
        const std::string text = std::string(algorithm.id) + ":" + std::string(option.name) + "=" + std::string(value);
        std::string messages;
        const bool accepted = std::ranges::any_of(homes, [&](const Home& home) {
          const Result<Plan> plan = plan_at(home, text);
          messages += plan ? "taken as " + plan->algorithm.options.at(std::string(option.name)) + "\n" : plan.error().message + "\n";
          return plan && plan->algorithm.options.at(std::string(option.name)) == value;
        });
        EXPECT_TRUE(accepted) << text << ": " << messages;
      }
    }
  }
}

#endif

TEST(Plan, PromisesNoMoreErrorThanIsAllowed) {
  for (const FormatInfo& format : formats()) {
    const ImageDesc desc{64, 48, format.format};
    for (const KernelSpec& kernel : sample_kernels()) {
      BlurSpec spec = spec_of(kernel);
      const Result<Plan> plan = make_plan(spec, desc, desc, full_device());
      ASSERT_TRUE(plan.ok()) << format.name << ": " << plan.error().message;
      EXPECT_EQ(plan->allowed_error, default_max_error(format.format));
      EXPECT_LE(plan->predicted_error, plan->allowed_error) << format.name;

      spec.accuracy.max_error = 0.0;
      const Result<Plan> exact = make_plan(spec, desc, desc, full_device());
      ASSERT_TRUE(exact.ok()) << format.name << ": " << exact.error().message;
      EXPECT_EQ(exact->allowed_error, exact_max_error(format.format));
      EXPECT_LE(exact->predicted_error, exact->allowed_error) << format.name;
    }
  }
}

TEST(Plan, EverySigmaHasOne) {
  for (const double sigma : {1e3, 1e4, 1e6}) {
    const Result<Plan> plan = plan_with(spec_of(Gaussian{{sigma, sigma}, {}, {}}), full_device());
    ASSERT_TRUE(plan.ok()) << sigma;
  }
}

TEST(Plan, ALooserAccuracyNeedsNoMoreTaps) {
  BlurSpec spec = spec_of(Gaussian{{10, 10}, {}, {}});
  const auto taps = [&](double max_error) {
    spec.accuracy.max_error = max_error;
    const Result<Plan> plan = plan_with(spec, full_device(), "sep.fused");
    return plan->passes.front().taps.x.weights.size();
  };
  EXPECT_LT(taps(0.01), taps(1e-3));
  EXPECT_LT(taps(1e-3), taps(0.0));
}

TEST(Plan, ExplicitTapsAreKeptWhateverTheAccuracy) {
  BlurSpec spec = spec_of(Gaussian{{1, 2}, {{9, 5}}, {}});
  spec.accuracy.max_error = 0.1;
  const Result<Plan> plan = plan_with(spec, full_device(), "sep.fused");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->passes.front().taps.x.weights.size(), 19U);
  EXPECT_EQ(plan->passes.front().taps.y.weights.size(), 11U);
}

TEST(Plan, BytesAreThoseOfTheImages) {
  const ImageDesc src{100, 50, PixelFormat::rgb8};
  const ImageDesc dst{100, 50, PixelFormat::rgb32f};
  const Result<Plan> plan = make_plan(spec_of(Box::of_radius(1, 1)), src, dst, full_device());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->min_bytes, 100 * 50 * (3 + 12));
  EXPECT_GE(plan->moved_bytes, plan->min_bytes);
}

TEST(Plan, BoundsAreNeverWrittenSmaller) {
  EXPECT_EQ(bound(3.6e-5, 2), "3.6e-05");
  EXPECT_EQ(bound(3.6002e-5, 2), "3.7e-05");
  EXPECT_EQ(bound(3.69e-5, 2), "3.7e-05");
  EXPECT_EQ(bound(9.91e-5, 2), "0.0001");
  EXPECT_EQ(bound(0.251, 2), "0.26");
}

/// A halo as high as a good part of the image leaves few strips; one more than the threads, and all but one of them wait.
TEST(Plan, ThreadsShareStripsEvenly) {
  DeviceInfo device = full_device();
  const ImageDesc image{4096, 4096, PixelFormat::rgba8};
  for (const int threads : {2, 3, 8}) {
    device.threads = threads;
    for (const double sigma : {3.0, 20.0, 40.0}) {
      for (const std::string_view algorithm : {"sep.fused", "gauss.pyramid", "gauss.decimate"}) {
        const PlanOptions options{.algorithm = parse_algorithm(algorithm).value()};
        const Result<Plan> plan = make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), image, image, device, options);
        if (!plan) continue;
        const auto tiles_along = [](std::int32_t size, std::int32_t tile) { return (size + tile - 1) / tile; };
        const Pass& pass = plan->passes.back();
        const std::int32_t tiles = tiles_along(pass.size.x, pass.tile.x) * tiles_along(pass.size.y, pass.tile.y);
        const std::int32_t turns = tiles_along(tiles, threads);
        EXPECT_TRUE(turns == 1 || turns * threads < 1.2 * tiles)
            << algorithm << ", sigma " << sigma << ": " << tiles << " tiles for " << threads << " threads";
      }
    }
  }
}

TEST(Plan, InPlaceNeedsRoomForTheResult) {
  const PlanOptions in_place{{}, Overlap::in_place};
  const Result<Plan> apart = make_plan(spec_of(Box::of_radius(1, 1)), kImage, kImage, full_device());
  const Result<Plan> together = make_plan(spec_of(Box::of_radius(1, 1)), kImage, kImage, full_device(), in_place);
  ASSERT_TRUE(apart.ok() && together.ok());
  EXPECT_GE(together->scratch_bytes, apart->scratch_bytes + kImage.payload_bytes());
  BlurSpec part = spec_of(Box::of_radius(1, 1));
  part.roi = Rect{1, 2, 3, 4};
  const ImageDesc small{3, 4, kImage.format};
  const Result<Plan> part_apart = make_plan(part, kImage, small, full_device());
  const Result<Plan> part_together = make_plan(part, kImage, small, full_device(), in_place);
  ASSERT_TRUE(part_apart.ok() && part_together.ok());
  EXPECT_EQ(part_together->moved_bytes - part_apart->moved_bytes, 2 * small.payload_bytes()) << "not all of the source";
}

TEST(Plan, ExplainNamesWhatMatters) {
  const Result<Plan> plan = plan_with(spec_of(Box::of_radius(7, 7)), full_device());
  ASSERT_TRUE(plan.ok());
  const std::string text = explain(*plan);
  for (const std::string& wanted : {plan->algorithm.id, plan->passes.front().kernel, std::string("Imaginary 9000"),
                                    std::to_string(plan->min_bytes), std::to_string(plan->moved_bytes), std::string("error")}) {
    EXPECT_NE(text.find(wanted), std::string::npos) << "no \"" << wanted << "\" in\n" << text;
  }
  for (const Refusal& refusal : plan->refusals) {
    if (refusal.is_gpu_only) continue;
    EXPECT_NE(text.find(refusal.algorithm), std::string::npos);
    EXPECT_NE(text.find(refusal.reason), std::string::npos);
  }
}

TEST(AlgorithmTable, EveryRowIsComplete) {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    EXPECT_NE(algorithm.id.find('.'), std::string_view::npos) << algorithm.id;
    EXPECT_FALSE(algorithm.summary.empty()) << algorithm.id;
    EXPECT_FALSE(algorithm.source.empty()) << algorithm.id;
    for (const OptionInfo& option : algorithm.options) {
      EXPECT_FALSE(option.summary.empty()) << algorithm.id << ":" << option.name;
      EXPECT_FALSE(option.default_value.empty()) << algorithm.id << ":" << option.name;
    }
  }
}

/// Virtual machines name the last cache of a whole processor as theirs.
TEST(Plan, OfALargeLastCacheEachThreadCountsOnAPart) {
  constexpr std::int64_t kMegabyte = 1 << 20;
  DeviceInfo device = full_device();
  device.llc_bytes = 260 * kMegabyte;
  device.threads = 2;
  EXPECT_LT(cached_bytes(device), 64 * kMegabyte);
  EXPECT_GE(cached_bytes(device), 16 * kMegabyte);
  device.threads = 64;
  EXPECT_LT(cached_bytes(device), 140 * kMegabyte);
  EXPECT_GE(cached_bytes(device), 120 * kMegabyte);
}

}  // namespace
}  // namespace mollify::test
