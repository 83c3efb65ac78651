// The blur of gauss.decimate's grid on GPUs. Grids are small, so that what counts is how long a group takes rather than how
// much it reads: a tile takes a few rounds of loads and three barriers. Tiles read their margins anew, from the second cache.
#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/common/occupancy.h"
#include "algorithms/multirate/gauss_grid.h"
#include "algorithms/separable/sep_direct.h"
#include "gauss_grid_arguments.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::GaussGrid::kKernel;

std::int32_t count_of(const AxisTaps& taps) {
  return static_cast<std::int32_t>(taps.weights.size());
}

/// What one group of gauss_grid.comp makes.
struct Tile {
  PerAxis<std::int32_t> group;  ///< lanes: units of the tile with its margins across, spans of rows down
  GridTile samples;
  double seconds = 0.0;
};

Tile tile_of(PerAxis<std::int32_t> group, std::int32_t span, std::int32_t taps, GridUnits units) {
  return {group, {span, (group.x / units.count - (taps - 1)) / span, group.y * span, taps, units}, 0.0};
}

/// What tiles take. The coarse samples of a tile and its margins come from the second cache once, and then from the first, which is
/// as fast as shared memory. While some groups wait for coarse samples, others sum, so that what takes longest counts most. All is
/// over when the processor is done that has most groups.
double seconds_of(const Problem& p, const GridWork& work, const Tile& tile) {
  constexpr double kLatency = 15.4;  // steps: rounds of loads, and barriers
  const GpuModel device = gpu_model(p.device);
  const double numbers = tile.samples.units.bytes / 4.0;
  const double columns = tile.samples.width() + count_of(work.taps.x) - 1.0;
  const double rows = tile.samples.height + count_of(work.taps.y) - 1.0;
  const double groups = static_cast<double>(ceil_div(work.size.x, tile.samples.width())) * ceil_div(work.size.y, tile.samples.height);
  const double lanes = groups * tile.group.x * tile.group.y;

  Work moved;
  moved.pixels = groups * tile.samples.width() * tile.samples.height;
  moved.loads = columns * rows / (tile.samples.width() * tile.samples.height);
  moved.bytes = 2.0 * work.size.x * work.size.y * info(work.format).pixel_bytes();
  const double moving = seconds(p.device, work.format, moved) - device.launch_seconds;
  // Of a lane: what it reads to sum down and across and what it leaves and stores; instructions, with those for addresses.
  const double reads_down = count_of(work.taps.y) + tile.samples.span - 1.0;
  const double reads_across = count_of(work.taps.x) + tile.samples.span - 1.0;
  const double reads = (reads_down + reads_across + 3.0 * tile.samples.span) * numbers / 4.0;
  const double instructions = numbers * tile.samples.span * (count_of(work.taps.x) + count_of(work.taps.y)) + 5.0 * reads_down +
                              reads_across + 14.0 * tile.samples.span + 100.0;
  const double reading = lanes * reads / device.shared_loads_per_second;
  const double summing = lanes * instructions / device.operations_per_second;
  const double busy = std::sqrt(std::hypot(moving * moving, reading * reading, summing * summing));
  const double unevenness = std::ceil(groups / processors(p)) * processors(p) / groups;
  return device.launch_seconds + kLatency * device.step_seconds + unevenness * busy;
}

/// What the options ask for, or what leaves a processor several groups.
Result<std::vector<PerAxis<std::int32_t>>> groups_to_try(const Problem& p) {
  const auto asked = kGridGroup.given(p);
  if (!asked) return asked.error();
  if (*asked) return std::vector{**asked};
  std::vector<PerAxis<std::int32_t>> groups;
  for (const std::int32_t threads : {128, 256}) {
    if (threads > p.device.gpu.max_group_invocations) continue;
    for (std::int32_t x = 16; x <= threads; x *= 2) groups.push_back({x, threads / x});
  }
  return groups;
}

