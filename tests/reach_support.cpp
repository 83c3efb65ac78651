#include "reach_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

#include "cases/reached.h"

namespace mollify::test {
namespace {

constexpr std::int32_t kWidth = 161;
constexpr std::int32_t kHeight = 131;
// Corners, edges, and both sides of where vectors and tiles meet.
constexpr std::array<std::int32_t, 8> kColumns = {0, 1, 15, 16, 64, 127, kWidth - 2, kWidth - 1};
constexpr std::array<std::int32_t, 8> kRows = {0, 1, 16, 31, 63, 64, kHeight - 2, kHeight - 1};

std::vector<KernelSpec> kernels() {
  return {Gaussian{{1.0, 1.4}, {}, {}},
          Gaussian{{3, 3}, {}, {}},
          Gaussian{{8, 6}, {}, {}},
          Gaussian{{12, 9}, {{30, 26}}, {}},
          Box::of_radius(5, 3),
          Box::of_radius(2.5, 7.25),
          Box{{{1, 4}, {0, 3}}},
          Tent{{4, 2}},
          Matrix{3, 2, {1, 2, 3, -1, 5, 2}, {2, 0}, Normalization::unit_sum}};
}

/// How one kernel is blurred, if the algorithm can: at the usual accuracy or, if that is too much to ask, at any.
std::optional<Plan> plan_of(const Device& device, std::string_view algorithm, const KernelSpec& kernel, BorderMode mode, std::size_t turn) {
  constexpr std::array kFormats = {PixelFormat::r32f, PixelFormat::rgba16f, PixelFormat::rgba32f, PixelFormat::r16f};
  BlurSpec spec = spec_of(kernel, mode);
  const PlanOptions options{parse_algorithm(algorithm).value(), Overlap::none};
  for (const PixelFormat format : {kFormats[turn % kFormats.size()], PixelFormat::rgba8}) {
    for (const std::optional<double> max_error : {std::optional<double>(), std::optional(0.5)}) {
      spec.accuracy.max_error = max_error;
      const ImageDesc desc{kWidth, kHeight, format};
      Result<Plan> plan = make_plan(spec, desc, desc, device.info(), options);
      if (plan) return std::move(plan).value();
    }
  }
  return std::nullopt;
}

Pixels run(const Executable& executable, Workspace& workspace, const Pixels& src) {
  Pixels result(executable.plan().dst);
  const Status status = executable.run(src.view(), result.view(), workspace);
  if (!status) throw std::runtime_error(status.error().message);
  return result;
}

bool same_bits(const Pixels& a, const Pixels& b, std::int32_t x, std::int32_t y) {
  const std::int64_t bytes = info(a.desc().format).pixel_bytes();
  return std::memcmp(a.view().row(y) + x * bytes, b.view().row(y) + x * bytes, static_cast<std::size_t>(bytes)) == 0;
}

double bad_value(const ImageDesc& desc, std::size_t turn) {
  if (info(desc.format).is_unorm()) return 1.0;
  constexpr std::array kBad = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};
  return kBad[turn % kBad.size()];
}

/// Windows that a bad pixel has spoiled on a GPU are summed anew in another order: beyond its reach they round differently, within the
/// error.
bool sums_anew(const Plan& plan) {
  return std::ranges::any_of(plan.passes, [](const Pass& pass) { return pass.kernel == "box_mend"; });
}

bool is_same(const Plan& plan, const Pixels& a, const Pixels& b, std::int32_t x, std::int32_t y) {
  if (!sums_anew(plan)) return same_bits(a, b, x, y);
  const double half_step = info(plan.dst.format).bits == 16 ? 0x1p-11 : 0x1p-24;  // of numbers below one
  for (int c = 0; c < info(plan.dst.format).channels; ++c) {
    if (!(std::abs(a.at(x, y, c) - b.at(x, y, c)) <= 2.0 * (plan.predicted_error + half_step))) return false;
  }
  return true;
}

/// Techniques of the literature may keep pixels in caches of halves, which have no infinities on every driver.
bool keeps_infinities(const Plan& plan) {
  constexpr std::array<std::string_view, 6> kOurs = {"box.any", "gauss.cut", "gauss.decimate", "gauss.pyramid", "nxn.direct", "sep.fused"};
  return std::ranges::find(kOurs, plan.algorithm.id) != kOurs.end();
}

/// An image whose pixels are random, but for the first channel at the places that become bad, and its blur.
struct Clean {
  Pixels src;
  Pixels result;
};
Clean clean_of(const Executable& executable, Workspace& workspace) {
  Pixels src = Pixels::random(executable.plan().src, 3);
  for (const std::int32_t y : kRows) {
    for (const std::int32_t x : kColumns) src.set(x, y, 0, 0.0);
  }
  Pixels result = run(executable, workspace, src);
  return {std::move(src), std::move(result)};
}

/// Of the clean image and one that differs in the first channel of one pixel.
bool expect_same_beyond_reach(const Executable& executable, Workspace& workspace, const Clean& clean, std::int32_t x, std::int32_t y,
                              std::size_t turn) {
  const Plan& plan = executable.plan();
  Pixels dirty = clean.src;
  dirty.set(x, y, 0, bad_value(plan.src, turn));
  const cases::Reached reached(plan, {{x, y}});
  const Pixels& expected = clean.result;
  const Pixels result = run(executable, workspace, dirty);
  int changed = 0;
  std::string first;
  for (std::int32_t row = 0; row < kHeight; ++row) {
    for (std::int32_t column = 0; column < kWidth; ++column) {
      if (reached(column, row) || is_same(plan, expected, result, column, row)) continue;
      if (changed++ == 0) first = std::to_string(column) + ", " + std::to_string(row);
    }
  }
  EXPECT_EQ(changed, 0) << "a bad pixel at " << x << ", " << y << " acts beyond its reach of " << plan.reach.x.before << "+"
                        << plan.reach.x.after << " by " << plan.reach.y.before << "+" << plan.reach.y.after << ", first at " << first;
  // Where a plan assumes something of pixels, it may have kept them in a format that has no such numbers.
  const bool is_to_be_seen = !info(plan.src.format).is_unorm() && plan.assumption.empty() && keeps_infinities(plan);
  const bool is_seen = !is_to_be_seen || !std::isfinite(result.at(x, y));
  EXPECT_TRUE(is_seen) << "a bad pixel is not seen by its own result";
  return changed == 0 && is_seen;
}

/// Of the 64 places, every which is judged: between them the modes of a kernel, or three kernels, see all. Kernels that sum hundreds of
/// pixels for each, and take seconds for what others do at once, see three or four.
std::size_t places_apart(const Plan& plan, Borders borders) {
  if (borders == Borders::all) return kBorderModes.size();
  constexpr double kMostCopies = 100.0;
  return plan.predicted_copy_ratio > kMostCopies ? 21 : 3;
}

}  // namespace

