// Planning products of cooperative matrices in sep.fused for GPUs that do not exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>

#include "base/half.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

/// Which arithmetic sep.fused takes for a Gaussian of this sigma and radius, or why it refuses.
std::string math_of(const DeviceInfo& device, double sigma, std::int32_t radius, PixelFormat format = PixelFormat::rgba8,
                    std::optional<double> max_error = {}, std::string_view algorithm = "sep.fused") {
  BlurSpec spec = spec_of(Gaussian{{sigma, sigma}, PerAxis<std::int32_t>{radius, radius}, {}});
  spec.accuracy.max_error = max_error;
  const ImageDesc desc{500, 300, format};
  const Result<Plan> plan = make_plan(spec, desc, desc, device, with(algorithm));
  if (!plan) return message_of(plan);
  EXPECT_LE(plan->predicted_error, max_error.value_or(default_max_error(format)));
  const Options& used = plan->algorithm.options;
  return used.at("math") + (used.contains("split") ? " of " + used.at("split") : "");
}

TEST(VulkanPlan, MatricesMultiplyWhereTheDeviceHasThemAndHalvesAreExactEnough) {
  DeviceInfo device = fake_matrix_gpu();
  device.gpu.small_matrices = false;
  device.gpu.matrix_operations = false;
  EXPECT_EQ(math_of(device, 3.0, 9), "f32");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, {}, "sep.fused:math=coopmat"),
            "sep.fused cannot do this: the device has no cooperative matrices of f16 summed in f32");
  device.gpu.matrix_operations = true;
  EXPECT_EQ(math_of(device, 3.0, 9), "coopmat of 1");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::r8), "coopmat of 1");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, 1e-5), "coopmat of 2");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba16f), "coopmat of 2");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba16f, 1e-2), "coopmat of 1");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba32f, 1e-2), "f32");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, {}, "sep.fused:pixels_per_thread=2"), "f32") << "an option of f32 alone";
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, {}, "sep.fused:split=2"), "coopmat of 2");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba16f, {}, "sep.fused:math=coopmat,split=1"),
            "sep.fused cannot do this: its error of up to 0.00079 is above the allowed 0.0001");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, {}, "sep.fused:math=f32,split=1"),
            "sep.fused cannot do this: option split is not for rows in shared memory");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, {}, "sep.fused:math=coopmat,pixels_per_thread=2"),
            "sep.fused cannot do this: option pixels_per_thread is not for matrices");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, {}, "sep.fused:threads=96"), "f32") << "96 are no subgroup a channel";
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, {}, "sep.fused:math=coopmat,threads=96"),
            "sep.fused cannot do this: a group has as many subgroups for each channel: threads are a multiple of 128");
  device.gpu.small_matrices = true;
  EXPECT_EQ(math_of(device, 3.0, 9), "coopmat_direct of 1");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba16f), "coopmat_direct of 2");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::r8), "coopmat of 1");
  EXPECT_EQ(math_of(device, 3.0, 9, PixelFormat::rgba8, {}, "sep.fused:between=registers"), "coopmat of 1");
}

TEST(VulkanPlan, SumsOfMatricesStayInRegistersWhereTheDeviceMakesThemOperands) {
  DeviceInfo device = fake_matrix_gpu();
  const auto planned = [&](std::string_view algorithm) {
    const ImageDesc desc{500, 300, PixelFormat::rgba8};
    return make_plan(spec_of(Gaussian{{3.0, 3.0}, PerAxis<std::int32_t>{9, 9}, {}}), desc, desc, device, with(algorithm));
  };
  device.gpu.small_matrices = false;
  const auto between = [&](std::string_view algorithm) {
    const Plan plan = must(planned(algorithm));
    const bool in_registers = plan.passes.at(0).constants.at("between") == 1;
    return plan.algorithm.options.at("between") + (in_registers ? ", 1" : ", 0");
  };
  device.gpu.matrix_conversions = true;
  EXPECT_EQ(between("sep.fused"), "registers, 1");
  EXPECT_EQ(between("sep.fused:between=memory"), "memory, 0");
  device.gpu.matrix_conversions = false;
  EXPECT_EQ(between("sep.fused"), "memory, 0");
  EXPECT_EQ(message_of(planned("sep.fused:between=registers")),
            "sep.fused cannot do this: the device does not convert sums of cooperative matrices to operands");
}

