// Devices run plans: Device::prepare() makes an Executable, Executable::run() blurs with a Workspace.
#pragma once

#include <cstdint>
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

/// The scratch memory of one call in flight of the executable that made it, or of a copy of that. Reuse it for the next call;
/// never share it between two at once.
class Workspace {
 public:
  Workspace(std::unique_ptr<WorkspaceImpl> impl, std::shared_ptr<const ExecutableImpl> owner);
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  ~Workspace();
  [[nodiscard]] WorkspaceImpl& impl() const { return *impl_; }
  [[nodiscard]] bool belongs_to(const ExecutableImpl& executable) const { return owner_.get() == &executable; }

 private:
  std::shared_ptr<const ExecutableImpl> owner_;  ///< null once moved from
  std::unique_ptr<WorkspaceImpl> impl_;
};

/// Whether run() will be given several images at once. A GPU has one on its way then while the host copies another.
enum class Batches : bool { no, yes };

/// A plan made ready to run. Immutable and cheap to copy, which moving does as well; run it from many threads, each with its own
/// Workspace.
class Executable {
 public:
  explicit Executable(std::shared_ptr<const ExecutableImpl> impl);
  Executable(const Executable&) = default;
  Executable& operator=(const Executable&) = default;
  ~Executable() = default;
  [[nodiscard]] const Plan& plan() const;
  /// Allocates plan().scratch_bytes; on a GPU, for images one by one (`Batches::no`), half of them where images are below 128 MiB.
  [[nodiscard]] Result<Workspace> make_workspace(Batches batches = Batches::yes) const;
  /// Blurs host memory. The views must have the shapes that were planned for, the workspace must be one of this
  /// executable's. Allocates nothing of its own. Views that share bytes are an Error unless the plan was made with Overlap::in_place.
  [[nodiscard]] Status run(const ConstImageView& src, const ImageView& dst, Workspace& workspace) const;
  /// A batch of images of one shape: src[i] to dst[i]. No destination may share bytes with another one, or with another's source.
  [[nodiscard]] Status run(std::span<const ConstImageView> src, std::span<const ImageView> dst,
                           Workspace& workspace) const;

 private:
  friend struct Access;
  std::shared_ptr<const ExecutableImpl> impl_;
};

struct DeviceOptions {
  std::int32_t threads = 0;    ///< of the host, in one run, up to 4096: CPUs blur, GPUs copy images; 0 = one for each hardware thread
  /// What `mollify tune` stored for the device is read from here, and a GPU's compiled pipelines are kept here for the
  /// next process; empty: nowhere.
  std::string cache_folder{};
  /// CPU: the instruction set to use, such as "AVX2", and none better, for the rest of the process: to see what other
  /// processors would do. Empty: the best there is.
  std::string cpu_target{};
};

/// Cheap to copy, which moving does as well: copies are the same device.
class Device {
 public:
  Device(const Device&) = default;
  Device& operator=(const Device&) = default;
  ~Device() = default;
  /// "auto" is the CPU: whether images in host memory gain from a trip to a GPU is not decided yet. Else "cpu", "vulkan", or with an index
  /// or a part of a name as well: "vulkan:0", "vulkan:llvmpipe".
  [[nodiscard]] static Result<Device> open(std::string_view name = "auto", const DeviceOptions& options = {});
  [[nodiscard]] const DeviceInfo& info() const;  ///< never changes
  /// May block and may fail: builds pipelines, converts weights. Thread-safe; what it makes keeps the device open. The plan must have been
  /// made for just this info(): one of other tuning, or of as many threads as another device has, is an Error.
  [[nodiscard]] Result<Executable> prepare(const Plan& plan) const;

 private:
  friend struct Access;
  explicit Device(std::shared_ptr<DeviceImpl> impl);
  std::shared_ptr<DeviceImpl> impl_;
};

/// A device that Device::open() would find, and the name to open it by.
struct DeviceEntry {
  std::string open_name;  ///< "cpu"
  DeviceInfo info;
};
[[nodiscard]] std::vector<DeviceEntry> list_devices();

}  // namespace mollify
