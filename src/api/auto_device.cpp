#include "mollify/experimental/auto_device.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "backends/cpu/tiling.h"
#include "model/hosts.h"
#include "model/probe.h"
#include "model/stored.h"
#include "model/tuning.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  return text;
}

/// What a Gaussian takes.
struct Measured {
  double seconds = 0.0;    ///< the least of some runs
  double predicted = 0.0;  ///< without transfers
  double bytes = 0.0;      ///< of the image
};

std::optional<Measured> measure(const Device& device, const Gaussian& kernel, std::int32_t size) {
  const ImageDesc image{size, size, PixelFormat::rgba32f};
  BlurSpec spec;
  spec.kernel = kernel;
  const Result<Plan> plan = make_plan(spec, image, image, device.info());
  if (!plan) return std::nullopt;
  const Result<Executable> executable = device.prepare(*plan);
  if (!executable) return std::nullopt;
  Result<Workspace> workspace = executable->make_workspace();
  if (!workspace) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(image.payload_bytes());
  std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  Measured out{HUGE_VAL, expected_seconds(*plan), static_cast<double>(bytes)};
  // The first runs may load and allocate, others meet what else the machine does.
  constexpr int kLeastRuns = 4;
  constexpr double kLeastSeconds = 0.05;
  double all = 0.0;
  for (int run = 0; run < kLeastRuns || all < kLeastSeconds; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t row = image.row_payload_bytes();
    if (!executable->run(ConstImageView{image, from.data(), row}, ImageView{image, to.data(), row}, *workspace)) return std::nullopt;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    out.seconds = std::min(out.seconds, seconds);
    all += seconds;
  }
  return out;
}

constexpr std::int32_t kLarge = 1024;
constexpr std::int32_t kSmall = 16;
const Gaussian kCopy{.sigma = {0.0, 0.0}, .radius = {}, .truncate = {}};
const Gaussian kLight{.sigma = {2.0, 2.0}, .radius = {}, .truncate = {}};
const Gaussian kHeavy{.sigma = {10.0, 10.0}, .radius = PerAxis<std::int32_t>{30, 30}, .truncate = {}};

/// What a run takes in addition to `known` seconds; clocks may see nothing.
double call_seconds(const Measured& small, double known) {
  constexpr double kLeast = 1e-7;
  return to_quarter_octave(std::max(small.seconds - known, kLeast));
}

/// Of a GPU and of a processor. Nothing where they cannot be measured.
std::optional<HostRates> measured_rates(const Device& gpu, const Device& cpu) {
  const std::optional<Measured> call = measure(gpu, kCopy, kSmall);
  const std::optional<Measured> copy = call ? measure(gpu, kCopy, kLarge) : std::nullopt;
  const std::optional<Measured> light = copy ? measure(cpu, kLight, kLarge) : std::nullopt;
  const std::optional<Measured> heavy = light ? measure(cpu, kHeavy, kLarge) : std::nullopt;
  const std::optional<Measured> small = heavy ? measure(cpu, kLight, kSmall) : std::nullopt;
  if (!small) return std::nullopt;
  HostRates rates{.processor = host_name(cpu.info()), .threads = cpu.info().threads};
  rates.gpu_call_seconds = call_seconds(*call, call->predicted);
  const double transfers = std::max(copy->seconds - copy->predicted - rates.gpu_call_seconds, copy->seconds / 2.0);
  rates.bus_bytes_per_second = to_quarter_octave(2.0 * copy->bytes / transfers);
  // Between what waits for memory and what computes, which threads speed up by more or less than the planner assumes.
  rates.seconds_for_predicted = to_quarter_octave(std::sqrt(light->seconds / light->predicted * heavy->seconds / heavy->predicted));
  rates.cpu_call_seconds = call_seconds(*small, small->predicted * rates.seconds_for_predicted);
  return rates;
}

/// The hosts that a file is about; none where there is no such file or it cannot be used.
std::vector<HostRates> read_hosts(const std::string& path, const DeviceInfo& gpu) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return parse_hosts(text, gpu).value_or(std::vector<HostRates>());
}

/// What Device::open() would say of it.
DeviceInfo as_opened(DeviceInfo listed, const std::string& cache_folder) {
  const Result<TuningTable> table = stored_table(cache_folder, listed);
  if (!table) return listed;
  listed.gpu.measured = table->rates;
  listed.tuning = table->rows;
  return listed;
}

/// Of one GPU.
class HostFigures {
 public:
  HostFigures(const DeviceInfo& gpu, const DeviceInfo& cpu, const std::string& cache_folder)
      : gpu_(gpu), cpu_(cpu), path_(cache_folder.empty() ? std::string() : host_figures_path(cache_folder, gpu)) {
    if (!path_.empty()) hosts_ = read_hosts(path_, gpu_);
  }

  [[nodiscard]] std::optional<HostRates> here() const {
    const auto same = std::ranges::find_if(
        hosts_, [&](const HostRates& host) { return host.processor == host_name(cpu_) && host.threads == cpu_.threads; });
    return same == hosts_.end() ? std::nullopt : std::optional(*same);
  }

  /// Keeps them beside those of other hosts. Returns them as the next process reads them.
  HostRates keep(const HostRates& measured) {
    hosts_.push_back(measured);
    const std::string text = to_text(hosts_, gpu_);
    if (!path_.empty()) replace_file(path_, text);  // where it cannot be written, the next process measures again
    const std::optional<std::vector<HostRates>> read = parse_hosts(text, gpu_);
    return read ? read->back() : measured;
  }

