// Mutants in a process of their own, with limits of time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/files/trial.h"

namespace mollify::fuzz {

/// A folder that ends with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// What came of some mutants.
struct Chunk {
  std::uint64_t next = 0;     ///< the first that did not run
  std::uint64_t at = 0;       ///< the one of the finding
  std::string finding;        ///< empty: all is well
  std::string report;         ///< what the sanitizer and others wrote
  std::vector<bool> blurred;  ///< of each that ran
  std::int64_t heap_peak = 0;
};

using RunMutant = std::function<Outcome(std::uint64_t number, Trial& trial)>;

/// Mutants [first, first + count), or as many as there are up to the first finding.
[[nodiscard]] Chunk run_chunk(std::uint64_t first, std::uint64_t count, const RunMutant& run);

}  // namespace mollify::fuzz
