#include "lab/run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "lab/candidates.h"

namespace mollify::lab {
namespace {

std::vector<Group> two_groups(const DeviceInfo& device) {
  const auto separable = [](std::string_view id) { return id == "sep.fused" || id == "box.any"; };
  std::vector<Group> groups;
  for (const double radius : {1.0, 2.0}) {
    groups.push_back(
        make_group({Box::of_radius(radius, radius), {32, 32}, PixelFormat::rgba8}, {.takes_part = separable, .options = false}, device));
  }
  return groups;
}
constexpr Suite kSuite{"test", "two small groups", 0.0, 3, {}, two_groups};

class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("mollify_run_" + std::to_string(::getpid()) + ".jsonl")).string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Tally run(const Suite& suite, Resume resume, const RunOptions& options = {}) {
    Result<Results> results = Results::open(path_, resume);
    EXPECT_TRUE(results.ok());
    Result<Tally> tally = run_suite(device_, suite, *results, options, observer());
    EXPECT_TRUE(tally.ok());
    return tally ? *tally : Tally{};
  }

  Observer observer() {
    return {.working = [](const Group&, std::string_view, std::size_t, std::size_t) {},
            .finished =
                [this](const Group&, const Json&, const Tally&, double) {
                  ++finished_;
                  if (on_finished_) on_finished_();
                },
            .note = [this](const std::string& note) { notes_.push_back(note); }};
  }

  Device device_ = *Device::open("cpu", {.threads = 1});
  std::string path_;
  int finished_ = 0;
  std::function<void()> on_finished_;
  std::vector<std::string> notes_;
};

TEST_F(RunTest, WritesEveryCaseWithTheLabsFields) {
  const Tally tally = run(kSuite, Resume::no, {.device_name = "cpu"});
  EXPECT_EQ(tally.timed, 4);
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_EQ(tally.left, 0);
  EXPECT_EQ(finished_, 2);
  const Result<std::vector<Json>> read = read_results(path_);
  ASSERT_TRUE(read.ok());
  const std::vector<Json>& records = *read;
  ASSERT_EQ(records.size(), 4U);
  int chosen = 0;
  for (const Json& record : records) {
    for (const char* field : {"lab", "suite", "group", "driver", "measured_at", "command", "outcome", "chosen", "clocks", "plan", "tuning",
                              "environment", "max_error", "copy_before_ns"}) {
      EXPECT_TRUE(record.contains(field)) << field;
    }
    EXPECT_EQ(record["suite"], "test");
    EXPECT_EQ(record["outcome"], "timed");
    EXPECT_EQ(record["command"], "mollify bench --device cpu --case " + record["case"].get<std::string>());
    EXPECT_FALSE(record["plan"]["passes"].elements().empty());
    EXPECT_GT(record["time_ns"]["median"].get<double>(), 0.0);
    chosen += record["chosen"].get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(chosen, 2) << "one of each group";
}

TEST_F(RunTest, ResumesWithoutMeasuringTwice) {
  std::atomic<bool> stop = false;
  on_finished_ = [&] { stop = true; };
  const Tally first = run(kSuite, Resume::no, {.stop = &stop});
  EXPECT_TRUE(first.stopped);
  EXPECT_EQ(first.timed, 2) << "the group that was finished is kept";
  EXPECT_EQ(first.left, 2);

  on_finished_ = nullptr;
  const Tally second = run(kSuite, Resume::yes);
  EXPECT_FALSE(second.stopped);
  EXPECT_EQ(second.done_before, 2);
  EXPECT_EQ(second.timed, 2);
  EXPECT_EQ(read_results(path_)->size(), 4U);
  EXPECT_EQ(run(kSuite, Resume::yes).timed, 0);
}

TEST_F(RunTest, ATimeLimitBeginsNoGroupButTheFirst) {
  const Tally tally = run(kSuite, Resume::no, {.limit_seconds = 0.0});
  EXPECT_TRUE(tally.out_of_time);
  EXPECT_EQ(tally.timed, 2);
  EXPECT_EQ(tally.left, 2);
}

TEST_F(RunTest, NoGroupBeginsThatWouldEndAfterTheLimit) {
  on_finished_ = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1200)); };
  const Tally tally = run(kSuite, Resume::no, {.limit_seconds = 2.0});
  EXPECT_TRUE(tally.out_of_time) << "the first took more than half of the time";
  EXPECT_EQ(tally.timed, 2);
}

