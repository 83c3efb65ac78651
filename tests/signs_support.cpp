#include "signs_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cases/random.h"
#include "support.h"

namespace mollify::test {
namespace {

constexpr double kStar = 60000.0;

/// Black, but for one pixel.
Pixels star(const ImageDesc& desc) {
  Pixels image = Pixels::constant(desc, 0.0);
  for (int c = 0; c < info(desc.format).channels; ++c) image.set(desc.width / 2, desc.height / 2, c, kStar);
  return image;
}

/// From 0 to 1, but for a few pixels of up to `kStar`.
Pixels with_outliers(const ImageDesc& desc, std::uint64_t seed) {
  cases::Random random(seed);
  Pixels image(desc);
  for (std::int32_t y = 0; y < desc.height; ++y) {
    for (std::int32_t x = 0; x < desc.width; ++x) {
      const double largest = random.uniform(0.0, 1.0) < 0.002 ? kStar : 1.0;
      for (int c = 0; c < info(desc.format).channels; ++c) image.set(x, y, c, random.uniform(0.0, largest));
    }
  }
  return image;
}

struct Range {
  double least, largest;
};

Range range_of(const Pixels& image) {
  Range range{image.at(0, 0), image.at(0, 0)};
  for (std::int32_t y = 0; y < image.desc().height; ++y) {
    for (std::int32_t x = 0; x < image.desc().width; ++x) {
      for (int c = 0; c < info(image.desc().format).channels; ++c) {
        range.least = std::min(range.least, image.at(x, y, c));
        range.largest = std::max(range.largest, image.at(x, y, c));
      }
    }
  }
  return range;
}

/// Roundings of f32 sums, which weights that add up to one a little more than they should belong to.
constexpr double kRounding = 16.0 * 0x1p-24;

void expect_within(const Pixels& src, const Pixels& result) {
  const Range before = range_of(src), after = range_of(result);
  EXPECT_GE(after.least, before.least * (1.0 - kRounding));  // never below zero where nothing was
  EXPECT_LE(after.largest, before.largest * (1.0 + kRounding));
}

}  // namespace

int expect_signs_hold(const Device& device, std::span<const double> sigmas, std::string_view algorithm, std::optional<double> truncate) {
  PlanOptions options;
  if (!algorithm.empty()) options.algorithm = parse_algorithm(algorithm).value();
  int judged = 0;
  for (const PixelFormat format : {PixelFormat::r16f, PixelFormat::rgba16f, PixelFormat::r32f, PixelFormat::rgba32f}) {
    const ImageDesc desc{203, 151, format};
    const std::vector<Pixels> sources = {star(desc), with_outliers(desc, 5), Pixels::constant(desc, 1.0 / 3.0)};
    for (const double sigma : sigmas) {
      const Result<Plan> plan = make_plan(spec_of(Gaussian{{sigma, sigma}, {}, truncate}), desc, desc, device.info(), options);
      if (!plan) continue;
      SCOPED_TRACE(explain(*plan));
      const Result<Executable> executable = device.prepare(*plan);
      EXPECT_TRUE(executable.ok());
      Result<Workspace> workspace = executable->make_workspace();
      EXPECT_TRUE(workspace.ok());
      for (const Pixels& src : sources) {
        Pixels result(desc);
        EXPECT_TRUE(executable->run(src.view(), result.view(), *workspace).ok());
        expect_within(src, result);
        ++judged;
      }
    }
  }
  return judged;
}

int expect_bytes_hold(const Device& device, std::span<const double> sigmas, std::string_view algorithm) {
  constexpr double kLeast = 100.0 / 255.0;
  PlanOptions options;
  if (!algorithm.empty()) options.algorithm = parse_algorithm(algorithm).value();
  const ImageDesc desc{203, 151, PixelFormat::r8};
  int judged = 0;
  for (const double sigma : sigmas) {
    // White where a negative weight would be, seen from the middle: beside the cut.
    Pixels src = Pixels::constant(desc, kLeast);
    const auto cut = static_cast<std::int32_t>(std::floor(3.0 * sigma + 0.5));
    for (std::int32_t y = 0; y < desc.height; ++y) {
      for (std::int32_t x = 0; x < desc.width; ++x) {
        if (std::max(std::abs(x - desc.width / 2), std::abs(y - desc.height / 2)) > cut) src.set(x, y, 0, 1.0);
      }
    }
    for (const double max_error : {0.0005, 0.004, 0.02, 0.1}) {
      BlurSpec spec = spec_of(Gaussian{{sigma, sigma}, {}, 3.0});
      spec.accuracy.max_error = max_error;
      const Result<Plan> plan = make_plan(spec, desc, desc, device.info(), options);
      if (!plan) continue;
      SCOPED_TRACE(explain(*plan));
      const Result<Executable> executable = device.prepare(*plan);
      EXPECT_TRUE(executable.ok());
      Result<Workspace> workspace = executable->make_workspace();
      EXPECT_TRUE(workspace.ok());
      Pixels result(desc);
      EXPECT_TRUE(executable->run(src.view(), result.view(), *workspace).ok());
      EXPECT_GE(range_of(result).least, range_of(src).least);
      EXPECT_LE(range_of(result).largest, range_of(src).largest);
      ++judged;
    }
  }
  return judged;
}

}  // namespace mollify::test
