// gauss.decimate on GPUs, three dispatches: the image becomes a grid of cells, the grid is blurred, and pixels are expanded
// from it; or two, where pixels are expanded by splines that are blurred themselves. Image and result are touched once; the grids are small and stay in cache. About 2 * order multiply-adds a
// component at any sigma.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "algorithms/gauss_decimate_gpu.h"
#include "algorithms/gauss_grid.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kDecimate = "gauss_decimate";
constexpr std::string_view kExpand = "gauss_expand";
constexpr std::string_view kDecimateSpans = "gauss_decimate_spans";  // the same for pixels as they are stored
constexpr std::string_view kExpandSpans = "gauss_expand_spans";

/// Pixels side by side that one lane reads or writes at once.
struct Spans {
  bool are_plain = false;  ///< and kept as they are stored; else they are taken one by one
  std::int32_t read = 1;
  std::int32_t written = 1;
};

/// As many as `bytes` hold, a power of two, and whole words.
std::int32_t usual_span(PixelFormat format, std::int32_t bytes) {
  constexpr int kLongest = 8;
  const int pixels = std::clamp(bytes / info(format).pixel_bytes(), 1, kLongest);
  auto span = static_cast<std::int32_t>(std::bit_floor(static_cast<unsigned>(pixels)));
  while (!is_whole_words(format, span)) span *= 2;
  return span;
}

/// Measured on an H200: 16 bytes are fastest, but for 8 where small factors leave many sums, and where halves are expanded.
/// Drivers that run on the processor take seconds to compile what spans unroll to.
Result<Spans> spans(const Problem& p, const AxisPlan& y, Storage where, bool is_composite) {
  constexpr std::int32_t kLongest = 8;
  constexpr int kManySums = 6;
  Spans out;
  out.are_plain = where == Storage::buffer && p.spec.alpha == AlphaMode::ignore &&
                  p.spec.transfer == TransferFunction::none && p.src.format == p.dst.format;
  const int bits = info(p.src.format).bits;
  const bool is_software = p.device.gpu.is_software;
  const std::int32_t read_bytes = is_software ? 1 : bits == 8 && y.factor < kManySums ? 8 : 16;
  const std::int32_t written_bytes = is_software || is_composite ? 1 : bits == 16 ? 8 : 16;
  const auto choose = [&](std::string_view option, std::int32_t bytes) {
    return count(p, option, kLongest, out.are_plain ? usual_span(p.src.format, bytes) : 1);
  };
  const Result<std::int32_t> read = choose("read_span", read_bytes);
  const Result<std::int32_t> written = choose("write_span", written_bytes);
  if (!read) return read.error();
  if (!written) return written.error();
  out.read = *read;
  out.written = *written;
  if (!out.are_plain && (out.read > 1 || out.written > 1)) {
    return refusal("spans are of pixels in buffers that are only blurred");
  }
  for (const std::int32_t span : {out.read, out.written}) {
    if (Status s = out.are_plain ? check_span(p.src.format, span) : Status(); !s) return s.error();
  }
  return out;
}

/// What a pixel costs beside one of four channels: lanes of spans work by numbers, others by pixels.
double share_of_pixel(const Spans& spans, const FormatInfo& format) { return spans.are_plain ? format.channels / 4.0 : 1.0; }

/// Threads of a group of the first pass: so many that the columns which neighbours read, too, are few.
std::int32_t decimating_threads(const Problem& p, const AxisPlan& x, std::int32_t span) {
  const std::int64_t shared_with_neighbours = (x.cells() - 1) * x.factor;
  std::int32_t threads = 128;
  while (threads < p.device.gpu.max_group_invocations && threads * span < 5 * shared_with_neighbours) threads *= 2;
  return std::min(threads, p.device.gpu.max_group_invocations);
}

struct Grids {
  PerAxis<CellRange> image;    ///< cells that the image is decimated to
  PerAxis<CellRange> blurred;  ///< of these, what pixels are expanded from
};

