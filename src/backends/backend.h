// What a backend is to the library: how to list its devices and open one. A new backend is one folder with the same
// files as cpu/ and one row in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model/probe.h"
#include "mollify/device.h"

namespace mollify {

struct SourceNeeds;

class DeviceImpl {
 public:
  virtual ~DeviceImpl() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  /// `plan` was made for this device.
  [[nodiscard]] virtual Result<std::shared_ptr<const ExecutableImpl>> prepare(const Plan& plan) = 0;
  /// For about so many seconds. Of GPUs; the error says why the device cannot be measured.
  [[nodiscard]] virtual Result<ProbeTimes> probe(const Plan& plan, double seconds);
  /// Of GPUs, before a Device has it: info() says them from then on.
  virtual void set_rates(const GpuRates& /*rates*/) {}
};

class WorkspaceImpl {
 public:
  virtual ~WorkspaceImpl() = default;
};

/// Pixels that are copied to an image of the same shape. They share no bytes.
struct PixelCopy {
  ConstImageView from;
  ImageView to;
};

/// Makes the destination in full-width strips from top to bottom, and keeps what they share but for rows of the source.
class StreamImpl {
 public:
  virtual ~StreamImpl() = default;
  /// The source rows, which may lie beyond the image, that are not needed by the destination rows before `end`, and by those from there on.
  struct Reads {
    std::int64_t until = 0;  ///< Rows before `end` need none from here on.
    std::int64_t from = 0;   ///< Rows from `end` on need none before this one, if those before `end` have been made.
  };
  /// Of one row at least; where reads_ahead(), also of none.
  [[nodiscard]] virtual Reads reads(std::int32_t end) const = 0;
  /// Whether run() copies rows of the source that only later rows need. Then it is also called where there is nothing to make.
  [[nodiscard]] virtual bool reads_ahead() const { return false; }
  /// The most bytes of scratch memory while strips have up to so many rows.
  [[nodiscard]] virtual std::int64_t scratch_bytes(std::int32_t rows) const = 0;
  /// Makes the rows that follow those of the last call. The windows hold the rows that are read. Then it makes the copies, of rows that may
  /// still be in the caches.
  [[nodiscard]] virtual Status run(std::span<const ConstWindow> src, const ImageView& dst, std::span<const PixelCopy> copies,
                                   const RunControl& control) = 0;
  virtual void copy(std::span<const PixelCopy> copies) = 0;
};

/// One window of an image on a GPU: its pixels in memory that the device copies from and to, and on the device. Rows are those of the
/// window. The first ones of its source may be on the device already, as rows of the source of the window above.
class WindowSlot {
 public:
  virtual ~WindowSlot() = default;
  /// Copies rows of the source, from this column and row on, to where the device reads them. Nothing is under way.
  virtual void put(const ConstImageView& rows, std::int32_t x, std::int32_t y) = 0;
  /// Begins the transfers and the blur. `above` is where the rows are that need not be put, from its row `first` on; null where there are
  /// none. It may be under way. After a failure nothing is under way here any more.
  [[nodiscard]] virtual Status start(const WindowSlot* above, std::int32_t first) = 0;
  /// Once after each start.
  [[nodiscard]] virtual Status wait() = 0;
  /// Copies rows of the result, from this row on.
  virtual void take(std::int32_t y, const ImageView& rows) const = 0;
};

class ExecutableImpl {
 public:
  explicit ExecutableImpl(Plan plan) : plan_(std::move(plan)) {}
  virtual ~ExecutableImpl() = default;
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] virtual Result<std::unique_ptr<WorkspaceImpl>> make_workspace(Batches batches) const = 0;
  /// The views have been checked against the plan; as many sources as destinations, of whatever the workspace is for.
  [[nodiscard]] virtual Status run(std::span<const ConstImageView> src, std::span<const ImageView> dst, WorkspaceImpl& workspace) const = 0;

  // Windows, of a plan that has a halo. A backend has windows of its own, or it makes an image of each: then it has only the first
  // function, which the other two use.

  /// Prepares the plan of a window, which was made for this device.
  [[nodiscard]] virtual Result<std::shared_ptr<const ExecutableImpl>> prepare_window(const Plan& plan) const;
  [[nodiscard]] virtual Result<std::unique_ptr<WorkspaceImpl>> make_window_workspace(PerAxis<std::int32_t> largest) const;
  /// The windows have been checked against the plan: those of the source hold what is needed.
  [[nodiscard]] virtual Status run_window(std::span<const ConstWindow> src, const SourceNeeds& needs, const Window& dst,
                                          WorkspaceImpl& workspace, const RunControl& control) const;
  /// It refers to the executable.
  [[nodiscard]] virtual Result<std::unique_ptr<StreamImpl>> make_stream() const;
  /// Of a backend that makes an image of each window: for one whose first `kept` rows of the source come from the window above.
  [[nodiscard]] virtual Result<std::unique_ptr<WindowSlot>> make_window_slot(std::int32_t kept) const;

 private:
  Plan plan_;
};

/// From the public types to what they hold, for the interfaces that one backend alone has.
struct Access {
  [[nodiscard]] static Device device(std::shared_ptr<DeviceImpl> impl) { return Device(std::move(impl)); }
  [[nodiscard]] static DeviceImpl& impl(const Device& device) { return *device.impl_; }
  [[nodiscard]] static const ExecutableImpl& impl(const Executable& executable) { return *executable.impl_; }
  [[nodiscard]] static std::shared_ptr<const ExecutableImpl> share(const Executable& executable) { return executable.impl_; }
};

struct BackendInfo {
  Backend backend;
  std::vector<DeviceInfo> (*list)();
  /// `which` is an index or part of a name; empty: the first device.
  Result<std::shared_ptr<DeviceImpl>> (*open)(std::string_view which, const DeviceOptions& options);
};

/// In the order in which "auto" tries them.
[[nodiscard]] std::span<const BackendInfo> backends();

}  // namespace mollify
