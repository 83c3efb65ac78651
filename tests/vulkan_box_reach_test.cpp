// Boxes of floats on the Vulkan backend: what NaN, infinities and outliers change, and how well ordinary floats are kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cases/compare.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

struct BoxWay {
  const char* algorithm;
  Box box;
  PixelFormat format = PixelFormat::r32f;
};

std::vector<BoxWay> ways() {
  using enum PixelFormat;
  return {{"box.any:form=column_sums,storage=buffer,threads=64,chunks=3", Box::of_radius(5, 7.5)},
          {"box.any:form=column_sums,storage=buffer,sums=f32x2,threads=64,lanes_per_row=1", Box::of_radius(5, 7), rgba16f},
          {"box.any:form=column_sums,storage=buffer", Box::of_radius(2, 1), rg16f},
          {"box.any:form=row_segments,chunks=4", Box::of_radius(5, 5), rgba32f},
          {"box.any:form=row_segments,threads=64,chunks=5", Box::of_radius(20, 90)},
          {"box.any:form=row_segments", Box::of_radius(3, 3), r16f},
          {"box.any:form=row_segments,threads=64", Box::of_radius(12, 9), rgb16f},
          {"box.any:form=four_corner", Box::of_radius(9, 12), rgba32f},
          {"box.any:form=four_corner,chunks=25", Box::of_radius(70, 31)},
          {"box.any:form=four_corner", Box::of_radius(30, 20), rgb16f},
          {"box.running", Box::of_radius(5, 5)},
          {"box.scan", Box::of_radius(5, 5), rgba32f},
          {"box.sep", Box::of_radius(5, 5), rgba16f},
          {"box.sep_linear", Box::of_radius(2, 3), rgba32f},
          {"box.nxn_linear", Box::of_radius(2, 3), rgba32f},
          {"box.nxn", Box::of_radius(2, 3), rg32f}};
}

BlurSpec spec_of_way(const BoxWay& way) {
  BlurSpec spec = spec_of(way.box, BorderMode::clamp);
  spec.accuracy.max_error = 0.5;
  return spec;
}

/// Nowhere near the border, which would repeat them.
constexpr PerAxis<std::int32_t> kPlaces[] = {{120, 97}, {127, 100}, {200, 101}, {171, 128}};

bool is_within(const Plan& plan, std::int32_t x, std::int32_t y, const PerAxis<std::int32_t>& place) {
  const auto covers = [](const Reach& reach, std::int32_t from, std::int32_t to) {
    return to >= from - reach.before && to <= from + reach.after;
  };
  return covers(plan.reach.x, x, place.x) && covers(plan.reach.y, y, place.y);
}

/// The window, but for published techniques whose sums spoil what follows, and samplers that weigh a neighbour.
bool reaches_its_window(const BoxWay& way, const Plan& plan) {
  const auto is_window = [](const Reach& reach, const BoxExtent& extent) {
    return reach.before == std::ceil(extent.before) && reach.after == std::ceil(extent.after);
  };
  return is_window(plan.reach.x, way.box.extent.x) && is_window(plan.reach.y, way.box.extent.y);
}

TEST(VulkanBoxes, WhatIsBadOrHugeActsAsFarAsPlansSay) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const BoxWay& way : ways()) {
    const ImageDesc desc{290, 220, way.format};
    const Result<Plan> plan = make_plan(spec_of_way(way), desc, desc, gpu().info(), with(way.algorithm));
    if (!plan) continue;  // a device without halves or shuffles
    const std::string_view id = plan->algorithm.id;
    EXPECT_EQ(reaches_its_window(way, *plan), id == "box.any" || id == "box.sep" || id == "box.nxn") << way.algorithm;
    const Executable executable = must(gpu().prepare(*plan));
    const Pixels src = Pixels::random(desc);
    const Pixels clean = run(executable, src);
    const bool is_half = info(way.format).bits == 16;
    const double huge = is_half ? 6e4 : 3.4e38;
    const double most = is_half ? 0x1p-11 : 2e-5;  // a step of halves below one, and what sums of floats may lose
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, huge, -huge}) {
      Pixels spoiled = src;
      for (const PerAxis<std::int32_t>& place : kPlaces) spoiled.set(place.x, place.y, 0, value);
      const Pixels result = run(executable, spoiled);
      int beyond = 0;
      double worst = 0.0;
      int unmoved = 0;
      for (std::int32_t y = 0; y < desc.height; ++y) {
        for (std::int32_t x = 0; x < desc.width; ++x) {
          const bool is_reached = std::ranges::any_of(kPlaces, [&](const auto& place) { return is_within(*plan, x, y, place); });
          const double difference = std::abs(result.at(x, y) - clean.at(x, y));
          if (!is_reached && !(difference <= most)) ++beyond;
          if (!is_reached) worst = std::max(worst, difference);
          if (is_reached && id == "box.any" && difference == 0.0) ++unmoved;
        }
      }
      EXPECT_EQ(beyond, 0) << way.algorithm << " " << info(way.format).name << ": " << value << ", at most by " << worst;
      EXPECT_EQ(unmoved, 0) << way.algorithm << " " << info(way.format).name << ": " << value;
    }
  }
}

