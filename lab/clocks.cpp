#include "lab/clocks.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

namespace mollify::lab {
namespace {

/// The median over the cores of what /proc/cpuinfo says.
Json cpu_clock() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::vector<double> mhz;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("cpu MHz")) mhz.push_back(std::strtod(line.c_str() + line.find(':') + 1, nullptr));
  }
  if (mhz.empty()) return nullptr;
  std::ranges::nth_element(mhz, mhz.begin() + static_cast<std::ptrdiff_t>(mhz.size() / 2));
  return {{"cpu_mhz", mhz[mhz.size() / 2]}};
}

}  // namespace

// The few functions of NVIDIA's management library that are needed. It comes with the driver, so it is there or not.
struct Clocks::Nvml {
  using Handle = void*;
  void* library = nullptr;
  Handle device = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Handle*) = nullptr;
  int (*name)(Handle, char*, unsigned) = nullptr;
  int (*clock)(Handle, int kind, unsigned* mhz) = nullptr;
  int (*temperature)(Handle, int sensor, unsigned* celsius) = nullptr;
  int (*power)(Handle, unsigned* milliwatts) = nullptr;

  template <class Function>
  bool load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    return function != nullptr;
  }

  /// Whether there is a device of this name.
  bool open(const std::string& wanted) {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    if (!load(shutdown, "nvmlShutdown") || !load(count, "nvmlDeviceGetCount_v2") || !load(by_index, "nvmlDeviceGetHandleByIndex_v2") ||
        !load(name, "nvmlDeviceGetName") || !load(clock, "nvmlDeviceGetClockInfo") || !load(temperature, "nvmlDeviceGetTemperature") ||
        !load(power, "nvmlDeviceGetPowerUsage") || !load(init, "nvmlInit_v2") || init() != 0) {
      init = nullptr;
      return false;
    }
    unsigned devices = 0;
    if (count(&devices) != 0) return false;
    for (unsigned i = 0; i < devices; ++i) {
      std::array<char, 128> text{};
      Handle handle = nullptr;
      if (by_index(i, &handle) != 0 || name(handle, text.data(), static_cast<unsigned>(text.size() - 1)) != 0) continue;
      if (wanted != text.data()) continue;
      device = handle;
      return true;
    }
    return false;
  }

  ~Nvml() {
    if (init != nullptr) shutdown();
    if (library != nullptr) dlclose(library);
  }
};

Clocks::Clocks(const DeviceInfo& device) : backend_(device.backend) {
  if (backend_ == Backend::cpu || device.gpu.is_software) return;
  nvml_ = std::make_unique<Nvml>();
  if (!nvml_->open(device.name)) nvml_.reset();
}

Clocks::~Clocks() = default;

Json Clocks::read() const {
  if (backend_ == Backend::cpu) return cpu_clock();
  if (nvml_ == nullptr) return nullptr;
  constexpr int kSm = 1;
  constexpr int kMemory = 2;
  Json clocks = Json::object();
  unsigned value = 0;
  if (nvml_->clock(nvml_->device, kSm, &value) == 0) clocks["sm_mhz"] = value;
  if (nvml_->clock(nvml_->device, kMemory, &value) == 0) clocks["memory_mhz"] = value;
  if (nvml_->temperature(nvml_->device, 0, &value) == 0) clocks["celsius"] = value;
  if (nvml_->power(nvml_->device, &value) == 0) clocks["watts"] = value / 1000.0;
  return clocks;
}

}  // namespace mollify::lab
