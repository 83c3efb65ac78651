// sep.fused on CUDA. In one pass, blocks of threads move down strips of columns: rows are filtered along x into a ring of rows in shared
// memory, and along y out of that. Sums of columns in registers are sep_fused_cuda_sums.cpp's, and products of tensor cores
// sep_fused_cuda_matrix.cpp's. In two passes, what is filtered along x becomes an image of sums.
#include <algorithm>

#include "algorithms/common/occupancy.h"
#include "algorithms/separable/sep_fused.h"
#include "backends/cuda/kernels/pass_arguments.h"
#include "backends/cuda/kernels/sep_fused_shape.h"
#include "backends/cuda/kernels/sep_passes_shape.h"
#include "base/places.h"
#include "math/weights.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

std::int32_t count_of(const AxisTaps& taps) {
  return static_cast<std::int32_t>(taps.weights.size());
}

Status fits_one_pass(const Problem& p, const SeparableTaps& s, bool wide) {
  if (wide) return refusal("one pass has sums of f32 only");
  if (has_stride(p.spec)) return refusal("one pass does not take a stride");
  if (Status rows = check_rows(p); !rows) return rows;
  const int channels = info(p.src.format).channels;
  const std::int32_t nx = count_of(s.taps.x);
  const std::int32_t ny = count_of(s.taps.y);
  const cuda::SepFusedShape shape(channels, cuda::sep_fused_columns(channels), nx, ny, 3);
  return check_shared(p, shape.shared_bytes());
}

void add_one_pass(const Problem& p, SeparableTaps s, Proposal& out) {
  const Rect r = region(p);
  const std::int32_t columns = cuda::sep_fused_columns(info(p.src.format).channels);
  const std::int32_t nx = count_of(s.taps.x);
  const std::int32_t ny = count_of(s.taps.y);
  const std::int64_t across = (p.dst.width + columns - 1) / columns;
  constexpr std::int32_t kStep = cuda::kSepFusedRows;
  const std::int32_t rows = rows_of_chunk(p, across, p.dst.height, cuda::kSepFusedAtOnce, kStep, 2 * kStep);
  Pass pass = make_pass("sep_fused", cuda::NoArguments{}, {p.dst.width, p.dst.height}, {columns, rows}, {cuda::kSepFusedThreads, 1},
                        Storage::buffer);
  const double reads = (rows + ny - 1.0) / rows * (columns + nx - 1.0) / columns;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = pixels,
                         .loads = reads,
                         .shared_loads = reads * (nx + ny) / 4.0,
                         .operations = reads * (nx + ny),
                         .barriers = reads / cuda::kSepFusedRows,
                         .bytes = pixels * (info(p.src.format).pixel_bytes() * reads + info(p.dst.format).pixel_bytes())});
  // Measured time of rgba8 and rgba16f divided by what is predicted, at 4096x4096: 2.8 at radius 4, 2.2 at radius 9. Other images were not
  // measured.
  const bool was_measured = is_only_blurred(p) && (p.src.format == PixelFormat::rgba8 || p.src.format == PixelFormat::rgba16f);
  const double slowness = was_measured ? 2.5 : 1.0;
  const double launch = gpu_model(p.device).launch_seconds;
  out.seconds = launch + slowness * (out.seconds - launch);
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * reads) + p.dst.payload_bytes();
  pass.origin = {r.x, r.y};
  pass.taps = std::move(s.taps);
  out.passes.push_back(std::move(pass));
}

