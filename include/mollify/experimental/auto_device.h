// Where a blur of images in host memory ends first, as far as that can be told before: the predicted time of the processor against that of
// a GPU with the transfers. It may change in any version.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mollify/device.h"
#include "mollify/plan.h"

namespace mollify {

/// What it takes to open a GPU, and where that has never been done to measure its bus. It is not known before.
inline constexpr double kSecondsToOpenGpu = 0.5;

/// What plans say of a blur on a GPU.
struct GpuWork {
  double seconds = 0.0;    ///< Predicted, without transfers.
  std::int64_t bytes = 0;  ///< Of the images that are read and written, which lie in host memory.
};

/// What a plan says of so many images, without transfers. A processor's threads take tiles in turns, so that some wait where there are few.
[[nodiscard]] double expected_seconds(const Plan& plan, std::int64_t images = 1);

/// Where a blur is to run.
struct DeviceChoice {
  std::string device;  ///< "cpu", or the name of a GPU as Device::open() takes it.
  std::string why;     ///< What was compared, in a line.
  bool operator==(const DeviceChoice&) const = default;
};

/// A GPU of this machine, how fast images of host memory get there and back, and how fast the processor is. All figures are rounded to
/// quarter octaves, so that what disturbs a measurement a little decides nothing.
struct GpuAndCpu {
  std::string gpu;                     ///< As Device::open() takes it; empty where there is none, or its bus cannot be measured.
  double bus_bytes_per_second = 0.0;   ///< From and to host memory, with the copies that the host makes.
  double seconds_for_predicted = 1.0;  ///< Of the processor: the planner's rates are those of no processor in particular.
  double gpu_call_seconds = 0.0;       ///< Of any run on the GPU, in addition.
  double cpu_call_seconds = 0.0;       ///< Of any run on the processor, in addition.
  DeviceInfo info{};                   ///< What the planner knows of the GPU, whether it is open or not.
};

/// Opens the device of this name; "cpu" is the processor with the threads that blurs will have.
using OpenDevice = std::function<Result<Device>(const std::string& name)>;

/// How a device is chosen.
struct AutoOptions {
  /// Where the figures are kept for the next process, for each GPU, driver, version of mollify, processor and number of threads. A file
  /// that is damaged or of another driver or version is written anew. Empty, or where it cannot be written: each process measures.
  std::string cache_folder{};
  double seconds_to_open = kSecondsToOpenGpu;  ///< That count for a GPU that is not open yet.
  bool takes_software = false;                 ///< Whether a driver that computes on the processor counts as a GPU, for tests.
};

/// Finds the first GPU that is one, CUDA before Vulkan. Its figures are those that are kept, or it is opened, they are measured by
/// some blurs of 1024x1024 and of 16x16 pixels, and kept.
[[nodiscard]] GpuAndCpu find_gpu_and_cpu(const OpenDevice& open, const AutoOptions& options = {});

/// The file of a cache folder that has the figures of this GPU.
[[nodiscard]] std::string host_figures_path(std::string_view cache_folder, const DeviceInfo& gpu);

/// `cpu_seconds` is what plans predict for the processor. Nothing stands for work that the GPU cannot do. `seconds_to_open` is 0 for a GPU
/// that is open.
[[nodiscard]] DeviceChoice choose_device(const GpuAndCpu& machine, double cpu_seconds, const std::optional<GpuWork>& on_gpu,
                                         double seconds_to_open = 0.0);
/// While nothing is known of a GPU: "cpu" where opening one would take longer than the blur, else nothing.
[[nodiscard]] std::optional<DeviceChoice> choose_without_gpu(double cpu_seconds, double seconds_to_open = kSecondsToOpenGpu);

/// Chooses for one process, which looks for a GPU when it is asked first for more than opening one takes. Not for several threads at once.
class DeviceChooser {
 public:
  /// `is_open` says whether a GPU is open, be it by `open` or otherwise.
  DeviceChooser(OpenDevice open, std::function<bool()> is_open, AutoOptions options)
      : open_(std::move(open)), is_open_(std::move(is_open)), options_(std::move(options)) {}

  /// What plans say of the work on the GPU, which `on_gpu` may open. Nothing where it cannot do it.
  using OnGpu = std::function<std::optional<GpuWork>(const GpuAndCpu& machine)>;
  /// `cpu_seconds` is what plans predict for the processor. `on_gpu` is asked where a GPU comes into question.
  [[nodiscard]] DeviceChoice choose(double cpu_seconds, const OnGpu& on_gpu);

 private:
  OpenDevice open_;
  std::function<bool()> is_open_;
  AutoOptions options_;
  std::optional<GpuAndCpu> machine_;
};

/// Where programs of this user keep what they can make again, as the mollify tool does; empty where the system names no such place.
[[nodiscard]] std::string user_cache_folder();

}  // namespace mollify
