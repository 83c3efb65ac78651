#include "batch/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <optional>
#include <string>

#include "atomic_file.h"
#include "batch/journal.h"
#include "batch/wire.h"
#include "batch/worker_process.h"

namespace mollify::cli {
namespace {

using nlohmann::json;

std::int64_t data_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmData:")) return std::stoll(line.substr(7)) * 1024;
  }
  return 0;
}

// Memory that is asked for and hardly used does not count, so the limit of what may be asked for is well above. It stops at once what
// would take all memory between two looks of the batch.
void limit_memory(std::int64_t bytes) {
  constexpr std::int64_t kSlack = std::int64_t{512} << 20;
  const auto limit = static_cast<rlim_t>(data_bytes() + bytes + bytes / 2 + kSlack);
  rlimit now{};
  ::getrlimit(RLIMIT_DATA, &now);
  now.rlim_cur = std::min(limit, now.rlim_max);
  ::setrlimit(RLIMIT_DATA, &now);
}

// What is planned stays below what is watched, since programs and codecs need some for themselves.
std::int64_t memory_for_pixels(std::int64_t bytes) {
  constexpr std::int64_t kProgram = std::int64_t{32} << 20;
  return std::max(bytes / 2, bytes - bytes / 8 - kProgram);
}

json failed(const Failure& failure, bool for_memory) {
  return {{"failed", failure.message}, {"exit_code", failure.exit_code}, {"for_memory", for_memory}};
}

#ifdef MOLLIFY_TEST_HOOKS
// MOLLIFY_TEST_WORKER="crash:a.png": what happens to files whose names end so. Tests have no file that kills a codec for ever.
void misbehave_as_asked(const std::string& in, const std::string& out, const BlurRequest& request) {
  const char* asked = std::getenv("MOLLIFY_TEST_WORKER");
  if (asked == nullptr) return;
  const std::string text = asked;
  const std::string what = text.substr(0, text.find(':'));
  if (!in.ends_with(text.substr(what.size() + 1))) return;
  AtomicFile begun(out, true);  // as a codec that has written a part of a result
  if (what == "crash") ::raise(SIGSEGV);
  if (what == "abort") std::abort();
  if (what == "exit") std::_Exit(3);
  if (what == "kill") ::raise(SIGKILL);
  if (what == "hang") {
    request.on_stage(BlurStage::reading, 0);
    while (true) ::pause();
  }
  if (what == "memory") {
    constexpr std::size_t kStep = 16 << 20;
    while (true) {
      auto* block = static_cast<volatile char*>(std::malloc(kStep));
      if (block == nullptr) throw std::bad_alloc();
      for (std::size_t i = 0; i < kStep; i += 4096) block[i] = 1;
      ::usleep(1000);
    }
  }
  if (what == "slow") ::usleep(300 * 1000);
}
#endif

json blur_one(const json& job, BlurRequest& request, const Device& device) {
  const std::string in = job["in"];
  try {
#ifdef MOLLIFY_TEST_HOOKS
    misbehave_as_asked(in, job["out"], request);
#endif
    return {{"report", to_json(blur_file(in, job["out"], request, device))}};
  } catch (const MemoryFailure& failure) {
    return failed(failure, true);
  } catch (const Failure& failure) {
    return failed(failure, false);
  } catch (const std::bad_alloc&) {
    return failed({kExitFailure, fmt::format("{}: not enough memory", in)}, true);
  } catch (const std::exception& error) {
    return failed({kExitFailure, fmt::format("{}: {}", in, error.what())}, false);
  }
}

}  // namespace

void run_worker(std::string_view text, const BlurRequest& asked, const DeviceArgs& device_args) {
  const WorkerDescriptors descriptors = worker_descriptors(text);
  struct stat status {};
  if (::fstat(descriptors.wire, &status) != 0 || !S_ISSOCK(status.st_mode))
    fail_usage(fmt::format("{} is for internal use", kWorkerOption));
  for (const int each : {descriptors.wire, descriptors.journal, descriptors.kernel_file}) {
    if (each >= 0) ::fcntl(each, F_SETFD, FD_CLOEXEC);
  }
  Wire wire(descriptors.wire);
  const std::optional<json> settings = wire.receive();
  if (!settings) return;

  BlurRequest request = asked;
  request.memory_bytes = memory_for_pixels((*settings)["memory_bytes"]);
  request.on_stage = [&wire](BlurStage stage, std::int64_t bytes) { wire.send({{"stage", stage}, {"bytes", bytes}}); };
  DeviceArgs opened = device_args;
  opened.threads = (*settings)["threads"];
  std::optional<Device> device;
  try {
    device = open_device_quietly(opened);
  } catch (const Failure& failure) {
    wire.send(failed(failure, false));
    return;
  }
  if ((*settings)["limits_memory"]) limit_memory((*settings)["memory_bytes"]);
  const auto tuning = stored_tuning(cache_folder(), device->info());
  wire.send({{"ready", tuning ? "" : one_line(tuning.error())}});

  while (const std::optional<json> job = wire.receive()) {
    AtomicFile::set_before_rename(nullptr);
    if (job->contains("place")) {
      const std::string place = (*job)["place"];
      AtomicFile::set_before_rename(
          [&, place](int file, const std::string&) { append_to_journal(descriptors.journal, (*settings)["blur"], place, file); });
    }
    if (!wire.send(blur_one(*job, request, *device))) return;
  }
  // What the system takes back by itself needs no order. Drivers of GPUs have caches to store.
  if (device->info().backend == Backend::cpu) std::_Exit(0);
}

}  // namespace mollify::cli
