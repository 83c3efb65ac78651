// Tuning rows: what the planner makes of them, and how they are written and read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support.h"

namespace mollify::test {
namespace {

const ImageDesc kImage{100, 100, PixelFormat::rgba8};

TuningRow row(std::string_view algorithm, Options options = {}) {
  TuningRow r;
  r.algorithm = algorithm;
  r.min_taps = 7;
  r.max_taps = 13;
  r.min_pixels = 10000;
  r.options = std::move(options);
  r.gain = r.options.empty() ? 1.0 : 1.5;
  return r;
}
const TuningRow kDouble = row("sep.fused", {{"accumulator", "f64"}});

DeviceInfo tuned(std::vector<TuningRow> rows) {
  DeviceInfo device = cpu().info();
  device.tuning = std::move(rows);
  return device;
}

BlurSpec gaussian(std::int32_t radius) {
  return spec_of(Gaussian{{radius / 3.0, radius / 3.0}, {{radius, radius}}, {}});
}

Plan planned(const DeviceInfo& device, const BlurSpec& spec, const ImageDesc& image = kImage, std::string_view algorithm = "") {
  PlanOptions options;
  if (!algorithm.empty()) options.algorithm = parse_algorithm(algorithm).value();
  return make_plan(spec, image, destination_desc(spec, image, image.format), device, options).value();
}

std::string accumulator(const DeviceInfo& device, const BlurSpec& spec, const ImageDesc& image = kImage) {
  return planned(device, spec, image, "sep.fused").algorithm.options.at("accumulator");
}

TEST(TuningPlan, ARowHoldsFromItsFirstTapToItsLast) {
  const DeviceInfo device = tuned({kDouble});
  EXPECT_EQ(accumulator(device, gaussian(2)), "u16");
  EXPECT_EQ(accumulator(device, gaussian(3)), "f64");
  EXPECT_EQ(accumulator(device, gaussian(6)), "f64");
  EXPECT_EQ(accumulator(device, gaussian(7)), "u16");
}

TEST(TuningPlan, TheLongerAxisCounts) {
  const DeviceInfo device = tuned({kDouble});
  const auto axes = [](std::int32_t x, std::int32_t y) { return spec_of(Gaussian{{1, 1}, {{x, y}}, {}}); };
  EXPECT_EQ(accumulator(device, axes(0, 6)), "f64");
  EXPECT_EQ(accumulator(device, axes(6, 0)), "f64");
  EXPECT_EQ(accumulator(device, axes(3, 7)), "u16");
}

TEST(TuningPlan, ARowHoldsForItsPixels) {
  const DeviceInfo device = tuned({kDouble});
  EXPECT_EQ(accumulator(device, gaussian(4), {100, 99, PixelFormat::rgba8}), "u16");
  EXPECT_EQ(accumulator(device, gaussian(4), {1000, 1000, PixelFormat::rgba8}), "f64");
  EXPECT_EQ(accumulator(device, gaussian(4), {100, 100, PixelFormat::r8}), "u16") << "rows are of four channels";
  EXPECT_EQ(accumulator(device, gaussian(4), {100, 100, PixelFormat::rg32f}), "f32");
  EXPECT_EQ(tuning_pixel_bytes(PixelFormat::rg32f), 8);
  EXPECT_EQ(tuning_pixel_bytes(PixelFormat::rgb32f), 16);
}

TEST(TuningPlan, NeitherRegionNorThreadsMatter) {
  BlurSpec spec = gaussian(4);
  spec.roi = Rect{10, 10, 5, 5};  // fewer pixels than the row asks for
  EXPECT_EQ(accumulator(tuned({kDouble}), spec), "f64");
  DeviceInfo device = tuned({kDouble});
  device.threads = 1;
  EXPECT_EQ(accumulator(device, gaussian(4)), "f64");
}

TEST(TuningPlan, TheCallersOptionsWin) {
  const Plan plan = planned(tuned({kDouble}), gaussian(4), kImage, "sep.fused:accumulator=f32");
  EXPECT_EQ(plan.algorithm.options.at("accumulator"), "f32");
  EXPECT_FALSE(plan.tuning);
}

TEST(TuningPlan, WithoutTuningThereIsNone) {
  const PlanOptions options{.algorithm = AlgorithmChoice{"sep.fused", {}}, .tuning = Tuning::none};
  const Plan plan = make_plan(gaussian(4), kImage, kImage, tuned({kDouble}), options).value();
  EXPECT_EQ(plan.algorithm.options.at("accumulator"), "u16");
  EXPECT_FALSE(plan.tuning);
}

TEST(TuningPlan, RefusedRowsArePassedOver) {
  for (const Options& options :
       {Options{{"no such option", "1"}}, Options{{"accumulator", "f1000"}}, Options{{"accumulator", "f64"}, {"no such option", "1"}}}) {
    const Plan plan = planned(tuned({row("sep.fused", options)}), gaussian(4), kImage, "sep.fused");
    EXPECT_EQ(plan.algorithm.options.at("accumulator"), "u16");
    EXPECT_FALSE(plan.tuning);
  }
  // The next one is not.
  EXPECT_EQ(accumulator(tuned({row("sep.fused", {{"accumulator", "f1000"}}), kDouble}), gaussian(4)), "f64");
  // An option that the algorithm knows and this request cannot have.
  TuningRow integers = row("box.any", {{"accumulator", "i32"}});
  integers.pixel_bytes = 16;
  const ImageDesc floats{100, 100, PixelFormat::rgba32f};
  const BlurSpec box = spec_of(Box::of_radius(4, 4));
  EXPECT_EQ(planned(tuned({integers}), box, floats, "box.any").algorithm, planned(tuned({}), box, floats, "box.any").algorithm);
}

TEST(TuningPlan, ThePlanSaysSo) {
  const Plan plan = planned(tuned({kDouble}), gaussian(4), kImage, "sep.fused");
  ASSERT_TRUE(plan.tuning);
  EXPECT_EQ(*plan.tuning, kDouble);
  EXPECT_NE(explain(plan).find("accumulator=f64, 1.5 times as fast as the defaults, measured here\n"), std::string::npos) << explain(plan);
}

TEST(TuningPlan, CostsAreCorrected) {
  const double model = planned(tuned({}), gaussian(4), kImage, "sep.fused").predicted_seconds;
  TuningRow slow = kDouble;
  slow.cost = 3.0;
  EXPECT_DOUBLE_EQ(planned(tuned({slow}), gaussian(4), kImage, "sep.fused").predicted_seconds, model * 3.0 / 1.5);
  slow.options.clear();
  slow.gain = 1.0;
  EXPECT_DOUBLE_EQ(planned(tuned({slow}), gaussian(4), kImage, "sep.fused").predicted_seconds, model * 3.0);
}

TEST(TuningPlan, TheRankingFollowsMeasurement) {
  const BlurSpec spec = gaussian(4);
  const std::string best = planned(tuned({}), spec).algorithm.id;
  ASSERT_EQ(best, "sep.fused");
  TuningRow slow = row(best);
  slow.cost = 1e6;
  TuningRow fast = row("nxn.direct");
  EXPECT_EQ(planned(tuned({slow, fast}), spec).algorithm.id, "nxn.direct");
  // Others are taken to be as far off as what was measured: measuring one alone says nothing against it.
  EXPECT_EQ(planned(tuned({slow}), spec).algorithm.id, best);
  fast.cost = 1e-6;
  EXPECT_EQ(planned(tuned({fast}), spec).algorithm.id, best);
}

#ifdef MOLLIFY_VULKAN

TEST(TuningPlan, ARowAsksNothingNewOfThePixels) {
  DeviceInfo device = fake_gpu(false);
  TuningRow half = row("sep.inline", {{"cache", "f16"}});
  half.pixel_bytes = 16;
  device.tuning = {half};
  BlurSpec spec = gaussian(4);
  spec.accuracy.max_error = 0.1;
  const ImageDesc floats{100, 100, PixelFormat::rgba32f};
  ASSERT_NE(planned(device, spec, floats, "sep.inline:cache=f16").assumption, "");
  EXPECT_EQ(planned(device, spec, floats, "sep.inline").algorithm.options.at("cache"), "f32");

  // Something else is no less, either.
  half.algorithm = "box.running";
  half.options = {{"intermediate", "rgba16f"}};
  device.tuning = {half};
  spec.kernel = Box::of_radius(4, 4);
  const auto assumption = [&](std::string_view way) { return planned(device, spec, floats, way).assumption; };
  ASSERT_EQ(assumption("box.running:intermediate=rgba32f"), "finite pixels");
  ASSERT_EQ(assumption("box.running:intermediate=rgba16f"), "pixels within +-65504, the range of f16");
  EXPECT_EQ(assumption("box.running"), "finite pixels");
}

TEST(TuningPlan, ARowMayAskLessOfThePixels) {
  DeviceInfo device = fake_matrix_gpu();
  TuningRow sums = row("sep.fused", {{"math", "f32"}});
  sums.pixel_bytes = 8;
  sums.max_taps = 19;
  const ImageDesc floats{500, 300, PixelFormat::rgba16f};
  const Plan plain = planned(device, gaussian(9), floats, "sep.fused");
  ASSERT_EQ(plain.algorithm.options.at("math"), "coopmat_direct");
  ASSERT_EQ(plain.assumption, "finite pixels");
  device.tuning = {sums};
  const Plan plan = planned(device, gaussian(9), floats, "sep.fused");
  EXPECT_EQ(plan.tuning, sums);
  EXPECT_EQ(plan.algorithm.options.at("math"), "f32");
  EXPECT_EQ(plan.assumption, "");
}

TEST(TuningPlan, ARowIsHeldToTheAllowedError) {
  DeviceInfo device = fake_gpu(false);
  device.tuning = {row("sep.inline", {{"cache", "unorm8"}})};
  BlurSpec spec = gaussian(4);
  EXPECT_NE(planned(device, spec, kImage, "sep.inline").algorithm.options.at("cache"), "unorm8");
  spec.accuracy.max_error = 0.1;
  EXPECT_EQ(planned(device, spec, kImage, "sep.inline").algorithm.options.at("cache"), "unorm8");
}

TEST(TuningShipped, RowsAreKnownAndTheUsersOwnComeFirst) {
  DeviceInfo device = fake_h200();
  const std::vector<TuningRow> rows = shipped_tuning(device);
  ASSERT_FALSE(rows.empty());
  int used = 0;
  for (const TuningRow& shipped : rows) {
    EXPECT_EQ(shipped.origin, TuningOrigin::shipped);
    if (shipped.options.empty() || !shipped.algorithm.starts_with("sep.")) continue;
    const ImageDesc image{4096, 4096,
                          shipped.pixel_bytes == 4   ? PixelFormat::rgba8
                          : shipped.pixel_bytes == 8 ? PixelFormat::rgba16f
                                                     : PixelFormat::rgba32f};
    const BlurSpec spec = gaussian((shipped.min_taps + shipped.max_taps) / 4);
    device.tuning.clear();
    const Plan plan = planned(device, spec, image, shipped.algorithm);
    if (!plan.tuning) continue;  // this device's limits are others
    ++used;
    EXPECT_EQ(*plan.tuning, shipped);
    device.tuning = {shipped};
    device.tuning[0].origin = TuningOrigin::user;
    device.tuning[0].gain = 7.0;
    EXPECT_EQ(planned(device, spec, image, shipped.algorithm).tuning, device.tuning[0]);
  }
  EXPECT_GT(used, 0);
  device.name = "NVIDIA H100 80GB HBM3";
  EXPECT_EQ(shipped_tuning(device), rows) << "a table of two names";
  for (const char* other : {"Imaginary GPU", "NVIDIA H100 PCIe", ", ", "llvmpipe (LLVM 15.0.6, 256 bits)"}) {
    device.name = other;
    EXPECT_TRUE(shipped_tuning(device).empty()) << other;
  }
}

#endif

const TuningTable kTable{
    "A device, of 2 names", "driver 1.2", "0.1.0", {kDouble, row("nxn.direct"), row("a.b", {{"group", "8x32"}, {"cache", "f16"}})}};

TEST(TuningText, ReadsBackAsWritten) {
  const Result<TuningTable> back = parse_tuning(to_text(kTable));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, kTable);
  EXPECT_EQ(parse_tuning("# why\n\n" + to_text(kTable) + "\r\n# end").value(), kTable);
}

TEST(TuningText, RatesComeBeforeRows) {
  TuningTable table = kTable;
  table.rates = {3.5e11, 1.25e12, 1.5e-5};
  EXPECT_EQ(parse_tuning(to_text(table)).value(), table);
  table.rows.clear();
  EXPECT_EQ(parse_tuning(to_text(table)).value(), table);
  const std::string text = to_text(table);
  for (const auto& [what, by] : std::vector<std::pair<std::string, std::string>>{{"bytes_per_second=3.5e+11", "bytes_per_second=0"},
                                                                                 {"bytes_per_second=3.5e+11 ", ""},
                                                                                 {"1.5e-05", "1.5e-05 more"},
                                                                                 {"1.5e-05", "nan"},
                                                                                 {" launch_seconds=1.5e-05", ""}}) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), by);
    const Result<TuningTable> result = parse_tuning(changed);
    ASSERT_FALSE(result.ok()) << changed;
    EXPECT_TRUE(result.error().message.starts_with("line 5 is no rates: ")) << result.error().message;
  }
  EXPECT_FALSE(parse_tuning(text + text.substr(text.find("rates"))).ok()) << "twice";
}

