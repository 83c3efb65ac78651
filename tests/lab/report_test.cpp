#include "lab/report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lab/page_files.h"

namespace mollify::lab {
namespace {

Json timed(const std::string& name) {
  return {{"case", name},
          {"algorithm", "sep.fused"},
          {"device", "d"},
          {"src_format", "rgba8"},
          {"dst_format", "rgba8"},
          {"width", 64},
          {"height", 64},
          {"peer", nullptr},
          {"time_ns", {{"median", 1e6}, {"p10", 9e5}, {"p90", 1.1e6}}},
          {"environment", {{"cpu", "a cpu"}, {"load_average", 1.5}}}};
}

/// Of a record that the page carries.
Json field(const Json& data, std::size_t record, const std::string& name) {
  const Json& fields = data["records"]["fields"];
  const auto found = std::find(fields.begin(), fields.end(), name);
  return found == fields.end() ? Json("no such field") : data["records"]["rows"][record][found - fields.begin()];
}

/// The data that the page carries.
Json data_of(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(open) + open.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(Report, HoldsEveryFileAndLoadsNone) {
  const std::string page = report_page(std::vector{timed("a/64x64/rgba8/box:radius=1/clamp")});
  EXPECT_EQ(page.find("{{"), page.find("{{", page.find("echarts"))) << "a part that was not filled in";
  for (const char* name : {"style.css", "model.js", "look.js", "marks.js", "charts.js", "tables.js", "app.js", "echarts.min.js"}) {
    ASSERT_FALSE(page_file(name).empty()) << name;
    EXPECT_NE(page.find(page_file(name)), std::string::npos) << name;
  }
  EXPECT_EQ(page.find("<script src"), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
  EXPECT_TRUE(page_file("no such file").empty());
}

TEST(Report, CarriesWhatTheChartsNeed) {
  Json refused = timed("b/64x64/rgba8/box:radius=1/clamp");
  refused["outcome"] = "refused";
  Json busier = timed("c/64x64/rgba8/box:radius=1/clamp");
  busier["environment"]["load_average"] = 9.0;
  const Json data = data_of(report_page(std::vector{timed("a/64x64/rgba8/box:radius=1/clamp"), refused, busier}));
  ASSERT_EQ(data["records"]["rows"].size(), 2U);
  EXPECT_EQ(field(data, 0, "pixel_bits"), 32);
  EXPECT_EQ(field(data, 0, "channels"), 4);
  EXPECT_EQ(field(data, 0, "time_ns")["median"], 1e6);
  EXPECT_EQ(data["environments"].size(), 1U) << "the load is not part of an environment";
  EXPECT_EQ(data["left_out"]["refused"], 1);
}

TEST(Report, WhatARecordLacksIsNull) {
  Json noted = timed("a/64x64/rgba8/box:radius=1/clamp");
  noted["note"] = "slow";
  noted["copy_ns"] = 1234.56789;
  const Json data = data_of(report_page(std::vector{timed("b/64x64/rgba8/box:radius=1/clamp"), noted}));
  EXPECT_TRUE(field(data, 0, "note").is_null());
  EXPECT_EQ(field(data, 1, "note"), "slow");
  EXPECT_EQ(field(data, 1, "copy_ns"), 1234.57);
}

TEST(Report, HasThePublishedTimesAsNumbers) {
  const Json data = data_of(report_page(std::vector{timed("a/64x64/rgba8/box:radius=1/clamp")}));
  const Json& rows = data["published"];
  ASSERT_GT(rows.size(), 100U);
  EXPECT_EQ(rows[0]["source"], "A Tale Of Too Many Blurs, part 2");
  EXPECT_TRUE(rows[0]["milliseconds"].is_float());
  EXPECT_EQ(rows.elements().back()["note"], "MPSImageBox, 3.1 to 3.4 ms at any radius") << "a comma within quotes";
}

TEST(Report, ARecordCannotEndTheScript) {
  Json record = timed("a/64x64/rgba8/box:radius=1/clamp");
  record["note"] = "</script><!--<script>";
  const Json data = data_of(report_page(std::vector{record}));
  EXPECT_EQ(field(data, 0, "note"), "</script><!--<script>");
}

}  // namespace
}  // namespace mollify::lab
