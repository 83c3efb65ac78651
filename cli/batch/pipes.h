// Standard input and standard output as files: codecs go back and forth in both.
#pragma once

#include <string>

#include "batch/file_jobs.h"

namespace mollify::cli {

/// Reads standard input to its end, into a temporary folder, and has the result written there where it goes to standard output. Removes
/// the folder when it goes.
class Pipes {
 public:
  Pipes() = default;
  Pipes(const Pipes&) = delete;
  Pipes& operator=(const Pipes&) = delete;
  ~Pipes();

  /// Sets where the job is read from and written to. `to` is the ending of a result that goes to standard output; if it is empty, that of
  /// the source's format.
  void connect(FileJob& job, const std::string& to);
  /// Writes the result to standard output, where the job wants that. Throws Failure.
  void deliver(const FileJob& job) const;

 private:
  [[nodiscard]] const std::string& folder();
  std::string folder_;
};

}  // namespace mollify::cli