/// Decimated as the axis is; its splines are blurred by its kernel of the grid, so that expanding by them is both.
AxisPlan composite(const AxisPlan& axis) {
  AxisPlan out = axis;
  const auto step = static_cast<std::size_t>(axis.factor);
  out.spline.assign((axis.coarse.weights.size() - 1) * step + axis.spline.size(), 0.0);
  for (std::size_t j = 0; j < axis.coarse.weights.size(); ++j) {
    for (std::size_t i = 0; i < axis.spline.size(); ++i) out.spline[j * step + i] += axis.coarse.weights[j] * axis.spline[i];
  }
  out.coarse = {{1.0}, 0};
  return out;
}

CellRange expanded_from(const AxisPlan& axis, std::int64_t first, std::int64_t length) {
  const std::int64_t centre = spline_centre(axis.spline.size());
  const std::int64_t begin = floor_div(first + centre, axis.factor) - (axis.cells() - 1);
  return {begin, floor_div(first + length - 1 + centre, axis.factor) + 1 - begin};
}

/// Sums of f32, down first.
Result<DecimatingPass> decimating_by_sums(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CellRange>& grid,
                                          Storage where, const Spans& spans) {
  const PerAxis<std::int32_t> size = size_of(grid);
  const std::int32_t span = spans.read;
  const std::int32_t threads = decimating_threads(p, x, span);
  const std::int32_t columns = threads * span;
  const auto cells = static_cast<std::int32_t>((columns - (span - 1) - (x.cells() - 1) * x.factor) / x.factor);
  if (cells < 1) return refusal("a group of " + std::to_string(threads) + " threads is narrower than one spline");
  const FormatInfo& source = info(p.src.format);
  const std::int32_t channels = source.channels;
  const std::int32_t pitch = spans.are_plain ? x.factor | 1 : x.factor;
  const std::int64_t shared = 4 * channels * ((columns / x.factor + 2) * pitch + (spans.are_plain ? 0 : cells));
  if (Status s = check_shared(p, shared); !s) return s.error();

  const std::int64_t across = (size.x + cells - 1) / cells;
  const std::int32_t pieces =
      even_pieces(p, across, pieces_of_walk(p, across * threads, size.y, static_cast<double>(y.cells())));
  Pass pass = make_pass(spans.are_plain ? kDecimateSpans : kDecimate, size, {cells, walk_length(size.y, pieces, 1)},
                        {threads, 1}, where);
  pass.taps = {padded_spline(x, 1.0), padded_spline(y, 1.0)};
  if (spans.are_plain) {
    pass.constants["span"] = span;
    pass.parameters["scale"] = source.is_unorm() ? 1.0 / source.unit() : 1.0;
  }
  pass.constants["batch"] = gpu_rows_ahead(p, y.factor);
  set_axes(pass, grid, x, y);

  Work work;
  const double area = static_cast<double>(x.factor) * y.factor;
  const double rows = pass.tile.y;
  const double reads = (rows + static_cast<double>(y.cells()) - 1.0) / rows * columns / (cells * x.factor);
  work.pixels = static_cast<double>(size.x) * size.y;
  work.loads = reads * area * share_of_pixel(spans, source);
  work.operations = reads * area * share_of_pixel(spans, source) * (static_cast<double>(y.cells()) + 3.0);
  work.shared_loads = static_cast<double>(x.spline.size());
  work.barriers = 3.0 * threads / cells;
  work.bytes = static_cast<double>(p.src.payload_bytes()) + work.pixels * 4.0 * channels;
  DecimatingPass out;
  out.pass = std::move(pass);
  out.options = {{"math", "f32"}, {"read_span", std::to_string(span)}};
  out.seconds = seconds(p.device, p.src.format, work);
  return out;
}

/// As asked for, else the one that is expected to be faster within the error.
Result<DecimatingPass> decimating_pass(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CellRange>& grid,
                                       Storage where, const Spans& spans, double spent) {
  const bool is_free = !p.options.contains("math");
  if (is_free ? p.options.contains("read_span") : choice(p, "math", kDecimateMath, "f32") == 0) {
    return decimating_by_sums(p, x, y, grid, where, spans);
  }
  Result<DecimatingPass> matrix = where == Storage::buffer && spans.are_plain
                                      ? decimating_by_matrix(p, x, y, grid)
                                      : refusal("matrices need pixels in buffers that are only blurred");
  if (!is_free) return matrix;
  Result<DecimatingPass> sums = decimating_by_sums(p, x, y, grid, where, spans);
  // Measured on an H200: smaller pixels are decimated as fast by sums, or faster.
  constexpr int kLeastBytes = 4;
  const bool is_exact_enough = matrix && spent + matrix->error <= p.allowed_error;
  const bool is_faster = matrix && info(p.src.format).pixel_bytes() >= kLeastBytes && (!sums || matrix->seconds < sums->seconds);
  return is_exact_enough && is_faster ? matrix : sums;
}