TEST(TuningText, RatesOfSharedMemoryAreThereOrNot) {
  TuningTable table = kTable;
  table.rates = {3.5e11, 1.25e12, 1.5e-5, 2.5e9, 3e6};
  const std::string text = to_text(table);
  EXPECT_NE(text.find(" launch_seconds=1.5e-05 shared_per_second=2.5e+09 waits_per_second=3e+06\n"), std::string::npos) << text;
  EXPECT_EQ(parse_tuning(text).value(), table);
  // As files had it before there were these two.
  std::string before = text;
  before.erase(before.find(" shared_per_second"), std::string(" shared_per_second=2.5e+09 waits_per_second=3e+06").size());
  table.rates.shared_per_second = table.rates.waits_per_second = 0.0;
  EXPECT_EQ(parse_tuning(before).value(), table);
  EXPECT_EQ(to_text(table), before);
  for (const std::string& missing : {std::string(" waits_per_second=3e+06"), std::string(" shared_per_second=2.5e+09")}) {
    std::string changed = text;
    changed.erase(changed.find(missing), missing.size());
    EXPECT_FALSE(parse_tuning(changed).ok()) << changed;
  }
}

TEST(TuningText, DamageIsFoundAndNamed) {
  const std::string text = to_text(kTable);
  const auto broken = [&](std::string_view what, std::string_view by) {
    std::string changed = text;
    changed.replace(changed.find(what), what.size(), by);
    const Result<TuningTable> result = parse_tuning(changed);
    return result ? "read" : result.error().message;
  };
  EXPECT_EQ(broken("tuning 1", "tuning 2"), "line 1 is not \"mollify tuning 1\"");
  EXPECT_EQ(broken("device ", "devise "), "line 2 does not start with \"device \"");
  for (const auto& [what, by] : std::vector<std::pair<std::string, std::string>>{{"bytes=4", "bytes=5"},
                                                                                 {"bytes=4", ""},
                                                                                 {"taps=7-13", "taps=13-7"},
                                                                                 {"taps=7-13", "taps=0-13"},
                                                                                 {"taps=7-13", "taps=7-"},
                                                                                 {"pixels=10000", "pixels=-1"},
                                                                                 {"gain=1.5", "gain=0"},
                                                                                 {"gain=1.5", "gain=nan"},
                                                                                 {"gain=1.5", "gain=1.5x"},
                                                                                 {"cost=1", "cost=1 more"},
                                                                                 {"cost=1", "cost=inf"},
                                                                                 {" cost=1", ""},
                                                                                 {"bytes=4 taps", "bytes=4 bytes=4 taps"},
                                                                                 {"accumulator=f64", "accumulator"}}) {
    EXPECT_TRUE(broken(what, by).starts_with("line 5 is no row: ")) << what << " -> " << by << ": " << broken(what, by);
  }
  // However much of it is left, it is read or refused.
  for (std::size_t length = 0; length < text.size(); ++length) {
    const Result<TuningTable> part = parse_tuning(text.substr(0, length));
    EXPECT_LE(part ? part->rows.size() : 0U, length + 6 < text.size() ? 2U : 3U);
  }
}

