// One case from verification to records: what is timed is what was verified, by the same plan, in the same process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/peers/peer.h"
#include "bench/report.h"
#include "mollify/mollify.h"
#include "cases/cases.h"

namespace mollify::bench {

struct TimingOptions {
  double seconds = 1.0;  ///< for each candidate: the blur, each way of copying, each peer
  std::span<const Peer> peers{};
  int batch = 1;  ///< GPU: images that each dispatch makes; no peer does so
};

struct Timing {
  std::vector<Record> records;     ///< mollify's, then one for each peer that does the case
  std::vector<std::string> notes;  ///< what a peer does differently or cannot do, one line each
};

/// Runs the case against the reference first; one that is refused or fails there is an Error, never a figure.
[[nodiscard]] Result<Timing> time_case(const Device& device, const cases::Case& c, const TimingOptions& options);

}  // namespace mollify::bench
