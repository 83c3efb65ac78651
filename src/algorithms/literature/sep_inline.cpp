// sep.inline, sep.inline_shared, sep.inline_sliding, sep.inline_sliding_shared: separable taps in one pass. A group filters
// the rows it needs horizontally into shared memory and filters vertically from there: one tile, or a ring of rows while it
// moves down; `_shared` forms put the source pixels into shared memory first. The image is read once and written once, but
// rows above and below a tile are filtered again by its neighbours: (group + 2R) / group times without walking. They lose
// where shared memory is short or filtering twice costs more than an intermediate. Source: "A Tale Of Too Many Blurs",
// parts 2 and 3.
#include <array>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"
#include "model/gpu_model.h"
#include "sep_inline_arguments.h"
#include "sep_inline_shared_arguments.h"
#include "sep_inline_sliding_arguments.h"
#include "sep_inline_sliding_shared_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

enum class Rows : std::uint8_t { tile, sliding };
enum class Loads : std::uint8_t { direct, shared };

struct Form {
  const GroupOption& group;
  Rows rows;
  Loads loads;
};

/// The ring of rows or all rows of a tile, and the source pixels that horizontal taps reach.
struct SharedPixels {
  std::int32_t rows;
  std::int64_t tile;  ///< 0: none
  [[nodiscard]] std::int64_t row_bytes(PerAxis<std::int32_t> group, Cache cache) const {
    return std::int64_t{rows} * group.x * cache_bytes(cache);
  }
  [[nodiscard]] std::int64_t bytes(PerAxis<std::int32_t> group, Cache cache) const {
    return row_bytes(group, cache) + tile * cache_bytes(cache);
  }
};

SharedPixels shared_pixels(const Form& form, const Separable& s, PerAxis<std::int32_t> shape) {
  const std::int32_t reached_rows = shape.y + s.ny() - 1;
  const std::int64_t width = shape.x + s.nx() - 1;
  if (form.rows == Rows::sliding) return {power_of_two_above(reached_rows), form.loads == Loads::shared ? width * shape.y : 0};
  return {rounded_size(reached_rows), form.loads == Loads::shared ? width * reached_rows : 0};
}

/// As asked for, else as usual. Measured on a driver that runs on the processor: short groups that slide take 0.6 to 0.9 times as long as
/// square ones, and groups narrower than its vectors are slow.
Result<PerAxis<std::int32_t>> shape_of(const Problem& p, const Form& form) {
  constexpr PerAxis<std::int32_t> kShortRow{64, 1};
  constexpr PerAxis<std::int32_t> kSquare{16, 16};
  const auto given = form.group.given(p);
  if (!given) return given.error();
  if (*given || !gpu_model(p.device).prefers_small_groups) return form.group.of(p);
  return form.rows == Rows::sliding ? kShortRow : kSquare;
}