/// As lamps and suns are in pictures of a wide range: sums along some rows are far larger than all before and after them.
TEST(VulkanBoxes, BrightBlocksAmongDarkPixels) {
  for (const BoxWay& way : ways()) {
    const BlurSpec spec = spec_of_way(way);
    const ImageDesc desc{290, 220, way.format};
    const Result<Plan> plan = make_plan(spec, desc, desc, gpu().info(), with(way.algorithm));
    if (!plan && !gpu().info().gpu.small_storage) continue;  // most forms are for buffers
    const Executable executable = must(gpu().prepare(must(plan)));
    const std::vector<double> values = info(way.format).bits == 16 ? std::vector{200.0, 2000.0} : std::vector{3e4, 2e5, 2e6};
    for (const double bright : values) {
      Pixels source = Pixels::random(desc);
      for (std::int32_t i = 0; i < 40 * 40; ++i) {
        for (int c = 0; c < info(way.format).channels; ++c) source.set(100 + i % 40, 90 + i / 40, c, bright);
      }
      const Pixels result = run(executable, source);
      const auto judged = cases::compare_with_reference(spec, source.view(), result.view());
      EXPECT_LE(judged->max_error, executable.plan().predicted_error) << way.algorithm << " of " << bright << ": " << judged->worst;
    }
  }
}

/// Numbers that leave a window take their roundings with them. All cases but that with alpha have failed with their seeds.
TEST(VulkanBoxes, OutliersLeaveNothingBehind) {
  struct Tested {
    std::string name;
    std::uint64_t seed;
  };
  const std::vector<Tested> all = {
      {"box.any:chunks=16,form=four_corner,rows_in_flight=4,threads=512/65x7/r16f/box:radius=300x1/mirror+reflect/max_error=0.01", 1597},
      // Sums on the way are many times as large as those of windows.
      {"box.any:form=four_corner,threads=256/129x32/rg16f/box:before=2,after=4x3/mirror/max_error=0.01", 882901},
      {"box.any:chunks=1,form=four_corner/300x90/rgba16f/box:radius=2x3/clamp", 9},
      {"box.any:chunks=3,form=row_segments/63x119/r16f/box:radius=6x9/clamp+mirror/max_error=0.01", 166147},
      {"box.any:chunks=3,form=row_segments/63x119/rgba16f/box:radius=20/mirror", 326195},
      // In one row such a number counts for a fraction before it enters whole.
      {"box.any:chunks=7,form=column_sums/240x6/r16f/box:before=56.25x14.25,after=7.125x1.9375/wrap+clamp", 616681},
      {"box.any:form=four_corner/240x60/rgba16f/box:radius=20/mirror/premultiply", 17},
      // Through a mirror windows reach further to one side than the image is long.
      {"box.any:form=column_sums,threads=256/18x5/r32f/box:before=25.9x25.1,after=2.4x2.6/reflect", 798052},
      {"box.any:form=row_segments/18x50/r32f/box:before=25,after=2x2/reflect", 798052},
  };
  std::random_device random;
  for (const Tested& tested : all) {
    for (const std::uint64_t seed : {tested.seed, std::uint64_t{random()} + 1, std::uint64_t{random()} + 1}) {
      const Result<cases::Case> c = cases::parse_case(tested.name + "/outliers/seed=" + std::to_string(seed));
      ASSERT_TRUE(c.ok()) << message_of(c);
      const cases::CaseResult result = cases::run_case(gpu(), *c);  // refused without halves or shuffles
      EXPECT_NE(result.outcome, cases::Outcome::failed) << cases::name(*c) << "\n" << result.message;
    }
  }
}