TEST(VulkanPlan, GroupsOfMatricesSuitTheFormatAndTheTaps) {
  const DeviceInfo device = fake_h200();
  const auto planned = [&](PixelFormat format, std::int32_t radius, std::int32_t side) {
    const ImageDesc desc{side, side, format};
    const BlurSpec spec = spec_of(Gaussian{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}});
    return must(make_plan(spec, desc, desc, device, with("sep.fused:math=coopmat")));
  };
  struct Usual {
    PixelFormat format;
    std::int32_t radius;
    std::int32_t side;
    const char* blocks_and_threads;
  };
  using enum PixelFormat;
  for (const Usual& usual : {Usual{rgba8, 4, 4096, "4, 128"},
                             {rgba8, 20, 4096, "2, 256"},
                             {rgba8, 4, 512, "2, 256"},
                             {rgba16f, 9, 4096, "2, 256"},
                             {rgba16f, 15, 4096, "4, 128"},
                             {rgba16f, 30, 4096, "2, 256"},
                             {rgba16f, 15, 512, "1, 256"},
                             {rgb8, 4, 4096, "4, 96"},
                             {rgb8, 9, 4096, "2, 96"},
                             {rgb16f, 4, 4096, "2, 192"},
                             {rg8, 9, 4096, "1, 128"},
                             {rg8, 20, 4096, "2, 128"},
                             {r8, 20, 4096, "1, 128"},
                             {rg16f, 9, 4096, "2, 128"},
                             {r16f, 20, 4096, "1, 128"}}) {
    const Options options = planned(usual.format, usual.radius, usual.side).algorithm.options;
    EXPECT_EQ(options.at("blocks") + ", " + options.at("threads"), usual.blocks_and_threads)
        << info(usual.format).name << " " << usual.radius << " " << usual.side;
  }
  // Halves of both axes are as near as they can be times a factor, which results are multiplied by.
  for (const std::int32_t radius : {2, 4, 9, 15}) {
    const Plan plan = planned(rgba16f, radius, 4096);
    const Pass& pass = plan.passes.at(0);
    double sum = pass.parameters.at("gain");
    for (const auto* weights : {&pass.taps.x.weights, &pass.taps.y.weights}) {
      double of_axis = 0.0;
      for (const double w : *weights) of_axis += w;
      sum *= of_axis;
    }
    EXPECT_NEAR(sum, 1.0, 1e-4) << radius;
  }
}

TEST(VulkanPlan, MatricesHoldGaussiansWithinTheErrorAskedFor) {
  const auto planned = [](const Gaussian& gaussian, PixelFormat format) {
    const ImageDesc desc{1920, 1080, format};
    return make_plan(spec_of(gaussian), desc, desc, fake_matrix_gpu(), with("sep.fused:math=coopmat"));
  };
  for (int tenths = 4; tenths <= 70; ++tenths) {
    const Gaussian endless{{0.1 * tenths, 0.1 * tenths}, {}, {}};
    const Result<Plan> plan = planned(endless, PixelFormat::rgba8);
    ASSERT_TRUE(plan.ok()) << "sigma 0.1 * " << tenths << ": " << message_of(plan);
    EXPECT_EQ(plan->algorithm.options.at("split"), "1") << "sigma 0.1 * " << tenths;
    EXPECT_LE(plan->predicted_error, default_max_error(PixelFormat::rgba8)) << "sigma 0.1 * " << tenths;
  }
  // Rows of two halves. Taps of one where that is near enough, which it is for short kernels; else of two, x first.
  for (std::int32_t radius = 1; radius <= 32; ++radius) {
    const Gaussian whole{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}};
    const Result<Plan> plan = planned(whole, PixelFormat::rgba16f);
    ASSERT_TRUE(plan.ok()) << "radius " << radius << ": " << message_of(plan);
    EXPECT_EQ(plan->algorithm.options.at("split"), "2") << "radius " << radius;
    EXPECT_LE(plan->predicted_error, default_max_error(PixelFormat::rgba16f)) << "radius " << radius;
    const auto& constants = plan->passes[0].constants;
    if (radius <= 9 || radius >= 15) {
      EXPECT_EQ(constants.at("tap_split_x"), radius <= 9 ? 1 : 2) << "radius " << radius;
      EXPECT_EQ(constants.at("tap_split_y"), radius <= 27 ? 1 : 2) << "radius " << radius;
    }
  }
  EXPECT_EQ(message_of(planned({{15, 15}, PerAxis<std::int32_t>{45, 45}, {}}, PixelFormat::rgba16f)),
            "sep.fused cannot do this: the kernel has 91x91 taps, more than matrices in registers hold");
}