 private:
  const DeviceInfo& gpu_;
  const DeviceInfo& cpu_;
  std::string path_;
  std::vector<HostRates> hosts_;
};

GpuAndCpu machine_of(const std::string& gpu, const HostRates& rates, const DeviceInfo& info) {
  return {gpu, rates.bus_bytes_per_second, rates.seconds_for_predicted, rates.gpu_call_seconds, rates.cpu_call_seconds, info};
}

}  // namespace

GpuAndCpu find_gpu_and_cpu(const OpenDevice& open, const AutoOptions& options) {
  std::vector<DeviceEntry> entries = list_devices();
  std::erase_if(entries, [&](const DeviceEntry& entry) {
    return entry.info.backend == Backend::cpu || (entry.info.gpu.is_software && !options.takes_software);
  });
  if (entries.empty()) return {};
  std::ranges::stable_partition(entries, [](const DeviceEntry& entry) { return entry.info.backend == Backend::cuda; });
  const Result<Device> cpu = open("cpu");
  if (!cpu) return {};
  for (const DeviceEntry& entry : entries) {
    HostFigures figures(entry.info, cpu->info(), options.cache_folder);
    if (const std::optional<HostRates> kept = figures.here()) {
      return machine_of(entry.open_name, *kept, as_opened(entry.info, options.cache_folder));
    }
    const Result<Device> gpu = open(entry.open_name);
    const std::optional<HostRates> measured = gpu ? measured_rates(*gpu, *cpu) : std::nullopt;
    if (measured) return machine_of(entry.open_name, figures.keep(*measured), gpu->info());
  }
  return {};
}

double expected_seconds(const Plan& plan, std::int64_t images) {
  const auto count = static_cast<double>(images);
  const std::int64_t threads = plan.device.threads;
  if (plan.device.backend != Backend::cpu || plan.passes.empty() || threads < 1 || images < 1) return plan.predicted_seconds * count;
  const Pass& pass = plan.passes.back();
  const std::int64_t tiles = cpu::Tiling{{0, 0, pass.size.x, pass.size.y}, pass.tile}.count() * images;
  const std::int64_t rounds = (tiles + threads - 1) / threads;
  // A few threads are enough for all that memory delivers.
  const double arithmetic = std::max(plan.predicted_seconds - copy_seconds(plan.device, plan.moved_bytes), 0.0);
  DeviceInfo busy = plan.device;
  busy.threads = static_cast<std::int32_t>(std::max<std::int64_t>(tiles / rounds, 1));
  return count * (arithmetic * static_cast<double>(rounds * threads) / static_cast<double>(tiles) + copy_seconds(busy, plan.moved_bytes));
}

std::string host_figures_path(std::string_view cache_folder, const DeviceInfo& gpu) {
  return stored_path(cache_folder, "hosts", gpu);
}

DeviceChoice choose_device(const GpuAndCpu& machine, double cpu_seconds, const std::optional<GpuWork>& on_gpu, double seconds_to_open) {
  if (machine.gpu.empty()) return {"cpu", "auto: cpu, there is no GPU"};
  if (!on_gpu) return {"cpu", "auto: cpu, " + machine.gpu + " cannot do it"};
  const double cpu = cpu_seconds * machine.seconds_for_predicted + machine.cpu_call_seconds;
  const double transfers = static_cast<double>(on_gpu->bytes) / machine.bus_bytes_per_second + machine.gpu_call_seconds;
  const std::string& device = on_gpu->seconds + transfers + seconds_to_open < cpu ? machine.gpu : std::string("cpu");
  std::string why = "auto: " + device + "; predicted on cpu " + milliseconds(cpu) + ", on " + machine.gpu + " " +
                    milliseconds(on_gpu->seconds) + (seconds_to_open > 0.0 ? ", " : " and ") + milliseconds(transfers) + " of transfers";
  if (seconds_to_open > 0.0) why += " and " + milliseconds(seconds_to_open) + " to open it";
  return {device, std::move(why)};
}

std::optional<DeviceChoice> choose_without_gpu(double cpu_seconds, double seconds_to_open) {
  if (cpu_seconds > seconds_to_open) return std::nullopt;
  return DeviceChoice{"cpu", "auto: cpu, predicted " + milliseconds(cpu_seconds) + "; no GPU has been opened, which takes longer"};
}

DeviceChoice DeviceChooser::choose(double cpu_seconds, const OnGpu& on_gpu) {
  if (!machine_ && !is_open_()) {
    if (std::optional<DeviceChoice> choice = choose_without_gpu(cpu_seconds, options_.seconds_to_open)) return *std::move(choice);
  }
  if (!machine_) machine_ = find_gpu_and_cpu(open_, options_);
  const std::optional<GpuWork> work = machine_->gpu.empty() ? std::nullopt : on_gpu(*machine_);
  return choose_device(*machine_, cpu_seconds, work, is_open_() ? 0.0 : options_.seconds_to_open);
}

std::string user_cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  if (const auto cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return (cache / "mollify").string();
  if (const auto home = variable("HOME"); home.is_absolute()) return (home / ".cache" / "mollify").string();
  return {};
}

}  // namespace mollify