/// Pieces of the walks that expand. Measured on an H200: spans of many numbers do best with as many groups as there are registers
/// for, others with more.
std::int32_t expanding_pieces(const Problem& p, const AxisPlan& y, const Spans& spans, std::int32_t threads, std::int32_t across) {
  constexpr std::int64_t kManyNumbers = 16;
  constexpr std::int64_t kOtherRegisters = 60;
  constexpr double kRegisters = 65536.0;  // of a processor
  const double cells = static_cast<double>(y.cells());
  if (spans.written * info(p.dst.format).channels < kManyNumbers) {
    return even_pieces(p, across, pieces_of_walk(p, std::int64_t{across} * threads, p.dst.height, cells));
  }
  const double groups = std::floor(kRegisters / threads / (kManyNumbers * cells + kOtherRegisters));
  return even_pieces(p, across, std::max(groups, 1.0) * processors(p) / across / p.batch);
}

/// Divides a padded spline's weights by those of the cell in the middle, whose index it gives; these stay as they are.
std::int32_t divide_by_middle(AxisTaps& spline, const AxisPlan& axis) {
  const auto middle = static_cast<std::int32_t>((axis.cells() - 1) / 2);
  for (std::int32_t phase = 0; phase < axis.factor; ++phase) {
    const auto weight = [&](std::int32_t cell) -> double& {
      return spline.weights[static_cast<std::size_t>(phase + axis.factor * cell)];
    };
    for (std::int32_t cell = 0; cell < axis.cells(); ++cell) {
      if (cell != middle) weight(cell) /= weight(middle);
    }
  }
  return middle;
}

Status check_cells(const AxisPlan& x, const AxisPlan& y) {
  const std::int64_t cells = std::max(x.cells(), y.cells());
  if (cells <= kMostBlurredCells) return {};
  return refusal("a pixel would be expanded from " + std::to_string(cells) + " cells on an axis, more than " +
                 std::to_string(kMostBlurredCells));
}

Status check_weights(const AxisPlan& x, const AxisPlan& y) {
  const std::int64_t weights = x.cells() * x.factor + y.cells() * y.factor;
  if (weights <= kMostWeights) return {};
  return refusal("its splines have " + std::to_string(weights) + " weights, more than " + std::to_string(kMostWeights));
}

/// From a grid of cells; without a source.
Pass expanding_pass(const Problem& p, const AxisPlan& x, const AxisPlan& y, const PerAxis<CellRange>& grid, Storage where,
                    const Spans& spans, PixelFormat format, double& cost) {
  constexpr std::int32_t kThreads = 128;
  const std::int32_t columns = kThreads * spans.written;
  const std::int32_t across = (p.dst.width + columns - 1) / columns;
  const std::int32_t pieces = expanding_pieces(p, y, spans, kThreads, across);
  Pass pass = make_pass(spans.are_plain ? kExpandSpans : kExpand, {p.dst.width, p.dst.height},
                        {columns, walk_length(p.dst.height, pieces, y.factor)}, {kThreads, 1}, where);
  const FormatInfo& destination = info(p.dst.format);
  const double unit = spans.are_plain && destination.is_unorm() ? destination.unit() : 1.0;
  pass.taps = {padded_spline(x, x.factor), padded_spline(y, y.factor * unit)};
  if (spans.are_plain) {
    const auto may_leave = [](const AxisPlan& axis) {
      const auto is_negative = [](double w) { return w < 0.0; };
      return std::ranges::any_of(axis.coarse.weights, is_negative) || std::ranges::any_of(axis.spline, is_negative);
    };
    pass.constants["span"] = spans.written;
    const bool clamps = destination.is_unorm() && (may_leave(x) || may_leave(y));
    pass.constants["clamps"] = clamps;
    pass.constants["divisor"] = destination.is_unorm() && !clamps ? divide_by_middle(pass.taps.y, y) : -1;
  }
  pass.constants["batch"] = gpu_rows_ahead(p, y.factor);
  pass.constants["corner_x"] = region(p).x;
  pass.constants["corner_y"] = region(p).y;
  set_axes(pass, grid, x, y);

  Work work;
  work.pixels = static_cast<double>(p.dst.width) * p.dst.height;
  work.loads = static_cast<double>(x.cells()) / y.factor;
  work.operations = share_of_pixel(spans, destination) * (static_cast<double>(y.cells()) + work.loads + 3.0);
  work.bytes = static_cast<double>(p.dst.payload_bytes()) + work.pixels / (x.factor * y.factor) * info(format).pixel_bytes();
  cost += seconds(p.device, format, work);
  return pass;
}

}  // namespace

