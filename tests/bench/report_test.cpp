#include "bench/report.h"

#include <gtest/gtest.h>

namespace mollify::bench {
namespace {

Record example() {
  BlurSpec spec;
  spec.kernel = Gaussian{.sigma = {3.0, 3.0}, .radius = PerAxis<std::int32_t>{9, 9}, .truncate = {}};
  return {.case_name = "a case",
          .algorithm = "sep.fused",
          .options = {{"tile", "64"}},
          .backend = "cpu",
          .device = "a device",
          .spec = spec,
          .src = {640, 480, PixelFormat::rgba8},
          .dst = {640, 480, PixelFormat::rgba32f},
          .threads = 2,
          .time_ns = {.median = 3e6, .p10 = 2.7e6, .p90 = 3.6e6, .count = 9},
          .copy_ns = 2e6,
          .min_bytes = 6144000,
          .max_error = 1e-6,
          .predicted_error = 2e-6,
          .peer = std::nullopt};
}

Record peer_of(Record record, double median) {
  record.peer = "opencv 4.6.0";
  record.algorithm = "GaussianBlur";
  record.time_ns.median = median;
  record.max_error = record.predicted_error = std::nullopt;
  return record;
}

TEST(Json, HasExactlyTheDocumentedFieldsInOrder) {
  const auto json = to_json(example(), Environment{});
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.members()) keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"case",           "algorithm",  "options",    "backend",       "device",          "width",
                                      "height",         "src_format", "dst_format", "batch",         "kernel",          "sigma",
                                      "radius",         "border",     "threads",    "time_ns",       "copy_ns",         "copy_before_ns",
                                      "copy_after_ns",  "copy_ratio", "submit_ns",  "end_to_end_ns", "dispatch_ns",     "nothing_ns",
                                      "unstable",       "attempts",   "min_bytes",  "max_error",     "predicted_error", "peer",
                                      "realized_sigma", "note",       "environment"}));
}

TEST(Json, HoldsTheRecord) {
  Environment environment;
  environment.cpu = "a cpu";
  const auto json = to_json(example(), environment);
  EXPECT_EQ(json["case"], "a case");
  EXPECT_EQ(json["options"]["tile"], "64");
  EXPECT_EQ(json["src_format"], "rgba8");
  EXPECT_EQ(json["dst_format"], "rgba32f");
  EXPECT_EQ(json["kernel"], "gaussian");
  EXPECT_EQ(json["sigma"], 3.0);
  EXPECT_EQ(json["radius"], 9);
  EXPECT_EQ(json["border"], "clamp");
  EXPECT_EQ(json["time_ns"]["median"], 3e6);
  EXPECT_EQ(json["time_ns"]["p10"], 2.7e6);
  EXPECT_EQ(json["time_ns"]["p90"], 3.6e6);
  EXPECT_DOUBLE_EQ(json["copy_ratio"].get<double>(), 1.5);
  EXPECT_EQ(json["max_error"], 1e-6);
  EXPECT_TRUE(json["peer"].is_null());
  EXPECT_EQ(json["environment"]["cpu"], "a cpu");
  EXPECT_TRUE(json["environment"]["commit"].is_null());
  EXPECT_EQ(json.dump().find('\n'), std::string::npos);
}

TEST(Json, AxesThatDifferBecomePairs) {
  Record record = example();
  record.spec.kernel = Box::of_size({4, 3}, {1, 1});
  record.spec.border.mode = {BorderMode::wrap, BorderMode::mirror};
  const auto json = to_json(record, Environment{});
  EXPECT_EQ(json["kernel"], "box");
  EXPECT_TRUE(json["sigma"].is_null());
  EXPECT_EQ(json["radius"].dump(), "[1.5,1.0]");
  EXPECT_EQ(json["border"].dump(), R"(["wrap","mirror"])");
}

TEST(Json, AGaussianWithoutRadiusHasNone) {
  Record record = example();
  record.spec.kernel = Gaussian{.sigma = {3.0, 2.0}, .radius = {}, .truncate = {}};
  const auto json = to_json(record, Environment{});
  EXPECT_EQ(json["sigma"].dump(), "[3.0,2.0]");
  EXPECT_TRUE(json["radius"].is_null());
}

TEST(Json, APeerIsNamedAndPromisesNothing) {
  const auto json = to_json(peer_of(example(), 6e6), Environment{});
  EXPECT_EQ(json["peer"], "opencv 4.6.0");
  EXPECT_EQ(json["algorithm"], "GaussianBlur");
  EXPECT_TRUE(json["max_error"].is_null());
  EXPECT_TRUE(json["predicted_error"].is_null());
}

TEST(Table, ShowsRatioSpreadAndTheFastestPeer) {
  const std::vector<std::string> names{"a case"};
  const std::vector<Record> records{example(), peer_of(example(), 9e6), peer_of(example(), 6e6)};
  const std::string row = Table(names).row(records);
  for (const char* cell : {"a case", "sep.fused", "3.000", "30%", "2.000", "1.50", "6.000", "2.00x"}) {
    EXPECT_NE(row.find(cell), std::string::npos) << cell << " in: " << row;
  }
  EXPECT_EQ(row.size(), Table(names).header().size());
}

TEST(Table, KeepsItsColumnsWhenANameIsEndless) {
  Record record = example();
  record.case_name = std::string(5000, 'm');
  const std::vector<std::string> names{record.case_name};
  EXPECT_EQ(Table(names).row(std::vector{record}).size(), Table(names).header().size());
  EXPECT_LT(Table(names).header().size(), 180U);
}

TEST(Table, DoesNotInventAPeer) {
  const std::vector<std::string> names{"a case"};
  const std::vector<Record> records{example()};
  const std::string row = Table(names).row(records);
  EXPECT_EQ(row.back(), '-');
  EXPECT_EQ(row.find("x"), std::string::npos);
}

}  // namespace
}  // namespace mollify::bench
