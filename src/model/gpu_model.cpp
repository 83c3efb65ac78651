#include "model/gpu_model.h"

#include <algorithm>
#include <cmath>

namespace mollify {
namespace {

// As it is on the devices that most costs were measured on. What a group can have of a multiprocessor's shared memory says how much there
// is: see gpu_model().
constexpr Multiprocessors kMultiprocessor{.schedulers = 4, .subgroup_size = 32, .max_threads = 2048, .registers = 65536};

constexpr Multiprocessors multiprocessors(std::int32_t count) {
  Multiprocessors of = kMultiprocessor;
  of.count = count;
  return of;
}

// The H200's row follows from timings of sep.direct, sep.shared and nxn.direct at 4096x4096 and three pixel sizes: with it
// sep.direct, sep.inline and sep.inline_sliding at radius 1, 4 and 9 are predicted to within a fifth or so. The H100 has the same
// processors and less bandwidth. What algorithms add to these rates was measured on an H200 or an H100, wherever a comment there says
// that it was measured.
constexpr GpuModel kH200{.row = "H200",
                         .multiprocessors = multiprocessors(132),
                         .bytes_per_second = 4.2e12,
                         .loads_per_second = {1.2e12, 7.6e11, 5.2e11},
                         .stores_per_second = 2.6e11,
                         .shared_loads_per_second = 3.3e12,
                         .operations_per_second = 2e13,
                         .barriers_per_second = 4.3e11,
                         .launch_seconds = 3e-6};
constexpr GpuModel kH100 = [] {
  GpuModel model = kH200;
  model.row = "H100 80GB HBM3";
  model.bytes_per_second = 2.85e12;
  return model;
}();
constexpr std::array kRows = {kH200, kH100};

// Of a device that nothing is known of, guessed.
constexpr GpuModel kAny{.row = kTypical,
                        .multiprocessors = multiprocessors(64),
                        .bytes_per_second = 4e11,
                        .loads_per_second = {2e11, 1.3e11, 9e10},
                        .stores_per_second = 4e10,
                        .shared_loads_per_second = 5e11,
                        .operations_per_second = 3e12,
                        .barriers_per_second = 7e10,
                        .launch_seconds = 5e-6};

// Software drivers end loops that have run 65535 times in all.
constexpr std::int64_t kSoftwareIterations = 65000;

const GpuModel* row_of(const DeviceInfo& device) {
  const auto* const row = std::ranges::find_if(kRows, [&](const GpuModel& of) { return device.name.find(of.row) != std::string::npos; });
  return row == kRows.end() ? nullptr : row;
}

// What a driver on the processor runs at once: so many groups as a common processor has threads, of the usual size.
constexpr std::int32_t kSoftwareGroups = 4;
constexpr std::int32_t kSoftwareThreads = 256;

/// All but a copy, shared memory and barriers is as fast beside a typical device's as the blur that was measured.
GpuModel as_measured(const GpuInfo& gpu) {
  const GpuRates& rates = gpu.measured;
  GpuModel model = kAny;
  model.row = kMeasured;
  const double speed = rates.operations_per_second / kAny.operations_per_second;
  for (double& rate : model.loads_per_second) rate *= speed;
  for (double* rate :
       {&model.stores_per_second, &model.shared_loads_per_second, &model.operations_per_second, &model.barriers_per_second}) {
    *rate *= speed;
  }
  model.bytes_per_second = rates.bytes_per_second;
  model.launch_seconds = rates.launch_seconds;
  if (rates.shared_per_second != 0.0) model.shared_loads_per_second = rates.shared_per_second;
  model.waits_per_second = rates.waits_per_second;
  model.counts_idle_threads = true;
  if (gpu.is_software) {
    // Shared memory is the host's, and so are registers at a barrier, where few threads' stay in its first cache. A pixel of any size
    // takes as many instructions, and as many to be stored as to be loaded. Nothing is hidden by work groups that wait beside others.
    model.is_processor = true;
    model.has_banks = false;
    model.prefers_small_groups = true;
    model.loads_per_second.fill(model.loads_per_second.front());
    model.stores_per_second = model.loads_per_second.front();
    model.multiprocessors.count = kSoftwareGroups;
    model.multiprocessors.max_threads = kSoftwareThreads;
  }
  return model;
}

template <class Number>
void take(Number& known, Number said) {
  if (said != 0) known = said;
}

}  // namespace

bool has_gpu_row(const DeviceInfo& device) {
  return row_of(device) != nullptr;
}

GpuModel gpu_model(const DeviceInfo& device) {
  const GpuModel* const row = row_of(device);
  const GpuInfo& gpu = device.gpu;
  GpuModel model = row != nullptr ? *row : gpu.measured != GpuRates{} ? as_measured(gpu) : kAny;

  Multiprocessors& of = model.multiprocessors;
  const Multiprocessors& said = gpu.multiprocessors;
  // An H200 has this much for groups that can have 48 KB each, on a queue that only computes; one that also draws leaves half of it.
  of.shared_bytes = std::max<std::int64_t>(gpu.shared_bytes * 9 / 4, 1);
  take(of.count, said.count);
  take(of.schedulers, said.schedulers);
  take(of.subgroup_size, said.subgroup_size);
  take(of.max_threads, said.max_threads);
  take(of.registers, said.registers);
  take(of.shared_bytes, said.shared_bytes);
  if (gpu.is_software) model.max_iterations = kSoftwareIterations;
  return model;
}

std::int64_t groups_at_once(const GpuModel& model, const GroupNeeds& needs) {
  const Multiprocessors& of = model.multiprocessors;
  const double threads = std::min<double>(static_cast<double>(of.registers) / std::max(needs.registers, 1.0), of.max_threads);
  const auto groups = static_cast<std::int64_t>(threads / std::max(needs.threads, 1));
  const std::int64_t fit = needs.shared_bytes > 0 ? of.shared_bytes / needs.shared_bytes : groups;
  return std::max<std::int64_t>(std::min(groups, fit), 1);
}

double allocated_registers(const GpuModel& model, std::int64_t registers) {
  const Multiprocessors& of = model.multiprocessors;
  const std::int64_t all = of.registers / of.schedulers;
  const std::int64_t of_subgroup = (registers + 7) / 8 * 8 * of.subgroup_size;
  const std::int64_t threads = std::max<std::int64_t>(all / std::max<std::int64_t>(of_subgroup, 1), 1) * of.subgroup_size;
  return static_cast<double>(all) / static_cast<double>(threads);
}

std::int32_t threads_at_once(const GpuModel& model, double registers) {
  const std::int32_t subgroup = model.multiprocessors.subgroup_size;
  return subgroup * static_cast<std::int32_t>(groups_at_once(model, {.threads = subgroup, .registers = registers}));
}

std::int64_t threads_to_fill(const GpuModel& model) {
  return std::int64_t{model.multiprocessors.count} * model.multiprocessors.max_threads;
}

}  // namespace mollify
