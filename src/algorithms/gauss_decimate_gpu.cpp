// gauss.decimate on GPUs, three dispatches: the image becomes a grid of cells, sep.fused blurs the grid, and pixels are
// expanded from it. Image and result are touched once; the grids are small and stay in cache. About 2 * order
// multiply-adds a component at any sigma.
#include <array>
#include <bit>

#include "algorithms/gauss_decimate.h"
#include "algorithms/sep_fused.h"
#include "algorithms/sep_gpu.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kDecimate = "gauss_decimate";
constexpr std::string_view kExpand = "gauss_expand";

/// The spline filled up with zeros to whole cells, so that kernels need not know where it ends.
AxisTaps padded(const AxisPlan& axis, double gain) {
  AxisTaps out;
  out.weights.assign(static_cast<std::size_t>(axis.cells() * axis.factor), 0.0);
  for (std::size_t i = 0; i < axis.spline.size(); ++i) out.weights[i] = gain * axis.spline[i];
  return out;
}

/// Columns that a group of the first pass reads: so many that those which neighbours read, too, are few.
std::int32_t decimating_threads(const Problem& p, const AxisPlan& x) {
  const std::int64_t shared_with_neighbours = (x.cells() - 1) * x.factor;
  std::int32_t threads = 128;
  while (threads < p.device.gpu.max_group_invocations && threads < 5 * shared_with_neighbours) threads *= 2;
  return std::min(threads, p.device.gpu.max_group_invocations);
}

struct Grids {
  PerAxis<CellRange> image;    ///< cells that the image is decimated to
  PerAxis<CellRange> blurred;  ///< of these, what pixels are expanded from
};

CellRange expanded_from(const AxisPlan& axis, std::int64_t first, std::int64_t length) {
  const std::int64_t centre = spline_centre(axis.spline.size());
  const std::int64_t begin = floor_div(first + centre, axis.factor) - (axis.cells() - 1);
  return {begin, floor_div(first + length - 1 + centre, axis.factor) + 1 - begin};
}

PerAxis<std::int32_t> size_of(const PerAxis<CellRange>& grid) {
  return {static_cast<std::int32_t>(grid.x.size), static_cast<std::int32_t>(grid.y.size)};
}

void set_axes(Pass& pass, const PerAxis<CellRange>& grid, const AxisPlan& x, const AxisPlan& y) {
  pass.constants.insert({{"first_x", grid.x.first},
                         {"first_y", grid.y.first},
                         {"centre_x", spline_centre(x.spline.size())},
                         {"centre_y", spline_centre(y.spline.size())},
                         {"factor_x", x.factor},
                         {"factor_y", y.factor},
                         {"cells_x", x.cells()},
                         {"cells_y", y.cells()},
                         {"segment", pass.tile.y}});
}

Result<Pass> decimating_pass(const Problem& p, const AxisPlan& x, const AxisPlan& y, const Grids& grids, Storage where,
                             double& cost) {
  const PerAxis<std::int32_t> size = size_of(grids.image);
  const std::int32_t threads = decimating_threads(p, x);
  const auto cells = static_cast<std::int32_t>((threads - (x.cells() - 1) * x.factor) / x.factor);
  if (cells < 1) return refusal("a group of " + std::to_string(threads) + " threads is narrower than one spline");
  const std::int32_t channels = info(p.src.format).channels;
  const std::int64_t shared = 4 * channels * ((threads / x.factor + 2) * x.factor + cells);
  if (Status s = check_shared(p, shared); !s) return s.error();

  const std::int64_t across = (size.x + cells - 1) / cells;
  const std::int32_t pieces = pieces_of_walk(p, across * threads, size.y, static_cast<double>(y.cells()));
  Pass pass = make_pass(kDecimate, size, {cells, walk_length(size.y, pieces, 1)}, {threads, 1}, where);
  pass.destination = intermediate(0);
  pass.taps = {padded(x, 1.0), padded(y, 1.0)};
  pass.constants["batch"] = gpu_rows_ahead(p, y.factor);
  set_axes(pass, grids.image, x, y);

  Work work;
  const double area = static_cast<double>(x.factor) * y.factor;
  const double rows = pass.tile.y;
  const double reads = (rows + static_cast<double>(y.cells()) - 1.0) / rows * threads / (cells * x.factor);
  work.pixels = static_cast<double>(size.x) * size.y;
  work.loads = reads * area;
  work.operations = reads * area * (static_cast<double>(y.cells()) + 3.0);
  work.shared_loads = static_cast<double>(x.spline.size());
  work.barriers = 3.0 * threads / cells;
  work.bytes = static_cast<double>(p.src.payload_bytes()) + work.pixels * 4.0 * channels;
  cost += seconds(p.device, p.src.format, work);
  return pass;
}

