#include "bench/time_case.h"

#include <gtest/gtest.h>

#include "bench/peers/peer.h"

namespace mollify::bench {
namespace {

cases::Case box_case() {
  cases::Case c;
  c.spec.kernel = Box::of_radius(2, 2);
  c.src = c.dst = {64, 48, PixelFormat::rgba8};
  return c;
}

Result<Timing> time_quickly(const cases::Case& c, std::span<const Peer> peers = {}) {
  return time_case(Device::open("cpu", {.threads = 1}).value(), c, {.seconds = 0.0, .peers = peers});
}

TEST(TimeCase, RecordsWhatItVerifiedAndTimed) {
  const cases::Case c = box_case();
  const Result<Timing> timing = time_quickly(c);
  ASSERT_TRUE(timing.ok()) << timing.error().message;
  ASSERT_EQ(timing->records.size(), 1U);
  const Record& record = timing->records.front();
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

TEST(TimeCase, APeerIsARecordOfItsOwn) {
  const Result<Timing> timing = time_quickly(box_case(), peers());
  ASSERT_TRUE(timing.ok());
  ASSERT_EQ(timing->records.size(), 1 + peers().size());
  for (std::size_t i = 0; i < peers().size(); ++i) {
    const Record& record = timing->records[1 + i];
    EXPECT_EQ(record.peer, peers()[i].name);
    ASSERT_TRUE(record.max_error);
    EXPECT_LT(*record.max_error, 0.01);
    EXPECT_FALSE(record.predicted_error);
    EXPECT_EQ(record.copy_before_ns, timing->records[i].copy_after_ns) << "one copy lies between two entrants";
    EXPECT_NE(record.time_ns.median, timing->records.front().time_ns.median);
  }
}

TEST(TimeCase, APeerThatCannotIsANote) {
  if (peers().empty()) GTEST_SKIP() << "no peer is built in";
  cases::Case c = box_case();
  c.spec.border.mode = {BorderMode::wrap, BorderMode::wrap};
  const Result<Timing> timing = time_quickly(c, peers());
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->records.size(), 1U);
  ASSERT_EQ(timing->notes.size(), peers().size());
  for (std::size_t i = 0; i < peers().size(); ++i) {
    EXPECT_TRUE(timing->notes[i].starts_with(peers()[i].name + " left out: ")) << timing->notes[i];
  }
}

TEST(TimeCase, RefusedAndWrongCasesHaveNoTime) {
  cases::Case refused = box_case();
  refused.algorithm.id = "box.any";
  refused.spec.kernel = Gaussian{};
  const Result<Timing> first = time_quickly(refused);
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().code, ErrorCode::unsupported);

  cases::Case wrong = box_case();
  wrong.spec.kernel = Box::of_radius(-1, 1);
  const Result<Timing> second = time_quickly(wrong);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("not timed"), std::string::npos);
}

}  // namespace
}  // namespace mollify::bench
