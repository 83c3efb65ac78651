#include "model/tuning.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/gpu_model.h"

namespace mollify {
namespace {

// Fitted to what sep.fused, box.any and gauss.decimate take beside a copy at 4096x4096, rgba8 and rgba32f, on two threads of
// a Cascade Lake Xeon with AVX-512.
struct CpuTuning {
  double bytes_per_second = 8e9;          // of a copy, read + written, one thread
  double memory_threads = 3.0;            // as many threads saturate the memory
  double operations_per_second = 2.2e10;  // f32 multiply-adds, one thread
  double task_operations = 2.5e5;         // a task below this is not worth waking a thread for
  double more_operations = 2e6;           // and one below this does not pay for its halo, where each thread has one
  int tasks_per_thread = 4;               // so that uneven threads even out
  std::int64_t cached_bytes = 16 << 20;   // of an image, each thread: what a large last cache holds of others is theirs
};
constexpr CpuTuning kCpu;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return ceil_div(a, b) * b;
}

double work_of(PerAxis<std::int32_t> size, const TileNeeds& needs) {
  return needs.pixel_operations * size.x * size.y;
}

}  // namespace

double copy_seconds(const DeviceInfo& device, std::int64_t bytes) {
  if (device.backend != Backend::cpu) return static_cast<double>(bytes) / gpu_model(device).bytes_per_second;
  const double threads = std::min<double>(device.threads, kCpu.memory_threads);
  return static_cast<double>(bytes) / (kCpu.bytes_per_second * threads);
}

double arithmetic_seconds(const DeviceInfo& device, double operations) {
  return operations / (kCpu.operations_per_second * device.threads);
}

std::int64_t cached_bytes(const DeviceInfo& device) {
  return std::min(device.llc_bytes / 2, device.threads * kCpu.cached_bytes);
}

bool is_small(PerAxis<std::int32_t> size, const TileNeeds& needs) {
  return work_of(size, needs) < kCpu.more_operations;
}

PerAxis<std::int32_t> cpu_tile(const DeviceInfo& device, PerAxis<std::int32_t> size, const TileNeeds& needs) {
  const auto columns_in = [&](std::int64_t bytes) { return bytes / std::max<std::int64_t>(needs.column_bytes, 1) - needs.halo.x; };
  // A quarter of the cache: half of it is for what passes through, and two threads may share a core. Where the halo is wide,
  // it costs more than the other thread's share does.
  const std::int64_t wide_enough = std::min(16 * needs.halo.x, columns_in(device.l2_bytes / 2));
  const std::int64_t in_cache = std::max(columns_in(device.l2_bytes / 4), wide_enough);
  const std::int64_t least_columns = std::max<std::int64_t>(64, 4 * needs.halo.x);
  const std::int64_t columns =
      std::clamp<std::int64_t>(std::max(in_cache, least_columns), 1, std::min<std::int64_t>(size.x, needs.most_columns));
  // Equal columns: a last sliver would pay the whole halo for a few pixels.
  const std::int64_t across = ceil_div(size.x, columns);
  const std::int64_t width = ceil_div(size.x, across);

  const double work = work_of(size, needs);
  const std::int64_t threads = device.threads;
  const auto tasks_of = [&](double operations) { return static_cast<std::int64_t>(std::min(work / operations + 1.0, 1e9)); };
  // One for each thread, but of small images no strip lower than its halo; and of large ones some.
  const std::int64_t most_strips = std::max<std::int64_t>(size.y / std::max<std::int64_t>(needs.halo.y, 1), 1);
  const std::int64_t one_each = std::min({tasks_of(kCpu.task_operations), threads, most_strips * across});
  const std::int64_t some_each = std::min(tasks_of(kCpu.more_operations), threads * kCpu.tasks_per_thread);
  const std::int64_t wanted = threads == 1 ? 1 : std::max(one_each, some_each);
  std::int64_t height = ceil_div(size.y, ceil_div(wanted, across));
  const std::int64_t short_halo = std::min<std::int64_t>(4 * needs.halo.y, ceil_div(size.y, device.threads));
  height = wanted == 1 ? size.y : std::max(height, short_halo);
  // Strips of equal height that threads can share evenly: at the end of an odd one all but one would be idle.
  const std::int64_t evenly = device.threads / std::gcd(std::int64_t{device.threads}, across);
  std::int64_t strips = ceil_div(size.y, height);
  if (strips > evenly) strips -= strips % evenly;
  height = ceil_div(size.y, strips);
  height = std::clamp<std::int64_t>(round_up(height, needs.row_multiple), 1, size.y);
  return {static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)};
}

}  // namespace mollify