AxisTaps padded_spline(const AxisPlan& axis, double gain) {
  AxisTaps out;
  out.weights.assign(static_cast<std::size_t>(axis.cells() * axis.factor), 0.0);
  for (std::size_t i = 0; i < axis.spline.size(); ++i) out.weights[i] = gain * axis.spline[i];
  return out;
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

bool blurs_as_it_expands(const Problem& p) {
  const auto blur = p.options.find("blur");
  return blur != p.options.end() && blur->second == kGridBlurs[2];
}

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
  if (Status s = check_weights(x, y); !s) return s.error();
  const Rect r = region(p);
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const Grids grids{{cell_range(x, mode.x, p.src.width, r.x, r.width), cell_range(y, mode.y, p.src.height, r.y, r.height)},
                    {expanded_from(x, r.x, r.width), expanded_from(y, r.y, r.height)}};
  const PixelFormat format = *find_format(ComponentClass::floating, 32, info(p.src.format).channels);
  const auto desc = [&](const PerAxis<CellRange>& grid) { return ImageDesc{size_of(grid).x, size_of(grid).y, format}; };
  const bool is_composite = blurs_as_it_expands(p);
  out.intermediates = {desc(grids.image)};
  if (!is_composite) out.intermediates.push_back(desc(grids.blurred));
  const Result<Storage> where = buffer_or_image(p, kDecimate, out.intermediates);
  if (!where) return where.error();
  const Result<Spans> span = spans(p, y, *where, is_composite);
  if (!span) return span.error();
  Result<DecimatingPass> decimate = decimating_pass(p, x, y, grids.image, *where, *span, out.error);
  if (!decimate) return decimate.error();
  decimate->pass.destination = intermediate(0);
  out.passes.push_back(std::move(decimate->pass));
  out.options.merge(std::move(decimate->options));
  out.error += decimate->error;
  out.seconds = decimate->seconds;

  if (is_composite) {
    const PerAxis<AxisPlan> blurred{composite(x), composite(y)};
    if (Status s = check_without_tiles(p); !s) return s.error();
    if (Status s = check_cells(blurred.x, blurred.y); !s) return s.error();
    if (Status s = check_weights(blurred.x, blurred.y); !s) return s.error();
    out.passes.push_back(expanding_pass(p, blurred.x, blurred.y, grids.image, *where, *span, format, out.seconds));
    out.options["blur"] = "expand";
  } else {
    Result<FusedPass> blur = grid_pass(p, {{x.coarse, y.coarse}, format, size_of(grids.blurred), *where});
    if (!blur) return blur.error();
    blur->pass.source = intermediate(0);
    blur->pass.destination = intermediate(1);
    blur->pass.origin = {static_cast<std::int32_t>(grids.blurred.x.first - grids.image.x.first),
                         static_cast<std::int32_t>(grids.blurred.y.first - grids.image.y.first)};
    out.passes.push_back(std::move(blur->pass));
    out.options.merge(std::move(blur->options));
    out.seconds += blur->seconds;
    out.passes.push_back(expanding_pass(p, x, y, grids.blurred, *where, *span, format, out.seconds));
  }
  out.passes.back().source = intermediate(is_composite ? 0 : 1);
  out.options["write_span"] = std::to_string(span->written);
  out.options["storage"] = kStorages[static_cast<std::size_t>(*where)];
  out.moved_bytes = moved_bytes(p, out.intermediates);
  return out;
}

}  // namespace mollify
