// Files in flight: hands jobs to worker processes, watches over them, and reports.
#pragma once

#include <cstdint>
#include <vector>

#include "batch/file_jobs.h"
#include "batch/journal.h"
#include "batch/reporter.h"
#include "batch/worker_process.h"

namespace mollify::cli {

struct BatchOptions {
  int jobs = 1;                   ///< files in flight
  int threads = 1;                ///< of all workers together
  std::int64_t memory_bytes = 0;  ///< of all workers together
  double patience_seconds = 60;   ///< without progress in reading or writing, before a file is given up
  bool on_gpu = false;            ///< one process more opens the device, and blurs for all workers
  bool chooses_device = false;    ///< workers ask for that process when they need it, and it chooses
  int kernel_file = -1;
  bool dry_run = false;  ///< files are examined, and nothing is written
};

/// Runs all jobs. A file that fails is told to the reporter, with its reason, and the others go on. Where the process is interrupted by a
/// signal it ends its workers, removes what they had begun, and ends by the signal. Throws Failure where no worker can work at all.
void run_batch(const std::vector<FileJob>& jobs, const BatchOptions& options, Journal* journal, Reporter& reporter);

}  // namespace mollify::cli