Pass expanding_pass(const Problem& p, const AxisPlan& x, const AxisPlan& y, const Grids& grids, Storage where,
                    PixelFormat format, double& cost) {
  constexpr std::int32_t kThreads = 128;
  const std::int32_t across = (p.dst.width + kThreads - 1) / kThreads;
  const std::int32_t pieces = pieces_of_walk(p, std::int64_t{across} * kThreads, p.dst.height, static_cast<double>(y.cells()));
  Pass pass = make_pass(kExpand, {p.dst.width, p.dst.height}, {kThreads, walk_length(p.dst.height, pieces, y.factor)},
                        {kThreads, 1}, where);
  pass.source = intermediate(1);
  pass.taps = {padded(x, x.factor), padded(y, y.factor)};
  pass.constants["batch"] = gpu_rows_ahead(p, y.factor);
  pass.constants["corner_x"] = region(p).x;
  pass.constants["corner_y"] = region(p).y;
  set_axes(pass, grids.blurred, x, y);

  Work work;
  work.pixels = static_cast<double>(p.dst.width) * p.dst.height;
  work.loads = static_cast<double>(x.cells()) / y.factor;
  work.operations = static_cast<double>(y.cells()) + work.loads + 3.0;
  work.bytes = static_cast<double>(p.dst.payload_bytes()) + work.pixels / (x.factor * y.factor) * info(format).pixel_bytes();
  cost += seconds(p.device, format, work);
  return pass;
}

}  // namespace

std::int32_t gpu_rows_ahead(const Problem& p, int factor) {
  // A driver that runs on the processor takes seconds to compile what more unrolls to.
  if (p.device.gpu.is_software) return 1;
  for (std::int32_t rows = 8; rows > 1; --rows) {
    if (factor % rows == 0) return rows;
  }
  return 1;
}

Result<Proposal> add_gauss_decimate_gpu_passes(const Problem& p, const AxisPlan& x, const AxisPlan& y, Proposal out) {
  if (Status s = check_division(p, x.coarse.weights); !s) return s.error();
  if (Status s = check_division(p, y.coarse.weights); !s) return s.error();
  const Rect r = region(p);
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const Grids grids{{cell_range(x, mode.x, p.src.width, r.x, r.width), cell_range(y, mode.y, p.src.height, r.y, r.height)},
                    {expanded_from(x, r.x, r.width), expanded_from(y, r.y, r.height)}};
  const PixelFormat format = *find_format(ComponentClass::floating, 32, info(p.src.format).channels);
  const auto desc = [&](const PerAxis<CellRange>& grid) { return ImageDesc{size_of(grid).x, size_of(grid).y, format}; };
  out.intermediates = {desc(grids.image), desc(grids.blurred)};
  const Result<Storage> where = buffer_or_image(p, kDecimate, out.intermediates);
  if (!where) return where.error();

  double cost = 0.0;
  Result<Pass> decimate = decimating_pass(p, x, y, grids, *where, cost);
  if (!decimate) return decimate.error();
  Result<FusedPass> blur = fused_pass(p, {{x.coarse, y.coarse}, format, size_of(grids.blurred), *where});
  if (!blur) return blur.error();
  blur->pass.source = intermediate(0);
  blur->pass.destination = intermediate(1);
  blur->pass.origin = {static_cast<std::int32_t>(grids.blurred.x.first - grids.image.x.first),
                       static_cast<std::int32_t>(grids.blurred.y.first - grids.image.y.first)};
  // The grid has every cell that the taps reach, or all beyond its edge are alike.
  blur->pass.constants["border_x"] = blur->pass.constants["border_y"] = static_cast<int>(BorderMode::clamp);
  Pass expand = expanding_pass(p, x, y, grids, *where, format, cost);

  out.options["storage"] = kStorages[static_cast<std::size_t>(*where)];
  out.seconds = cost + blur->seconds;
  out.moved_bytes = moved_bytes(p, out.intermediates);
  out.passes = {std::move(*decimate), std::move(blur->pass), std::move(expand)};
  return out;
}

}  // namespace mollify