std::vector<std::string> ways_to_blur(const std::vector<std::string_view>& forms) {
  std::vector<std::string> out;
  for (const AlgorithmInfo& algorithm : algorithms()) out.emplace_back(algorithm.id);
  out.insert(out.end(), forms.begin(), forms.end());
  return out;
}

int expect_reach_holds(const Device& device, std::string_view algorithm, Borders borders) {
  int judged = 0;
  std::size_t turn = 0;
  for (const KernelSpec& kernel : kernels()) {
    const std::size_t modes = borders == Borders::all ? kBorderModes.size() : 1;
    for (std::size_t i = 0; i < modes; ++i, ++turn) {
      const std::optional<Plan> plan = plan_of(device, algorithm, kernel, kBorderModes[turn % kBorderModes.size()], turn);
      if (!plan) continue;
      Result<Executable> executable = device.prepare(*plan);
      if (!executable) throw std::runtime_error(executable.error().message);
      Result<Workspace> workspace = executable->make_workspace();
      if (!workspace) throw std::runtime_error(workspace.error().message);
      const Clean clean = clean_of(*executable, *workspace);
      SCOPED_TRACE(explain(*plan));
      const std::size_t step = places_apart(*plan, borders);
      for (std::size_t place = turn % step; place < kColumns.size() * kRows.size(); place += step) {
        const std::int32_t x = kColumns[place % kColumns.size()], y = kRows[place / kColumns.size()];
        ++judged;
        if (!expect_same_beyond_reach(*executable, *workspace, clean, x, y, place)) return judged;  // one is enough to read
      }
    }
  }
  return judged;
}

}  // namespace mollify::test
