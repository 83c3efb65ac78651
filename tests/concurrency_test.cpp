// One executable, many threads; one function, many threads.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support.h"

namespace mollify::test {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 20;

void in_parallel(auto body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Concurrency, OneExecutableRunsFromManyThreads) {
  const ImageDesc desc{130, 90, PixelFormat::rgba8};
  for (const KernelSpec& kernel : sample_kernels()) {
    const BlurSpec spec = spec_of(kernel);
    const Executable executable = prepared(spec, desc, {desc.format, {}, 2});
    std::atomic<int> wrong = 0;
    in_parallel([&](int i) {
      const Pixels src = Pixels::random(desc, static_cast<std::uint64_t>(i) + 1);
      const Pixels expected = blurred(spec, src.view(), {desc.format, {}, 1});
      Workspace workspace = executable.make_workspace().value();
      for (int round = 0; round < kRounds; ++round) {
        Pixels result(desc);
        const bool ok = executable.run(src.view(), result.view(), workspace).ok();
        wrong += ok && result == expected ? 0 : 1;
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Concurrency, BlurMayBeCalledFromManyThreads) {
  // Requests differ, so that threads race for the cache of executables.
  std::atomic<int> wrong = 0;
  in_parallel([&](int i) {
    for (int round = 0; round < kRounds; ++round) {
      const ImageDesc desc{40 + (i + round) % 5, 30 + round % 3, PixelFormat::rgb16};
      const BlurSpec spec = spec_of(Gaussian{{1.0 + (i * round) % 7, 2}, {}, {}});
      const Pixels src = Pixels::random(desc, static_cast<std::uint64_t>(round) + 1);
      Pixels result(desc);
      const bool ok = blur(src.view(), result.view(), spec).ok();
      wrong += ok && result == blurred(spec, src.view(), {desc.format, {}, 1}) ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Concurrency, PlansMayBeMadeFromManyThreads) {
  const ImageDesc desc{640, 480, PixelFormat::rgba8};
  const Plan expected = make_plan(spec_of(Box::of_radius(4, 4)), desc, desc, cpu().info()).value();
  std::atomic<int> wrong = 0;
  in_parallel([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      const Result<Plan> plan = make_plan(spec_of(Box::of_radius(4, 4)), desc, desc, cpu().info());
      wrong += plan.ok() && *plan == expected ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace mollify::test
