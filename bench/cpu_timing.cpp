// Timing on the CPU: images in memory that is larger than the caches, copies by as many threads.
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "bench/buffers.h"
#include "bench/copy.h"
#include "bench/time_group.h"

namespace mollify::bench {
namespace {

/// The faster way to copy these bytes: the best of a few tries of each.
CopyMethod faster_copy(const Copier& copier, const BufferRing& ring, std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTries = 4;
  std::array<double, kCopyMethods.size()> best;
  best.fill(1e9);
  std::size_t pair = 0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    for (std::size_t i = 0; i < kCopyMethods.size(); ++i, pair = (pair + 1) % ring.size()) {
      const auto start = Clock::now();
      copier.run(kCopyMethods[i], ring[pair].first, ring[pair].second, bytes);
      best[i] = std::min(best[i], std::chrono::duration<double>(Clock::now() - start).count());
    }
  }
  return kCopyMethods[static_cast<std::size_t>(std::ranges::min_element(best) - best.begin())];
}

}  // namespace

Result<std::vector<Figures>> time_on_cpu(std::span<const Contender> contenders, std::span<const PreparedPeer> peers,
                                         const cases::Case& problem, const GroupOptions& options) {
  const Plan& plan = contenders.front().executable.plan();
  const Sharing sharing = problem.layout == cases::Layout::in_place ? Sharing::in_place : Sharing::separate;
  const Result<BufferRing> ring = BufferRing::create(plan.src, plan.dst, sharing, plan.device.llc_bytes);
  if (!ring) return ring.error();

  std::vector<Workspace> workspaces;
  for (const Contender& contender : contenders) {
    Result<Workspace> workspace = contender.executable.make_workspace();
    if (!workspace) return workspace.error();
    workspaces.push_back(std::move(workspace).value());
  }
  std::vector<Candidate> entrants;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    entrants.push_back({"mollify", [&, i](std::size_t pair) {
                          return contenders[i].executable.run((*ring)[pair].src, (*ring)[pair].dst, workspaces[i]);
                        }});
  }
  for (const PreparedPeer& peer : peers) {
    Candidate entrant{peer.name, [&](std::size_t pair) { return peer.run.run((*ring)[pair].src, (*ring)[pair].dst); }};
    if (peer.run.turn) {
      entrant.turn = [&]() -> Result<std::vector<double>> {
        Result<PeerTurn> turn = peer.run.turn();
        if (!turn) return turn.error();
        return std::move(turn->blur_ns);
      };
    }
    entrants.push_back(std::move(entrant));
  }

  const Copier copier(plan.device.threads);
  // Half of the traffic is reading, half is writing, also where source and destination differ in size.
  const auto bytes = static_cast<std::size_t>(plan.min_bytes / 2);
  const Candidate copy{"copy", [&, method = faster_copy(copier, *ring, bytes)](std::size_t pair) -> Status {
                         copier.run(method, (*ring)[pair].first, (*ring)[pair].second, bytes);
                         return {};
                       }};
  return time_steadily(entrants.size(), options.attempts, [&](std::span<const std::size_t> which) {
    std::vector<Candidate> some;
    for (const std::size_t i : which) some.push_back(entrants[i]);
    return time_between_copies(some, copy,
                               {.seconds = options.seconds, .min_runs = options.min_runs, .pairs = ring->size(), .stop = options.stop});
  });
}

}  // namespace mollify::bench