void add_two_passes(const Problem& p, SeparableTaps s, bool wide, Proposal& out) {
  const Rect r = region(p);
  const int channels = info(p.src.format).channels;
  const std::int32_t nx = count_of(s.taps.x);
  const std::int32_t ny = count_of(s.taps.y);
  const gpu::Span rows = needed_span(p.src.height, r.y, r.height, s.taps.y.anchor, ny - 1 - s.taps.y.anchor);
  const std::int32_t columns = (p.dst.width + 3) / 4 * 4;  // four components are read at once
  const ImageDesc between{columns, rows.length, *find_format(ComponentClass::floating, wide ? 64 : 32, channels)};
  Pass along_x = make_pass("sep_rows", cuda::FloatArguments{wide}, {columns, between.height}, {cuda::kSepRowsColumns, 1},
                           {cuda::kSepRowsColumns, 1}, Storage::buffer);
  along_x.origin = {r.x, rows.first};
  along_x.destination = intermediate(0);
  Pass along_y = make_pass("sep_columns", cuda::ColumnsArguments{.wide = wide, .first_row = rows.first}, {p.dst.width, p.dst.height},
                           {cuda::kSepColumnsThreads * 4 / channels, 1}, {cuda::kSepColumnsThreads, 1}, Storage::buffer);
  along_y.origin = {0, r.y};
  along_y.source = intermediate(0);
  along_y.outside_gain = total(s.taps.x.weights);
  const std::array intermediates{between};
  out.moved_bytes = moved_bytes(p, intermediates);
  const double between_pixels = static_cast<double>(between.width) * between.height;
  const auto between_bytes = static_cast<double>(between.payload_bytes());
  const double slower = wide ? 4.0 : 1.0;
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = between_pixels,
                         .loads = 1.0,
                         .shared_loads = slower * nx,
                         .operations = slower * nx,
                         .bytes = between_bytes + static_cast<double>(source_bytes(p))}) +
                seconds(p.device, between.format,
                        {.pixels = static_cast<double>(p.dst.width) * p.dst.height,
                         .loads = ny / 4.0 + 1.0,
                         .operations = slower * ny,
                         .bytes = between_bytes + static_cast<double>(p.dst.payload_bytes())});
  along_x.taps.x = std::move(s.taps.x);
  along_y.taps.y = std::move(s.taps.y);
  out.intermediates = {between};
  out.passes.push_back(std::move(along_x));
  out.passes.push_back(std::move(along_y));
}

/// Whether so many taps take less time by sums of single warps than by products, as measured: of one channel of halves, products take long
/// at the edges, which are much of a narrow image.
bool takes_less_by_sums(const Problem& p, std::int32_t taps) {
  constexpr std::int32_t kMostOfHalves = 9, kNarrow = 1024;
  const FormatInfo& format = info(p.src.format);
  if (format.channels == 1 && format.is_floating() && format.bits == 16 && taps > kMostOfHalves && p.dst.width >= kNarrow) return false;
  return taps_of_warps(format, taps) != 0;
}

}  // namespace

Result<Proposal> propose_sep_fused_cuda(const Problem& p) {
  if (Status s = only_options(p, {kFusedAccumulator, kFusedPasses, kFusedMath}); !s) return s.error();
  std::optional<SeparableTaps> s = separable_taps(p);
  const bool wide = s && fused_is_wide(p, *s);
  const Status one = s ? fits_one_pass(p, *s, wide) : Status(refusal("the matrix is no product of a column and a row"));
  const std::int32_t taps = one ? taps_of_sums(p, *s) : 0;
  const bool asks_for_sums = kFusedAccumulator.given(p) || kFusedPasses.given(p) || takes_less_by_sums(p, taps);
  const FusedMath math = kFusedMath.of(p, asks_for_sums ? FusedMath::f32 : FusedMath::coopmat);
  if (math == FusedMath::coopmat) {
    Result<Proposal> matrix = propose_sep_fused_cuda_matrix(p);
    if ((matrix && matrix->error <= p.allowed_error) || kFusedMath.given(p)) return matrix;
  }
  if (math != FusedMath::f32 && math != FusedMath::coopmat) return refusal("on CUDA math is f32 or coopmat");
  if (kFusedAccumulator.given(p) == FusedAccumulator::u16) return refusal("sums of 16 bits are for CPUs");
  if (!s) return one.error();

  Proposal out;
  out.error = s->cut_error + rounding_error(p, *s, wide ? Accumulator::f64 : Accumulator::f32);
  const std::int32_t passes = kFusedPasses.of(p, one ? 1 : 2);
  const bool in_one = passes == 1;
  if (in_one && !one) return one.error();
  if (!in_one) {
    const std::int64_t bytes = cuda::sep_rows_shared_bytes(info(p.src.format).channels, p.spec.stride.x.step, wide);
    if (Status fits = check_shared(p, bytes); !fits) return fits.error();
  }
  if (in_one && taps != 0) {
    add_sums(p, std::move(*s), taps, out);
  } else if (in_one) {
    add_one_pass(p, std::move(*s), out);
  } else {
    add_two_passes(p, std::move(*s), wide, out);
  }
  out.options = {kFusedMath.as(FusedMath::f32), kFusedAccumulator.as(wide ? FusedAccumulator::f64 : FusedAccumulator::f32),
                 kFusedPasses.as(passes)};
  out.window_blocks = {1, 1};
  return out;
}

}  // namespace mollify
