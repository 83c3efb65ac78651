#include "bench/time_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "bench/peers/peer.h"

namespace mollify::bench {
namespace {

cases::Case box_case() {
  cases::Case c;
  c.spec.kernel = Box::of_radius(2, 2);
  c.src = c.dst = {64, 48, PixelFormat::rgba8};
  return c;
}

Result<GroupTiming> time_quickly(std::span<const cases::Case> group, std::span<const Peer> peers = {}) {
  return time_group(Device::open("cpu", {.threads = 1}).value(), group, {.seconds = 0.0, .peers = peers});
}
Result<GroupTiming> time_quickly(const cases::Case& c, std::span<const Peer> peers = {}) {
  return time_quickly({&c, 1}, peers);
}

TEST(TimeGroup, RecordsWhatItVerifiedAndTimed) {
  const cases::Case c = box_case();
  const Result<GroupTiming> timing = time_quickly(c);
  ASSERT_TRUE(timing.ok()) << timing.error().message;
  EXPECT_TRUE(timing->peers.empty());
  ASSERT_EQ(timing->cases.size(), 1U);
  ASSERT_TRUE(timing->cases.front().record.ok()) << timing->cases.front().record.error().message;
  const Record& record = *timing->cases.front().record;
  EXPECT_EQ(record.case_name, cases::name(c));
  EXPECT_FALSE(record.algorithm.empty());
  EXPECT_EQ(record.threads, 1);
  EXPECT_EQ(record.min_bytes, 2 * c.src.payload_bytes());
  EXPECT_GE(record.time_ns.count, 9);
  EXPECT_GT(record.time_ns.p10, 0.0);
  EXPECT_LE(record.time_ns.p10, record.time_ns.median);
  EXPECT_LE(record.time_ns.median, record.time_ns.p90);
  EXPECT_GT(record.copy_ns, 0.0);
  EXPECT_DOUBLE_EQ(record.copy_ns, (record.copy_before_ns + record.copy_after_ns) / 2);
  ASSERT_TRUE(record.max_error && record.predicted_error);
  EXPECT_LE(*record.max_error, *record.predicted_error);
  EXPECT_FALSE(record.peer);
}

TEST(TimeGroup, APeerIsARecordOfItsOwn) {
  const Result<GroupTiming> timing = time_quickly(box_case(), peers());
  ASSERT_TRUE(timing.ok());
  ASSERT_EQ(timing->peers.size(), peers().size());
  const Record& own = timing->cases.front().record.value();
  for (std::size_t i = 0; i < peers().size(); ++i) {
    const Record& record = timing->peers[i];
    EXPECT_EQ(record.peer, peers()[i].name);
    ASSERT_TRUE(record.max_error);
    EXPECT_LT(*record.max_error, 0.01);
    EXPECT_FALSE(record.predicted_error);
    EXPECT_EQ(record.copy_before_ns, (i == 0 ? own : timing->peers[i - 1]).copy_after_ns) << "one copy lies between two entrants";
    EXPECT_NE(record.time_ns.median, own.time_ns.median);
  }
}

TEST(TimeGroup, APeerThatCannotIsANote) {
  if (peers().empty()) GTEST_SKIP() << "no peer is built in";
  cases::Case c = box_case();
  c.spec.border.mode = {BorderMode::wrap, BorderMode::wrap};
  const Result<GroupTiming> timing = time_quickly(c, peers());
  ASSERT_TRUE(timing.ok());
  EXPECT_TRUE(timing->peers.empty());
  ASSERT_EQ(timing->notes.size(), peers().size());
  for (std::size_t i = 0; i < peers().size(); ++i) {
    EXPECT_TRUE(timing->notes[i].starts_with(peers()[i].name + " left out: ")) << timing->notes[i];
  }
}

TEST(TimeGroup, APeerThatTakesSecondsIsANote) {
  const auto peer_of = [](std::string name, double ns) {
    return Peer{std::move(name), [ns](const cases::Case&, int) -> Result<PeerRun> {
                  PeerRun run{.function = "blur", .options = {}, .note = {}, .run = [](const ConstImageView&, const ImageView&) {
                                return Status();
                              }};
                  run.turn = [ns]() -> Result<PeerTurn> { return PeerTurn{.blur_ns = {ns, 2 * ns}}; };
                  return run;
                }};
  };
  const std::vector<Peer> both{peer_of("slow", 3e9), peer_of("quick", 1e6)};
  const Result<GroupTiming> timing = time_quickly(box_case(), both);
  ASSERT_TRUE(timing.ok()) << timing.error().message;
  ASSERT_EQ(timing->peers.size(), 1U);
  EXPECT_EQ(timing->peers.front().peer, "quick");
  EXPECT_EQ(timing->notes, std::vector<std::string>{"slow left out: a run takes 3 s"});
}

/// Of a library of this process, by a run on fewer pixels.
TEST(TimeGroup, APeerThatWouldTakeSecondsIsNotRunOnAllPixels) {
  std::int32_t widest = 0;
  const Peer slow{"slow", [&](const cases::Case&, int) -> Result<PeerRun> {
                    return PeerRun{.function = "blur", .options = {}, .note = {}, .run = [&](const ConstImageView& src, const ImageView&) {
                                     widest = std::max(widest, src.desc.width);
                                     std::this_thread::sleep_for(std::chrono::milliseconds(1300));
                                     return Status();
                                   }};
                  }};
  cases::Case c = box_case();
  c.src.width = c.dst.width = 2112;
  c.src.height = c.dst.height = 1056;
  const Result<GroupTiming> timing = time_quickly(c, {&slow, 1});
  ASSERT_TRUE(timing.ok()) << timing.error().message;
  EXPECT_TRUE(timing->peers.empty());
  EXPECT_EQ(timing->notes, std::vector<std::string>{"slow left out: a run takes 3 s"});
  EXPECT_LT(widest, 2112);
}

TEST(TimeGroup, RefusedAndWrongCasesHaveNoTime) {
  cases::Case refused = box_case();
  refused.algorithm.id = "box.any";
  refused.spec.kernel = Gaussian{};
  cases::Case wrong = box_case();
  wrong.spec.kernel = Box::of_radius(-1, 1);
  for (const cases::Case& c : {refused, wrong}) {
    const Result<GroupTiming> timing = time_quickly(c);
    ASSERT_TRUE(timing.ok());
    ASSERT_FALSE(timing->cases.front().record.ok());
    EXPECT_TRUE(timing->cases.front().record.error().message.starts_with("not timed")) << timing->cases.front().record.error().message;
  }
  EXPECT_EQ(time_quickly(refused)->cases.front().record.error().code, ErrorCode::unsupported);
}

TEST(TimeGroup, WhatIsRefusedLeavesTheTurnsToOthers) {
  std::vector<cases::Case> group(3, box_case());
  group[0].algorithm.id = "sep.fused";
  group[1].algorithm.id = "quad.3x3";  // which is narrower
  group[2].algorithm.id = "box.any";
  const Result<GroupTiming> timing = time_quickly(group);
  ASSERT_TRUE(timing.ok());
  ASSERT_EQ(timing->cases.size(), 3U);
  EXPECT_EQ(timing->cases[0].record.value().algorithm, "sep.fused");
  EXPECT_FALSE(timing->cases[1].record.ok());
  EXPECT_EQ(timing->cases[2].record.value().algorithm, "box.any");
  EXPECT_EQ(timing->cases[0].record->copy_after_ns, timing->cases[2].record->copy_before_ns) << "which followed it";
}

}  // namespace
}  // namespace mollify::bench
