// sep.direct, sep.shared, sep.sliding: separable taps in two passes, x before y, with an image between them. They differ in
// how a pass gets at its pixels: straight from the image; from shared memory that a group fills first; from a ring in
// shared memory while a group slides along. 2R + 1 multiply-adds a pixel and axis; the intermediate is written and read once,
// so they cost two copies at least and lose to one-pass forms where memory is the limit. Source: "A Tale Of Too Many
// Blurs", parts 1 to 3.
#include <array>
#include <numeric>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"
#include "algorithms/separable/sep_direct.h"
#include "math/weights.h"
#include "sep_direct_arguments.h"
#include "sep_shared_arguments.h"
#include "sep_sliding_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

enum class Method : std::uint8_t { direct, shared, sliding };

constexpr GroupOption kDirectGroup({"16x16", "8x8", "64x2"});
constexpr GroupOption kLineGroup({"256x1", "64x1", "16x16", "32x3"});
constexpr GroupOption kSlidingGroup({"256x2", "16x16", "48x3"});
constexpr NumberOption kColumns("chunks", {"1", "3", "8"}, 1 << 16, "enough to fill the device",
                                "chunks that rows and columns are split into", {.tuned_values = kTunedChunks});

struct MethodInfo {
  std::string_view kernel;
  const GroupOption& group;  ///< along and across the pass
};
constexpr std::array<MethodInfo, 3> kMethods = {
    {{kSepDirectKernel, kDirectGroup}, {glsl::SepShared::kKernel, kLineGroup}, {glsl::SepSliding::kKernel, kSlidingGroup}}};

/// One axis, as its pass sees it.
struct AxisPass {
  bool vertical;
  std::int32_t taps;
  PerAxis<std::int32_t> size;
  [[nodiscard]] std::int32_t along(PerAxis<std::int32_t> v) const { return vertical ? v.y : v.x; }
  [[nodiscard]] std::int32_t across(PerAxis<std::int32_t> v) const { return vertical ? v.x : v.y; }
};

class TwoPasses {
 public:
  TwoPasses(const Problem& p, Method method) : p_(p), method_(method), kernel_(kMethods[static_cast<std::size_t>(method)]) {}

  Result<Proposal> propose() {
    Result<Separable> s = separable(p_, kernel_.kernel);
    if (!s) return s.error();
    s_ = std::move(*s);
    if (method_ == Method::direct) set_error_of_blocks();
    const Result<PerAxis<std::int32_t>> given = kernel_.group.of(p_);
    if (!given) return given.error();
    group_ = *given;
    if (mirrored() && (group_.y > p_.device.gpu.max_group.x || group_.x > p_.device.gpu.max_group.y)) {
      return refusal("the device has no work groups of " + to_text({group_.y, group_.x}) + " threads");
    }
    lane_order_ = kLaneOrder.of(p_, LaneOrder::row);
    if (Status status = check_lane_order(lane_order_, group_); !status) return status.error();

    const Result<Intermediate> between = choose_intermediate(p_, s_.taps, s_.storage, s_.error);
    if (!between) return between.error();
    between_ = *between;
    if (method_ != Method::direct) {
      cache_ = choose_cache(p_, [&](Cache c) { return error(c); });
      if (Status status = check_cache(p_, s_, cache_, true); !status) return status.error();
    }
    if (Status status = check_rounding(error(cache_)); !status) return status.error();
    const Span rows = needed_span(p_.src.height, s_.region.y, s_.region.height, s_.taps.taps.y.anchor, s_.ny() - 1 - s_.taps.taps.y.anchor);
    const ImageDesc image{s_.region.width, rows.length, between_.format};
    const Result<Storage> fits = storage(p_, kernel_.kernel, std::span(&image, 1));
    if (!fits) return fits.error();
    s_.storage = *fits;

    Proposal out;
    out.intermediates = {image};
    const AxisPass x{false, s_.nx(), {image.width, image.height}};
    const AxisPass y{true, s_.ny(), {p_.dst.width, p_.dst.height}};
    if (method_ == Method::sliding) {
      const Result<std::int32_t> columns = kColumns.of(p_, std::max(default_columns(x), default_columns(y)));
      if (!columns) return columns.error();
      columns_ = *columns;
    }
    if (Status status = add_pass(out, x, {s_.region.x, rows.first}); !status) return status.error();
    if (Status status = add_pass(out, y, {0, s_.region.y - rows.first}); !status) return status.error();
    connect(out);
    fill_in(out);
    return out;
  }

