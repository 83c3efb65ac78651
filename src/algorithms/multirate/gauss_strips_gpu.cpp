// What strips of gauss.decimate's last step take on GPUs, and which are the fastest. They lose to tiles where rows of coarse samples are
// far apart: a step has little to blur, and most lanes wait.
#include "algorithms/multirate/gauss_strips_gpu.h"

#include <algorithm>
#include <cmath>

#include "algorithms/common/occupancy.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::int32_t kThreads = 128;  // of a group

Strip strip_of(const Expansion& e, std::int32_t threads, std::int32_t span, std::int32_t rows_of_step, std::int32_t coarse_rows) {
  const std::int64_t across = e.samples_across(threads);
  const auto taps = static_cast<std::int32_t>(e.x.coarse.weights.size());
  return {threads, coarse_rows, {span, ceil_div(across, span), rows_of_step, taps, grid_units(e.format, e.storage)}, 0.0};
}

double groups_of(const Problem& p, const Expansion& e, const Strip& strip) {
  return static_cast<double>(ceil_div(p.dst.width, strip.threads * e.spans.written)) *
         ceil_div(p.dst.height, strip.coarse_rows * e.y.factor) * p.batch;
}

/// Instructions of a processor's groups, half of it as if a round waited for the one before, and the steps' loads and barriers; beside
/// these it writes. Fitted to 150 timings: where plans take strips, the rows that this chooses are within 6 % of the best
/// that was tried, 2 % on the average.
double seconds_of(const Problem& p, const Expansion& e, const Strip& strip) {
  constexpr double kStep = 3.23;     // the steps of a group that one of these takes as long as
  constexpr double kSlowness = 2.0;  // of instructions that sum coarse samples: lanes are left over, and wait
  constexpr double kLanes = 32.0;    // of a subgroup: those that have nothing to do cost nothing
  constexpr double kGroups = 3.0;    // that a processor runs at once
  constexpr double kAlone = 0.4;     // of a round, at the beginning and the end, where all blur or none
  constexpr double kSpeed = 1.76;    // these are sums in registers, of which a device makes more than of others
  const GpuModel device = gpu_model(p.device);
  const GridTile& grid = strip.samples;
  const double numbers = grid.units.bytes / 4.0;
  const auto mixed = static_cast<double>(e.y.support());
  const double span_numbers = static_cast<double>(e.spans.written) * info(p.dst.format).channels;
  const double near = static_cast<double>(e.x.support()) + std::floor((e.spans.written + e.x.factor - 2.0) / e.x.factor);
  const int bits = info(p.dst.format).bits;
  const double packing = bits == 8 ? 0.75 * span_numbers : bits == 16 ? 0.5 * span_numbers : 0.0;
  const double steps = std::ceil((strip.coarse_rows + mixed - 1.0) / grid.height);

  const auto whole_lanes = [=](double items) { return std::ceil(items / kLanes) * kLanes; };
  const auto taps_y = static_cast<double>(e.y.coarse.weights.size());
  const double columns = (grid.width() + grid.taps - 1.0) * grid.units.count;
  const double down =
      whole_lanes(columns * grid.height / grid.span) * (7.0 * (taps_y + grid.span - 1.0) + numbers * grid.span * taps_y + 20.0);
  const double across = whole_lanes(static_cast<double>(grid.spans) * grid.units.count * grid.height) *
                        (1.5 * (grid.taps + grid.span - 1.0) + numbers * grid.span * grid.taps + 30.0);
  const double expand = strip.threads * ((strip.coarse_rows + mixed - 1.0) * (near * (span_numbers + 3.0) + span_numbers + 30.0) +
                                         strip.coarse_rows * e.y.factor * (span_numbers * mixed + packing + 22.0));
  const double operations = kSlowness * steps * (down + across) + expand;

  const double at_once = kGroups * kThreads / strip.threads;
  const double of_processor = std::ceil(groups_of(p, e, strip) / processors(p));
  const double rounds = std::max(of_processor / at_once, 1.0);
  const double in_rounds = rounds > 1.0 ? std::ceil(rounds) * at_once : of_processor;
  const double busy = (in_rounds + of_processor) / 2.0 + kAlone * std::min(at_once, of_processor);
  const double summing =
      busy * operations * processors(p) / (kSpeed * device.operations_per_second) + rounds * steps * kStep * device.step_seconds;
  const double writing = static_cast<double>(p.dst.payload_bytes()) * p.batch / device.bytes_per_second;
  return device.launch_seconds + std::cbrt(std::pow(summing, 3.0) + std::pow(writing, 3.0));
}

/// Rows of coarse samples that are blurred at once, as were measured to be fastest: more where coarse samples are far apart, as few are
/// side by side in a strip.
std::int32_t rows_of_step(const Problem& p, const Expansion& e) {
  if (info(p.dst.format).bits > 8) return 8;
  return e.y.factor < 8 ? 4 : e.y.factor < 16 ? 8 : 12;
}

/// Coarse samples that a lane sums at once. Measured: eight of 16 bits whose coarse samples are near, as their kernel is short:
/// the last step of `rgba16f` at sigma 5 takes 73 us with four and 66 with eight. Never more than divide the rows that a step is asked to
/// have.
std::int32_t span_of_step(const Problem& p, const Expansion& e, std::int32_t asked_rows) {
  constexpr int kNear = 3;
  std::int32_t span = samples_per_thread(p, grid_units(e.format, e.storage));
  if (kSamplesPerThread.is_given(p)) return span;
  if (info(p.dst.format).bits == 16 && e.y.factor <= kNear && !p.device.gpu.is_software) span = 8;
  while (asked_rows % span != 0) span /= 2;
  return span;
}

}  // namespace

Result<Strip> choose_strip(const Problem& p, const Expansion& e) {
  constexpr std::int32_t kDefaultMost = 128;
  constexpr double kMostGroups = 8.0;  // of a processor: more were not tried
  const auto asked_threads = kGridGroup.given(p);
  if (!asked_threads) return asked_threads.error();
  const PerAxis<std::int32_t> threads = asked_threads->value_or(PerAxis<std::int32_t>{kThreads, 1});
  if (Status has = check_group(p, threads); !has) return has.error();
  if (threads.y != 1) return refusal("the threads of a strip are side by side: group is such as 128x1");
  const Result<std::int32_t> asked_rows = kStepRows.of(p, 0);
  if (!asked_rows) return asked_rows.error();
  const std::int32_t span = span_of_step(p, e, *asked_rows);
  const std::int32_t step = *asked_rows > 0 ? *asked_rows : ceil_div(rows_of_step(p, e), span) * span;
  if (step % span != 0) return refusal("the option step_rows is a multiple of samples_per_thread, " + std::to_string(span));
  const Result<std::int32_t> asked = kCoarseRows.of(p, 0);
  if (!asked) return asked.error();
  Strip best = strip_of(e, threads.x, span, step, *asked);
  if (Status s = check_shared(p, best.shared_bytes()); !s) return s.error();
  if (*asked > 0) {
    best.seconds = seconds_of(p, e, best);
    return best;
  }
  for (std::int32_t rows = 1; rows <= kDefaultMost; ++rows) {
    Strip strip = best;
    strip.coarse_rows = rows;
    strip.seconds = seconds_of(p, e, strip);
    // At least the longest, of images that have many groups even so.
    const bool is_tried = groups_of(p, e, strip) <= kMostGroups * processors(p) || rows == kDefaultMost;
    if (is_tried && (best.seconds == 0.0 || strip.seconds < best.seconds)) best = strip;
  }
  return best;
}

}  // namespace mollify
