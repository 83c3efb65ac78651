// sep.fused: any separable taps in one pass. On CPUs source rows are filtered vertically and, while a row is in cache,
// horizontally; no intermediate image is written. 2R + 1 multiply-adds a component and axis, so it loses to box.any and
// to decimated Gaussians when R is large. Source: this project.
#include <array>

#include "algorithms/sep_fused.h"
#include "algorithms/separable.h"
#include "backends/cpu/kernels/layout.h"
#include "tuning/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kKernel = "sep_fused";
constexpr std::array<std::string_view, 2> kAccumulators = {"f32", "f64"};
constexpr std::array<std::string_view, 3> kThreads = {"64", "128", "256"};
constexpr std::array<std::string_view, 3> kBatches = {"1", "2", "3"};
constexpr std::array<std::string_view, 3> kPieces = {"1", "3", "16"};
constexpr std::array kOptions = {
    OptionInfo{"accumulator", kAccumulators, "f32 where its error fits, else f64", "CPU: precision of rows, weights and sums"},
    OptionInfo{"storage", gpu::kStorages, "buffer where the device has them, else image", "GPU: where pixels lie"},
    OptionInfo{"span", kFusedSpans, "4, or 2 for more than 25 rows of taps", "GPU: neighbouring pixels that a thread makes"},
    OptionInfo{"threads", kThreads, "128, or 256 for more than 25 taps", "GPU: threads of a work group", true},
    OptionInfo{"batch", kBatches, "2", "GPU: rows from one turn to the next", true},
    OptionInfo{"vertical_groups", kPieces, "enough to fill the device", "GPU: pieces that each walk down is split into",
               true}};

Result<Proposal> propose(const Problem& p) {
  if (p.device.backend != Backend::cpu) return propose_sep_fused_gpu(p);
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  if (Status status = only_options(p, {"accumulator"}); !status) return status.error();
  std::optional<SeparableTaps> s = separable_taps(p);
  if (!s) return refusal("the matrix is no product of a column and a row");

  const Accumulator accumulator = choose_accumulator(p, [&](Accumulator a) {
    return s->cut_error + rounding_error(p, *s, a);
  });
  const bool wide = accumulator == Accumulator::f64;
  const int channels = info(p.src.format).channels;
  const auto nx = static_cast<std::int64_t>(s->taps.x.weights.size());
  const auto ny = static_cast<std::int64_t>(s->taps.y.weights.size());

  Proposal out;
  out.options = {{"accumulator", wide ? "f64" : "f32"}};
  out.error = s->cut_error + rounding_error(p, *s, accumulator);

  TileNeeds needs;
  needs.halo = {nx - 1, ny - 1};
  needs.column_bytes = (ny + 2 * cpu::kRowBatch) * channels * (wide ? 8 : 4);
  needs.pixel_operations = static_cast<double>((nx + ny) * channels) * (wide ? 2.0 : 1.0);
  const PerAxis<std::int32_t> tile = cpu_tile(p.device, {p.dst.width, p.dst.height}, needs);

  Pass pass;
  pass.kernel = kKernel;
  pass.constants = {{"wide", wide ? 1 : 0}};
  pass.taps = std::move(s->taps);
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = tile;
  out.moved_bytes = moved_bytes(p, tile, needs.halo);
  out.scratch_bytes = p.device.threads * (wide ? cpu::SepFusedScratch<double>(nullptr, tile.x, nx, ny, channels).bytes
                                               : cpu::SepFusedScratch<float>(nullptr, tile.x, nx, ny, channels).bytes);
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  // Columns of the halo are filtered vertically with the tile's own.
  const double overlap = static_cast<double>((nx - 1) * ny * channels) / tile.x;
  constexpr double kRowCost = 6.0;  // decoding, storing and encoding a component, in multiply-adds
  out.seconds = arithmetic_seconds(p.device, pixels * (needs.pixel_operations + overlap + kRowCost * channels)) +
                copy_seconds(p.device, out.moved_bytes);
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace

constinit const Algorithm kSepFused = {
    {"sep.fused", "separable taps, vertical and horizontal in one pass", "this project", kOptions}, propose};

}  // namespace mollify
