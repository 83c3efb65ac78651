// The public device types: checks that hold for every backend, then on to the backend.
#include "mollify/device.h"

#include <cstdint>

#include "backends/backend.h"
#include "core/overlap.h"

namespace mollify {
namespace {

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message), {}}; }

std::string shape(const ImageDesc& desc) {
  return std::to_string(desc.width) + "x" + std::to_string(desc.height) + " " + std::string(info(desc.format).name);
}

Status check_view(std::string_view what, const ConstImageView& view, const ImageDesc& planned) {
  if (view.desc != planned) {
    return invalid("the " + std::string(what) + " is " + shape(view.desc) + ", the plan is for " + shape(planned));
  }
  if (view.data == nullptr) return invalid("the " + std::string(what) + " has no pixels");
  const std::int64_t distance = view.row_bytes < 0 ? -view.row_bytes : view.row_bytes;
  if (view.desc.height > 1 && distance < view.desc.row_payload_bytes()) {
    return invalid("rows of the " + std::string(what) + " are " + std::to_string(view.row_bytes) +
                   " bytes apart, a row has " + std::to_string(view.desc.row_payload_bytes()));
  }
  const int component = info(view.desc.format).component_bytes();
  if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(component) != 0 ||
      view.row_bytes % component != 0) {
    return invalid("the " + std::string(what) + " is not aligned to its " + std::to_string(component) +
                   "-byte components");
  }
  return {};
}

}  // namespace

Workspace::Workspace(std::unique_ptr<WorkspaceImpl> impl, std::shared_ptr<const ExecutableImpl> owner)
    : owner_(std::move(owner)), impl_(std::move(impl)) {}
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;
Workspace::~Workspace() = default;

Executable::Executable(std::shared_ptr<const ExecutableImpl> impl) : impl_(std::move(impl)) {}

const Plan& Executable::plan() const { return impl_->plan(); }

Result<Workspace> Executable::make_workspace(Batches batches) const {
  Result<std::unique_ptr<WorkspaceImpl>> workspace = impl_->make_workspace(batches);
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
    if (plan().overlap == Overlap::none && may_overlap(src[i], dst[i])) {
      return invalid("source and destination overlap, which the plan does not allow for");
    }
  }
  if (src.size() > 1 && disturb_each_other(src, dst)) {
    return invalid("a destination of the batch overlaps another image's source or destination");
  }
  return impl_->run(src, dst, workspace.impl());
}

Device::Device(std::shared_ptr<DeviceImpl> impl) : impl_(std::move(impl)) {}

const DeviceInfo& Device::info() const { return impl_->info(); }

Result<Executable> Device::prepare(const Plan& plan) const {
  if (plan.device != impl_->info()) return invalid("the plan was made for another device");
  Result<std::shared_ptr<const ExecutableImpl>> executable = impl_->prepare(plan);
  if (!executable) return executable.error();
  return Executable(std::move(*executable));
}

Result<Device> Device::open(std::string_view name, const DeviceOptions& options) {
  if (options.threads < 0) return invalid("the number of threads must not be negative");
  const std::size_t colon = name.find(':');
  const std::string_view wanted = name.substr(0, colon);
  const std::string_view which = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  Error error = invalid("there is no device \"" + std::string(name) + "\"");
  for (const BackendInfo& backend : backends()) {
    if (wanted != "auto" && wanted != mollify::name(backend.backend)) continue;
    Result<std::shared_ptr<DeviceImpl>> device = backend.open(which, options);
    if (device) return Device(std::move(*device));
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