TEST_F(RunTest, AFilterSelectsCases) {
  const Tally tally = run(kSuite, Resume::no, {.filter = "sep.fused/*radius=2/*"});
  EXPECT_EQ(tally.timed, 1);
  EXPECT_EQ(tally.left, 0);
  ASSERT_EQ(read_results(path_)->size(), 1U);
  EXPECT_TRUE(read_results(path_)->front()["case"].get<std::string>().starts_with("sep.fused/32x32"));
}

std::vector<Group> group_with_options(const DeviceInfo&) {
  cases::Case plain;
  plain.spec.kernel = Box::of_radius(2, 2);
  plain.src = plain.dst = {32, 32, PixelFormat::rgba8};
  cases::Case chosen = plain;
  chosen.algorithm = {"sep.fused", {{"unroll", "none such"}}};
  return {{"a box", {plain, chosen}}};
}

TEST_F(RunTest, DefaultsLeaveOptionsOut) {
  const Suite suite{"test", "options", 0.0, 3, {}, group_with_options};
  const Tally tally = run(suite, Resume::no, {.choices = Choices::defaults});
  EXPECT_EQ(tally.timed, 1);
  EXPECT_EQ(tally.wrong + tally.refused, 0);
}

std::vector<Group> refused_group(const DeviceInfo&) {
  cases::Case c;
  c.spec.kernel = Gaussian{};
  c.src = c.dst = {32, 32, PixelFormat::rgba8};
  c.algorithm.id = "box.any";
  return {{"a Gaussian by boxes", {c}}};
}

TEST_F(RunTest, ARefusalIsARecordButNotATime) {
  const Suite suite{"test", "a refusal", 0.0, 3, {}, refused_group};
  const Tally tally = run(suite, Resume::no);
  EXPECT_EQ(tally.refused, 1);
  EXPECT_EQ(tally.timed, 0);
  const Result<std::vector<Json>> read = read_results(path_);
  ASSERT_TRUE(read.ok());
  const std::vector<Json>& records = *read;
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0]["outcome"], "refused");
  EXPECT_FALSE(records[0].contains("time_ns"));
  EXPECT_NE(records[0]["message"].get<std::string>().find("not timed"), std::string::npos);
  EXPECT_EQ(run(suite, Resume::yes).done_before, 1);
}

TEST_F(RunTest, PeersAreRecordsOfTheirOwn) {
  const bench::Peer peer{"a copy 1.0", [](const cases::Case&, int) -> Result<bench::PeerRun> {
                           bench::PeerRun run{.function = "memcpy", .options = {}, .note = "no blur at all", .run = {}};
                           run.run = [](const ConstImageView& src, const ImageView& dst) -> Status {
                             for (std::int32_t y = 0; y < dst.desc.height; ++y) {
                               std::copy_n(src.row(y), dst.desc.row_payload_bytes(), dst.row(y));
                             }
                             return {};
                           };
                           return run;
                         }};
  const Tally tally = run(kSuite, Resume::no, {.peers = {&peer, 1}});
  EXPECT_EQ(tally.peers, 2);
  int seen = 0;
  const Result<std::vector<Json>> read = read_results(path_);
  ASSERT_TRUE(read.ok());
  for (const Json& record : *read) {
    if (record["peer"].is_null()) continue;
    ++seen;
    EXPECT_EQ(record["peer"], "a copy 1.0");
    EXPECT_EQ(record["case"].get<std::string>().substr(0, 5), "auto/") << "a peer knows nothing of our algorithms";
    EXPECT_GT(record["max_error"].get<double>(), 0.1) << "what it computes is no box";
    EXPECT_EQ(record["note"], "no blur at all");
  }
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(notes_, std::vector<std::string>{"a copy 1.0: no blur at all"});
}

}  // namespace
}  // namespace mollify::lab
