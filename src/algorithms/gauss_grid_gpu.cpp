// The blur of gauss.decimate's grid on GPUs. Grids are small, so that what counts is how long a group takes rather than how
// much it reads: a tile takes a few rounds of loads and three barriers, a walk one after the other for every two rows. Tiles
// read their margins anew, from the second cache; where those are most of what they read, groups walk.
#include "algorithms/gauss_grid.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tuning/tuning.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = "gauss_grid";
constexpr std::string_view kTiles = kGridBlurs[0];
constexpr std::string_view kWalk = kGridBlurs[1];
constexpr std::int32_t kBatch = 8;  // rows of 16 bytes that are on their way to a lane and leave registers for others

std::int32_t count_of(const AxisTaps& taps) { return static_cast<std::int32_t>(taps.weights.size()); }
std::int32_t ceil_div(std::int32_t a, std::int32_t b) { return (a + b - 1) / b; }

/// What one group makes, as gauss_grid.comp works it out.
struct Tile {
  PerAxis<std::int32_t> group;  ///< lanes: units of the tile with its margins across, spans of rows down
  std::int32_t span = 4;        ///< cells that a lane makes in either direction
  std::int32_t units = 1;       ///< of a cell: what a lane sums at once, four channels or one
  std::int32_t taps = 1;        ///< across
  std::int32_t unit_bytes = 16;
  double seconds = 0.0;

  [[nodiscard]] std::int32_t spans() const { return (group.x / units - (taps - 1)) / span; }
  [[nodiscard]] std::int32_t width() const { return spans() * span; }
  [[nodiscard]] std::int32_t height() const { return group.y * span; }
  [[nodiscard]] std::int64_t shared_bytes() const {
    const std::int32_t banks = 128 / unit_bytes;
    const std::int32_t gap = 1 - span % 2;
    const std::int32_t reach = width() + taps - 1;
    const std::int32_t row_of_spans = width() + gap * spans();
    const std::int32_t places = reach + gap * (reach / span);
    const std::int32_t pitch = row_of_spans + ceil_div(places - row_of_spans, banks) * banks;
    return std::int64_t{height()} * pitch * units * unit_bytes;
  }
};

/// What tiles take. The cells of a tile and its margins come from the second cache once, and then from the first, which is
/// as fast as shared memory. While some groups wait for cells, others sum, so that what takes longest counts most. All is
/// over when the processor is done that has most groups.
double seconds_of(const Problem& p, const FusedWork& work, const Tile& tile) {
  constexpr double kLatency = 4e-6;          // of rounds of loads, and barriers
  const GpuTuning& device = gpu_tuning(p.device);
  const double numbers = tile.unit_bytes / 4.0;
  const double columns = tile.width() + count_of(work.taps.x) - 1.0;
  const double rows = tile.height() + count_of(work.taps.y) - 1.0;
  const double groups = static_cast<double>(ceil_div(work.size.x, tile.width())) * ceil_div(work.size.y, tile.height());
  const double lanes = groups * tile.group.x * tile.group.y;

  Work moved;
  moved.pixels = groups * tile.width() * tile.height();
  moved.loads = columns * rows / (tile.width() * tile.height());
  moved.bytes = 2.0 * work.size.x * work.size.y * info(work.source).pixel_bytes();
  const double moving = seconds(p.device, work.source, moved) - device.launch_seconds;
  // Of a lane: what it reads to sum down and across and what it leaves and stores; instructions, with those for addresses.
  const double reads_down = count_of(work.taps.y) + tile.span - 1.0;
  const double reads_across = count_of(work.taps.x) + tile.span - 1.0;
  const double reads = (reads_down + reads_across + 3.0 * tile.span) * numbers / 4.0;
  const double instructions = numbers * tile.span * (count_of(work.taps.x) + count_of(work.taps.y)) + 5.0 * reads_down +
                              reads_across + 14.0 * tile.span + 100.0;
  const double reading = lanes * reads / device.shared_loads_per_second;
  const double summing = lanes * instructions / device.operations_per_second;
  const double busy = std::sqrt(std::hypot(moving * moving, reading * reading, summing * summing));
  const double unevenness = std::ceil(groups / processors(p)) * processors(p) / groups;
  return device.launch_seconds + kLatency + unevenness * busy;
}

Status check_tile(const Problem& p, const Tile& tile) {
  constexpr std::int64_t kMostBytes = 32 << 10;
  if (Status s = check_shared(p, tile.shared_bytes()); !s) return s;
  if (tile.shared_bytes() <= kMostBytes) return {};
  return refusal("tiles of more than " + std::to_string(kMostBytes) + " bytes leave a processor too few groups");
}

