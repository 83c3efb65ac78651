// Several algorithms on one problem, from verification to records: what is timed is what was verified, by the same plan,
// in the same process.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/peers/peer.h"
#include "bench/report.h"
#include "bench/turns.h"
#include "cases/cases.h"
#include "mollify/mollify.h"

namespace mollify::bench {

struct GroupOptions {
  double seconds = 1.0;  ///< for each thing that is timed, copies too
  int min_runs = 9;      ///< of each, however long they take
  int attempts = 1;      ///< how often an unstable result is measured
  int batch = 1;         ///< GPU: images that each dispatch makes; no peer does so
  std::span<const Peer> peers{};
  std::function<bool()> stop{};  ///< asked often; once true, the group ends with an error
  /// Told what is being done: "verifying", "timing", and to which of how many.
  std::function<void(std::string_view what, std::size_t done, std::size_t total)> progress{};
};

/// What became of one case.
struct CaseTiming {
  Result<Record> record;       ///< an Error where it was refused (`unsupported`) or is wrong
  std::optional<Plan> plan{};  ///< unset where there is none
};

struct GroupTiming {
  std::vector<CaseTiming> cases;   ///< in their order
  std::vector<Record> peers;       ///< of those that can do it
  std::vector<std::string> notes;  ///< what a peer does differently or cannot do, one line each
};

/// The cases differ in nothing but their algorithms. The Error is that of a device which failed, or says "stopped".
[[nodiscard]] Result<GroupTiming> time_group(const Device& device, std::span<const cases::Case> group, const GroupOptions& options);

/// A verified case, ready to run.
struct Contender {
  Executable executable;
  double max_error = 0.0;
};

/// A peer that has the case prepared.
struct PreparedPeer {
  std::string name;
  PeerRun run;
  PeerCheck check;
};

/// What the backends supply: figures of the contenders, then of the peers.
[[nodiscard]] Result<std::vector<Figures>> time_on_cpu(std::span<const Contender> contenders, std::span<const PreparedPeer> peers,
                                                       const cases::Case& problem, const GroupOptions& options);
[[nodiscard]] Result<std::vector<Figures>> time_on_gpu(std::span<const Contender> contenders, std::span<const PreparedPeer> peers,
                                                       const cases::Case& problem, const GroupOptions& options);

}  // namespace mollify::bench