/// Taps of both axes make up for codes that are read as 2^-24 of them, as halves.
TEST(VulkanPlan, TapsOfCodesStayHalves) {
  const auto planned = [](double x, double y) {
    BlurSpec spec;
    spec.kernel = Taps{{{0.25 * x, x, 0.25 * x}, 1}, {{0.25 * y, y, 0.25 * y}, 1}, Normalization::none};
    const ImageDesc desc{640, 480, PixelFormat::rgba8};
    spec.accuracy.max_error = 1.0;
    return make_plan(spec, desc, desc, fake_h200(), with("sep.fused:math=coopmat"));
  };
  for (const auto& [x, y] : {std::pair{0.5, 0.5}, std::pair{1.0, 1.0}, std::pair{3.0, 0.1}, std::pair{0.1, 3.0}, std::pair{40.0, 0.01}}) {
    const Pass pass = must(planned(x, y)).passes.front();
    double product = 1.0;
    for (const std::vector<double>* weights : {&pass.taps.x.weights, &pass.taps.y.weights}) {
      for (const double w : *weights) EXPECT_LE(w, 65504.0) << x << ", " << y;
      product *= (*weights)[1];
    }
    EXPECT_NEAR(product, x * y * 0x1p24, 1e-3 * product) << x << ", " << y;
    EXPECT_GE(pass.taps.x.weights[1], 8192.0) << "small taps need the range, too";
  }
  EXPECT_EQ(message_of(planned(300.0, 300.0)), "sep.fused cannot do this: the taps are too large for halves");
}

/// Taps as a kernel makes matrices of them: the nearest halves, and of two those of what is left.
std::vector<double> as_halves(const std::vector<double>& weights, std::int64_t halves) {
  std::vector<double> out;
  for (const double w : weights) {
    const double first = half_to_float(double_to_half(w));
    out.push_back(halves == 1 ? first : first + half_to_float(double_to_half(w - first)));
  }
  return out;
}

TEST(VulkanPlan, MatricesHoldSmallAndLargeWeightsOfFloatsAsWell) {
  std::mt19937_64 random(71);
  std::uniform_real_distribution<double> weight(-1.0, 1.0);
  const ImageDesc desc{512, 512, PixelFormat::rgba16f};
  struct Kernel {
    std::string_view math;
    std::size_t taps;
  };
  for (const auto& [math, count] : {Kernel{"coopmat", 21}, {"coopmat", 81}, {"coopmat_direct", 21}}) {
    for (const PerAxis<double> size : {PerAxis{1.0, 0.0}, {0.0, 1e6}, {1.0, 1e-6}, {1e-3, 1.0}, {1.0, 1.0}, {1.0, 1e6}}) {
      Taps taps;
      for (AxisTaps* axis : {&taps.x, &taps.y}) axis->weights.resize(count);
      for (double& w : taps.x.weights) w = weight(random) * size.x;
      for (double& w : taps.y.weights) w = weight(random) * size.y;
      const Plan plan = must(make_plan(spec_of(taps), desc, desc, fake_h200(), with("sep.fused:split=2,math=" + std::string(math))));
      const Pass& pass = plan.passes.front();
      const auto halves = [&](const char* name) {
        const auto found = pass.constants.find(name);
        return found == pass.constants.end() ? 0 : found->second;
      };
      const std::vector<double> x = as_halves(pass.taps.x.weights, halves("tap_split_x"));
      const std::vector<double> y = as_halves(pass.taps.y.weights, halves("tap_split_y"));
      const double gain = pass.parameters.at("gain");
      double moved = 0.0;
      double whole = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = 0; j < y.size(); ++j) {
          const double exact = taps.x.weights[i] * taps.y.weights[j];
          moved += std::abs(x[i] * y[j] * gain - exact);
          whole += std::abs(exact);
        }
      }
      EXPECT_LE(moved, plan.predicted_error * whole) << math << " of " << count << " taps of " << size.x << " and " << size.y;
      EXPECT_TRUE(std::isfinite(plan.predicted_error)) << math << " of " << size.x << " and " << size.y;
    }
  }
}

