// Standard input and standard output as files: codecs go back and forth in both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "batch/file_jobs.h"
#include "batch/wire.h"

namespace mollify::cli {

/// Of a result that goes to standard output: the one that is named, or that of the source. Throws Failure where that is not written.
[[nodiscard]] files::FileFormat format_for_pipe(const FileJob& job, const std::optional<std::string>& named);

/// Reads standard input to its end, into a file that has no name, and has the result written into another one where it goes to standard
/// output. The system takes them back however the process ends.
class Pipes {
 public:
  /// Sets where the job is read from and written to. `to` names the format of a result that goes to standard output. Throws Failure where
  /// standard input has more than `most_bytes`.
  void connect(FileJob& job, const std::optional<std::string>& to, std::int64_t most_bytes);
  /// Writes the result to standard output, where the job wants that. Throws Failure.
  void deliver(const FileJob& job) const;

 private:
  Descriptor source_;
  Descriptor result_;
};

}  // namespace mollify::cli