/// A cache folder for one test.
class TuningFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / (std::string("mollify-") + test->name() + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    table_ = empty_tuning(device_);
    table_.rows = {kDouble};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& text) const { std::ofstream(tuning_path(folder_.string(), device_)) << text; }
  [[nodiscard]] std::string complaint() const {
    const auto rows = stored_tuning(folder_.string(), device_);
    return rows ? "none" : rows.error().message;
  }

  DeviceInfo device_ = cpu().info();
  std::filesystem::path folder_;
  TuningTable table_;
};

TEST_F(TuningFolder, RowsComeWithTheDevice) {
  EXPECT_TRUE(stored_tuning(folder_.string(), device_).value().empty());
  EXPECT_TRUE(stored_tuning("", device_).value().empty());
  write(to_text(table_));
  EXPECT_EQ(stored_tuning(folder_.string(), device_).value(), table_.rows);
  EXPECT_EQ(Device::open("cpu", {.cache_folder = folder_.string()}).value().info().tuning, table_.rows);
  EXPECT_TRUE(Device::open("cpu").value().info().tuning.empty());
}

TEST_F(TuningFolder, ForeignAndOutdatedFilesAreNotUsed) {
  TuningTable other = table_;
  other.device = "Another one";
  write(to_text(other));
  EXPECT_NE(complaint().find("of another device, Another one"), std::string::npos) << complaint();
  other = table_;
  other.driver += " 2";
  write(to_text(other));
  EXPECT_NE(complaint().find("another driver"), std::string::npos) << complaint();
  other = table_;
  other.version = "0.0.1";
  write(to_text(other));
  EXPECT_NE(complaint().find("another version of mollify, 0.0.1"), std::string::npos) << complaint();
  write("nonsense");
  EXPECT_NE(complaint().find("damaged: line 1"), std::string::npos) << complaint();
  EXPECT_TRUE(Device::open("cpu", {.cache_folder = folder_.string()}).value().info().tuning.empty());
}

}  // namespace
}  // namespace mollify::test
