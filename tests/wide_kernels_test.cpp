// Gaussians and tents that are wider than the image: right at every border, and at a cost that the image sets, not the kernel.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "math/axis_target.h"
#include "math/weights.h"
#include "support.h"
#include "wide_support.h"

namespace mollify::test {
namespace {

/// Of a kernel whose axes are alike on images of several shapes and at every border.
void expect_right(const KernelSpec& kernel, std::string_view algorithm, double max_error, PerAxis<std::int32_t> size) {
  for (const BorderMode mode : kBorderModes) {
    for (const PixelFormat format : {PixelFormat::r8, PixelFormat::rg32f}) {
      cases::Case c;
      c.spec = spec_of(kernel, mode);
      c.spec.border.value = {0.3, 0.9, 0.2, 1.0};
      c.spec.accuracy.max_error = max_error;
      c.src = {size.x, size.y, format};
      c.dst = c.src;
      if (!algorithm.empty()) c.algorithm = parse_algorithm(algorithm).value();
      c.seed = static_cast<std::uint64_t>(size.x + size.y) + static_cast<std::uint64_t>(mode);
      expect_pass(c);
    }
  }
}

void expect_right_on_lines_and_squares(const KernelSpec& kernel) {
  expect_right(kernel, "", 1e-4, {1, 300});
  expect_right(kernel, "", 1e-4, {300, 1});
  expect_right(kernel, "", 1e-4, {29, 31});
  expect_right(kernel, "gauss.decimate", 1e-3, {1, 300});
  expect_right(kernel, "gauss.decimate", 1e-3, {301, 1});
  expect_right(kernel, "gauss.decimate", 1e-3, {200, 170});
}

TEST(WideKernels, GaussiansAreRight) {
  expect_right_on_lines_and_squares(Gaussian{{1500, 1200}, {}, {}});
}

TEST(WideKernels, GaussiansOfAFewImagesAreRight) {
  expect_right_on_lines_and_squares(Gaussian{{240, 170}, {}, {}});
}

TEST(WideKernels, CutGaussiansAreRight) {
  expect_right_on_lines_and_squares(Gaussian{{600, 450}, {{1200, 1100}}, {}});
}

TEST(WideKernels, TentsAreRight) {
  expect_right_on_lines_and_squares(Tent{{1234.5, 2000.25}});
}

TEST(WideKernels, OfAnyWidthAreRight) {
  expect_wide_kernels_right(cpu(), 8);
}

/// What one axis sees at any of its places is what it sees of the kernel as it was asked for.
TEST(WideKernels, FoldedWeightsActAlike) {
  constexpr int kFactor = 2;
  constexpr std::int64_t kLength = 150;
  for (const AxisKernel& asked : {AxisKernel{AxisGaussian{900.0}}, AxisKernel{AxisGaussian{130.0}}, AxisKernel{AxisGaussian{700.0, 1500}},
                                  AxisKernel{AxisTent{1234.5}}, AxisKernel{AxisTent{5000.0}}}) {
    const AxisTarget exact(asked, kFactor);
    for (const BorderMode mode : kBorderModes) {
      const Fold fold = fold_of(mode, kLength);
      const AxisKernel kernel = folded_where_shorter({asked.shape, fold}, kFactor);
      ASSERT_NE(kernel.fold, Fold{});
      const AxisTarget folded(kernel, kFactor);
      double sum = 0.0;
      for (std::int64_t i = -2 * folded.radius(); i <= 2 * folded.radius(); ++i) sum += folded(i);
      EXPECT_NEAR(sum, 1.0, 1e-9);
      const auto seen = [&](const AxisTarget& target, std::int64_t radius, std::int64_t offset) {
        if (fold.period == 0) return target(offset);
        double all = 0.0;
        for (std::int64_t i = offset - (offset + radius) / fold.period * fold.period; i <= radius; i += fold.period) all += target(i);
        return all;
      };
      for (std::int64_t offset = 0; offset <= kLength; offset += 7) {
        EXPECT_NEAR(seen(folded, 2 * folded.radius(), offset), seen(exact, exact.radius(), offset), 1e-10) << offset;
      }
    }
  }
}

/// Weights that were made for another image, border or error are not taken.
TEST(WideKernels, TapsAreThoseOfTheImageAndTheBorder) {
  const double sigma = 3000.0;
  const std::vector<double> exact = axis_weights(Gaussian{{sigma, sigma}, {}, {}}, Axis::x, 0.0)->taps.weights;
  const AxisTaps whole{exact, static_cast<std::int32_t>(exact.size() / 2)};
  PlanOptions options;
  options.algorithm = AlgorithmChoice{"sep.fused", {{"accumulator", "f64"}}};
  for (const std::int32_t length : {40, 90}) {
    for (const BorderMode mode : kBorderModes) {
      const AxisTaps folded = fold(whole, mode, length);
      for (const double max_error : {1e-3, 1e-9}) {
        BlurSpec spec = spec_of(Gaussian{{1.0, sigma}, {}, {}}, mode);
        spec.accuracy.max_error = max_error;
        const ImageDesc desc{8, length, PixelFormat::rg32f};
        const Result<Plan> plan = make_plan(spec, desc, desc, cpu().info(), options);
        ASSERT_TRUE(plan) << plan.error().message;
        const std::vector<double>& planned = plan->passes.front().taps.y.weights;
        ASSERT_EQ(planned.size(), folded.weights.size());
        double difference = 0.0;
        for (std::size_t i = 0; i < planned.size(); ++i) difference += std::abs(planned[i] / total(planned) - folded.weights[i]);
        EXPECT_LE(difference, max_error + 1e-7);
      }
    }
  }
}

/// Also where both axes are wide: what a plan expects to take, beside one for a kernel that just fits into the image.
TEST(WideKernels, CostWhatTheImageCosts) {
  PlanOptions options;
  options.algorithm = AlgorithmChoice{"gauss.decimate", {}};
  const auto seconds = [&](const KernelSpec& kernel, BorderMode mode, const ImageDesc& desc) {
    const Result<Plan> plan = make_plan(spec_of(kernel, mode), desc, desc, cpu().info(), options);
    return plan ? plan->predicted_seconds : std::numeric_limits<double>::infinity();
  };
  for (const ImageDesc& desc : {ImageDesc{1, 20'000, PixelFormat::r8}, ImageDesc{600, 500, PixelFormat::rgba8}}) {
    const double length = desc.height;
    for (const BorderMode mode : kBorderModes) {
      const double usual = seconds(Gaussian{{length / 8.0, length / 8.0}, {}, {}}, mode, desc);
      EXPECT_LT(seconds(Gaussian{{10.0 * length, 10.0 * length}, {}, {}}, mode, desc), 8.0 * usual);
      EXPECT_LT(seconds(Tent{{9.0 * length, 9.0 * length}}, mode, desc), 8.0 * usual);
    }
  }
}

}  // namespace
}  // namespace mollify::test
