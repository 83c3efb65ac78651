// Images that a GPU cannot see by one binding, or has no room for: runs divide them into windows by themselves.
#include <gtest/gtest.h>

#include <string>

#include "vulkan_engine_support.h"
#include "vulkan_spy.h"

namespace mollify::test {
namespace {

constexpr VkDeviceSize kSeen = 2 << 20;

struct Request {
  std::string algorithm;
  BlurSpec spec;
  ImageDesc src;
};

/// Each algorithm that has windows on GPUs, and each kind of border.
std::vector<Request> requests() {
  BlurSpec part = spec_of(Gaussian{{1.5, 1.5}, {}, {}}, BorderMode::wrap);
  part.roi = Rect{11, 23, 901, 777};
  BlurSpec some = spec_of(Gaussian{{2.0, 2.0}, {}, {}});
  some.stride = {{2, 1}, {3, 4}};
  return {{"sep.fused:storage=buffer", spec_of(Gaussian{{2.0, 1.0}, {}, {}}), {1001, 997, PixelFormat::rgba8}},
          {"sep.fused:storage=buffer", part, {1001, 997, PixelFormat::rgba8}},
          {"sep.fused:storage=buffer", some, {1001, 997, PixelFormat::rgba8}},
          {"gauss.decimate:storage=buffer", spec_of(Gaussian{{20.0, 20.0}, {}, {}}, BorderMode::mirror), {1200, 900, PixelFormat::rgba16f}},
          {"box.any:storage=buffer", spec_of(Box::of_radius(6.0, 9.0), BorderMode::reflect), {1203, 1011, PixelFormat::rg16}},
          {"box.any:form=four_corner,chunks=40", spec_of(Box::of_radius(16.0, 9.0), BorderMode::reflect), {1203, 1011, PixelFormat::rg32f}},
          {"nxn.direct:storage=buffer",
           spec_of(Matrix{3, 2, {1.0, 2.0, 0.0, 1.0, 3.0, 1.0}, {1, 1}, Normalization::unit_sum}),
           {900, 1100, PixelFormat::r32f}}};
}

/// What a whole image becomes on a device without limits, by the algorithm and options of this plan.
Pixels whole_of(const Plan& plan, const Pixels& src) {
  return run(prepared_on(gpu(), to_string(plan.algorithm), plan.spec, plan.src), src);
}

TEST(VulkanDivided, ImagesLargerThanABindingHaveTheBitsOfTheWhole) {
  Engine engine;
  const Spy spy(engine);
  Spy::limits.maxStorageBufferRange = kSeen;
  const Device limited = must(vulkan::adopt(engine.lent));
  for (const Request& request : requests()) {
    const Executable executable = prepared_on(limited, request.algorithm, request.spec, request.src);
    const Plan& plan = executable.plan();
    SCOPED_TRACE(explain(plan));
    EXPECT_NE(explain(plan).find("in windows"), std::string::npos);
    EXPECT_EQ(plan.scratch_bytes, std::int64_t{kSeen});
    const Pixels src = Pixels::random(request.src);
    EXPECT_EQ(run(executable, src), whole_of(plan, src));
  }
}

TEST(VulkanDivided, ImagesThatTheDeviceHasNoRoomForHaveTheBitsOfTheWhole) {
  Engine engine;
  const Spy spy(engine);
  const Device limited = must(vulkan::adopt(engine.lent));
  for (const Request& request : requests()) {
    Spy::most_bytes = VK_WHOLE_SIZE;
    const Executable executable = prepared_on(limited, request.algorithm, request.spec, request.src);
    SCOPED_TRACE(explain(executable.plan()));
    const Pixels src = Pixels::random(request.src);
    Spy::most_bytes = kSeen;
    EXPECT_EQ(run(executable, src), whole_of(executable.plan(), src));
  }
}

TEST(VulkanDivided, ImagesCanBeBlurredInPlace) {
  Engine engine;
  const Spy spy(engine);
  Spy::limits.maxStorageBufferRange = kSeen;
  const Device limited = must(vulkan::adopt(engine.lent));
  const Request request = requests()[0];
  const Executable executable = prepared_on(limited, request.algorithm, request.spec, request.src, Overlap::in_place);
  Pixels both = Pixels::random(request.src);
  const Pixels expected = whole_of(executable.plan(), both);
  Workspace workspace = must(executable.make_workspace());
  ASSERT_TRUE(executable.run(both.view(), both.view(), workspace).ok());
  EXPECT_EQ(both, expected);
}

TEST(VulkanDivided, ABatchOfThemIsMadeOneByOne) {
  Engine engine;
  const Spy spy(engine);
  Spy::limits.maxStorageBufferRange = kSeen;
  const Request request = requests()[0];
  const Executable executable = prepared_on(must(vulkan::adopt(engine.lent)), request.algorithm, request.spec, request.src);
  const Pixels a = Pixels::random(request.src, 1);
  const Pixels b = Pixels::random(request.src, 2);
  Pixels made_a(request.src);
  Pixels made_b(request.src);
  Workspace workspace = must(executable.make_workspace());
  const ConstImageView sources[] = {a.view(), b.view()};
  const ImageView results[] = {made_a.view(), made_b.view()};
  ASSERT_TRUE(executable.run(sources, results, workspace).ok());
  EXPECT_EQ(made_a, whole_of(executable.plan(), a));
  EXPECT_EQ(made_b, whole_of(executable.plan(), b));
}

TEST(VulkanDivided, WhatHasNoRoomForAWindowIsOutOfMemory) {
  Engine engine;
  const Spy spy(engine);
  const Request request = requests()[0];
  const Executable executable = prepared_on(must(vulkan::adopt(engine.lent)), request.algorithm, request.spec, request.src);
  Spy::most_bytes = 1000;
  const Result<Workspace> workspace = executable.make_workspace();
  ASSERT_FALSE(workspace);
  EXPECT_EQ(workspace.error().code, ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace mollify::test
