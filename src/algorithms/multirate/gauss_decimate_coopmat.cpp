// gauss.decimate's first step on GPUs by cooperative matrices, for 8-bit pixels: along rows sixteen numbers of coarse samples are a
// product of what is stored with a banded matrix of taps, which have 16 bits in two parts; the sums are exact. A matrix takes
// an instruction where lanes take hundreds.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/common/occupancy.h"
#include "algorithms/multirate/gauss_decimate_gpu.h"
#include "gauss_decimate_coopmat_arguments.h"
#include "math/accuracy.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::GaussDecimateCoopmat::kKernel;
constexpr std::int32_t kSide = 16;       // of matrices
constexpr std::int32_t kMostSteps = 16;  // matrices of taps that registers hold, twice
constexpr std::int32_t kUnit = 16;       // bytes that lanes move at once; a matrix takes two of a row

/// The spline as the kernel splits it, and what that moves the result by.
struct MatrixTaps {
  AxisTaps taps;
  double sum = 1.0;
  double error = 0.0;  ///< of a coarse sample, full-scale units
};

/// In whole numbers of 16 bits, as large as leaves room for the sums of a row in 32.
MatrixTaps whole_taps(const AxisPlan& axis, const FormatInfo& source) {
  constexpr double kMostTap = 0xFFFF;
  constexpr double kRoom = 0.99;  // for what rounding adds
  const double peak = *std::ranges::max_element(axis.spline);
  const double scale = std::min(kMostTap / peak, kRoom * 0x1p32 / source.unit());
  MatrixTaps out;
  out.taps.weights = axis.spline;
  for (double& w : out.taps.weights) w = std::round(w * scale);
  out.sum = std::accumulate(out.taps.weights.begin(), out.taps.weights.end(), 0.0);
  double l1 = 0.0;
  for (std::size_t i = 0; i < axis.spline.size(); ++i) l1 += std::abs(out.taps.weights[i] / out.sum - axis.spline[i]);
  out.error = kernel_distance_error(l1, source.format);
  return out;
}

/// Of columns, which a group moves down.
struct Strip {
  std::int32_t threads = 0;
  std::int32_t factor = 1;
  std::int32_t lead = 0;   ///< columns before the first coarse sample's, so that fetches begin at whole units
  std::int32_t steps = 1;  ///< matrices beneath each other that a tile's numbers depend on

  [[nodiscard]] std::int32_t units() const { return (threads / kSide - 1) * factor + 2 * steps; }  ///< of a row
  [[nodiscard]] std::int64_t shared_bytes() const {
    const std::int64_t rows = std::int64_t{kSide} * (units() | 1);
    const std::int64_t bands = std::int64_t{4} * kSide * steps;
    return kUnit * std::max(rows, bands) + std::int64_t{4} * kSide * (threads + 8);
  }
  /// Groups that a processor runs at once.
  [[nodiscard]] std::int64_t at_once(const GpuModel& model) const {
    constexpr std::int64_t kReserved = 1 << 10;  // bytes, for the driver: so many groups were measured to run at once
    return groups_at_once(model, {threads, static_cast<double>(registers()), shared_bytes() + kReserved});
  }
  /// Of a lane, roughly: with these, as many groups run at once as were measured to be fastest.
  [[nodiscard]] std::int64_t registers() const {
    constexpr std::int64_t kOthers = 76;
    const std::int64_t bands = std::int64_t{8} * steps;                                       // four for each of two
    const std::int64_t coming = (std::int64_t{kSide} * units() + threads - 1) / threads * 5;  // four of a unit, and its place
    return kOthers + bands + coming;
  }
};

/// By the widest groups, unless narrower ones leave a processor more threads.
Result<Strip> strip_of(const Problem& p, const AxisPlan& x, std::int64_t first_sample) {
  const std::int32_t channels = info(p.src.format).channels;
  const std::int32_t span = kUnit / channels;
  const std::int64_t left = first_sample * x.factor - spline_centre(x.spline.size());
  Strip strip;
  strip.factor = x.factor;
  strip.lead = static_cast<std::int32_t>(((left % span) + span) % span);
  const auto taps = static_cast<std::int32_t>(x.spline.size());
  const std::int32_t reach = (strip.lead + (kSide / channels - 1) * x.factor + taps) * channels;  // bytes
  strip.steps = (reach + 2 * kUnit - 1) / (2 * kUnit);
  if (strip.steps > kMostSteps) return refusal("the taps of a coarse sample are more than matrices in registers hold");

  constexpr std::int64_t kWorthIt = 11;  // tenths
  Strip best;
  std::int64_t most_threads = 0;  // of a processor
  for (const std::int32_t threads : {128, 64, 32}) {
    if (threads > p.device.gpu.max_group_invocations || threads % p.device.gpu.subgroup_size != 0) continue;
    strip.threads = threads;
    const std::int64_t of_processor = threads * strip.at_once(gpu_model(p.device));
    if (10 * of_processor <= kWorthIt * most_threads && best.threads > 0) continue;
    best = strip;
    most_threads = of_processor;
  }
  if (best.threads == 0) return refusal("groups of up to 128 threads are no whole subgroups");
  if (Status s = check_shared(p, best.shared_bytes()); !s) return s.error();
  return best;
}

