// What a measurement becomes: one JSON object a line for machines, one table row for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/environment.h"
#include "bench/measure.h"
#include "json/json.h"
#include "mollify/mollify.h"

namespace mollify::bench {

/// One timed blur, by mollify or by a peer. The copy beside it is a field, never a record of its own.
struct Record {
  std::string case_name;
  std::string algorithm;  ///< id, or the peer's function
  Options options;
  std::string backend;
  std::string device;
  BlurSpec spec;
  ImageDesc src;
  ImageDesc dst;
  int batch = 1;  ///< images that times, copies and min_bytes are of
  int threads = 1;
  Statistics time_ns;
  double copy_ns = 0.0;         ///< of the same bytes, the mean of copy_before_ns and copy_after_ns
  double copy_before_ns = 0.0;  ///< by the copies that took their turns before it and after it
  double copy_after_ns = 0.0;
  std::optional<double> submit_ns{};      ///< GPU: by the host's clock, from the submission to its fence
  std::optional<double> end_to_end_ns{};  ///< GPU: from host memory to host memory, where time_ns is the device's alone
  std::optional<double> dispatch_ns{};    ///< GPU: a dispatch that does next to nothing
  std::optional<double> nothing_ns{};     ///< GPU: what the device's clock sees of no work at all
  bool unstable = false;                  ///< it, or the copies around it, differed too much from run to run
  int attempts = 1;                       ///< how often it was measured; the steadiest attempt is what is reported
  std::int64_t min_bytes = 0;
  std::optional<double> max_error;         ///< measured in the same process
  std::optional<double> predicted_error;   ///< unset for peers
  std::optional<std::string> peer;         ///< "opencv 4.6.0"; unset for mollify itself
  std::optional<double> realized_sigma{};  ///< peers' Gaussians: of what came out of a step, along x
  std::string note{};                      ///< what a peer does differently
};

[[nodiscard]] Json to_json(const Environment& environment);
[[nodiscard]] Json to_json(const Record& record, const Environment& environment);

/// A table that is printed row by row, while the rest is still being measured.
class Table {
 public:
  explicit Table(std::span<const std::string> case_names);
  [[nodiscard]] std::string header() const;
  /// `records` are of one case: mollify's first, then the peers'. Shows the fastest peer.
  [[nodiscard]] std::string row(std::span<const Record> records) const;

 private:
  std::size_t name_width_;
};

}  // namespace mollify::bench
