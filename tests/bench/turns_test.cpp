#include "bench/turns.h"

#include <gtest/gtest.h>

#include <string>

namespace mollify::bench {
namespace {

Figures figures(double median, double spread, double before = 100, double after = 100) {
  return {.time_ns = {.median = median, .p10 = median * (1 - spread / 2), .p90 = median * (1 + spread / 2), .count = 9},
          .copy_before_ns = before,
          .copy_after_ns = after};
}

TEST(Turns, UnsteadinessIsTheWorseOfRunsAndCopies) {
  EXPECT_NEAR(unsteadiness(figures(50, 0.1)), 0.1, 1e-9);
  EXPECT_NEAR(unsteadiness(figures(50, 0.1, 90, 110)), 0.2, 1e-9);
  EXPECT_NEAR(unsteadiness(figures(50, 0.1, 0, 0)), 0.1, 1e-9) << "no copies at all";
}

TEST(Turns, RepeatsWhatIsUnstableAndKeepsTheSteadiest) {
  std::vector<std::vector<std::size_t>> asked;
  const auto result = time_steadily(3, 3, [&](std::span<const std::size_t> which) -> Result<std::vector<Figures>> {
    asked.emplace_back(which.begin(), which.end());
    std::vector<Figures> out;
    for (const std::size_t i : which) {
      if (i == 0) out.push_back(figures(10, 0.01));                                                    // steady at once
      if (i == 1) out.push_back(figures(20, asked.size() == 1 ? 0.9 : 0.02));                          // steady the second time
      if (i == 2) out.push_back(figures(asked.size() == 2 ? 32 : 31, asked.size() == 2 ? 0.4 : 0.8));  // never
    }
    return out;
  });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(asked, (std::vector<std::vector<std::size_t>>{{0, 1, 2}, {1, 2}, {2}}));
  EXPECT_EQ((*result)[0].attempts, 1);
  EXPECT_FALSE((*result)[1].unstable);
  EXPECT_EQ((*result)[1].attempts, 2);
  EXPECT_TRUE((*result)[2].unstable);
  EXPECT_EQ((*result)[2].attempts, 3);
  EXPECT_EQ((*result)[2].time_ns.median, 32) << "the second attempt was the steadiest";
}

TEST(Turns, ACopyTakesItsTurnBeforeAndAfterEach) {
  std::string order;
  const auto candidate = [&](char id) {
    return Candidate{std::string(1, id), {}, [&order, id]() -> Result<std::vector<double>> {
                       order += id;
                       return std::vector<double>{static_cast<double>(id)};
                     }};
  };
  const std::vector<Candidate> entrants{candidate('a'), candidate('b')};
  const auto result = time_between_copies(entrants, candidate('-'), {.seconds = 0, .min_runs = 2});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(order.substr(order.size() - 10), "-a-b--a-b-");
  EXPECT_EQ((*result)[0].time_ns.median, 'a');
  EXPECT_EQ((*result)[1].time_ns.median, 'b');
  EXPECT_EQ((*result)[1].copy_before_ns, '-');
}

TEST(Turns, StopsWhenAsked) {
  int runs = 0;
  const std::vector<Candidate> one{{"one", [&](std::size_t) -> Status {
                                      ++runs;
                                      return {};
                                    }}};
  const auto result = measure(one, {.seconds = 1000, .min_sample = 0.0, .stop = [&] { return runs > 20; }});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "stopped");
}

}  // namespace
}  // namespace mollify::bench