 private:
  [[nodiscard]] bool mirrored() const { return method_ != Method::direct; }

  void set_error_of_blocks() {
    const auto growth = [](const AxisTaps& taps) { return blocked_summation_growth(taps.weights, kSepDirectBlock); };
    s_.taps.growth = {growth(s_.taps.taps.x), growth(s_.taps.taps.y)};
    s_.error = s_.taps.cut_error + rounding_error(p_, s_.taps, Accumulator::f32);
  }

  [[nodiscard]] double error(Cache cache) const {
    if (method_ == Method::direct) return s_.error + between_.error;
    return s_.error + between_.error + cache_error(p_, s_, cache, p_.src.format, false) + cache_error(p_, s_, cache, between_.format, true);
  }

  [[nodiscard]] PerAxis<std::int32_t> shape_of(const AxisPass& axis) const {
    return mirrored() && axis.vertical ? PerAxis<std::int32_t>{group_.y, group_.x} : group_;
  }

  [[nodiscard]] std::int32_t default_columns(const AxisPass& axis) const {
    const std::int64_t across = axis.across(shape_of(axis));
    const std::int64_t groups = (axis.across(axis.size) + across - 1) / across;
    return chunks_to_fill(p_, groups, axis.along(axis.size), axis.taps);
  }

  Status add_pass(Proposal& out, const AxisPass& axis, PerAxis<std::int32_t> origin) {
    const PerAxis<std::int32_t> shape = shape_of(axis);
    Pass pass;
    const std::int64_t along = axis.along(shape);
    const std::int64_t across = axis.across(shape);
    const std::int64_t bytes = cache_bytes(cache_);
    Work work;
    work.pixels = static_cast<double>(axis.size.x) * axis.size.y;
    work.operations = axis.taps;
    switch (method_) {
      case Method::direct:
        pass = sep_direct_pass(axis.size, axis.vertical, lane_order_, shape, s_.storage);
        work.loads = axis.taps;
        break;
      case Method::shared: {
        const std::int64_t pixels = (along + axis.taps - 1) * across;
        if (Status s = check_shared(p_, pixels * bytes); !s) return s;
        pass = make_pass(glsl::SepShared{.cache = cache_, .tile_size = shared_size(p_, pixels, bytes), .vertical = axis.vertical},
                         axis.size, shape, shape, s_.storage);
        work.loads = static_cast<double>(pixels) / static_cast<double>(along * across);
        work.shared_loads = axis.taps;
        work.barriers = 1.0;
        break;
      }
      case Method::sliding: {
        const std::int32_t ring = power_of_two_above(along + axis.taps - 1);
        if (Status s = check_shared(p_, ring * across * bytes); !s) return s;
        const std::int32_t length =
            chunk_length(p_, axis.along(axis.size), columns_, static_cast<std::int32_t>(along), {2 * axis.taps, axis.taps});
        const PerAxis<std::int32_t> tile = axis.vertical ? PerAxis<std::int32_t>{shape.x, length} : PerAxis<std::int32_t>{length, shape.y};
        pass = make_pass(glsl::SepSliding{.cache = cache_, .chunk_length = length, .ring_length = ring, .vertical = axis.vertical},
                         axis.size, tile, shape, s_.storage);
        work.loads = 1.0 + (axis.taps - 1.0) / length;
        work.shared_loads = axis.taps;
        work.barriers = 2.0;
        break;
      }
    }
    pass.origin = origin;
    const int from = axis.vertical ? info(between_.format).pixel_bytes() : info(p_.src.format).pixel_bytes();
    const int to = axis.vertical ? info(p_.dst.format).pixel_bytes() : info(between_.format).pixel_bytes();
    work.bytes = work.pixels * (from + to);
    if (method_ != Method::direct) work.covered = covered(pass);  // whose threads beyond the image end at once
    out.seconds += seconds(p_.device, axis.vertical ? between_.format : p_.src.format, work);
    out.moved_bytes += static_cast<std::int64_t>(work.bytes);
    out.passes.push_back(std::move(pass));
    return {};
  }