template <class Arguments>
Result<Proposal> propose(const Problem& p, const Form& form) {
  Result<Separable> s = separable(p, Arguments::kKernel);
  if (!s) return s.error();
  Result<PerAxis<std::int32_t>> shape = shape_of(p, form);
  if (!shape) return shape.error();

  const auto error = [&](Cache cache) {
    const double source = form.loads == Loads::shared ? cache_error(p, *s, cache, p.src.format, false) : 0.0;
    return s->error + source + cache_error(p, *s, cache, p.src.format, true);
  };
  const Cache cache = choose_cache(p, error);
  if (Status status = check_cache(p, *s, cache, true); !status) return status.error();
  if (Status status = check_rounding(error(cache)); !status) return status.error();
  const auto bytes_of = [&](PerAxis<std::int32_t> group) { return shared_pixels(form, *s, group).bytes(group, cache); };
  if (!check_shared(p, bytes_of(*shape))) shape = form.group.of(p);  // what was preferred takes more than what is usual
  if (!shape) return shape.error();
  const SharedPixels shared = shared_pixels(form, *s, *shape);
  const std::int64_t row_bytes = shared.row_bytes(*shape, cache);
  if (Status status = check_shared(p, bytes_of(*shape)); !status) return status.error();

  Proposal out;
  out.error = error(cache);
  out.assumption = half_assumption(p, cache == Cache::f16);
  out.options = {kStorage.as(s->storage), kCache.as(cache), form.group.as(*shape)};
  PerAxis<std::int32_t> tile = *shape;
  if (form.rows == Rows::sliding) {
    const std::int64_t across = (p.dst.width + shape->x - 1) / shape->x;
    const Result<std::int32_t> chunks = kChunks.of(p, chunks_to_fill(p, across, p.dst.height, s->ny()));
    if (!chunks) return chunks.error();
    tile.y = chunk_length(p, p.dst.height, *chunks, shape->y, {s->nx() + 2 * s->ny(), s->nx() * s->ny()});
    out.options.insert(kChunks.as(*chunks));
  }
  Arguments arguments{};
  arguments.cache = cache;
  arguments.row_count = shared.rows;
  if constexpr (requires { arguments.chunk_rows; }) arguments.chunk_rows = tile.y;
  if constexpr (requires { arguments.tile_size; }) arguments.tile_size = shared_size(p, shared.tile, cache_bytes(cache), row_bytes);
  Pass pass = make_pass(arguments, {p.dst.width, p.dst.height}, tile, *shape, s->storage);
  pass.origin = {s->region.x, s->region.y};
  pass.taps = s->taps.taps;

  // Rows that are filtered horizontally for one that comes out.
  const double rows = (tile.y + s->ny() - 1.0) / tile.y;
  const double columns = (shape->x + s->nx() - 1.0) / shape->x;
  Work work;
  work.pixels = static_cast<double>(p.dst.width) * p.dst.height;
  work.loads = form.loads == Loads::shared ? rows * columns : rows * s->nx();
  work.shared_loads = s->ny() + (form.loads == Loads::shared ? rows * s->nx() : 0.0);
  // Neighbouring threads read a tile's rows at strides that meet in the same banks: measured.
  if (form.loads == Loads::shared) work.shared_loads *= slowness_of_strides(p.device, cache);
  work.operations = s->ny() + rows * s->nx();
  work.barriers = form.rows == Rows::sliding ? 2.0 : 1.0 + (form.loads == Loads::shared ? 1.0 : 0.0);
  // Of a tile that slides, rows beyond the image are not made.
  work.covered = covered(pass);
  out.window_blocks = {1, 1};
  out.moved_bytes = moved_bytes(p, {});
  work.bytes = static_cast<double>(out.moved_bytes);
  out.seconds = seconds(p.device, p.src.format, work);
  out.passes.push_back(std::move(pass));
  return out;
}

constexpr GroupOption kTallGroup({"2x128", "16x16", "32x5"});
constexpr GroupOption kSquareGroup({"16x16", "8x8", "32x5"});
constexpr Form kInline{kTallGroup, Rows::tile, Loads::direct};
constexpr Form kInlineShared{kSquareGroup, Rows::tile, Loads::shared};
constexpr Form kInlineSliding{kSquareGroup, Rows::sliding, Loads::direct};
constexpr Form kInlineSlidingShared{kSquareGroup, Rows::sliding, Loads::shared};

constexpr std::array kInlineOptions = {kStorage.info(), kCache.info(), kTallGroup.info()};
constexpr std::array kInlineSharedOptions = {kStorage.info(), kCache.info(), kSquareGroup.info()};
constexpr std::array kInlineSlidingOptions = {kStorage.info(), kCache.info(), kSquareGroup.info(), kChunks.info()};

}  // namespace

constinit const Algorithm kSepInline = {
    {"sep.inline", "separable taps in one pass, rows filtered into shared memory", "A Tale Of Too Many Blurs, part 2", kInlineOptions},
    [](const Problem& p) { return propose<glsl::SepInline>(p, kInline); }};
constinit const Algorithm kSepInlineShared = {{"sep.inline_shared", "separable taps in one pass, source and rows in shared memory",
                                               "A Tale Of Too Many Blurs, part 2", kInlineSharedOptions},
                                              [](const Problem& p) { return propose<glsl::SepInlineShared>(p, kInlineShared); }};
constinit const Algorithm kSepInlineSliding = {{"sep.inline_sliding", "separable taps in one pass, groups walk down with a ring of rows",
                                                "A Tale Of Too Many Blurs, part 3", kInlineSlidingOptions},
                                               [](const Problem& p) { return propose<glsl::SepInlineSliding>(p, kInlineSliding); }};
constinit const Algorithm kSepInlineSlidingShared = {
    {"sep.inline_sliding_shared", "separable taps in one pass, a ring of rows and the source pixels of each step",
     "A Tale Of Too Many Blurs, part 3", kInlineSlidingOptions},
    [](const Problem& p) { return propose<glsl::SepInlineSlidingShared>(p, kInlineSlidingShared); }};

}  // namespace mollify
