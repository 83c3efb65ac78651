#include "algorithms/common/occupancy.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/gpu_model.h"

namespace mollify::gpu {
namespace {

/// Measured: a chunk's latency is what a sixth of the threads that fill the device need for a row.
double latency_threads(const Problem& p) {
  return static_cast<double>(threads_to_fill(gpu_model(p.device))) / 6.0;
}

}  // namespace

std::int32_t power_of_two_above(std::int64_t size) {
  return static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint64_t>(size)));
}

double processors(const Problem& p) {
  return gpu_model(p.device).multiprocessors.count;
}

std::int32_t rows_of_chunk(const Problem& p, std::int64_t groups_across, std::int32_t rows, double at_once, std::int32_t step,
                           std::int32_t fewest) {
  const double chunks = processors(p) * at_once / static_cast<double>(groups_across * p.batch);
  return std::max(even_length(rows, static_cast<std::int32_t>(std::max(chunks, 1.0)), step), fewest);
}

std::int32_t even_chunks(const Problem& p, std::int64_t groups_across, double chunks, double groups_at_once) {
  const double across = static_cast<double>(groups_across) * p.batch;
  const double round = processors(p) * groups_at_once;
  const double rounds = std::max(std::round(chunks * across / round), 1.0);
  return static_cast<std::int32_t>(std::max(rounds * round / across, 1.0));
}

std::int32_t even_chunks_of_threads(const Problem& p, std::int64_t groups_across, std::int32_t threads, double chunks) {
  const double all = chunks * static_cast<double>(groups_across) * p.batch * threads;
  const std::int32_t at_once = threads_at_once(gpu_model(p.device), kDefaultRegisters);
  if (all < 0.5 * processors(p) * at_once) return static_cast<std::int32_t>(chunks);
  return even_chunks(p, groups_across, chunks, static_cast<double>(at_once) / threads);
}

std::int32_t even_length(std::int32_t size, std::int32_t chunks, std::int32_t step) {
  const std::int32_t length = (size + chunks - 1) / chunks;
  return (length + step - 1) / step * step;
}

std::int32_t chunk_length(const Problem& p, std::int32_t size, std::int32_t chunks, std::int32_t step, const LoopIterations& iterations) {
  const std::int32_t length = even_length(size, chunks, step);
  const std::int64_t most_iterations = gpu_model(p.device).max_iterations;
  const std::int64_t most = std::max<std::int64_t>((most_iterations - iterations.before) / iterations.of_step, 1) * step;
  return static_cast<std::int32_t>(std::min<std::int64_t>(length, most));
}

std::int32_t chunks_to_fill(const Problem& p, std::int64_t groups_across, std::int32_t size, std::int32_t taps) {
  groups_across *= p.batch;
  constexpr std::int32_t kThreads = 256;  // of a group
  const std::int64_t wanted = (threads_to_fill(gpu_model(p.device)) / kThreads + groups_across - 1) / groups_across;
  const std::int64_t most = std::max<std::int64_t>(1, size / (8 * std::max(taps, 1)));
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted, 1, most));
}

std::int32_t chunks_ending_soonest(const Problem& p, std::int64_t threads_across, std::int32_t size, double run_up) {
  // A group makes a row in (latency + what all groups of the device need for theirs), so n chunks take
  // (size / n + run_up) * (latency + n * threads_across * share).
  const double threads = static_cast<double>(threads_across) * p.batch;
  const double chunks = std::sqrt(size * latency_threads(p) / (std::max(run_up, 1.0) * threads));
  return static_cast<std::int32_t>(std::clamp(chunks, 1.0, static_cast<double>(size)));
}

double seconds_of_chunks(const Problem& p, double threads, double rows) {
  const GpuModel model = gpu_model(p.device);
  return model.launch_seconds + rows * model.step_seconds * (1.0 + threads / latency_threads(p));
}

}  // namespace mollify::gpu
