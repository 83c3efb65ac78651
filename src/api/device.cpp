// The public device types: checks that hold for every backend, then on to the backend.
#include "mollify/device.h"

#include <cstdint>

#include "api/divided_images.h"
#include "api/probe.h"
#include "api/window_plans.h"
#include "api/window_stream.h"
#include "backends/backend.h"
#include "base/gpu_images.h"
#include "base/source_region.h"
#include "base/views.h"

namespace mollify {
namespace {

/// An Error where a window is no part of the image that was planned for, which is called `what`.
Status check_window(std::string_view what, const ConstWindow& window, const ImageDesc& planned) {
  const ImageDesc& desc = window.pixels.desc;
  if (Status s = check_within(what, window.place(), planned); !s) return s;
  return check_view(what, window.pixels, {desc.width, desc.height, planned.format});
}

/// A GPU that cannot see an image by one binding, or has no room for it, makes it window by window.
Result<std::unique_ptr<WorkspaceImpl>> make_image_workspace(const ExecutableImpl& impl, Batches batches) {
  const Plan& plan = impl.plan();
  const bool is_gpu = plan.device.backend != Backend::cpu;
  if (is_gpu && exceed_bindings(plan.passes, plan.src, plan.dst, plan.intermediates, plan.device.gpu)) {
    return DividedImages::create(impl, plan.scratch_bytes);
  }
  Result<std::unique_ptr<WorkspaceImpl>> whole = impl.make_workspace(batches);
  if (whole || !is_gpu || !plan.halo || whole.error().code != ErrorCode::out_of_memory) return whole;
  return DividedImages::create(impl, plan.scratch_bytes / 2);
}

}  // namespace

Result<ProbeTimes> DeviceImpl::probe(const Plan& /*plan*/, double /*seconds*/) {
  return Error{ErrorCode::unsupported, "the backend has no clock for a probe", {}};
}

Result<std::shared_ptr<const ExecutableImpl>> ExecutableImpl::prepare_window(const Plan& /*plan*/) const {
  return Error{ErrorCode::internal, "the backend has no windows", {}};
}

Result<std::unique_ptr<WorkspaceImpl>> ExecutableImpl::make_window_workspace(PerAxis<std::int32_t> /*largest*/) const {
  return std::unique_ptr<WorkspaceImpl>(std::make_unique<WindowPlans>(*this));
}

Result<std::unique_ptr<StreamImpl>> ExecutableImpl::make_stream() const {
  return make_window_stream(*this);
}

Result<std::unique_ptr<WindowSlot>> ExecutableImpl::make_window_slot(std::int32_t /*kept*/) const {
  return Error{ErrorCode::internal, "the backend has no windows", {}};
}

Status ExecutableImpl::run_window(std::span<const ConstWindow> src, const SourceNeeds& /*needs*/, const Window& dst,
                                  WorkspaceImpl& workspace, const RunControl& control) const {
  auto* plans = dynamic_cast<WindowPlans*>(&workspace);
  if (plans == nullptr) return invalid("the workspace was made for whole images");
  return plans->run(src, dst, control);
}

Workspace::Workspace(std::unique_ptr<WorkspaceImpl> impl, std::shared_ptr<const ExecutableImpl> owner)
    : owner_(std::move(owner)), impl_(std::move(impl)) {}
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

Executable::Executable(std::shared_ptr<const ExecutableImpl> impl) : impl_(std::move(impl)) {}

const Plan& Executable::plan() const {
  return impl_->plan();
}

Result<Workspace> Executable::make_workspace(Batches batches) const {
  Result<std::unique_ptr<WorkspaceImpl>> workspace = make_image_workspace(*impl_, batches);
  if (!workspace) return workspace.error();
  return Workspace(std::move(*workspace), impl_);
}

Status Executable::run(const ConstImageView& src, const ImageView& dst, Workspace& workspace) const {
  return run(std::span(&src, 1), std::span(&dst, 1), workspace);
}

Status Executable::run(std::span<const ConstImageView> src, std::span<const ImageView> dst, Workspace& workspace) const {
  if (!workspace.belongs_to(*impl_)) return invalid("the workspace was made for another executable");
  if (src.size() != dst.size()) {
    return invalid(std::to_string(src.size()) + " sources do not go with " + std::to_string(dst.size()) + " destinations");
  }
  for (std::size_t i = 0; i < src.size(); ++i) {
    if (Status s = check_view("source", src[i], plan().src); !s) return s;
    if (Status s = check_view("destination", dst[i], plan().dst); !s) return s;
    if (plan().overlap == Overlap::none && share_bytes(src[i], dst[i])) {
      return invalid("source and destination overlap, which the plan does not allow for");
    }
  }
  if (src.size() > 1 && disturb_each_other(src, dst)) {
    return invalid("a destination of the batch overlaps another image's source or destination");
  }
  auto* divided = dynamic_cast<DividedImages*>(&workspace.impl());
  if (divided == nullptr) return impl_->run(src, dst, workspace.impl());
  for (std::size_t i = 0; i < src.size(); ++i) {
    if (Status s = divided->run(src[i], dst[i]); !s) return s;
  }
  return {};
}

Result<Workspace> Executable::make_workspace(PerAxis<std::int32_t> largest_window) const {
  if (Status s = check_destination(plan(), {0, 0, largest_window.x, largest_window.y}); !s) return s.error();
  Result<std::unique_ptr<WorkspaceImpl>> workspace = impl_->make_window_workspace(largest_window);
  if (!workspace) return workspace.error();
  return Workspace(std::move(*workspace), impl_);
}

Status Executable::run(std::span<const ConstWindow> src, const Window& dst, Workspace& workspace, const RunControl& control) const {
  if (!workspace.belongs_to(*impl_)) return invalid("the workspace was made for another executable");
  if (Status s = check_destination(plan(), dst.place()); !s) return s;
  const ConstWindow made{dst.pixels, dst.x, dst.y};
  if (Status s = check_window("destination", made, plan().dst); !s) return s;
  for (const ConstWindow& window : src) {
    if (Status s = check_window("source", window, plan().src); !s) return s;
    if (share_bytes(window.pixels, dst.pixels)) return invalid("a window of the source overlaps that of the destination");
  }
  const SourceNeeds needs = source_needs(plan(), dst.place());
  if (Status s = check_windows_hold(src, needs); !s) return s;
  return impl_->run_window(src, needs, dst, workspace.impl(), control);
}

Device::Device(std::shared_ptr<DeviceImpl> impl) : impl_(std::move(impl)) {}

const DeviceInfo& Device::info() const {
  return impl_->info();
}

Result<Executable> Device::prepare(const Plan& plan) const {
  if (plan.device != impl_->info()) return invalid("the plan was made for another device");
  if (plan.passes.empty()) return invalid("the plan has no passes: make_plan() makes them");
  if (Status s = validate(plan.spec, plan.src, plan.dst); !s) return s.error();
  Result<std::shared_ptr<const ExecutableImpl>> executable = impl_->prepare(plan);
  if (!executable) return executable.error();
  return Executable(std::move(*executable));
}

Result<Device> Device::open(std::string_view name, const DeviceOptions& options) {
  constexpr std::int32_t kMostThreads = 4096;
  if (options.threads < 0 || options.threads > kMostThreads) {
    return invalid("the number of threads is 0 to " + std::to_string(kMostThreads) + ", not " + std::to_string(options.threads));
  }
  const std::size_t colon = name.find(':');
  const std::string_view wanted = name.substr(0, colon);
  const std::string_view which = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  Error error = invalid("there is no device \"" + std::string(name) + "\"; there are auto");
  for (const BackendInfo& backend : backends()) error.message += ", " + std::string(mollify::name(backend.backend));
  for (const BackendInfo& backend : backends()) {
    if (wanted != "auto" && wanted != mollify::name(backend.backend)) continue;
    Result<std::shared_ptr<DeviceImpl>> device = backend.open(which, options);
    if (device) {
      DeviceImpl& impl = **device;
      impl.set_rates(rates_at_first_use(impl.info(), options, [&] { return probe(impl, impl.info()); }));
      return Device(std::move(*device));
    }
    error = device.error();
    if (error.code != ErrorCode::unsupported) break;  // a wrong option is no reason to go elsewhere
  }
  return error;
}

std::vector<DeviceEntry> list_devices() {
  std::vector<DeviceEntry> out;
  for (const BackendInfo& backend : backends()) {
    const std::vector<DeviceInfo> devices = backend.list();
    for (std::size_t i = 0; i < devices.size(); ++i) {
      std::string open_name(name(backend.backend));
      if (backend.backend != Backend::cpu) open_name += ":" + std::to_string(i);
      out.push_back({std::move(open_name), devices[i]});
    }
  }
  return out;
}

}  // namespace mollify
