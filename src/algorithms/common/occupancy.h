// Into how many chunks an image is cut from top to bottom to fill it.
#pragma once

#include "algorithms/common/gpu.h"

namespace mollify::gpu {

[[nodiscard]] std::int32_t power_of_two_above(std::int64_t size);

/// Whole steps, so many that `chunks` of them make `size`.
[[nodiscard]] std::int32_t even_length(std::int32_t size, std::int32_t chunks, std::int32_t step);

/// Rows of a chunk, whole steps but for `fewest`: all chunks of the batch together are `at_once` groups for each multiprocessor, but short
/// chunks would do little but begin.
[[nodiscard]] std::int32_t rows_of_chunk(const Problem& p, std::int64_t groups_across, std::int32_t rows, double at_once, std::int32_t step,
                                         std::int32_t fewest);

/// Iterations of all of a lane's loops: those of a step down its chunk, and those before the first. At most.
struct LoopIterations {
  std::int64_t of_step = 1;
  std::int64_t before = 0;
};
inline constexpr std::int64_t kShortLoops = 16;  ///< iterations of a few short ones, which a driver may have left as loops

/// Pixels of a chunk along an axis: even_length(), or less where a driver would leave longer loops.
[[nodiscard]] std::int32_t chunk_length(const Problem& p, std::int32_t size, std::int32_t chunks, std::int32_t step,
                                        const LoopIterations& iterations);

/// So many chunks that every processor of the device has a group of the batch, but no more than an eighth of each is run-up.
[[nodiscard]] std::int32_t chunks_to_fill(const Problem& p, std::int64_t groups_across, std::int32_t size, std::int32_t taps);

/// Multiprocessors of the device.
[[nodiscard]] double processors(const Problem& p);

/// The number of chunks next to `chunks` with which all processors have as many groups, a multiple of `groups_at_once`.
[[nodiscard]] std::int32_t even_chunks(const Problem& p, std::int64_t groups_across, double chunks, double groups_at_once = 1.0);

/// Of a thread that takes no more than usual.
inline constexpr double kDefaultRegisters = 64.0;
/// The same for groups of so many threads, unless all together do not fill half of what runs at once.
[[nodiscard]] std::int32_t even_chunks_of_threads(const Problem& p, std::int64_t groups_across, std::int32_t threads, double chunks);

/// The same for groups that take little and wait much: with how many chunks `size` rows are done soonest when each
/// chunk begins with `run_up` rows more. `threads_across`: of all groups beside each other.
[[nodiscard]] std::int32_t chunks_ending_soonest(const Problem& p, std::int64_t threads_across, std::int32_t size, double run_up);

/// What a dispatch of such groups takes at least, `threads` of all groups together.
[[nodiscard]] double seconds_of_chunks(const Problem& p, double threads, double rows);

}  // namespace mollify::gpu
