#include "bench/copy.h"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstring>

namespace mollify::bench {
namespace {

constexpr std::size_t kPage = 4096;
// Large enough that handing out a chunk costs nothing beside copying it, small enough that a thread which
// the operating system interrupted delays the end by little.
constexpr std::size_t kStreamChunk = std::size_t{1} << 20;

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void copy_part(CopyMethod method, const std::byte* src, std::byte* dst, std::size_t bytes) {
  if (method == CopyMethod::plain) {
    std::memcpy(dst, src, bytes);
  } else {
    stream_copy(src, dst, bytes);
  }
}

}  // namespace

std::string_view name(CopyMethod method) {
  return method == CopyMethod::plain ? "memcpy" : "stream";
}

struct Copier::Arena {
  explicit Arena(int count) : threads(count), arena(count) {}
  int threads;
  tbb::task_arena arena;
};

// Threads beyond those of the hardware cannot copy faster, and TBB complains about them on stderr.
Copier::Copier(int threads) : arena_(std::make_unique<Arena>(std::clamp(threads, 1, tbb::info::default_concurrency()))) {}
Copier::~Copier() = default;

void Copier::run(CopyMethod method, const std::byte* src, std::byte* dst, std::size_t bytes) const {
  const auto threads = static_cast<std::size_t>(arena_->threads);
  const std::size_t strip = round_up((bytes + threads - 1) / threads, kPage);
  const std::size_t part = method == CopyMethod::plain ? strip : std::min(strip, kStreamChunk);
  const std::size_t parts = part == 0 ? 0 : (bytes + part - 1) / part;
  if (parts <= 1) return copy_part(method, src, dst, bytes);

  arena_->arena.execute([&] {
    tbb::parallel_for(
        std::size_t{0}, parts,
        [&](std::size_t i) {
          const std::size_t begin = i * part;
          copy_part(method, src + begin, dst + begin, std::min(part, bytes - begin));
        },
        tbb::simple_partitioner());
  });
}

}  // namespace mollify::bench