/// Colours of transparent pixels are zero, whatever the sum of the colours has become. The sum goes on to pixels that are not.
TEST(VulkanBoxes, SpoiledSumsPassThroughTransparentRows) {
  using enum PixelFormat;
  const auto is_transparent = [](std::int32_t y) { return y >= 115; };
  const Box box{{{3, 4}, {1, 2}}};  // sums of alphas of one are exact, and return to zero
  for (const BoxWay& way : {BoxWay{"box.any:form=column_sums,storage=buffer,chunks=3", box, rgba32f},
                            BoxWay{"box.any:form=four_corner,chunks=3", box, rgba16f}}) {
    BlurSpec spec = spec_of_way(way);
    spec.alpha = AlphaMode::premultiply;
    const ImageDesc desc{290, 220, way.format};
    const Result<Plan> plan = make_plan(spec, desc, desc, gpu().info(), with(way.algorithm));
    if (!plan) continue;  // a device without halves or shuffles
    const Executable executable = must(gpu().prepare(*plan));
    Pixels src = Pixels::random(desc);
    for (std::int32_t y = 0; y < desc.height; ++y) {
      for (std::int32_t x = 0; x < desc.width; ++x) src.set(x, y, 3, is_transparent(y) ? 0.0 : 1.0);
    }
    const Pixels clean = run(executable, src);
    for (const PerAxis<std::int32_t>& place : kPlaces) {
      if (!is_transparent(place.y)) src.set(place.x, place.y, 0, std::numeric_limits<double>::infinity());
    }
    const Pixels result = run(executable, src);
    int beyond = 0;
    for (std::int32_t y = 0; y < desc.height; ++y) {
      for (std::int32_t x = 0; x < desc.width; ++x) {
        if (std::ranges::any_of(kPlaces, [&](const auto& place) { return is_within(*plan, x, y, place); })) continue;
        const double difference = result.at(x, y) * result.at(x, y, 3) - clean.at(x, y) * clean.at(x, y, 3);
        if (!(std::abs(difference) <= 0x1p-10)) ++beyond;
      }
    }
    EXPECT_EQ(beyond, 0) << way.algorithm;
  }
}

/// What a plan takes by itself keeps to windows, and says why it passes over what does not.
TEST(VulkanBoxes, PlansKeepToWindows) {
  for (const PixelFormat format : {PixelFormat::r32f, PixelFormat::rgba16f, PixelFormat::rgb32f}) {
    for (const double radius : {1.0, 5.0, 20.5, 64.0, 130.0}) {
      const ImageDesc desc{1000, 900, format};
      const BoxWay way{"", Box::of_radius(radius, radius), format};
      for (const DeviceInfo& device : {gpu().info(), fake_gpu(false), fake_h200()}) {
        const Result<Plan> made = make_plan(spec_of_way(way), desc, desc, device);
        if (!made && !device.gpu.small_storage) continue;  // such a device may have no place for three channels
        const Plan plan = must(made);
        // Cooperative matrices multiply whole blocks by zero weights, which the plan's reach says.
        const auto math = plan.algorithm.options.find("math");
        const bool is_by_blocks = math != plan.algorithm.options.end() && math->second.starts_with("coopmat");
        EXPECT_TRUE(reaches_its_window(way, plan) || is_by_blocks)
            << to_string(plan.algorithm) << " " << info(format).name << " " << radius;
        const auto is_running = [](const Refusal& refusal) { return refusal.algorithm == "box.running"; };
        const auto refusal = std::ranges::find_if(plan.refusals, is_running);
        ASSERT_NE(refusal, plan.refusals.end());
        EXPECT_EQ(refusal->reason, "a NaN, an infinity or an outlier acts beyond its windows") << device.name;
      }
    }
  }
}

/// Numbers in the thousands that differ little are none that sums are begun anew for.
TEST(VulkanBoxes, HeightsAreKeptToTheirLastPlaces) {
  const ImageDesc desc{700, 600, PixelFormat::r32f};
  Pixels src(desc);
  const Pixels noise = Pixels::random(desc);
  for (std::int32_t y = 0; y < desc.height; ++y) {
    for (std::int32_t x = 0; x < desc.width; ++x) src.set(x, y, 0, 2800.0 + 40.0 * std::sin(x * 0.03) + 30.0 * noise.at(x, y));
  }
  for (const double radius : {9.0, 50.0, 200.0}) {
    const BlurSpec spec = spec_of(Box::of_radius(radius, radius), BorderMode::mirror);
    const ImageDesc& dst = desc;
    const Pixels exact = run(prepared_on(cpu(), "box.any:accumulator=f64", spec, desc), src);
    for (const char* algorithm : {"box.any:form=column_sums", "box.any:form=row_segments", "box.any:form=four_corner", ""}) {
      const Result<Plan> plan = make_plan(spec, desc, dst, gpu().info(), with(algorithm));
      if (!plan) continue;
      const Pixels result = run(must(gpu().prepare(*plan)), src);
      double worst = 0.0;
      for (std::int32_t y = 0; y < desc.height; ++y) {
        for (std::int32_t x = 0; x < desc.width; ++x) worst = larger_error(worst, std::abs(result.at(x, y) - exact.at(x, y)));
      }
      constexpr double kUnit = 0x1p-12;  // in the last place of 2800
      std::printf("[ units    ] radius %g: %.1f by %s\n", radius, worst / kUnit, to_string(plan->algorithm).c_str());
      EXPECT_LE(worst, plan->predicted_error * 2900.0 + kUnit) << algorithm;
    }
  }
}

}  // namespace
}  // namespace mollify::test
