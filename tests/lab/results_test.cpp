#include "lab/results.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace mollify::lab {
namespace {

class ResultsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("mollify_results_" + std::to_string(::getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / "r.jsonl").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }

  std::filesystem::path folder_;
  std::string path_;
};

Json record(const std::string& name) {
  return {{"case", name}, {"device", "d"}, {"threads", 1}, {"peer", nullptr}};
}
const std::string kLine = R"({"case":"a","device":"d","threads":1,"peer":null})"
                          "\n";

TEST_F(ResultsTest, AddsLinesAndKnowsThem) {
  Result<Results> results = Results::open(path_, Resume::no);
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_FALSE(results->has(key_of("a", "d", 1)));
  ASSERT_TRUE(results->add(record("a")).ok());
  EXPECT_TRUE(results->has(key_of("a", "d", 1)));
  EXPECT_FALSE(results->has(key_of("a", "d", 2)));
  EXPECT_FALSE(results->has(key_of("a", "d", 1, "a peer")));
  EXPECT_EQ(text(), kLine) << "on the disk before anything is closed";
}

TEST_F(ResultsTest, OneAtATime) {
  {
    const Result<Results> first = Results::open(path_, Resume::yes);
    ASSERT_TRUE(first.ok()) << first.error().message;
    const Result<Results> second = Results::open(path_, Resume::yes);
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().message.find(path_ + ": another mollify is adding to it"), std::string::npos) << second.error().message;
  }
  EXPECT_TRUE(Results::open(path_, Resume::yes).ok());
}

TEST_F(ResultsTest, WhatCannotBeReadIsAddedToAsItIs) {
  Result<Results> results = Results::open("/dev/null", Resume::no);
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_TRUE(results->add(record("a")).ok());
  EXPECT_TRUE(Results::open("/dev/null", Resume::no).ok()) << "by several at once";
  EXPECT_FALSE(Results::open(folder_.string(), Resume::no).ok()) << "a folder";
}

TEST_F(ResultsTest, ABatchIsNoSingleImage) {
  Json one = record("a");
  const std::string key = key_of(one);
  one["batch"] = 1;
  EXPECT_EQ(key_of(one), key);
  one["batch"] = 8;
  EXPECT_NE(key_of(one), key);
}

TEST_F(ResultsTest, OtherInstructionsAreAnotherRecord) {
  Json one = record("a");
  one["backend"] = "cpu";
  one["environment"] = {{"highway_target", "AVX2"}};
  EXPECT_EQ(key_of(one), key_of("a", "d", 1, "", "AVX2"));
  EXPECT_NE(key_of(one), key_of("a", "d", 1, "", "SSE4"));
  one["backend"] = "vulkan";
  EXPECT_EQ(key_of(one), key_of("a", "d", 1));
}

TEST_F(ResultsTest, NeverWritesOverResults) {
  write(kLine);
  const Result<Results> refused = Results::open(path_, Resume::no);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--resume"), std::string::npos);
  EXPECT_EQ(text(), kLine);
}

TEST_F(ResultsTest, GoesOnWhereItWasCutOff) {
  write(kLine + R"({"case":"b","dev)");
  Result<Results> results = Results::open(path_, Resume::yes);
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_TRUE(results->has(key_of("a", "d", 1)));
  EXPECT_FALSE(results->has(key_of("b", "d", 1)));
  ASSERT_TRUE(results->add(record("b")).ok());
  const Result<std::vector<Json>> read = read_results(path_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->size(), 2U);
}

TEST_F(ResultsTest, WhatIsNoFileOfTheLabStaysAsItIs) {
  for (const char* content : {"notes, without a line end", "[{\"case\": \"a\"}]", "\n\n"}) {
    write(content);
    for (const Resume resume : {Resume::no, Resume::yes}) EXPECT_FALSE(Results::open(path_, resume).ok()) << content;
    EXPECT_EQ(text(), content);
  }
}

TEST_F(ResultsTest, ALineThatWasCutOffStaysUntilARecordIsAdded) {
  const std::string before = kLine + R"({"case":"b","dev)";
  write(before);
  Result<Results> results = Results::open(path_, Resume::yes);
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(text(), before);
  ASSERT_TRUE(results->add(record("a")).ok());
  EXPECT_EQ(text(), kLine + kLine);
}

TEST_F(ResultsTest, ARecordWithoutALineEndIsKept) {
  write(kLine + kLine.substr(0, kLine.size() - 1));
  EXPECT_EQ(read_results(path_)->size(), 2U);
  Result<Results> results = Results::open(path_, Resume::yes);
  ASSERT_TRUE(results.ok());
  ASSERT_TRUE(results->add(record("a")).ok());
  EXPECT_EQ(text(), kLine + kLine + kLine);
}

TEST_F(ResultsTest, NamesALineThatIsNoRecord) {
  for (const char* line : {"nonsense\n", "[1]\n", "{\"case\": 3}\n", "{}\n"}) {
    write(kLine + line + kLine);
    const Result<std::vector<Json>> read = read_results(path_);
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_NE(read.error().message.find("line 2"), std::string::npos) << read.error().message;
    EXPECT_FALSE(Results::open(path_, Resume::yes).ok());
  }
}

TEST_F(ResultsTest, SaysWhyAFileCannotBeUsed) {
  EXPECT_NE(read_results(path_).error().message.find("No such file"), std::string::npos);
  EXPECT_FALSE(read_results(folder_.string()).ok());
  EXPECT_FALSE(Results::open((folder_ / "no" / "such").string(), Resume::no).ok());
}

TEST(Key, ComesFromOldRecordsToo) {
  EXPECT_EQ(key_of(Json{{"case", "a"}, {"device", "d"}}), key_of("a", "d", 1));
  EXPECT_EQ(key_of(Json{{"case", "a"}, {"device", "d"}, {"threads", 4}, {"peer", "p"}}), key_of("a", "d", 4, "p"));
}

}  // namespace
}  // namespace mollify::lab
