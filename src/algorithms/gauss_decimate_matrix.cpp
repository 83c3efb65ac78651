// gauss.decimate's first step on GPUs by cooperative matrices: along rows sixteen numbers of cells are a product of what is
// stored with a banded matrix. 8-bit codes are multiplied as they are, by taps of 16 bits in two parts and summed exactly;
// halves by taps of two halves, summed in f32. A matrix takes an instruction where lanes take hundreds, so that what is
// left is reading the image.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "algorithms/gauss_decimate_gpu.h"
#include "core/accuracy.h"
#include "tuning/tuning.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = "gauss_decimate_matrix";
constexpr std::int32_t kSide = 16;   // of matrices
constexpr std::int32_t kUnit = 16;   // bytes that lanes move at once; a matrix takes two of a row

/// The spline as the kernel splits it, and what that moves the result by.
struct MatrixTaps {
  AxisTaps taps;
  double sum = 1.0;
  double error = 0.0;  ///< of a cell, full-scale units
};

/// In whole numbers of 16 bits, as large as leaves room for the sums of a row in 32.
MatrixTaps whole_taps(const AxisPlan& axis, const FormatInfo& source) {
  constexpr double kMostTap = 0xFFFF;
  const double peak = *std::ranges::max_element(axis.spline);
  const double scale = std::min(kMostTap / peak, 0.99 * 0x1p32 / source.unit());
  MatrixTaps out;
  out.taps.weights = axis.spline;
  for (double& w : out.taps.weights) w = std::round(w * scale);
  out.sum = std::accumulate(out.taps.weights.begin(), out.taps.weights.end(), 0.0);
  double l1 = 0.0;
  for (std::size_t i = 0; i < axis.spline.size(); ++i) l1 += std::abs(out.taps.weights[i] / out.sum - axis.spline[i]);
  out.error = kernel_distance_error(l1, source.format);
  return out;
}

/// Near one, so that both halves of a tap are normal numbers.
MatrixTaps halves(const AxisPlan& axis) {
  const double peak = *std::ranges::max_element(axis.spline);
  const double scale = std::exp2(-std::ceil(std::log2(peak)));
  MatrixTaps out;
  out.taps.weights = axis.spline;
  for (double& w : out.taps.weights) w *= scale;
  out.sum = scale;
  // Two halves have 22 bits. How a device rounds inside a product is its own: an estimate for some dozens of them.
  out.error = 3.0 * 0x1p-22 + 0x1p-18;
  return out;
}

/// Rows of a turn: whole cells, or a whole part of one.
std::int32_t rows_of_turn(int factor) {
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
  const bool is_bytes = source.is_unorm() && source.bits == 8;
  if (!is_bytes && (source.is_unorm() || source.bits != 16)) return refusal("matrices multiply 8-bit integers and f16 pixels");
  if (kSide % source.channels != 0) return refusal("a matrix has no whole number of cells of three channels");
  if (is_bytes && !p.device.gpu.byte_matrices) return refusal("the device has no cooperative matrices of 8-bit integers");
  if (!is_bytes && !p.device.gpu.matrix_operations) {
    return refusal("the device has no cooperative matrices of f16 summed in f32");
  }
  return {};
}

}  // namespace

Result<DecimatingPass> decimating_by_matrix(const Problem& p, const AxisPlan& x, const AxisPlan& y,
                                            const PerAxis<CellRange>& grid) {
  if (Status s = check(p); !s) return s.error();
  if (p.options.contains("read_span")) return refusal("matrices are made of 16 bytes at once, without the option read_span");
  const FormatInfo& source = info(p.src.format);
  const std::int32_t channels = source.channels;
  const std::int32_t number_bytes = source.bits / 8;
  const std::int32_t span = kUnit / source.pixel_bytes();
  const PerAxis<std::int32_t> size = size_of(grid);
  const std::int64_t left = grid.x.first * x.factor - spline_centre(x.spline.size());
  const auto lead = static_cast<std::int32_t>(((left % span) + span) % span);
  const std::int32_t cells_of_tile = kSide / channels;
  const auto taps = static_cast<std::int32_t>(x.spline.size());
  const std::int32_t depth = 2 * kUnit;  // bytes of a row in a matrix
  const std::int32_t steps =
      ((lead + (cells_of_tile - 1) * x.factor + taps) * source.pixel_bytes() + depth - 1) / depth;
  const std::int32_t stride = x.factor * number_bytes;
  const std::int32_t batch = rows_of_turn(y.factor);

  // As wide as shared memory allows, but no wider than the grid.
  const auto units = [&](std::int32_t threads) { return (threads / kSide - 1) * stride + 2 * steps; };
  const auto shared = [&](std::int32_t threads) {
    const std::int64_t rows = std::int64_t{kSide} * (units(threads) | 1);
    const std::int64_t bands = std::int64_t{4} * kSide * steps;
    return kUnit * std::max(rows, bands) + std::int64_t{4} * kSide * (threads + 8);
  };
  const std::int32_t least = p.device.gpu.subgroup_size;
  std::int32_t threads = std::min(256, p.device.gpu.max_group_invocations);
  if (const char* e = std::getenv("MOLLIFY_T")) threads = std::atoi(e);
  while (threads > least && (shared(threads) > p.device.gpu.shared_bytes || threads / 2 >= size.x * channels)) threads /= 2;
  if (Status s = check_shared(p, shared(threads)); !s) return s.error();

  const std::int32_t cells = threads / channels;
  const std::int64_t across = (size.x + cells - 1) / cells;
  std::int32_t pieces = pieces_of_walk(p, across * threads, size.y, static_cast<double>(y.cells()));
  if (const char* e = std::getenv("MOLLIFY_P")) pieces = std::atoi(e);
  const bool is_bytes = source.is_unorm();
  const MatrixTaps across_taps = is_bytes ? whole_taps(x, source) : halves(x);
  DecimatingPass out;
  out.pass = make_pass(kKernel, size, {cells, walk_length(size.y, pieces, 1)}, {threads, 1}, Storage::buffer);
  out.pass.taps = {across_taps.taps, padded_spline(y, 1.0)};
  out.pass.constants["numbers"] = is_bytes ? 0 : 1;
  out.pass.constants["span"] = span;
  out.pass.constants["batch"] = batch;
  out.pass.constants["lead"] = lead;
  out.pass.constants["subgroup_size"] = p.device.gpu.subgroup_size;
  out.pass.parameters["scale"] = 1.0 / (across_taps.sum * (is_bytes ? source.unit() : 1.0));
  set_axes(out.pass, grid, x, y);
  out.pass.constants.erase("cells_x");
  out.options = {{"math", "matrix"}};
  out.error = across_taps.error * magnitude(x.coarse.weights) * magnitude(y.coarse.weights);
  if (!is_bytes) out.assumption = kFinite;

  const double rows = out.pass.tile.y;
  const double reads = (rows + static_cast<double>(y.cells()) - 1.0) / rows * units(threads) * span / (cells * x.factor);
  Work work;
  work.pixels = static_cast<double>(size.x) * size.y;
  work.loads = reads * x.factor * y.factor / span;
  work.bytes = reads * static_cast<double>(p.src.payload_bytes()) + work.pixels * 4.0 * channels;
  out.seconds = seconds(p.device, PixelFormat::rgba32f, work);
  return out;
}

}  // namespace mollify