  void connect(Proposal& out) const {
    Pass& x = out.passes[0];
    Pass& y = out.passes[1];
    x.taps.x = s_.taps.taps.x;
    x.destination = intermediate();
    y.taps.y = s_.taps.taps.y;
    y.source = intermediate();
    y.outside_gain = std::accumulate(s_.taps.taps.x.weights.begin(), s_.taps.taps.x.weights.end(), 0.0);
  }

  void fill_in(Proposal& out) const {
    out.window_blocks = {1, 1};
    out.error = error(cache_);
    const bool half = (method_ != Method::direct && cache_ == Cache::f16) || between_.value == Between::rgba16f;
    out.assumption = half_assumption(p_, half);
    out.options = {kStorage.as(s_.storage), kIntermediate.as(between_.value), kernel_.group.as(group_)};
    out.options.insert(method_ == Method::direct ? kLaneOrder.as(lane_order_) : kCache.as(cache_));
    if (method_ == Method::sliding) out.options.insert(kColumns.as(columns_));
  }

  const Problem& p_;
  Method method_;
  const MethodInfo& kernel_;
  Separable s_;
  PerAxis<std::int32_t> group_;
  LaneOrder lane_order_ = LaneOrder::row;
  Cache cache_ = Cache::f32;
  Intermediate between_;
  std::int32_t columns_ = 1;  ///< sliding: chunks that rows and columns are split into
};

}  // namespace

Pass sep_direct_pass(PerAxis<std::int32_t> size, bool is_vertical, LaneOrder order, PerAxis<std::int32_t> group, Storage storage,
                     std::optional<BorderMode> border) {
  glsl::SepDirect arguments{.block_taps = kSepDirectBlock, .lane_order = order, .vertical = is_vertical};
  if (border) arguments.border_x = arguments.border_y = *border;
  return make_pass(arguments, size, group, group, storage);
}

namespace {

Result<Proposal> propose_direct(const Problem& p) {
  return TwoPasses(p, Method::direct).propose();
}
Result<Proposal> propose_shared(const Problem& p) {
  return TwoPasses(p, Method::shared).propose();
}
Result<Proposal> propose_sliding(const Problem& p) {
  return TwoPasses(p, Method::sliding).propose();
}

constexpr std::array kDirectOptions = {kStorage.info(), kIntermediate.info(), kLaneOrder.info(), kDirectGroup.info()};
constexpr std::array kSharedOptions = {kStorage.info(), kIntermediate.info(), kCache.info(), kLineGroup.info()};
constexpr std::array kSlidingOptions = {kStorage.info(), kIntermediate.info(), kCache.info(), kSlidingGroup.info(), kColumns.info()};

}  // namespace

constinit const Algorithm kSepDirect = {
    {"sep.direct", "separable taps in two passes, straight from the image", "A Tale Of Too Many Blurs, part 1", kDirectOptions},
    propose_direct};
constinit const Algorithm kSepShared = {
    {"sep.shared", "separable taps in two passes, from a tile in shared memory", "A Tale Of Too Many Blurs, part 2", kSharedOptions},
    propose_shared};
constinit const Algorithm kSepSliding = {{"sep.sliding", "separable taps in two passes, groups walk with a ring in shared memory",
                                          "A Tale Of Too Many Blurs, part 3", kSlidingOptions},
                                         propose_sliding};

}  // namespace mollify
