// sep.fused on GPUs with cooperative matrices whose lanes fetch the pixels that they hold of them. Sums along y become operands of products
// along x where they are, so that nothing goes through shared memory and no lane waits for another subgroup's. Loses where the rows that
// taps reach fill the registers.
#include <algorithm>
#include <cmath>

#include "algorithms/sep_fused.h"
#include "algorithms/sep_gpu.h"
#include "core/weights.h"
#include "tuning/tuning.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = "sep_fused_matrix_lanes";
constexpr std::int32_t kSide = 8;       // of a block
constexpr std::int32_t kRows = 16;      // of a turn
constexpr std::int32_t kMostBands = 8;  // matrices of taps an axis

template <class T>
PerAxis<T> turned(const PerAxis<T>& v) {
  return {v.y, v.x};
}

/// y first, whose taps then add up to one.
PerAxis<AxisTaps> in_order(const PerAxis<AxisTaps>& taps) {
  PerAxis<AxisTaps> out = turned(taps);
  const double size = magnitude(out.x.weights);
  if (size == 0.0) return out;
  for (double& w : out.x.weights) w /= size;
  for (double& w : out.y.weights) w *= size;
  return out;
}

}  // namespace

Result<Proposal> propose_sep_fused_matrix_lanes(const Problem& p) {
  if (Status s = only_options(p, {"math", "storage", "halves", "blocks", "threads", "vertical_groups"}, "matrices of lanes"); !s) {
    return s.error();
  }
  if (Status s = check_fused_matrix(p, kKernel); !s) return s.error();
  if (!p.device.gpu.matrix_conversions) return refusal("the device does not convert sums of cooperative matrices to operands");
  const FormatInfo& source = info(p.src.format);
  constexpr std::int32_t kWordBytes = 4;
  if (source.channels == 3 || source.pixel_bytes() < kWordBytes) return refusal("matrices of lanes are for pixels of whole words");
  const double cut_share = source.is_unorm() ? 0.25 : 0.1;  // of the allowed error: halves need the rest
  const Result<Separable> s = separable(p, kKernel, Storage::buffer, cut_share);
  if (!s) return s.error();
  if (s->storage != Storage::buffer) return refusal("matrices need pixels in buffers");
  constexpr std::int32_t kLanes = 32;
  const std::int32_t subgroup = p.device.gpu.subgroup_size;
  if (subgroup != kLanes) return refusal("matrices of lanes are for subgroups of 32");

  const std::int32_t across = (s->nx() + 2 * kSide - 2) / kSide;
  const std::int32_t down = (s->ny() + kRows + kSide - 2) / kSide;
  if (std::max(across, down) > kMostBands) {
    return refusal("the kernel has " + std::to_string(s->nx()) + "x" + std::to_string(s->ny()) +
                   " taps, more than matrices in registers hold");
  }
  const PerAxis<AxisTaps> taps = in_order(s->taps.taps);
  HalfTaps half = half_taps(taps, source);
  const Result<std::int32_t> halves = count(p, "halves", 2, s->error + half.error <= p.allowed_error ? 1 : 2);
  if (!halves) return halves.error();
  if (*halves == 2) half = split_taps(taps, source, p.allowed_error - s->error);
  const Result<std::int32_t> blocks = count(p, "blocks", 16, 8);
  if (!blocks) return blocks.error();
  const Result<std::int32_t> threads = count(p, "threads", p.device.gpu.max_group_invocations, 2 * subgroup);
  if (!threads) return threads.error();
  if (*threads % subgroup != 0) return refusal("threads are a multiple of " + std::to_string(subgroup));
  if (const Result<PerAxis<std::int32_t>> fits = group(p, {*threads, 1}); !fits) return fits.error();
  const std::int32_t width = *threads / subgroup * *blocks * kSide;

  const std::int64_t strips = (p.dst.width + width - 1) / width;
  const std::int32_t read = *blocks + across - 1;
  const std::int32_t words = source.pixel_bytes() / kWordBytes;
  const std::int32_t kept = down - kRows / kSide;
  const std::int64_t registers = 60 + 2 * words * read * (kept + 2) + 2 * half.halves.y * across + 2 * half.halves.x * down +
                                 2 * across * *halves * source.channels;
  const auto at_once = static_cast<std::int64_t>(processors(p)) * groups_of_processor(p, *threads, registers);
  const std::int64_t beside = strips * p.batch;
  const std::int64_t most = std::max(p.dst.height / kRows, 1);
  const Result<std::int32_t> pieces =
      count(p, "vertical_groups", 1 << 16, static_cast<std::int32_t>(std::clamp<std::int64_t>(at_once / beside, 1, most)));
  if (!pieces) return pieces.error();
  const std::int32_t segment = walk_length(p.dst.height, *pieces, kRows);

  Proposal out;
  out.error = s->error + half.error;
  out.options = {{"math", "matrix_lanes"},
                 {"storage", "buffer"},
                 {"halves", std::to_string(*halves)},
                 {"blocks", std::to_string(*blocks)},
                 {"threads", std::to_string(*threads)},
                 {"vertical_groups", std::to_string(*pieces)}};
  if (!source.is_unorm()) out.assumption = kFinite;
  Pass pass = make_pass(kKernel, {p.dst.width, p.dst.height}, {width, segment}, {*threads, 1}, Storage::buffer);
  pass.origin = {s->region.x, s->region.y};
  pass.constants["subgroup_size"] = subgroup;
  pass.constants["halves"] = *halves;
  pass.constants["tap_halves_x"] = half.halves.y;
  pass.constants["tap_halves_y"] = half.halves.x;
  pass.constants["blocks"] = *blocks;
  pass.constants["clamps"] = leave_range(half.taps, source);
  pass.constants["segment"] = segment;
  PerAxis<double> start{0.0, 0.0};
  if (source.is_unorm()) {
    start = starts_of_codes(half);
    if (Status scaled = scale_for_codes(half.taps); !scaled) return scaled.error();
  }
  pass.taps = turned(half.taps);
  pass.parameters["between_start"] = start.x;
  pass.parameters["end_start"] = start.y;
  pass.parameters["gain"] = half.gain.x * half.gain.y;

  const double reads = (segment + kSide * kept) / static_cast<double>(segment) * read / *blocks;
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  const GpuTuning& device = gpu_tuning(p.device);
  const double moved = pixels * source.pixel_bytes() * 2.0 / device.bytes_per_second;
  out.seconds = device.launch_seconds + moved * reads;
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(p.src.payload_bytes()) * reads) + p.dst.payload_bytes();
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace mollify
