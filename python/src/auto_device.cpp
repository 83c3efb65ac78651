#include "auto_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <list>
#include <mutex>
#include <utility>

#include "devices.h"
#include "mollify/mollify.h"

namespace mollify::python {
namespace {

/// What it takes to open a GPU and to measure its bus, in a process that has done neither. It is not known before.
constexpr double kSecondsToOpen = 0.5;

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  return text;
}

/// A GPU that this process has opened.
struct Gpu {
  std::string name;
  double bytes_per_second = 0.0;  ///< from and to host memory, with the copies that the host makes
};

/// Rounded to quarter octaves, so that what disturbs a measurement a little decides nothing.
double rounded(double figure) {
  constexpr double kStepsOfAnOctave = 4.0;
  return std::exp2(std::round(std::log2(figure) * kStepsOfAnOctave) / kStepsOfAnOctave);
}

/// What a Gaussian of 1024x1024 pixels takes.
struct Measured {
  double seconds = 0.0;    ///< the least of some runs
  double predicted = 0.0;  ///< without transfers
  double bytes = 0.0;      ///< of the image
};
std::optional<Measured> measure(const Device& device, double sigma) {
  const ImageDesc image{1024, 1024, PixelFormat::rgba32f};
  BlurSpec spec;
  spec.kernel = Gaussian{.sigma = {sigma, sigma}, .radius = {}, .truncate = {}};
  const Result<Plan> plan = make_plan(spec, image, image, device.info());
  if (!plan) return std::nullopt;
  const Result<Executable> executable = device.prepare(*plan);
  if (!executable) return std::nullopt;
  Result<Workspace> workspace = executable->make_workspace();
  if (!workspace) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(image.payload_bytes());
  std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  constexpr int kRuns = 4;  // the first of which may load and allocate
  Measured out{HUGE_VAL, plan->predicted_seconds, static_cast<double>(bytes)};
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t row = image.row_payload_bytes();
    if (!executable->run(ConstImageView{image, from.data(), row}, ImageView{image, to.data(), row}, *workspace)) return std::nullopt;
    out.seconds = std::min(out.seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return out;
}

/// 0 where it cannot be measured.
double measured_bus(const Device& device) {
  const std::optional<Measured> copy = measure(device, 0.0);
  if (!copy) return 0.0;
  const double transfers = std::max(copy->seconds - copy->predicted, copy->seconds / 2.0);
  return rounded(2.0 * copy->bytes / transfers);
}

/// What blurs take on the processor, of what the planner predicts: its rates are those of no processor in particular.
double measured_share_of_cpu(std::int32_t threads) {
  const Result<Device> device = find_device("cpu", threads);
  const std::optional<Measured> blur = device ? measure(*device, 2.0) : std::nullopt;
  return blur ? rounded(blur->seconds / blur->predicted) : 1.0;
}

/// The first GPU that is one, CUDA before Vulkan; without a name where there is none, or it cannot be measured.
Gpu open_gpu(std::int32_t threads) {
  std::vector<DeviceEntry> entries = list_devices();
  std::ranges::stable_partition(entries, [](const DeviceEntry& entry) { return entry.info.backend == Backend::cuda; });
  for (const DeviceEntry& entry : entries) {
    if (entry.info.backend == Backend::cpu || entry.info.gpu.is_software) continue;
    const Result<Device> device = find_device(entry.open_name, threads);
    if (!device) continue;
    const double bus = measured_bus(*device);
    if (bus > 0.0) return {entry.open_name, bus};
  }
  return {};
}

class Chooser {
 public:
  AutoDevice choose(const Task& task) {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find_if(choices_, [&](const auto& choice) { return choice.first == task; });
    if (known != choices_.end()) return known->second;
    std::unique_ptr<Prepared> on_cpu = take(task);
    const double cpu = on_cpu->seconds();
    put_back(std::move(on_cpu));
    if (!gpu_ && cpu <= kSecondsToOpen && !has_open_gpu()) {
      return {"cpu", "auto: cpu, predicted " + milliseconds(cpu) + "; no GPU has been opened, which takes longer"};
    }
    if (!gpu_) {
      gpu_ = open_gpu(task.request.manner.threads);
      if (!gpu_->name.empty()) share_of_cpu_ = measured_share_of_cpu(task.request.manner.threads);
    }
    AutoDevice choice = compare(task, cpu * share_of_cpu_);
    choices_.emplace_front(task, choice);
    constexpr std::size_t kMost = 64;
    if (choices_.size() > kMost) choices_.pop_back();
    return choice;
  }

 private:
  [[nodiscard]] AutoDevice compare(const Task& task, double cpu) const {
    if (gpu_->name.empty()) return {"cpu", "auto: cpu, there is no GPU"};
    Task elsewhere = task;
    elsewhere.request.manner.device = gpu_->name;
    std::unique_ptr<Prepared> on_gpu;
    try {
      on_gpu = take(elsewhere);
    } catch (const std::invalid_argument&) {
      return {"cpu", "auto: cpu, " + gpu_->name + " cannot do it"};
    }
    const double blur = on_gpu->seconds();
    const double transfers = static_cast<double>(on_gpu->run_bytes()) / gpu_->bytes_per_second;
    put_back(std::move(on_gpu));
    const std::string name = blur + transfers < cpu ? gpu_->name : "cpu";
    return {name, "auto: " + name + "; predicted on cpu " + milliseconds(cpu) + ", on " + gpu_->name + " " + milliseconds(blur) + " and " +
                      milliseconds(transfers) + " of transfers"};
  }

  std::mutex mutex_;
  std::optional<Gpu> gpu_;
  double share_of_cpu_ = 1.0;
  std::list<std::pair<Task, AutoDevice>> choices_;
};

}  // namespace

AutoDevice choose_device(const Task& task_on_cpu) {
  static auto* chooser = new Chooser;  // never destroyed: threads may outlive the interpreter
  return chooser->choose(task_on_cpu);
}

}  // namespace mollify::python
