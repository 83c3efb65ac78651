// Stages of a pipeline: what each waits for, and how mistakes end it.
#include "strip_pipeline.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace mollify::cli {
namespace {

/// A stage may take any time.
void linger() {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
}

/// Buffers that say which strip they hold. A stage fails where it finds another one.
class Buffers {
 public:
  explicit Buffers(std::size_t count) : strips_(count) {
    for (auto& strip : strips_) strip = kEmpty;
  }
  void fill(std::size_t strip) { change(strip, kEmpty, strip); }
  void require(std::size_t strip) { EXPECT_EQ(strips_[strip % strips_.size()], strip); }
  void empty(std::size_t strip) { change(strip, strip, kEmpty); }

 private:
  static constexpr std::size_t kEmpty = ~std::size_t{0};
  void change(std::size_t strip, std::size_t from, std::size_t to) {
    std::size_t found = from;
    EXPECT_TRUE(strips_[strip % strips_.size()].compare_exchange_strong(found, to)) << "strip " << strip << " found " << found;
  }
  std::vector<std::atomic<std::size_t>> strips_;
};

TEST(StripPipeline, EachStripHasItsBuffersUntilItIsThrough) {
  for (const std::size_t count : {1U, 2U, 3U}) {
    Buffers sources(count), results(count);
    std::size_t written = 0;
    const auto read = [&](std::size_t i) { sources.fill(i), linger(); };
    const auto blur = [&](std::size_t i) { sources.require(i), results.fill(i), linger(), sources.empty(i); };
    const auto write = [&](std::size_t i) { results.require(i), linger(), results.empty(i), written += i; };
    StripPipeline(100, {count, count}).run({read, blur, write}, 3);
    EXPECT_EQ(written, 99U * 100U / 2U);
  }
}

TEST(StripPipeline, StagesWorkAtTheSameTime) {
  std::atomic<int> now = 0, most = 0;
  const auto stage = [&](std::size_t) {
    most = std::max<int>(most, ++now);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --now;
  };
  StripPipeline(12, {2, 2}).run({stage, stage, stage}, 3);
  EXPECT_EQ(most, 3);
}

TEST(StripPipeline, AMistakeOfAnyStageEndsAll) {
  for (const std::string where : {"read", "blur", "write"}) {
    for (const std::size_t when : {0U, 1U, 7U, 19U}) {
      std::atomic<std::size_t> written = 0;
      const auto stage = [&](const std::string& name) {
        return [&, name](std::size_t i) {
          linger();
          if (name == where && i == when) throw std::runtime_error(name);
          if (name == "write") ++written;
        };
      };
      try {
        StripPipeline(20, {2, 2}).run({stage("read"), stage("blur"), stage("write")}, 3);
        ADD_FAILURE() << where << " at " << when;
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), where);
      }
      EXPECT_LE(written, when);
    }
  }
}

/// Expects that `pipeline` runs all stages on this thread, strip after strip.
void expect_one_after_the_other(StripPipeline pipeline, int threads) {
  const std::thread::id here = std::this_thread::get_id();
  std::string order;
  const auto stage = [&](char name) {
    return [&, name](std::size_t i) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      order += name + std::to_string(i);
    };
  };
  pipeline.run({stage('r'), stage('b'), stage('w')}, threads);
  EXPECT_EQ(order, "r0b0w0r1b1w1r2b2w2");
}

TEST(StripPipeline, OneThreadDoesItAll) {
  expect_one_after_the_other(StripPipeline(3, {2, 2}), 1);
}

// In a process of its own, which has no stacks of former threads.
TEST(StripPipelineDeathTest, OneThreadDoesItAllWhereTheSystemHasNoMore) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need addresses, too";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run = [] {
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 1 << 20;
    ::setrlimit(RLIMIT_AS, &limit);
    expect_one_after_the_other(StripPipeline(3, {2, 2}), 3);
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(StripPipeline, OfNoStripsReturns) {
  const auto never = [](std::size_t) { FAIL(); };
  StripPipeline(0, {2, 2}).run({never, never, never}, 3);
}

}  // namespace
}  // namespace mollify::cli
