// Devices run plans: Device::prepare() makes an Executable, Executable::run() blurs with a Workspace.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mollify/image.h"
#include "mollify/plan.h"
#include "mollify/result.h"

namespace mollify {

struct Access;
class DeviceImpl;
class ExecutableImpl;
class WorkspaceImpl;

/// The scratch memory of one call of Executable::run(). It belongs to the executable that made it and to copies of that. Reuse it for the
/// next call, but never share it between two calls at the same time.
class Workspace {
 public:
  /// For the library itself: Executable::make_workspace() makes workspaces.
  Workspace(std::unique_ptr<WorkspaceImpl> impl, std::shared_ptr<const ExecutableImpl> owner);
  /// Moves the memory. The workspace moved from can only be destroyed or assigned to.
  Workspace(Workspace&&) noexcept;
  /// Moves the memory. The workspace moved from can only be destroyed or assigned to.
  Workspace& operator=(Workspace&&) noexcept;
  ~Workspace();
  /// For the library itself.
  [[nodiscard]] WorkspaceImpl& impl() const { return *impl_; }
  /// For the library itself: whether this executable made it.
  [[nodiscard]] bool belongs_to(const ExecutableImpl& executable) const { return owner_.get() == &executable; }

 private:
  std::shared_ptr<const ExecutableImpl> owner_;  ///< null once moved from
  std::unique_ptr<WorkspaceImpl> impl_;
};

/// Whether Executable::run() will be given several images at once. If so, a GPU blurs one image while the host copies another, which takes
/// twice the memory.
enum class Batches : bool { no, yes };

/// How another thread can watch and stop a run. Both members are optional, and both are looked at for each tile.
struct RunControl {
  const std::atomic<bool>* stop = nullptr;               ///< Once it is true, the run ends with an error of code ErrorCode::stopped.
  std::atomic<std::int64_t>* finished_pixels = nullptr;  ///< Each tile of the destination adds its pixels.
};

/// A plan made ready to run on a device. It never changes and is cheap to copy; moving copies it as well. Many threads may run it at the
/// same time, each with its own Workspace.
class Executable {
 public:
  /// For the library itself: Device::prepare() makes executables.
  explicit Executable(std::shared_ptr<const ExecutableImpl> impl);
  Executable(const Executable&) = default;
  Executable& operator=(const Executable&) = default;
  ~Executable() = default;
  /// The plan that it runs.
  [[nodiscard]] const Plan& plan() const;
  /// Allocates plan().scratch_bytes for one call in flight. On a GPU, `Batches::no` halves that if images are below 128 MiB. An image that
  /// a GPU has no room for, or cannot see by one binding, is blurred window by window, with the same bits, if the plan can run on windows.
  /// Then the workspace takes less. Fails with ErrorCode::out_of_memory.
  [[nodiscard]] Result<Workspace> make_workspace(Batches batches = Batches::yes) const;
  /// Blurs an image in host memory. The views must have the shapes that were planned for, and the workspace must be of this executable.
  /// It allocates nothing of its own. There are two exceptions where an image is blurred window by window: a blur in place copies the
  /// source, and windows of more than three shapes are planned and allocated in the run. It is an error if the views share bytes, unless
  /// the plan was made with Overlap::in_place.
  [[nodiscard]] Status run(const ConstImageView& src, const ImageView& dst, Workspace& workspace) const;
  /// Blurs a batch of images of the planned shape in host memory, src[i] to dst[i]. It is an error if a destination shares bytes with
  /// another destination or with another image's source.
  [[nodiscard]] Status run(std::span<const ConstImageView> src, std::span<const ImageView> dst, Workspace& workspace) const;

  /// Allocates scratch memory for runs that make windows of the destination of up to this size. It does not grow with the whole image.
  /// Fails with ErrorCode::out_of_memory, and with ErrorCode::unsupported if the plan cannot run on windows.
  [[nodiscard]] Result<Workspace> make_workspace(PerAxis<std::int32_t> largest_window) const;
  /// Makes a window of the destination from windows of the source, with the bits that a run on the whole image gives these pixels. Windows
  /// may have any size and may be made in any order. Plan::source_region() says which source pixels are needed. Each row of each of its
  /// rectangles must lie in one of the source windows, so that windows may be stacked. No window of the source may share bytes with the
  /// destination. On a CPU it allocates nothing of its own. On a GPU, a window of another shape than the last one is planned and allocated
  /// in the run.
  [[nodiscard]] Status run(std::span<const ConstWindow> src, const Window& dst, Workspace& workspace, const RunControl& control = {}) const;

 private:
  friend struct Access;
  std::shared_ptr<const ExecutableImpl> impl_;
};

/// How a device is opened.
struct DeviceOptions {
  /// Threads of the host that one run uses, up to 4096; 0 is one for each hardware thread. On a CPU they blur, for a GPU they copy images.
  std::int32_t threads = 0;
  /// A folder with the results of `mollify tune` for the device, in which a GPU's compiled pipelines are kept for the next process. Empty
  /// means that there is none.
  std::string cache_folder{};
  /// The best instruction set that a CPU may use, such as "AVX2", to see what other processors would do. It holds for the rest of the
  /// process. Empty means the best that there is.
  std::string cpu_target{};
  /// Whether a GPU that the library knows no rates of is measured when it is opened first, for at most a second. The rates are kept in the
  /// cache folder; without one nothing is measured.
  bool probe = true;
  /// Called with a sentence before a wait that may take minutes: when a GPU of CUDA is newer than the library's kernels, its driver
  /// compiles them when the device is opened, and keeps the result for later processes. Empty means that nobody is told.
  std::function<void(const std::string&)> on_wait{};
};

/// A CPU or a GPU that runs plans. It is cheap to copy; moving copies it as well. Copies are the same device.
class Device {
 public:
  Device(const Device&) = default;
  Device& operator=(const Device&) = default;
  ~Device() = default;
  /// Opens the device of this name: "cpu", "vulkan", or "vulkan:" with an index or a part of the GPU's name, such as "vulkan:0" or
  /// "vulkan:llvmpipe"; the same of "cuda", where the library is built with that backend. "auto" is the CPU. The error says which devices
  /// there are, or what is wrong with the options.
  [[nodiscard]] static Result<Device> open(std::string_view name = "auto", const DeviceOptions& options = {});
  /// What the planner knows of this device. It never changes.
  [[nodiscard]] const DeviceInfo& info() const;
  /// Makes a plan ready to run: converts weights and, on a GPU, builds pipelines, which may take long. Several threads may call it. The
  /// executable keeps the device open. It is an error if the plan was made for another DeviceInfo than info(), also if only threads or
  /// tuning differ.
  [[nodiscard]] Result<Executable> prepare(const Plan& plan) const;

 private:
  friend struct Access;
  explicit Device(std::shared_ptr<DeviceImpl> impl);
  std::shared_ptr<DeviceImpl> impl_;
};

/// A device that Device::open() would find.
struct DeviceEntry {
  std::string open_name;  ///< The name to open it by, such as "cpu" or "vulkan:0".
  DeviceInfo info;        ///< What the planner knows of it.
};
/// All devices of this machine that Device::open() would find. The CPU is always one.
[[nodiscard]] std::vector<DeviceEntry> list_devices();

}  // namespace mollify
