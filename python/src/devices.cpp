#include "devices.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace mollify::python {
namespace {

std::atomic<bool> has_gpu = false;

}  // namespace

bool has_open_gpu() {
  return has_gpu;
}

Result<Device> find_device(const std::string& name, std::int32_t threads) {
  using Open = std::map<std::pair<std::string, std::int32_t>, Device>;
  static auto* mutex = new std::mutex;  // never destroyed: threads may outlive the interpreter
  static auto* open = new Open;
  const std::scoped_lock lock(*mutex);
  const auto found = open->find({name, threads});
  if (found != open->end()) return found->second;
  // A line on standard error, as this may run without the interpreter's lock.
  const auto say = [](const std::string& why) { std::fprintf(stderr, "pymollify: %s\n", why.c_str()); };
  Result<Device> device = Device::open(name.empty() ? "cpu" : name, {.threads = threads, .on_wait = say});
  if (!device) return device;
  open->emplace(std::pair(name, threads), *device);
  if (device->info().backend != Backend::cpu && !device->info().gpu.is_software) has_gpu = true;
  return device;
}

Device open_device(const std::string& name, std::int32_t threads) {
  Result<Device> device = find_device(name, threads);
  if (!device) throw std::invalid_argument("device: " + device.error().message);
  return std::move(*device);
}

}  // namespace mollify::python