/// What lanes fetch themselves is filtered along y first.
TEST(VulkanPlan, MatricesOfLanesArePlannedForPixelsOfWholeWordsAndFewTaps) {
  const auto planned = [](std::string_view algorithm, PixelFormat format, PerAxis<std::int32_t> radius, std::int32_t side = 4096,
                          const DeviceInfo& device = fake_h200()) {
    const BlurSpec spec = spec_of(Gaussian{{radius.x / 3.0, radius.y / 3.0}, radius, {}});
    const ImageDesc desc{side, side, format};
    return make_plan(spec, desc, desc, device, with(algorithm));
  };
  using enum PixelFormat;
  for (const PixelFormat format : {rgba8, rgba16f, rg16f}) {
    for (std::int32_t radius = 1; radius <= 12; ++radius) {
      for (const PerAxis<std::int32_t> radii : {PerAxis<std::int32_t>{radius, radius}, {radius, 1}, {2, radius}}) {
        const Result<Plan> plan = planned("sep.fused:math=coopmat_direct", format, radii);
        ASSERT_TRUE(plan.ok()) << radii.x << ", " << radii.y << ": " << message_of(plan);
        EXPECT_LE(plan->predicted_error, default_max_error(format));
        const Pass& pass = plan->passes.front();
        double sum = pass.parameters.at("gain");
        for (const auto& [weights, reach] : {std::pair{&pass.taps.x.weights, radii.x}, std::pair{&pass.taps.y.weights, radii.y}}) {
          EXPECT_EQ(weights->size(), 2 * static_cast<std::size_t>(reach) + 1);
          double of_axis = 0.0;
          for (const double w : *weights) of_axis += w;
          sum *= of_axis;
        }
        EXPECT_NEAR(sum, format == rgba8 ? 0x1p24 : 1.0, sum * 1e-3) << radii.x << ", " << radii.y;
      }
    }
  }
  // Codes are 2^-24 of themselves: taps that come first make up for most of it.
  const Pass codes = must(planned("sep.fused:math=coopmat_direct", rgba8, {2, 9})).passes.front();
  EXPECT_GT(codes.taps.y.weights[9], codes.taps.x.weights[2]);

  struct Usual {
    PixelFormat format;
    std::int32_t radius;
    std::int32_t side;
    const char* blocks_threads_and_chunks;
  };
  for (const Usual& usual : {Usual{rgba8, 4, 4096, "3, 128, 12"},
                             {rgba8, 6, 4096, "6, 128, 12"},
                             {rgba8, 9, 4096, "4, 128, 8"},
                             {rgba16f, 4, 4096, "4, 128, 8"},
                             {rgba16f, 9, 4096, "4, 128, 8"},
                             {rg16f, 4, 4096, "6, 128, 12"},
                             {rgba8, 4, 512, "4, 128, 32"}}) {
    const Options options =
        must(planned("sep.fused:math=coopmat_direct", usual.format, {usual.radius, usual.radius}, usual.side)).algorithm.options;
    EXPECT_EQ(options.at("blocks") + ", " + options.at("threads") + ", " + options.at("chunks"), usual.blocks_threads_and_chunks)
        << info(usual.format).name << " " << usual.radius << " " << usual.side;
  }

  // Groups begin at whole blocks of the source, and what a region adds to a kernel is not there for images without one.
  BlurSpec part = spec_of(Gaussian{{1.0, 1.0}, PerAxis<std::int32_t>{4, 4}, {}});
  const PlanOptions in_two = with("sep.fused:math=coopmat_direct,chunks=2");
  for (const auto& [region, skip] : {std::pair{Rect{37, 23, 100, 64}, PerAxis<std::int32_t>{5, 7}}, {{40, 32, 100, 64}, {0, 0}}}) {
    part.roi = region;
    const ImageDesc desc{512, 512, rgba8};
    const Plan plan = must(make_plan(part, desc, destination_desc(part, desc, rgba8), fake_h200(), in_two));
    const Pass& pass = plan.passes.front();
    EXPECT_EQ(pass.size, (PerAxis<std::int32_t>{100 + skip.x, 64 + skip.y}));
    EXPECT_EQ((pass.size.y + pass.tile.y - 1) / pass.tile.y, 2);
    EXPECT_EQ(pass.constants.at("skip_x"), skip.x);
    EXPECT_EQ(pass.constants.at("skip_y"), skip.y);
    EXPECT_EQ(pass.constants.at("skips"), skip.x + skip.y > 0);
  }
  // The fewest taps are for sums of f32, and many for matrices in shared memory.
  const auto math = [&](std::int32_t radius) { return must(planned("sep.fused", rgba16f, {radius, radius})).algorithm.options.at("math"); };
  EXPECT_EQ(math(1), "f32");
  for (const std::int32_t radius : {2, 3, 4, 6, 9}) EXPECT_EQ(math(radius), "coopmat_direct") << radius;
  for (const std::int32_t radius : {12, 15}) EXPECT_EQ(math(radius), "coopmat") << radius;
  // Small images are for fewer and larger groups.
  EXPECT_EQ(must(planned("sep.fused", rgba8, {2, 2}, 512)).algorithm.options.at("math"), "coopmat_direct");
  EXPECT_EQ(must(planned("sep.fused", rgba8, {2, 2}, 256)).algorithm.options.at("math"), "coopmat");

  const std::string cannot = "sep.fused cannot do this: ";
  DeviceInfo without = fake_h200();
  without.gpu.small_matrices = false;
  EXPECT_EQ(message_of(planned("sep.fused:math=coopmat_direct", rgba8, {4, 4}, 4096, without)),
            cannot + "the device has no cooperative matrices of 8 columns that sums of others become");
  DeviceInfo narrow = fake_h200();
  narrow.gpu.subgroup_size = 16;
  EXPECT_EQ(message_of(planned("sep.fused:math=coopmat_direct", rgba8, {4, 4}, 4096, narrow)),
            cannot + "matrices of lanes are for subgroups of 32");
  for (const PixelFormat format : {r8, rg8, rgb8, r16f, rgb16f}) {
    EXPECT_EQ(message_of(planned("sep.fused:math=coopmat_direct", format, {4, 4})),
              cannot + "matrices of lanes are for pixels of whole words");
  }
  EXPECT_EQ(message_of(planned("sep.fused:math=coopmat_direct", rgba8, {13, 13})),
            cannot + "the kernel has 27x27 taps, more than lanes hold matrices for");
  EXPECT_EQ(message_of(planned("sep.fused:math=coopmat_direct,threads=48", rgba8, {4, 4})),
            cannot + "threads are whole subgroups: a multiple of 32");
  EXPECT_EQ(message_of(planned("sep.fused:math=coopmat_direct,rows_in_flight=2", rgba8, {4, 4})),
            cannot + "option rows_in_flight is not for matrices of lanes");
}

