#include "backends/cpu/context.h"

#include <tbb/info.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "backends/cpu/executor.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/pipeline.h"
#include "mollify/tuning.h"

namespace mollify::cpu {
namespace {

std::string processor_name() {
#if defined(__x86_64__) || defined(__i386__)
  // Leaves 0x80000002 to 4 hold the brand string, 16 characters each.
  constexpr unsigned kFirst = 0x80000002U;
  constexpr unsigned kLast = 0x80000004U;
  if (__get_cpuid_max(0x80000000U, nullptr) >= kLast) {
    std::string name;
    for (unsigned leaf = kFirst; leaf <= kLast; ++leaf) {
      unsigned words[4] = {};
      __get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]);
      char text[sizeof words];
      std::memcpy(text, words, sizeof words);
      name.append(text, sizeof text);
    }
    name.resize(std::strlen(name.c_str()));
    name.erase(0, name.find_first_not_of(' '));
    return name;
  }
#endif
  return "CPU";
}

/// What the system says, or `otherwise` where it does not know.
std::int64_t cache_bytes(int name, std::int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

DeviceInfo describe(std::int32_t threads) {
  DeviceInfo info;
  info.backend = Backend::cpu;
  info.name = processor_name();
  info.driver = "highway " + std::string(simd_target());
  info.threads = threads;
  info.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, info.l2_bytes);
  info.llc_bytes = std::max(cache_bytes(_SC_LEVEL3_CACHE_SIZE, info.llc_bytes), info.l2_bytes);
  info.kernels = kernel_ids();
  return info;
}

class CpuDevice final : public DeviceImpl {
 public:
  CpuDevice(std::int32_t threads, std::string_view cache_folder)
      : workers_(std::make_shared<Workers>(threads)), info_(describe(workers_->threads())) {
    if (auto rows = stored_tuning(cache_folder, info_)) info_.tuning = std::move(*rows);
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] Result<std::shared_ptr<const ExecutableImpl>> prepare(const Plan& plan) override {
    Result<std::vector<Pipeline>> pipelines = make_pipelines(plan);
    if (!pipelines) return pipelines.error();
    return make_executable(plan, std::move(*pipelines), workers_);
  }

 private:
  std::shared_ptr<Workers> workers_;
  DeviceInfo info_;
};

}  // namespace

std::vector<DeviceInfo> list_devices() {
  return {describe(tbb::info::default_concurrency())};
}

Result<std::shared_ptr<DeviceImpl>> open_device(std::string_view which, const DeviceOptions& options) {
  if (!which.empty() && which != "0" && processor_name().find(which) == std::string::npos) {
    return Error{ErrorCode::invalid_argument, "there is no CPU \"" + std::string(which) + "\"", {}};
  }
  if (!options.cpu_target.empty()) {
    if (Status status = use_simd_target(options.cpu_target); !status) return status.error();
  }
  return std::shared_ptr<DeviceImpl>(std::make_shared<CpuDevice>(options.threads, options.cache_folder));
}

}  // namespace mollify::cpu
