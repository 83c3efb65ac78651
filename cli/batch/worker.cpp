#include "batch/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "atomic_file.h"
#include "auto_device.h"
#include "batch/auto_blurrer.h"
#include "batch/device_client.h"
#include "batch/device_owner.h"
#include "batch/journal.h"
#include "batch/wire.h"
#include "batch/worker_process.h"

namespace mollify::cli {
namespace {

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

// Plans of wide kernels and codecs free some hundred kilobytes and ask for them again, many times. The system takes longer to clear them
// than what is done with them takes.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLarge = 4 << 20, kKept = 16 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

// What is planned stays below what is watched, since programs and codecs need some for themselves.
std::int64_t memory_for_pixels(std::int64_t bytes) {
  constexpr std::int64_t kProgram = std::int64_t{32} << 20;
  return std::max(bytes / 2, bytes - bytes / 8 - kProgram);
}

Json failed(const Failure& failure, bool for_memory) {
  return {{"failed", failure.message}, {"exit_code", failure.exit_code}, {"for_memory", for_memory}};
}

#ifdef MOLLIFY_TEST_HOOKS
// MOLLIFY_TEST_WORKER="crash:a.png": what happens to files whose names end so. Tests have no file that kills a codec for ever.
void misbehave_as_asked(const BlurFiles& files, const BlurRequest& request) {
  const char* asked = std::getenv("MOLLIFY_TEST_WORKER");
  if (asked == nullptr) return;
  const std::string text = asked;
  const std::string what = text.substr(0, text.find(':'));
  if (what == "stop" || what.empty() || !files.in.ends_with(text.substr(what.size() + 1))) return;
  std::optional<AtomicFile> begun;  // as a codec that has written a part of a result
  if (files.result < 0) begun.emplace(files.out, true);
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
}

// "stop:a.png": nobody hears that the file is complete.
void stop_as_asked(const std::string& in) {
  const char* asked = std::getenv("MOLLIFY_TEST_WORKER");
  if (asked != nullptr && std::string_view(asked).starts_with("stop:") && in.ends_with(asked + 5)) {
    while (true) ::pause();
  }
}
#endif

BlurFiles files_of(const Json& job, const std::vector<Descriptor>& open_files) {
  const auto descriptor = [&](const char* name) { return job.contains(name) ? open_files.at(job[name].get<std::size_t>()).get() : -1; };
  BlurFiles result{job["in"], job["out"], descriptor("source"), descriptor("result")};
  if (job.contains("format")) result.format = job["format"].get<files::FileFormat>();
  return result;
}

Json blur_one(const Json& job, const std::vector<Descriptor>& open_files, const BlurRequest& request, ImageBlurrer& blurrer) {
  const BlurFiles files = files_of(job, open_files);
  const std::string& in = files.in;
  try {
    if (job.contains("dry_run")) return {{"report", to_json(examine_file(files, request, blurrer))}};
#ifdef MOLLIFY_TEST_HOOKS
    misbehave_as_asked(files, request);
#endif
    return {{"report", to_json(blur_file(files, request, blurrer))}};
  } catch (const DeviceGone& gone) {
    Json message = failed({kExitFailure, gone.reason.empty() ? "" : fmt::format("{}: {}", in, gone.reason)}, false);
    message["device_gone"] = true;
    return message;
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

// `take_owner` gets the way to the process that owns the GPU, where one comes with a job.
void work(Wire& wire, const WorkerDescriptors& descriptors, const Json& settings, BlurRequest request, ImageBlurrer& blurrer,
          const std::function<void(Wire)>& take_owner = {}) {
  request.memory_bytes = memory_for_pixels(settings["memory_bytes"]);
  request.on_progress = [&wire](std::int64_t done, std::int64_t all) { wire.send({{"progress", done}, {"of", all}}); };
  request.on_stage = [&wire](BlurStage stage, std::int64_t bytes) { wire.send({{"stage", stage}, {"bytes", bytes}}); };
  limit_memory(settings["memory_bytes"]);
  while (true) {
    std::vector<Descriptor> open_files;
    const std::optional<Json> job = wire.receive(&open_files);
    if (!job) return;
    if (job->contains("owner")) take_owner(Wire(std::move(open_files.at((*job)["owner"].get<std::size_t>()))));
    AtomicFile::set_before_rename(nullptr);
    if (job->contains("place")) {
      const std::string place = (*job)["place"];
      AtomicFile::set_before_rename(
          [&, place](int file, const std::string&) { append_to_journal(descriptors.journal, settings["blur"], place, file); });
    }
    const Json outcome = blur_one(*job, open_files, request, blurrer);
#ifdef MOLLIFY_TEST_HOOKS
    stop_as_asked((*job)["in"]);
#endif
    if (!wire.send(outcome) || outcome.contains("device_gone")) return;
  }
}

Device open_cpu(Wire& wire, DeviceArgs args) {
  args.device = kCpuDevice;
  Device device = open_device_quietly(args);
  const auto tuning = stored_tuning(cache_folder(), device.info());
  wire.send({{"ready", tuning ? "" : one_line(tuning.error())}});
  return device;
}

// On the CPU each worker has a device of its own.
void work_on_cpu(Wire& wire, const WorkerDescriptors& descriptors, const Json& settings, const BlurRequest& request,
                 const DeviceArgs& args) {
  const Device device = open_cpu(wire, args);
  DeviceBlurrer blurrer(device, request.spec, request.plan, request.like);
  work(wire, descriptors, settings, request, blurrer);
  std::_Exit(0);  // what the system takes back by itself needs no order
}

void work_for_owner(Wire& wire, const WorkerDescriptors& descriptors, const Json& settings, const BlurRequest& request, DeviceArgs args) {
  wire.send({{"ready", ""}});
  DeviceClient gpu(Wire(descriptors.device), settings["threads"]);
  const Backend backend = args.device.starts_with("cuda") ? Backend::cuda : Backend::vulkan;
  args.device = kCpuDevice;
  // Who names an error or an algorithm wants to hear that there is none.
  const IfInexact if_inexact = request.spec.accuracy.max_error || request.plan.algorithm ? IfInexact::fail : IfInexact::use_cpu;
  GpuBlurrer blurrer(gpu, backend, if_inexact,
                     [&] { return DeviceBlurrer(open_device_quietly(args), request.spec, request.plan, request.like); });
  work(wire, descriptors, settings, request, blurrer);
}

void work_on_either(Wire& wire, const WorkerDescriptors& descriptors, const Json& settings, const BlurRequest& request,
                    const DeviceArgs& args) {
  const Device cpu = open_cpu(wire, args);
  DeviceInfo all_threads = cpu.info();  // NOLINT(performance-unnecessary-copy-initialization): the next line changes it
  all_threads.threads = settings["all_threads"];
  const FindOwner ask_for_owner = [&] {
    std::vector<Descriptor> ways;
    wire.send({{"wants_owner", true}});
    static_cast<void>(wire.receive(&ways));
    return ways.empty() ? Wire(-1) : Wire(std::move(ways.front()));
  };
  AutoBlurrer blurrer(DeviceBlurrer(cpu, request.spec, request.plan, request.like),
                      ImagePlanner(all_threads, request.spec, request.plan, request.like), ask_for_owner);
  work(wire, descriptors, settings, request, blurrer, [&](Wire owner) { blurrer.set_owner(std::move(owner)); });
}

}  // namespace

void run_worker(std::string_view text, const BlurRequest& request, const DeviceArgs& device_args) {
  const WorkerDescriptors descriptors = worker_descriptors(text);
  struct stat status {};
  if (::fstat(descriptors.wire, &status) != 0 || !S_ISSOCK(status.st_mode))
    fail_usage(fmt::format("{} is for internal use", kWorkerOption));
  for (const int each : {descriptors.wire, descriptors.journal, descriptors.kernel_file, descriptors.device}) {
    if (each >= 0) ::fcntl(each, F_SETFD, FD_CLOEXEC);
  }
  Wire wire(descriptors.wire);
  const std::optional<Json> settings = wire.receive();
  if (!settings) return;
  const bool owns_device = (*settings)["owns_device"];
  keep_freed_memory();
  ::prctl(PR_SET_NAME, owns_device ? "mollify-gpu" : "mollify-worker");  // for ps and top
  DeviceArgs device = device_args;  // NOLINT(performance-unnecessary-copy-initialization): the next line changes it
  device.threads = (*settings)["threads"];
  try {
    if (owns_device) return run_device_owner(wire, request, device);
    if (may_choose_gpu(device)) return work_on_either(wire, descriptors, *settings, request, device);
    if (descriptors.device >= 0) return work_for_owner(wire, descriptors, *settings, request, device);
    work_on_cpu(wire, descriptors, *settings, request, device);
  } catch (const Failure& failure) {
    wire.send(failed(failure, false));
  }
}

}  // namespace mollify::cli
