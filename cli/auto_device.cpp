#include "auto_device.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace mollify::cli {

AutoOptions auto_options() {
  AutoOptions options{.cache_folder = cache_folder()};
#ifdef MOLLIFY_TEST_HOOKS
  // MOLLIFY_TEST_AUTO=0.25: drivers that compute on the CPU are GPUs, and so many seconds count for opening one.
  if (const char* seconds = std::getenv("MOLLIFY_TEST_AUTO")) {
    options.seconds_to_open = std::atof(seconds);
    options.takes_software = true;
  }
#endif
  return options;
}

AutoDevice::AutoDevice(DeviceArgs args)
    : args_(std::move(args)),
      chooser_([this](const std::string& name) { return open(name); }, [this] { return has_open_gpu(); }, auto_options()) {}

DeviceChoice AutoDevice::choose(double cpu_seconds, const DeviceChooser::OnGpu& on_gpu) {
  return may_choose_gpu(args_) ? chooser_.choose(cpu_seconds, on_gpu) : choice_without_probe();
}

Result<Device> AutoDevice::open(const std::string& name) {
  if (const auto known = open_.find(name); known != open_.end()) return known->second;
  Result<Device> device = Device::open(name, device_options(args_));
  if (device) open_.emplace(name, *device);
  return device;
}

bool AutoDevice::has_open_gpu() const {
  return std::ranges::any_of(open_, [](const auto& each) { return each.second.info().backend != Backend::cpu; });
}

bool may_choose_gpu(const DeviceArgs& args) {
  return args.device == kAutoDevice && args.probe == "on";
}

DeviceChoice choice_without_probe() {
  return {kCpuDevice, "auto: cpu, since --probe off measures nothing"};
}

double expected_seconds(std::span<const Plan> plans) {
  double seconds = 0.0;
  for (const Plan& plan : plans) seconds += mollify::expected_seconds(plan);
  return seconds;
}

GpuWork gpu_work(std::span<const Plan> plans) {
  GpuWork work{.seconds = expected_seconds(plans)};
  for (const Plan& plan : plans) work.bytes += plan.src.payload_bytes() + plan.dst.payload_bytes();
  return work;
}

}  // namespace mollify::cli