/// The tile that the options ask for, or the fastest.
Result<Tile> choose_tile(const Problem& p, const GridWork& work) {
  const GridUnits units = grid_units(work.format, work.storage);
  const std::int32_t taps = count_of(work.taps.x);
  const std::int32_t span = samples_per_thread(p, units);
  const Result<std::vector<PerAxis<std::int32_t>>> groups = groups_to_try(p);
  if (!groups) return groups.error();
  std::optional<Tile> best;
  Status fits = refusal(std::to_string(taps) + " taps reach further than the tile of a group");
  for (const PerAxis<std::int32_t> lanes : *groups) {
    Tile tile = tile_of(lanes, span, taps, units);
    if (tile.samples.spans < 1) continue;
    const PerAxis<std::int32_t>& most = p.device.gpu.max_group_count;
    if (ceil_div(work.size.x, tile.samples.width()) > most.x || ceil_div(work.size.y, tile.samples.height) > most.y) {
      fits = refusal("tiles of the grid would be more work groups than the device takes in one dispatch");
      continue;
    }
    fits = check_grid_tile(p, tile.samples);
    if (!fits) continue;
    tile.seconds = seconds_of(p, work, tile);
    if (!best || tile.seconds < best->seconds) best = tile;
  }
  if (!best) return fits.error();
  return *best;
}

}  // namespace

GridUnits grid_units(PixelFormat format, Storage storage) {
  const int channels = info(format).channels;
  return channels == 4 || storage == Storage::image ? GridUnits{1, 16} : GridUnits{channels, 4};
}

std::int64_t GridTile::shared_bytes() const {
  const std::int32_t banks = 128 / units.bytes;
  const std::int32_t gap = 1 - span % 2;
  const std::int32_t reach = width() + taps - 1;
  const std::int32_t row_of_spans = width() + gap * spans;
  const std::int32_t places = reach + gap * (reach / span);
  const std::int32_t pitch = row_of_spans + ceil_div(places - row_of_spans, banks) * banks;
  return std::int64_t{height} * pitch * units.count * units.bytes;
}

std::int64_t GridTile::bytes_without_margins() const {
  const std::int32_t gap = 1 - span % 2;
  return std::int64_t{height} * (width() + gap * spans) * units.count * units.bytes;
}

std::int32_t samples_per_thread(const Problem& p, GridUnits units) {
  return kSamplesPerThread.of(p, p.device.gpu.is_software ? 1 : units.bytes == 16 ? 4 : 8);
}

Status check_grid_tile(const Problem& p, const GridTile& tile) {
  constexpr std::int64_t kMostBytes = 32 << 10;
  if (Status s = check_shared(p, tile.shared_bytes()); !s) return s;
  if (tile.shared_bytes() <= kMostBytes) return {};
  return refusal("tiles of more than " + std::to_string(kMostBytes) + " bytes leave a processor too few groups");
}

Result<DecimateStep> grid_step(const Problem& p, const GridWork& work) {
  if (Status s = check_taps_of_axes(work.taps, kMostGridTaps); !s) return s.error();
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  const Result<Tile> tile = choose_tile(p, work);
  if (!tile) return tile.error();
  DecimateStep out;
  out.options = {kGridBlur.as(GridBlur::tiles), kSamplesPerThread.as(tile->samples.span), kGridGroup.as(tile->group)};
  glsl::GaussGrid arguments{};
  set_grid_tile(arguments, tile->samples);
  out.pass = make_pass(arguments, work.size, {tile->samples.width(), tile->samples.height}, tile->group, work.storage);
  out.pass.taps = work.taps;
  out.seconds = tile->seconds;
  return out;
}

Result<std::array<DecimateStep, 2>> grid_passes(const Problem& p, const GridWork& work, std::int32_t rows, PerAxis<std::int32_t> origin) {
  if (Status s = check_taps_of_axes(work.taps, kMostGridTapsOfPasses); !s) return s.error();
  if (!p.device.has_kernel(kSepDirectKernel)) return refusal_without_kernel(p, kSepDirectKernel);
  const auto step = [&](bool is_vertical) {
    const PerAxis<std::int32_t> size{work.size.x, is_vertical ? work.size.y : rows};
    DecimateStep out;
    out.pass = sep_direct_pass(size, is_vertical, LaneOrder::row, {16, 16}, work.storage, BorderMode::clamp);
    (is_vertical ? out.pass.taps.y : out.pass.taps.x) = is_vertical ? work.taps.y : work.taps.x;
    out.pass.origin = is_vertical ? PerAxis<std::int32_t>{0, origin.y} : PerAxis<std::int32_t>{origin.x, 0};
    const auto taps = static_cast<double>(count_of(is_vertical ? work.taps.y : work.taps.x));
    const double pixels = static_cast<double>(size.x) * size.y;
    const double bytes = 2.0 * pixels * info(work.format).pixel_bytes();
    out.seconds = seconds(p.device, work.format, {.pixels = pixels, .loads = taps, .operations = taps, .bytes = bytes});
    return out;
  };
  std::array out{step(false), step(true)};
  out.front().options = {kGridBlur.as(GridBlur::passes)};
  return out;
}

}  // namespace mollify
