// nxn.direct and nxn.shared on GPUs: a list of samples, one load and one multiply-add each. Loads come from the image, or
// from a tile that the group has put into shared memory first. Taps^2 loads a pixel, so they win for small kernels that are
// not separable and lose otherwise; the shared tile pays from about 5x5. Source: "A Tale Of Too Many Blurs", parts 1 and 2.
#include "algorithms/matrix2d/nxn.h"
#include "math/weights.h"
#include "nxn_direct_arguments.h"
#include "nxn_shared_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

struct NxnWish {
  NxnMatrix matrix;
  Storage storage;
  Packing packing;
  SampleBuffer samples;
  LaneOrder lane_order;
  PerAxis<std::int32_t> group;
  double weight_scale;  ///< of weights in f16
  double error;
};

Result<NxnWish> wish(const Problem& p, std::string_view kernel) {
  if (Status s = only_options(p, {kStorage, kPacking, kSamples, kLaneOrder, kNxnGroup, kCache}); !s) return s.error();
  const Result<Storage> where = storage(p, kernel);
  if (!where) return where.error();
  Result<NxnMatrix> matrix = nxn_matrix(p);
  if (!matrix) return matrix.error();
  const Result<PerAxis<std::int32_t>> shape = kNxnGroup.of(p);
  if (!shape) return shape.error();
  NxnWish w{std::move(*matrix),
            *where,
            kPacking.of(p, Packing::separate),
            SampleBuffer::uniform,
            kLaneOrder.of(p, LaneOrder::row),
            *shape,
            1.0,
            0.0};
  if (Status s = check_lane_order(w.lane_order, w.group); !s) return s.error();

  const bool packed = w.packing == Packing::packed;
  const auto count = static_cast<std::int64_t>(w.matrix.matrix.weights.size());
  const std::int64_t bytes = packed ? (count + 3) / 4 * 16 : count * 16;
  const std::int64_t uniform_bytes = packed ? 65536 : 16384;
  const bool fits = bytes <= uniform_bytes && uniform_bytes <= p.device.gpu.max_uniform_bytes;
  w.samples = kSamples.of(p, fits ? SampleBuffer::uniform : SampleBuffer::storage);
  if (w.samples == SampleBuffer::uniform && !fits) {
    return refusal(std::to_string(count) + " samples do not fit a uniform buffer of " + std::to_string(uniform_bytes) + " bytes");
  }
  w.error = w.matrix.error(p, Accumulator::f32);
  if (packed) {
    const std::vector<double>& weights = w.matrix.matrix.weights;
    const HalfWeights half = rounded_to_scaled_half(weights);
    w.weight_scale = half.scale;
    // Halves do not sum to what the weights summed to, so black and white move too. What float pixels move by is held
    // against the largest that they can become.
    const double full_scale = info(p.src.format).is_unorm() ? 1.0 : std::max(magnitude(weights), 1e-300);
    w.error += rounding_between(p, weights, half.l1_distance / full_scale);
    if (Status s = check_rounding(w.error); !s) return s.error();
  }
  return w;
}

/// `arguments`: of the kernel, those of its own are set.
template <class Arguments>
Proposal proposal(const Problem& p, const NxnWish& w, Arguments arguments) {
  Proposal out;
  out.options = {kStorage.as(w.storage), kPacking.as(w.packing), kSamples.as(w.samples), kLaneOrder.as(w.lane_order),
                 kNxnGroup.as(w.group)};
  out.error = w.error;
  arguments.weight_scale = w.weight_scale;
  arguments.packing = w.packing;
  arguments.samples = w.samples;
  arguments.lane_order = w.lane_order;
  Pass pass = make_pass(arguments, {p.dst.width, p.dst.height}, w.group, w.group, w.storage);
  const Rect r = region(p);
  pass.origin = {r.x, r.y};
  pass.matrix = w.matrix.matrix;
  out.passes.push_back(std::move(pass));
  out.window_blocks = {1, 1};
  out.moved_bytes = moved_bytes(p, {});
  return out;
}

Result<Proposal> propose_shared(const Problem& p) {
  const Result<NxnWish> w = wish(p, glsl::NxnShared::kKernel);
  if (!w) return w.error();
  const Matrix& matrix = w->matrix.matrix;
  // Source pixels, at most 1 or relative to the largest.
  const auto cached = [&](Cache cache) {
    const bool unorm8 = info(p.src.format).is_unorm() && info(p.src.format).bits == 8;
    const bool as_stored = p.spec.alpha == AlphaMode::ignore && p.spec.transfer == TransferFunction::none;
    if (cache == Cache::unorm8 && unorm8 && as_stored) return 0.0;
    const double largest = info(p.src.format).is_unorm() ? magnitude(matrix.weights) : 1.0;
    return rounding_between(p, matrix.weights, rounding_step(cache, p.src.format) * largest);
  };
  const Cache cache = choose_cache(p, [&](Cache c) { return w->error + cached(c); });
  if (cache == Cache::unorm8 && !info(p.src.format).is_unorm()) {
    return refusal("float pixels do not lie between 0 and 1, as a unorm8 cache needs");
  }
  if (Status s = check_rounding(cached(cache)); !s) return s.error();
  const PerAxis<std::int32_t> extent{w->group.x + matrix.width - 1, w->group.y + matrix.height - 1};
  const std::int64_t pixels = std::int64_t{extent.x} * extent.y;
  if (Status s = check_shared(p, pixels * cache_bytes(cache)); !s) return s.error();

  glsl::NxnShared arguments{};
  arguments.cache = cache;
  arguments.tile_size = shared_size(p, pixels, cache_bytes(cache));
  Proposal out = proposal(p, *w, arguments);
  out.options.insert(kCache.as(cache));
  out.error += cached(cache);
  if (cache == Cache::f16 && info(p.src.format).bits == 32) out.assumption = kHalfRange;
  const auto taps = static_cast<double>(matrix.weights.size());
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(p.dst.width) * p.dst.height,
                         .loads = static_cast<double>(pixels) / (w->group.x * w->group.y),
                         .shared_loads = taps,
                         .operations = taps,
                         .barriers = 1.0,
                         .covered = covered(out.passes.front()),
                         .bytes = static_cast<double>(out.moved_bytes)});
  return out;
}

constexpr std::array kSharedOptions = {kStorage.info(), kCache.info(),     kPacking.info(),
                                       kSamples.info(), kLaneOrder.info(), kNxnGroup.info()};

}  // namespace

constinit const Algorithm kNxnShared = {
    {"nxn.shared", "any matrix, from a tile in shared memory", "A Tale Of Too Many Blurs, part 2", kSharedOptions}, propose_shared};

Result<Proposal> propose_nxn_direct_gpu(const Problem& p) {
  const Result<NxnWish> w = wish(p, glsl::NxnDirect::kKernel);
  if (!w) return w.error();
  Proposal out = proposal(p, *w, glsl::NxnDirect{});
  const auto taps = static_cast<double>(w->matrix.matrix.weights.size());
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(p.dst.width) * p.dst.height,
                         .loads = taps,
                         .operations = taps,
                         .bytes = static_cast<double>(out.moved_bytes)});
  return out;
}

}  // namespace mollify
