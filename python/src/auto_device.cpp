#include "auto_device.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "devices.h"

namespace mollify::python {
namespace {

class Chooser {
 public:
  DeviceChoice choose(const Task& task) {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find_if(choices_, [&](const auto& choice) { return choice.first == task; });
    if (known != choices_.end()) return known->second;
    std::unique_ptr<Prepared> on_cpu = take(task);
    const double cpu = on_cpu->seconds();
    put_back(std::move(on_cpu));
    threads_ = task.request.manner.threads;
    DeviceChoice choice = chooser_.choose(cpu, [&](const GpuAndCpu& machine) { return work_on_gpu(task, machine.gpu); });
    if (!has_open_gpu()) return choice;  // which it may not be once a GPU is open
    choices_.emplace_front(task, choice);
    constexpr std::size_t kMost = 64;
    if (choices_.size() > kMost) choices_.pop_back();
    return choice;
  }

 private:
  /// Nothing where it cannot do it.
  [[nodiscard]] static std::optional<GpuWork> work_on_gpu(Task task, const std::string& gpu) {
    task.request.manner.device = gpu;
    try {
      std::unique_ptr<Prepared> on_gpu = take(task);
      const GpuWork work{on_gpu->seconds(), on_gpu->run_bytes()};
      put_back(std::move(on_gpu));
      return work;
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  }

  std::mutex mutex_;
  std::int32_t threads_ = 0;  ///< of the task that is looked at
  DeviceChooser chooser_{
      [this](const std::string& name) { return find_device(name, threads_); }, has_open_gpu, {.cache_folder = user_cache_folder()}};
  std::list<std::pair<Task, DeviceChoice>> choices_;
};

}  // namespace

DeviceChoice choose_device_of(const Task& task_on_cpu) {
  static auto* chooser = new Chooser;  // never destroyed: threads may outlive the interpreter
  return chooser->choose(task_on_cpu);
}

}  // namespace mollify::python
