// Images that share memory, and rows that lie where they cannot.
#include "base/views.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "support.h"

namespace mollify::test {
namespace {

std::set<const std::byte*> places(const ConstImageView& view) {
  std::set<const std::byte*> out;
  for (std::int64_t y = 0; y < view.desc.height; ++y) {
    for (std::int64_t i = 0; i < view.desc.row_payload_bytes(); ++i) out.insert(view.row(y) + i);
  }
  return out;
}

/// Held against all bytes one by one: parts of one image, side by side, one above the other, and across the end of a row.
TEST(Overlap, OfPartsOfOneImageIsExact) {
  constexpr std::int32_t kPitch = 24;
  const std::vector<std::byte> memory(kPitch * 24);
  std::mt19937 random(3);
  int apart = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto part = [&] {
      const ImageDesc desc{1 + static_cast<std::int32_t>(random() % kPitch), 1 + static_cast<std::int32_t>(random() % 6), PixelFormat::r8};
      return ConstImageView{desc, memory.data() + random() % (kPitch * 16), kPitch};
    };
    const ConstImageView a = part();
    const ConstImageView b = part();
    std::vector<const std::byte*> shared;
    const std::set<const std::byte*> of_a = places(a), of_b = places(b);
    std::ranges::set_intersection(of_a, of_b, std::back_inserter(shared));
    EXPECT_EQ(share_bytes(a, b), !shared.empty());
    apart += shared.empty() && may_overlap(a, b) ? 1 : 0;
  }
  EXPECT_GT(apart, 100) << "some that lie apart should interleave";
}

TEST(Overlap, OtherDistancesOfRowsCountAsShared) {
  const std::vector<std::byte> memory(1000);
  const ImageDesc desc{4, 5, PixelFormat::r8};
  const ConstImageView wide{desc, memory.data(), 20}, narrow{desc, memory.data() + 10, 10};
  const ConstImageView upwards{desc, memory.data() + 90, -20};
  EXPECT_TRUE(share_bytes(wide, narrow));
  EXPECT_TRUE(share_bytes(wide, upwards));
  EXPECT_FALSE(share_bytes(wide, {desc, memory.data() + 100, 10})) << "behind it";
}

TEST(Overlap, WhatABatchWritesMustBeNobodyElses) {
  const ImageDesc desc{40, 30, PixelFormat::rgba8};
  Pixels a = Pixels::random(desc, 1), b = Pixels::random(desc, 2), c(desc), d(desc);
  const auto refusal = [&](Overlap overlap, std::vector<ConstImageView> src, std::vector<ImageView> dst) {
    const Result<Plan> plan = make_plan(spec_of(Gaussian{{2, 2}, {}, {}}), desc, desc, cpu().info(), {{}, overlap});
    const Executable executable = cpu().prepare(plan.value()).value();
    Workspace workspace = executable.make_workspace().value();
    const Status status = executable.run(src, dst, workspace);
    return status ? std::string() : status.error().message;
  };
  const std::string refused = "a destination of the batch overlaps another image's source or destination";
  for (const Overlap overlap : {Overlap::none, Overlap::in_place}) {
    EXPECT_EQ(refusal(overlap, {a.view(), b.view()}, {c.view(), d.view()}), "");
    EXPECT_EQ(refusal(overlap, {a.view(), a.view()}, {c.view(), d.view()}), "") << "one source for two";
    EXPECT_EQ(refusal(overlap, {a.view(), b.view()}, {b.view(), c.view()}), refused);
    EXPECT_EQ(refusal(overlap, {a.view(), b.view()}, {c.view(), c.view()}), refused);
  }
  EXPECT_EQ(refusal(Overlap::in_place, {a.view(), b.view()}, {a.view(), b.view()}), "");
}

TEST(Overlap, HalvesOfOneImageAreApart) {
  const ImageDesc half{32, 40, PixelFormat::rgba8};
  const Pixels source = Pixels::random({64, 40, PixelFormat::rgba8});
  Pixels both = source;
  const ConstImageView left = crop(both.view(), {0, 0, 32, 40});
  const ImageView right = crop(both.view(), {32, 0, 32, 40});
  const Plan plan = make_plan(spec_of(Box::of_radius(2, 2)), half, half, cpu().info()).value();
  const Executable executable = cpu().prepare(plan).value();
  Workspace workspace = executable.make_workspace().value();
  const Status status = executable.run(left, right, workspace);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_NE(both, source);
}

TEST(Views, RowsCannotBeFurtherApartThanMemoryReaches) {
  const ImageDesc desc{4, 4, PixelFormat::r8};
  Pixels image(desc);
  const Executable executable = cpu().prepare(make_plan(spec_of(Box::of_radius(1, 1)), desc, desc, cpu().info()).value()).value();
  Workspace workspace = executable.make_workspace().value();
  for (const std::ptrdiff_t row_bytes : {PTRDIFF_MIN, PTRDIFF_MAX, std::ptrdiff_t{1} << 60}) {
    const ConstImageView wrong{desc, image.view().data, row_bytes};
    Pixels result(desc);
    for (const Status& status :
         {executable.run(wrong, result.view(), workspace), blur(wrong, result.view(), spec_of(Box::of_radius(1, 1)))}) {
      ASSERT_FALSE(status.ok()) << row_bytes;
      EXPECT_NE(status.error().message.find("bytes apart"), std::string::npos) << status.error().message;
    }
  }
}

}  // namespace
}  // namespace mollify::test