/// Rows of a step: whole coarse samples, or a whole part of one.
std::int32_t rows_of_step(int factor) {
  if (factor <= kSide) return kSide / factor * factor;
  std::int32_t rows = kSide;
  while (factor % rows != 0) --rows;
  return rows;
}

Status check(const Problem& p) {
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  const FormatInfo& source = info(p.src.format);
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal("matrices multiply pixels as they are stored");
  }
  if (!source.is_unorm() || source.bits != 8) return refusal("matrices multiply 8-bit integers");
  if (kSide % source.channels != 0) return refusal("a matrix has no whole number of coarse samples of three channels");
  if (p.device.gpu.subgroup_size % kSide != 0) return refusal("subgroups do not make whole matrices");
  if (!p.device.gpu.byte_matrices) return refusal("the device has no cooperative matrices of 8-bit integers");
  return {};
}

}  // namespace

Result<DecimateStep> decimating_by_matrix(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CoarseRange>& grid) {
  if (Status s = check(p); !s) return s.error();
  if (kReadPixels.is_given(p)) return refusal("matrices are made of 16 bytes at once, without the option read_pixels");
  const FormatInfo& source = info(p.src.format);
  const std::int32_t channels = source.channels;
  const std::int32_t span = kUnit / channels;
  const PerAxis<std::int32_t> size = size_of(grid);
  const Result<Strip> strip = strip_of(p, x, grid.x.first);
  if (!strip) return strip.error();
  const std::int32_t threads = strip->threads;

  // Beginning takes a group as long as many rows: no more of them than run at once.
  const std::int32_t samples = threads / channels;
  const std::int64_t across = (size.x + samples - 1) / samples;
  const auto groups = static_cast<double>(strip->at_once(gpu_model(p.device)));
  const std::int32_t wanted = even_chunks(p, across, groups * processors(p) / static_cast<double>(across * p.batch));
  const std::int32_t most = std::max(size.y / static_cast<std::int32_t>(y.support()), 1);
  const std::int32_t chunks = std::clamp(wanted, 1, most);
  const MatrixTaps across_taps = whole_taps(x, source);
  DecimateStep out;
  const std::int32_t coarse_rows = chunk_length(p, size.y, chunks, 1, {});
  glsl::GaussDecimateCoopmat arguments{};
  arguments.coarse_rows = coarse_rows;
  arguments.lead = strip->lead;
  arguments.scale = 1.0 / (across_taps.sum * source.unit());
  arguments.span = span;
  arguments.step_rows = rows_of_step(y.factor);
  arguments.subgroup_size = p.device.gpu.subgroup_size;
  set_axes(arguments, grid, x, y);
  out.pass = make_pass(arguments, size, {samples, coarse_rows}, {threads, 1}, Storage::buffer);
  out.pass.taps = {across_taps.taps, spline_taps(y, 1.0)};
  out.options = {kDecimateMath.as(DecimateMath::coopmat)};
  out.error = across_taps.error * magnitude(x.coarse.weights) * magnitude(y.coarse.weights);

  const double rows = out.pass.tile.y;
  const double reads = (rows + static_cast<double>(y.support()) - 1.0) / rows * strip->units() * span / (samples * x.factor);
  Work work;
  work.pixels = static_cast<double>(size.x) * size.y;
  work.loads = reads * x.factor * y.factor / span;
  work.bytes = reads * static_cast<double>(source_bytes(p)) + work.pixels * 4.0 * channels;
  // Measured: what matrices of taps take to make, and code to be fetched, does not depend on the image.
  constexpr double kBeginning = 46.0;       // steps
  constexpr double kEnoughThreads = 256.0;  // of a processor, for memory to be busy
  const double slowness = std::max(kEnoughThreads / (groups * threads), 1.0);
  out.seconds = kBeginning * gpu_model(p.device).step_seconds + slowness * seconds(p.device, PixelFormat::rgba32f, work);
  return out;
}

}  // namespace mollify
