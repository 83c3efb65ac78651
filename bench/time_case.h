// One case from verification to records: what is timed is what was verified, by the same plan, in the same process.
#pragma once

#include <string>
#include <vector>

#include "bench/report.h"
#include "mollify/mollify.h"
#include "cases/cases.h"

namespace mollify::bench {

enum class Peers : std::uint8_t { none, all };

struct TimingOptions {
  double seconds = 1.0;  ///< for each candidate: the blur, each way of copying, each peer
  Peers peers = Peers::all;
};

struct Timing {
  std::vector<Record> records;     ///< mollify's, then one for each peer that does the case
  std::vector<std::string> notes;  ///< what a peer does differently or cannot do, one line each
};

/// Runs the case against the reference first; one that is refused or fails there is an Error, never a figure.
[[nodiscard]] Result<Timing> time_case(const Device& device, const cases::Case& c, const TimingOptions& options);

}  // namespace mollify::bench
