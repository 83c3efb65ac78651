#include "bench/measure.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace mollify::bench {
namespace {

TEST(Statistics, InterpolatesBetweenSortedSamples) {
  const Statistics s = summarize({50, 10, 40, 20, 30});
  EXPECT_DOUBLE_EQ(s.median, 30);
  EXPECT_DOUBLE_EQ(s.p10, 14);
  EXPECT_DOUBLE_EQ(s.p90, 46);
  EXPECT_EQ(s.count, 5);
  EXPECT_DOUBLE_EQ(summarize({1, 2}).median, 1.5);
}

TEST(Statistics, OneSampleAndNone) {
  const Statistics one = summarize({7});
  EXPECT_DOUBLE_EQ(one.p10, 7);
  EXPECT_DOUBLE_EQ(one.median, 7);
  EXPECT_DOUBLE_EQ(one.p90, 7);
  EXPECT_EQ(summarize({}).count, 0);
}

// Runs of a millisecond are not repeated within a sample, so that the order of the calls can be seen.
constexpr auto kRun = std::chrono::milliseconds(1);

TEST(Measure, CandidatesTakeTurnsAndShareTheRotation) {
  std::vector<std::pair<char, std::size_t>> calls;
  const auto candidate = [&](char id) {
    return Candidate{std::string(1, id), [&calls, id](std::size_t pair) -> Status {
                       std::this_thread::sleep_for(kRun);
                       calls.emplace_back(id, pair);
                       return {};
                     }};
  };
  const std::vector<Candidate> candidates{candidate('a'), candidate('b')};
  const auto result = measure(candidates, {.seconds = 0, .min_runs = 9, .pairs = 3, .min_sample = 1e-4});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->front().count, 9);
  EXPECT_EQ(result->back().count, 9);

  ASSERT_GE(calls.size(), 18U);
  for (std::size_t i = 1; i < calls.size(); ++i) EXPECT_EQ(calls[i].second, (calls[i - 1].second + 1) % 3);
  for (std::size_t i = calls.size() - 18; i < calls.size(); i += 2) {
    EXPECT_EQ(calls[i].first, 'a');
    EXPECT_EQ(calls[i + 1].first, 'b');
  }
}

TEST(Measure, TellsSlowFromFastAndSpendsTheTimeGiven) {
  const auto sleeper = [](std::chrono::milliseconds time) {
    return Candidate{"sleep", [time](std::size_t) -> Status {
                       std::this_thread::sleep_for(time);
                       return {};
                     }};
  };
  const std::vector<Candidate> candidates{sleeper(kRun), sleeper(4 * kRun)};
  const auto begin = std::chrono::steady_clock::now();
  const auto result = measure(candidates, {.seconds = 0.1, .min_runs = 1});
  ASSERT_TRUE(result.ok());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200));
  EXPECT_GE(result->front().median, 1e6);
  EXPECT_GE(result->back().median, 4e6);
  EXPECT_GT(result->back().median, result->front().median);
}

// Below the length of a sample, one sample is the mean of many runs.
TEST(Measure, ShortRunsAreTimedManyAtOnce) {
  int runs = 0;
  const std::vector<Candidate> candidates{{"count", [&](std::size_t) -> Status {
                                             ++runs;
                                             return {};
                                           }}};
  const auto result = measure(candidates, {.seconds = 0, .min_runs = 3, .min_sample = 1e-3});
  ASSERT_TRUE(result.ok());
  EXPECT_GT(runs, 300);
  EXPECT_LT(result->front().median, 1e5);
}

TEST(Measure, AFailedRunEndsIt) {
  const std::vector<Candidate> candidates{{"broken", [](std::size_t) -> Status { return Error{ErrorCode::internal, "no luck", {}}; }}};
  const auto result = measure(candidates, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "no luck");
}

}  // namespace
}  // namespace mollify::bench
