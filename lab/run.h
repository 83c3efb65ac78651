// Runs a suite on a device and writes what it finds, group by group.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/peers/peer.h"
#include "lab/results.h"
#include "lab/suite.h"

namespace mollify::lab {

/// Which of the ways to solve a problem.
enum class Choices : std::uint8_t {
  all,
  defaults,  ///< every algorithm, none with options that are not its own
};

struct RunOptions {
  std::string device_name{};              ///< as the command line names it, for the commands that reproduce a point
  std::string device_flags{};             ///< what else it says of the device
  std::optional<double> seconds{};        ///< in place of the suite's
  std::optional<double> limit_seconds{};  ///< in place of the suite's
  std::string filter{};                   ///< only the cases whose names match, see cases::matches(); all if empty
  Choices choices = Choices::all;
  std::span<const bench::Peer> peers{};
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: what is done is kept, the group in work is not
};

/// What a run has come to.
struct Tally {
  int timed = 0;
  int unstable = 0;  ///< of them
  int peers = 0;     ///< timed
  int refused = 0;
  int wrong = 0;
  int done_before = 0;  ///< found in the results that were resumed
  int left = 0;         ///< cases that an interruption or the time limit left
  bool stopped = false;
  bool out_of_time = false;
};

/// What is shown while it runs.
struct Observer {
  /// `step` of `steps`: "verifying 3 of 17".
  std::function<void(const Group& group, std::string_view what, std::size_t done, std::size_t total)> working;
  /// A group is written. Its fastest own record is null where there is none.
  std::function<void(const Group& group, const Json& fastest, const Tally& so_far, double seconds_left)> finished;
  /// A case that is wrong, a peer that was left out, once each.
  std::function<void(const std::string& line)> note;
};

[[nodiscard]] Result<Tally> run_suite(const Device& device, const Suite& suite, Results& results, const RunOptions& options,
                                      const Observer& observer);

}  // namespace mollify::lab
