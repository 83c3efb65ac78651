// A worker as the batch sees it: a process of this program that takes one file after the other. Codecs run there, since they may crash,
// end the process, take all memory, or never return.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "batch/wire.h"

namespace mollify::cli {

struct WorkerSettings {
  int threads = 1;
  int all_threads = 1;            ///< of the batch
  bool owns_device = false;       ///< it takes no files, but opens the GPU and blurs for the others
  std::int64_t memory_bytes = 0;  ///< that one file may take
  int journal = -1;               ///< a descriptor; -1: none
  std::uint64_t blur = 0;         ///< for the journal
  int kernel_file = -1;           ///< a descriptor to read the kernel from; -1: from the file of its option
  int device = -1;                ///< a descriptor that leads to the process that owns the GPU; -1: it opens a device by itself
};

class WorkerProcess {
 public:
  /// Starts this program again, with the arguments that it was started with. Throws Failure.
  explicit WorkerProcess(const WorkerSettings& settings);
  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  /// Ends it.
  ~WorkerProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int descriptor() const { return wire_.descriptor(); }
  bool send(const Json& message, std::span<const int> descriptors = {}) { return wire_.send(message, descriptors); }
  [[nodiscard]] std::optional<Json> receive() { return wire_.receive(); }

  /// Bytes in memory that it has taken, pixels that the owner of the GPU sees as well included; 0 once it has ended.
  [[nodiscard]] std::int64_t resident_bytes() const;
  void ask_to_end();
  void kill();
  /// Waits for its end, and says of what it was: "crashed (SIGSEGV: Segmentation fault)", "ended with exit code 3".
  [[nodiscard]] std::string wait();
  /// By the last wait().
  [[nodiscard]] bool was_killed() const;

 private:
  Wire wire_;
  pid_t pid_ = -1;
  int status_ = 0;
};

/// The value of the hidden option that makes this program a worker, in a form that the worker reads again.
inline constexpr const char* kWorkerOption = "--worker";
struct WorkerDescriptors {
  int wire = -1;
  int journal = -1;
  int kernel_file = -1;
  int device = -1;
};
[[nodiscard]] std::string to_text(const WorkerDescriptors& descriptors);
[[nodiscard]] WorkerDescriptors worker_descriptors(std::string_view text);

}  // namespace mollify::cli