/// Cutting results to the range of codes costs instructions, and is for those alone that could round to something beyond it.
TEST(VulkanPlan, MatricesClampWhatCanLeaveTheRangeOfCodes) {
  const auto clamps = [](const KernelSpec& kernel, std::string_view algorithm, double max_error = 0.0005) {
    BlurSpec spec = spec_of(kernel);
    spec.accuracy.max_error = max_error;
    const ImageDesc desc{512, 512, PixelFormat::rgba8};
    return must(make_plan(spec, desc, desc, fake_h200(), with(algorithm))).passes.front().constants.at("clamps") == 1;
  };
  const auto taps = [](double side, double middle) {
    return KernelSpec(Taps{{{side, middle, side}, 1}, {{side, middle, side}, 1}, Normalization::none});
  };
  for (const char* algorithm : {"sep.fused:math=coopmat", "sep.fused:math=coopmat_direct"}) {
    for (const std::int32_t radius : {1, 2, 4, 9}) {
      EXPECT_FALSE(clamps(Gaussian{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}}, algorithm)) << algorithm;
    }
    EXPECT_FALSE(clamps(taps(0.25, 0.5), algorithm)) << algorithm;
    EXPECT_FALSE(clamps(taps(0.25, 0.5003), algorithm)) << algorithm << ": 255.15 rounds to 255";
    EXPECT_TRUE(clamps(taps(0.25, 0.502), algorithm)) << algorithm << ": 256 is no code";
    EXPECT_TRUE(clamps(taps(-0.01, 1.02), algorithm)) << algorithm << ": -10 is none";
  }
}

}  // namespace
}  // namespace mollify::test
