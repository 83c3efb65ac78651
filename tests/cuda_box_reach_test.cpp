// Boxes of halves and floats that slide along segments on CUDA: what NaN, infinities and outliers change, and how well other numbers are
// kept beside them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cases/compare.h"
#include "mollify/mollify.h"
#include "support.h"

namespace mollify::test {
namespace {

struct Way {
  PixelFormat format;
  Box box;
  PerAxis<std::int32_t> size{330, 150};
};

/// Each shape of a block of threads, with first windows from pixels and, where windows are high, from sums of blocks.
std::vector<Way> ways() {
  using enum PixelFormat;
  return {{rgba16f, Box::of_radius(1, 1)},
          {rgba32f, Box::of_radius(3, 2)},
          {rgba32f, Box::of_radius(1, 30)},
          {rgba16f, Box::of_radius(5, 4)},
          {rgba16f, Box::of_radius(40, 10), {530, 110}},
          {rgba16f, Box::of_radius(90, 9), {730, 110}},
          {rgba32f, Box::of_radius(4, 6)},
          {rgba32f, Box::of_radius(45, 9), {530, 110}},
          {rgba32f, Box::of_radius(100, 9), {730, 110}},
          {rgba32f, Box::of_radius(6, 100)},
          {rgba16f, Box::of_radius(6, 100)}};
}

Executable prepared(const Device& device, const Way& way, const ImageDesc& image) {
  const BlurSpec spec = spec_of(way.box);
  Executable blur =
      device.prepare(make_plan(spec, image, image, device.info(), {.algorithm = *parse_algorithm("box.any")}).value()).value();
  EXPECT_EQ(blur.plan().passes.back().kernel, "box_segments");
  return blur;
}

Pixels blurred(const Executable& blur, const Pixels& source) {
  Pixels result(source.desc());
  Workspace workspace = blur.make_workspace().value();
  EXPECT_TRUE(blur.run(source.view(), result.view(), workspace));
  return result;
}

TEST(CudaBoxReach, WhatIsBadOrHugeActsInItsWindow) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Device device = Device::open("cuda").value();
  for (const Way& way : ways()) {
    const ImageDesc image{way.size.x, way.size.y, way.format};
    const Executable blur = prepared(device, way, image);
    const Pixels source = Pixels::random(image);
    const Pixels clean = blurred(blur, source);
    const bool is_half = info(way.format).bits == 16;
    const double huge = is_half ? 6e4 : 3.4e38;
    const double most = is_half ? 0x1p-11 : 2e-5;  // a step of halves below one, and what sums of floats may lose
    const PerAxis<std::int32_t> places[] = {{image.width / 2, image.height / 3}, {image.width / 2 + 7, image.height / 3 + 3}};
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, huge, -huge}) {
      Pixels spoiled = source;
      for (const auto& place : places) spoiled.set(place.x, place.y, 1, value);
      const Pixels result = blurred(blur, spoiled);
      int beyond = 0, unmoved = 0, wrong = 0;
      for (std::int32_t y = 0; y < image.height; ++y) {
        for (std::int32_t x = 0; x < image.width; ++x) {
          int inside = 0;
          for (const auto& place : places) {
            inside += std::abs(x - place.x) <= way.box.extent.x.before && std::abs(y - place.y) <= way.box.extent.y.before ? 1 : 0;
          }
          for (const int channel : {0, 1}) {
            const double was = clean.at(x, y, channel), is = result.at(x, y, channel);
            if (inside == 0 || channel == 0) {
              if (!(std::abs(is - was) <= most)) ++beyond;
            } else if (std::isnan(value) || std::isinf(value)) {
              if (!(std::isnan(value) ? std::isnan(is) : is == value)) ++wrong;
            } else if (is == was) {
              ++unmoved;
            }
          }
        }
      }
      EXPECT_EQ(beyond, 0) << info(way.format).name << " " << way.size.x << ": " << value;
      EXPECT_EQ(unmoved, 0) << info(way.format).name << " " << way.size.x << ": " << value;
      EXPECT_EQ(wrong, 0) << info(way.format).name << " " << way.size.x << ": " << value;
    }
  }
}

/// As lamps and suns are in pictures of a wide range: sums are far larger there than all before and after them.
TEST(CudaBoxReach, BrightBlocksAmongDarkPixels) {
  const Device device = Device::open("cuda").value();
  for (const Way& way : ways()) {
    const ImageDesc image{way.size.x, way.size.y, way.format};
    const Executable blur = prepared(device, way, image);
    const std::vector<double> values = info(way.format).bits == 16 ? std::vector{200.0, 2000.0} : std::vector{3e4, 2e5, 2e6};
    for (const double bright : values) {
      Pixels source = Pixels::random(image);
      for (std::int32_t i = 0; i < 40 * 40; ++i) {
        for (int c = 0; c < 4; ++c) source.set(100 + i % 40, 30 + i / 40, c, bright);
      }
      const auto judged = cases::compare_with_reference(spec_of(way.box), source.view(), blurred(blur, source).view());
      EXPECT_LE(judged->max_error, blur.plan().predicted_error) << info(way.format).name << " of " << bright << ": " << judged->worst;
    }
  }
}

}  // namespace
}  // namespace mollify::test
