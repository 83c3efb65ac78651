// What the user is told of a batch: text or JSON, one file at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "batch/file_jobs.h"
#include "blur_file.h"
#include "progress.h"

namespace mollify::cli {

struct ReporterOptions {
  bool quiet = false;
  bool json = false;
  bool is_batch = false;                 ///< of -o: failures are lines of their own, and a last line counts
  bool is_dry_run = false;               ///< files are examined only
  bool pipes_picture = false;            ///< standard output is the picture, so all that is said goes to stderr
  std::string kernel;                    ///< "gaussian 3"
  std::string note;                      ///< a message that holds for every file
  std::optional<DeviceChoice> choice{};  ///< that holds for every file
};

class Reporter {
 public:
  Reporter(const ReporterOptions& options, std::size_t files);

  void begin(const FileJob& job);
  /// Of a file that is streamed. In a batch the bar is that of its files.
  void progress(const FileJob& job, std::int64_t done_pixels, std::int64_t all_pixels);
  /// A result that goes into a pipe is told of when it is there, see delivered().
  void done(const FileJob& job, BlurReport report);
  void delivered(const FileJob& job);
  void failed(const FileJob& job, const std::string& reason);
  /// In a dry run, a source that cannot be examined without losing it.
  void not_examined(const FileJob& job);
  /// A file whose result is complete, though its worker did not live to say so.
  void done_before() { ++done_; }
  /// A line that is about no file.
  void note(const std::string& message);
  /// The lines at the end. Throws Failure where a file failed.
  void finish(const LeftOut& left_out);
  [[nodiscard]] std::size_t failures() const { return failures_; }

 private:
  void print_done(const FileJob& job, BlurReport report);
  [[nodiscard]] std::string blur_text(const BlurReport& report) const;
  void print_dry(const FileJob& job, const BlurReport& report);
  void print_summary(const FileJob& job, const BlurReport& report);
  void print_json(const FileJob& job, const BlurReport* report, const std::string& reason);

  ReporterOptions options_;
  std::size_t files_;
  std::FILE* text_;
  ProgressBar progress_;
  std::optional<ProgressBar> pixels_;  ///< of a single file that is streamed, in megapixels
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::size_t done_ = 0;
  std::size_t failures_ = 0;
  std::optional<BlurReport> undelivered_;
  std::string only_failure_;  ///< of a single file, whose line is that of the whole command
};

}  // namespace mollify::cli
