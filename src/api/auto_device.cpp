#include "mollify/experimental/auto_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "model/probe.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  return text;
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
double measured_bus(const Device& gpu) {
  const std::optional<Measured> copy = measure(gpu, 0.0);
  if (!copy) return 0.0;
  const double transfers = std::max(copy->seconds - copy->predicted, copy->seconds / 2.0);
  return to_quarter_octave(2.0 * copy->bytes / transfers);
}

}  // namespace

GpuAndCpu measure_gpu_and_cpu(const std::function<Result<Device>(const std::string& name)>& open) {
  GpuAndCpu out;
  std::vector<DeviceEntry> entries = list_devices();
  std::ranges::stable_partition(entries, [](const DeviceEntry& entry) { return entry.info.backend == Backend::cuda; });
  for (const DeviceEntry& entry : entries) {
    if (entry.info.backend == Backend::cpu || entry.info.gpu.is_software) continue;
    const Result<Device> gpu = open(entry.open_name);
    const double bus = gpu ? measured_bus(*gpu) : 0.0;
    if (bus == 0.0) continue;
    out.gpu = entry.open_name;
    out.bus_bytes_per_second = bus;
    break;
  }
  if (out.gpu.empty()) return out;
  const Result<Device> cpu = open("cpu");
  const std::optional<Measured> blur = cpu ? measure(*cpu, 2.0) : std::nullopt;
  if (blur) out.seconds_for_predicted = to_quarter_octave(blur->seconds / blur->predicted);
  return out;
}

DeviceChoice choose_device(const GpuAndCpu& machine, double cpu_seconds, const std::optional<GpuWork>& on_gpu) {
  if (machine.gpu.empty()) return {"cpu", "auto: cpu, there is no GPU"};
  if (!on_gpu) return {"cpu", "auto: cpu, " + machine.gpu + " cannot do it"};
  const double cpu = cpu_seconds * machine.seconds_for_predicted;
  const double transfers = static_cast<double>(on_gpu->bytes) / machine.bus_bytes_per_second;
  const std::string& device = on_gpu->seconds + transfers < cpu ? machine.gpu : std::string("cpu");
  return {device, "auto: " + device + "; predicted on cpu " + milliseconds(cpu) + ", on " + machine.gpu + " " +
                      milliseconds(on_gpu->seconds) + " and " + milliseconds(transfers) + " of transfers"};
}

std::optional<DeviceChoice> choose_without_gpu(double cpu_seconds) {
  if (cpu_seconds > kSecondsToOpenGpu) return std::nullopt;
  return DeviceChoice{"cpu", "auto: cpu, predicted " + milliseconds(cpu_seconds) + "; no GPU has been opened, which takes longer"};
}

}  // namespace mollify
