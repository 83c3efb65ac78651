// The process that owns the GPU, as the batch sees it.
#pragma once

#include <optional>
#include <string>

#include "batch/worker_process.h"

namespace mollify::cli {

class OwnerProcess {
 public:
  /// Starts it. Throws Failure.
  explicit OwnerProcess(const WorkerSettings& settings) : process_(settings) {}

  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] int descriptor() const { return process_.descriptor(); }
  /// Whether it has opened the device.
  [[nodiscard]] bool is_ready() const { return is_ready_; }

  /// A worker's end of a new connection.
  [[nodiscard]] Wire connect();
  /// What it has to say, when its descriptor is readable: a warning, nothing, or that it has ended. Throws Failure where it cannot open
  /// the device.
  struct Said {
    std::string warning{};
    bool has_ended = false;
  };
  [[nodiscard]] Said receive();
  void ask_to_end() { process_.ask_to_end(); }
  /// Waits for an end that others have noticed already, and says of what it was.
  [[nodiscard]] std::string end();

 private:
  WorkerProcess process_;
  bool is_ready_ = false;
};

}  // namespace mollify::cli
