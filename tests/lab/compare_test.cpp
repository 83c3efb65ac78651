#include "lab/compare.h"

#include <gtest/gtest.h>

namespace mollify::lab {
namespace {

Json timed(const std::string& name, double median, double spread = 0.02, double copy = 1e6) {
  return {{"case", name},
          {"device", "a device"},
          {"threads", 2},
          {"peer", nullptr},
          {"time_ns", {{"median", median}, {"p10", median * (1 - spread)}, {"p90", median * (1 + spread)}}},
          {"copy_ns", copy}};
}

Changes compare_runs(const std::vector<Records>& before, const std::vector<Records>& after, const CompareOptions& options = {}) {
  return compare(before, after, options);
}

Changes compare(const Records& before, const Records& after, const CompareOptions& options) {
  return compare_runs({before}, {after}, options);
}

TEST(Compare, FindsWhatChangedBeyondNoise) {
  const Records before{timed("same", 100), timed("slower", 100), timed("much slower", 100), timed("faster", 100)};
  const Records after{timed("same", 102), timed("slower", 120), timed("much slower", 200), timed("faster", 50)};
  const Changes changes = compare(before, after, {});
  ASSERT_EQ(changes.slower.size(), 2U);
  EXPECT_EQ(changes.slower[0].case_name, "much slower");
  EXPECT_DOUBLE_EQ(changes.slower[0].factor(), 2.0);
  EXPECT_EQ(changes.slower[1].case_name, "slower");
  ASSERT_EQ(changes.faster.size(), 1U);
  EXPECT_DOUBLE_EQ(changes.faster[0].factor(), 0.5);
  EXPECT_EQ(changes.same, 1U);
  EXPECT_EQ(changes.compared(), 4U);
}

TEST(Compare, FindsWhatHasBecomeWrong) {
  const auto wrong = [](const std::string& name) {
    return Json{{"case", name}, {"device", "a device"}, {"threads", 2}, {"peer", nullptr}, {"outcome", "wrong"}};
  };
  const Records before{timed("right", 100), timed("wrong now", 100), timed("mended", 100), wrong("wrong before")};
  const Records after{timed("right", 100), wrong("wrong now"), wrong("mended"), timed("mended", 100), wrong("wrong before"), wrong("new")};
  const Changes changes = compare(before, after, {});
  EXPECT_EQ(changes.wrong, std::vector<std::string>{"wrong now"});
  EXPECT_EQ(changes.same, 2U);
  EXPECT_EQ(changes.only_before, 0U);
}

TEST(Compare, SpreadsThatOverlapAreNoise) {
  const Records before{timed("a", 100, 0.3)};
  const Records after{timed("a", 130, 0.3)};
  EXPECT_EQ(compare(before, after, {}).same, 1U);
  EXPECT_EQ(compare(Records{timed("a", 100, 0.01)}, Records{timed("a", 130, 0.01)}, {}).slower.size(), 1U);
}

TEST(Compare, TheThresholdIsAPart) {
  const Records before{timed("a", 100, 0.001)};
  const Records after{timed("a", 108, 0.001)};
  EXPECT_EQ(compare(before, after, {.threshold = 0.05}).slower.size(), 1U);
  EXPECT_EQ(compare(before, after, {.threshold = 0.10}).same, 1U);
}

TEST(Compare, InCopiesABusierMachineIsNotSlower) {
  const Records before{timed("a", 100, 0.01, 50)};
  const Records after{timed("a", 200, 0.01, 100)};
  EXPECT_EQ(compare(before, after, {}).slower.size(), 1U);
  EXPECT_EQ(compare(before, after, {.unit = Unit::copies}).same, 1U);
}

TEST(Compare, CountsWhatOnlyOneSideHas) {
  const Records before{timed("a", 100), timed("gone", 100), timed("gone too", 100)};
  const Records after{timed("a", 100), timed("new", 100)};
  const Changes changes = compare(before, after, {});
  EXPECT_EQ(changes.only_before, 2U);
  EXPECT_EQ(changes.only_after, 1U);
}

TEST(Compare, LeavesPeersAndRefusalsOut) {
  Json peer = timed("a", 100);
  peer["peer"] = "opencv 4.6.0";
  Json slow_peer = timed("a", 300);
  slow_peer["peer"] = "opencv 4.6.0";
  const Json refused{{"case", "b"}, {"device", "a device"}, {"outcome", "refused"}};
  EXPECT_EQ(compare(Records{peer, refused}, Records{slow_peer, refused}, {}).compared(), 0U);
}

TEST(Compare, RunsOfOneSideSayHowFarTheyDrift) {
  const std::vector<Records> before{{timed("steady", 100), timed("drifts", 100)}, {timed("steady", 101), timed("drifts", 130)}};
  const std::vector<Records> after{{timed("steady", 120), timed("drifts", 140)}, {timed("steady", 121), timed("drifts", 125)}};
  const Changes changes = compare_runs(before, after);
  ASSERT_EQ(changes.slower.size(), 1U);
  EXPECT_EQ(changes.slower[0].case_name, "steady");
  EXPECT_DOUBLE_EQ(changes.slower[0].factor(), 120.5 / 100.5);
  EXPECT_EQ(changes.same, 1U);  // "drifts": 125 to 140 reach what was 100 to 130
  EXPECT_EQ(changes.drift.cases, 4U);
  EXPECT_NEAR(changes.drift.most, 0.30, 1e-12);
  EXPECT_EQ(compare_runs({before[0]}, {after[0]}).drift.cases, 0U);
}

TEST(Compare, WrongInOneOfSeveralRunsIsWrong) {
  const Json wrong{{"case", "a"}, {"device", "a device"}, {"threads", 2}, {"peer", nullptr}, {"outcome", "wrong"}};
  const Changes changes = compare_runs({{timed("a", 100), timed("gone", 100)}}, {{timed("a", 100)}, {wrong}});
  EXPECT_EQ(changes.wrong, std::vector<std::string>{"a"});
  EXPECT_EQ(changes.only_before, 1U);
}

TEST(Compare, DevicesAreNotMixed) {
  Json other = timed("a", 300);
  other["device"] = "another device";
  EXPECT_EQ(compare(Records{timed("a", 100)}, Records{other}, {}).compared(), 0U);
}

}  // namespace
}  // namespace mollify::lab