/// What the options ask for, or what leaves a processor several groups.
Result<std::vector<PerAxis<std::int32_t>>> groups_to_try(const Problem& p) {
  if (p.options.contains("group")) {
    const Result<PerAxis<std::int32_t>> asked = group(p, {});
    if (!asked) return asked.error();
    return std::vector{*asked};
  }
  std::vector<PerAxis<std::int32_t>> groups;
  for (const std::int32_t threads : {128, 256}) {
    if (threads > p.device.gpu.max_group_invocations) continue;
    for (std::int32_t x = 16; x <= threads; x *= 2) groups.push_back({x, threads / x});
  }
  return groups;
}

/// The tile that the options ask for, or the fastest.
Result<Tile> tile_of(const Problem& p, const FusedWork& work) {
  constexpr std::int32_t kLongest = 8;
  const bool is_software = p.device.gpu.is_software;
  const int channels = info(work.source).channels;
  const bool by_cells = channels == 4 || work.storage == Storage::image;
  Tile tile;
  tile.units = by_cells ? 1 : channels;
  tile.unit_bytes = by_cells ? 16 : 4;
  tile.taps = count_of(work.taps.x);
  // As many sums as leave registers for rows on their way. Drivers that run on the processor take seconds to compile what
  // spans unroll to.
  const Result<std::int32_t> span = count(p, "blur_span", kLongest, is_software ? 1 : by_cells ? 4 : 8);
  if (!span) return span.error();
  tile.span = *span;

  std::optional<Tile> best;
  Status fits = refusal(std::to_string(tile.taps) + " taps reach further than the tile of a group");
  const Result<std::vector<PerAxis<std::int32_t>>> groups = groups_to_try(p);
  if (!groups) return groups.error();
  for (const PerAxis<std::int32_t> lanes : *groups) {
    tile.group = lanes;
    if (tile.spans() < 1) continue;
    fits = check_tile(p, tile);
    if (!fits) continue;
    tile.seconds = seconds_of(p, work, tile);
    if (!best || tile.seconds < best->seconds) best = tile;
  }
  if (!best) return fits.error();
  return *best;
}

Result<FusedPass> by_tiles(const Problem& p, const FusedWork& work) {
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  const Result<Tile> tile = tile_of(p, work);
  if (!tile) return tile.error();
  FusedPass out;
  out.options = {{"blur", std::string(kTiles)}, {"blur_span", std::to_string(tile->span)}, {"group", to_text(tile->group)}};
  out.pass = make_pass(kKernel, work.size, {tile->width(), tile->height()}, tile->group, work.storage);
  out.pass.taps = work.taps;
  out.pass.constants["unit"] = tile->unit_bytes == 16 ? 0 : 1;
  out.pass.constants["span"] = tile->span;
  out.pass.constants["batch"] = kBatch;
  out.seconds = tile->seconds;
  return out;
}

Result<FusedPass> by_walk(const Problem& p, const FusedWork& work) {
  if (Status s = check_without_tiles(p); !s) return s.error();
  Result<FusedPass> out = fused_pass(p, work);
  if (!out) return out;
  out->pass.constants["border_x"] = out->pass.constants["border_y"] = static_cast<int>(BorderMode::clamp);
  out->options = {{"blur", std::string(kWalk)}};
  const double across = ceil_div(work.size.x, out->pass.tile.x);
  const double down = ceil_div(work.size.y, out->pass.tile.y);
  const double rows = out->pass.tile.y + count_of(work.taps.y) - 1.0;
  out->seconds = std::max(out->seconds, seconds_of_walk(p, across * down * out->pass.group.x, rows));
  return out;
}

}  // namespace

Status check_without_tiles(const Problem& p) {
  for (const char* option : {"blur_span", "group"}) {
    if (!p.options.contains(option)) continue;
    return refusal("option " + std::string(option) + " is for a grid that is blurred by tiles");
  }
  return {};
}

Result<FusedPass> grid_pass(const Problem& p, const FusedWork& work) {
  if (Status s = check_fused_taps(work, kMostGridTaps); !s) return s.error();
  if (p.options.contains("blur")) {
    return choice(p, "blur", kGridBlurs, kTiles) == 0 ? by_tiles(p, work) : by_walk(p, work);
  }
  Result<FusedPass> tiles = by_tiles(p, work);
  if (p.options.contains("blur_span") || p.options.contains("group")) return tiles;
  Result<FusedPass> walk = by_walk(p, work);
  return !walk || (tiles && tiles->seconds <= walk->seconds) ? tiles : walk;
}

}  // namespace mollify
