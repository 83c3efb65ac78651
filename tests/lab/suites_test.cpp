#include <gtest/gtest.h>

#include <ranges>
#include <set>

#include "lab/candidates.h"
#include "lab/suite.h"

namespace mollify::lab {
namespace {

DeviceInfo cpu() {
  return Device::open("cpu", {.threads = 2})->info();
}

/// The names of all cases of a suite, each once.
std::set<std::string> names_of(const char* suite, const DeviceInfo& device) {
  std::set<std::string> names;
  for (const Group& group : find_suite(suite)->groups(device)) {
    for (const cases::Case& c : group.cases) EXPECT_TRUE(names.insert(cases::name(c)).second) << cases::name(c);
  }
  return names;
}

TEST(Suites, EachHasPlansForAllThatItHolds) {
  const DeviceInfo device = cpu();
  for (const Suite& suite : suites()) {
    const std::vector<Group> groups = suite.groups(device);
    EXPECT_FALSE(groups.empty()) << suite.name;
    const Group& group = groups.front();
    for (const cases::Case& c : group.cases) {
      PlanOptions options;
      if (!c.algorithm.id.empty()) options.algorithm = c.algorithm;
      EXPECT_TRUE(make_plan(c.spec, c.src, c.dst, device, options).ok()) << cases::name(c);
      EXPECT_EQ(c.src, group.cases.front().src);
      EXPECT_EQ(c.spec.kernel, group.cases.front().spec.kernel);
    }
    EXPECT_TRUE(group.cases.front().algorithm.id.empty()) << "the planner's choice comes first";
  }
}

TEST(Suites, AreFoundByName) {
  for (const Suite& suite : suites()) EXPECT_EQ(find_suite(suite.name), &suite);
  EXPECT_EQ(find_suite("nonsense"), nullptr);
}

TEST(Suites, BlursHasEverySizeFormatAndWidth) {
  std::set<std::string> labels;
  for (const Group& group : find_suite("blurs")->groups(cpu())) labels.insert(group.label);
  EXPECT_EQ(labels.size(), 4U * 3U * 9U);
}

TEST(Suites, SpeedIsAboutThePlannersChoices) {
  for (const Group& group : find_suite("speed")->groups(cpu())) {
    ASSERT_EQ(group.cases.size(), 1U) << group.label;
    EXPECT_TRUE(group.cases.front().algorithm.id.empty()) << group.label;
  }
}

TEST(Suites, TheFirstGroupsSpanEverything) {
  const std::vector<Group> blurs = find_suite("blurs")->groups(cpu());
  std::set<std::string> shapes;  // sizes and formats of the first two widths
  for (std::size_t i = 0; i < 24; ++i) shapes.insert(blurs[i].label.substr(0, blurs[i].label.rfind(' ')));
  EXPECT_EQ(shapes.size(), 4U * 3U);
  EXPECT_TRUE(blurs[0].label.ends_with("radius=1")) << blurs[0].label;
  EXPECT_TRUE(blurs[12].label.ends_with("radius=9")) << blurs[12].label;
  EXPECT_TRUE(blurs[24].label.ends_with("radius=5")) << blurs[24].label;

  const std::vector<Group> box = find_suite("box")->groups(cpu());
  const std::vector<std::string> radii{"=1", "=63", "=32", "=16", "=47"};
  for (std::size_t i = 0; i < radii.size(); ++i) EXPECT_TRUE(box[i].label.ends_with(radii[i])) << box[i].label;
}

TEST(Suites, BoxHasEveryRadius) {
  EXPECT_EQ(find_suite("box")->groups(cpu()).size(), 63U);
  EXPECT_GE(find_suite("box")->min_runs, 10);
}

TEST(Suites, FusedHasEveryKernelSizeAndFormat) {
  const std::vector<Group> groups = find_suite("fused")->groups(cpu());
  EXPECT_EQ(groups.size(), 17U * 2U * 3U);
  std::size_t others = 0;
  for (const Group& group : groups) {
    others += group.cases.size() - 1;  // than the planner's choice
    const std::set<std::string> fused{"sep.fused", "gauss.decimate", "box.any"};
    for (const cases::Case& c : group.cases | std::views::drop(1)) EXPECT_TRUE(fused.contains(c.algorithm.id)) << cases::name(c);
  }
  EXPECT_GT(others, 0U);
}

TEST(Suites, NoCaseIsThereTwice) {
  EXPECT_GT(names_of("quick", cpu()).size(), 12U);
  EXPECT_GT(names_of("quad", cpu()).size(), 24U);
}

TEST(Candidates, EveryAccuracyIsACaseWhereItChangesThePlan) {
  const Problem problem{Gaussian{{20, 20}, {}, {}}, {256, 256}, PixelFormat::rgba8};
  const auto decimate = [](std::string_view id) { return id == "gauss.decimate"; };
  const Group one = make_group(problem, {.takes_part = decimate, .options = false, .max_errors = {1e-6, 0.05}}, cpu());
  const Group all =
      make_group(problem, {.takes_part = decimate, .options = false, .max_errors = {1e-6, 0.05}, .every_accuracy = true}, cpu());
  EXPECT_GT(all.cases.size(), one.cases.size());
  EXPECT_EQ(all.label, "256x256 rgba8 gaussian:sigma=20");
}

TEST(Candidates, WhatCannotRunIsLeftOut) {
  const Problem problem{Box::of_radius(3, 3), {64, 64}, PixelFormat::rgba8};
  const auto gaussians = [](std::string_view id) { return id.starts_with("gauss."); };
  const Group group = make_group(problem, {.takes_part = gaussians}, cpu());
  EXPECT_EQ(group.cases.size(), 1U) << "only the planner's choice";
}

}  // namespace
}  // namespace mollify::lab
