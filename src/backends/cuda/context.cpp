#include "backends/cuda/context.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "backends/cuda/executor.h"
#include "backends/cuda/modules.h"
#include "backends/cuda/pipeline.h"
#include "backends/workers.h"
#include "mollify/tuning.h"

namespace mollify::cuda {
namespace {

std::int32_t attribute(const Functions& cu, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  return cu.DeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

/// Ten times the major number and the minor one, as module_targets() has them.
std::int32_t compute_capability(const Functions& cu, CUdevice device) {
  return 10 * attribute(cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute(cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::string capability_text(std::int32_t capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

constexpr std::int32_t kTf32Capability = 80;  ///< what kernels are compiled for that multiply matrices of tf32

/// Whose kernels a GPU runs; 0: nobody's.
struct Target {
  std::int32_t capability = 0;
  bool is_compiled_by_driver = false;
};

Target target_for(std::int32_t capability) {
  const ModuleTargets targets = module_targets();
  Target out;
  for (const std::int32_t target : targets.machine) {
    if (target / 10 == capability / 10 && target <= capability) out.capability = std::max(out.capability, target);
  }
  if (out.capability > 0) return out;
  for (const std::int32_t target : targets.driver) {
    if (target <= capability) out = {std::max(out.capability, target), true};
  }
  return out;
}

/// Why the GPU runs none of the kernels, if so.
Status check_capability(const Functions& cu, CUdevice device) {
  const std::int32_t capability = compute_capability(cu, device);
  if (target_for(capability).capability > 0) return {};
  std::int32_t any_from = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t target : module_targets().driver) any_from = std::min(any_from, target);
  std::string targets;
  const auto add = [&](const std::string& target) { targets += (targets.empty() ? "" : ", ") + target; };
  for (const std::int32_t target : module_targets().machine) {
    if (target < any_from) add(capability_text(target));
  }
  if (!module_targets().driver.empty()) add(capability_text(any_from) + " and later");
  return Error{ErrorCode::unsupported,
               "the GPU has compute capability " + capability_text(capability) + "; mollify's kernels are for " + targets,
               {}};
}

std::string driver_text(const Functions& cu) {
  int version = 0;
  cu.DriverGetVersion(&version);
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DeviceInfo describe(const Functions& cu, CUdevice device) {
  DeviceInfo info;
  info.backend = Backend::cuda;
  char name[256] = {};
  cu.DeviceGetName(name, sizeof name, device);
  info.name = name;
  info.driver = driver_text(cu);
  if (check_capability(cu, device)) info.kernels = kernel_ids();
  GpuInfo& gpu = info.gpu;
  gpu.subgroup_size = attribute(cu, device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  gpu.small_storage = true;
  gpu.float16_arithmetic = true;
  gpu.tf32_matrices = target_for(compute_capability(cu, device)).capability >= kTf32Capability;
  gpu.shared_bytes = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  gpu.max_group_invocations = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  gpu.max_group = {attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)};
  Multiprocessors& own = gpu.multiprocessors;
  own.count = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  own.schedulers = 4;  // of every GPU that the kernels are for
  own.subgroup_size = gpu.subgroup_size;
  own.max_threads = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  own.registers = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  own.shared_bytes = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  constexpr std::int32_t kMany = std::numeric_limits<std::int32_t>::max();
  gpu.max_group_count = {kMany, kMany};  // launches have one dimension
  std::size_t bytes = 0;
  cu.DeviceTotalMem(&bytes, device);
  gpu.max_buffer_bytes = static_cast<std::int64_t>(bytes);
  return info;
}

Result<std::vector<CUdevice>> devices(const Functions& cu) {
  int count = 0;
  if (const CUresult r = cu.DeviceGetCount(&count); r != CUDA_SUCCESS) return to_error(cu, r, "counting GPUs");
  std::vector<CUdevice> out(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (const CUresult r = cu.DeviceGet(&out[static_cast<std::size_t>(i)], i); r != CUDA_SUCCESS) return to_error(cu, r, "finding a GPU");
  }
  return out;
}

class CudaDevice final : public DeviceImpl {
 public:
  CudaDevice(std::shared_ptr<Context> context, std::int32_t threads)
      : context_(std::move(context)), workers_(std::make_shared<Workers>(threads)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return context_->info(); }
  [[nodiscard]] Result<std::shared_ptr<const ExecutableImpl>> prepare(const Plan& plan) override {
    return make_executable(plan, context_, workers_);
  }

 private:
  std::shared_ptr<Context> context_;
  std::shared_ptr<Workers> workers_;
};

/// Of the names, the index that `which` means: a number, or part of a name. Empty: the first.
Result<int> find(const Functions& cu, std::string_view which) {
  const Result<std::vector<CUdevice>> all = devices(cu);
  if (!all) return all.error();
  if (all->empty()) return Error{ErrorCode::unsupported, "the driver of NVIDIA finds no GPU", {}};
  if (which.empty()) return 0;
  int index = 0;
  const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), index);
  if (error == std::errc() && end == which.data() + which.size()) {
    if (index >= 0 && index < static_cast<int>(all->size())) return index;
    return Error{ErrorCode::invalid_argument, "there is no GPU " + std::string(which) + "; CUDA has " + std::to_string(all->size()), {}};
  }
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (describe(cu, (*all)[i]).name.find(which) != std::string::npos) return static_cast<int>(i);
  }
  return Error{ErrorCode::invalid_argument, "CUDA has no GPU whose name contains \"" + std::string(which) + "\"", {}};
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  const Result<const Functions*> cu = load_functions();
  if (!cu) return {};
  const Result<std::vector<CUdevice>> all = devices(**cu);
  std::vector<DeviceInfo> out;
  if (all) std::ranges::transform(*all, std::back_inserter(out), [&](CUdevice device) { return describe(**cu, device); });
  return out;
}

Result<std::shared_ptr<DeviceImpl>> open_device(std::string_view which, const DeviceOptions& options) {
  const Result<const Functions*> cu = load_functions();
  if (!cu) return cu.error();
  const Result<int> index = find(**cu, which);
  if (!index) return index.error();
  Result<std::shared_ptr<Context>> context = Context::open(**cu, *index, options.on_wait);
  if (!context) return context.error();
  if (auto rows = stored_tuning(options.cache_folder, (*context)->info())) (*context)->set_tuning(std::move(*rows));
  return std::shared_ptr<DeviceImpl>(std::make_shared<CudaDevice>(std::move(*context), options.threads));
}

Result<std::shared_ptr<Context>> Context::open(const Functions& cu, int index, const std::function<void(const std::string&)>& on_wait) {
  const Result<std::vector<CUdevice>> all = devices(cu);
  if (!all) return all.error();
  const CUdevice device = (*all)[static_cast<std::size_t>(index)];
  if (Status s = check_capability(cu, device); !s) return s.error();
  std::shared_ptr<Context> context(new Context(cu, device, describe(cu, device)));
  if (const CUresult r = cu.DevicePrimaryCtxRetain(&context->context_, device); r != CUDA_SUCCESS) {
    context->context_ = nullptr;
    return to_error(cu, r, "opening the GPU");
  }
  const Current current(*context);
  if (const CUresult r = cu.StreamCreate(&context->uploads_, CU_STREAM_NON_BLOCKING); r != CUDA_SUCCESS) {
    context->uploads_ = nullptr;
    return to_error(cu, r, "making a stream");
  }
  if (target_for(compute_capability(cu, device)).is_compiled_by_driver) {
    if (Status s = context->compile_all(on_wait); !s) return s.error();
  }
  return context;
}

Status Context::compile_all(const std::function<void(const std::string&)>& on_wait) {
  if (on_wait) {
    on_wait("the driver compiles the kernels for " + info_.name + ", of compute capability " +
            capability_text(compute_capability(cu_, device_)) + ", which may take minutes the first time");
  }
  const std::lock_guard lock(mutex_);
  for (const ModuleImage& image : module_images()) {
    if (const Result<CUmodule> loaded = module(image.id); !loaded) return loaded.error();
  }
  return {};
}

Context::~Context() {
  if (context_ == nullptr) return;
  {
    const Current current(*this);
    for (const auto& [id, module] : modules_) cu_.ModuleUnload(module);
    if (uploads_ != nullptr) cu_.StreamDestroy(uploads_);
  }
  cu_.DevicePrimaryCtxRelease(device_);
}

CUresult Context::upload(CUdeviceptr to, const void* from, std::size_t bytes) const {
  const CUresult r = cu_.MemcpyHtoDAsync(to, from, bytes, uploads_);
  return r == CUDA_SUCCESS ? cu_.StreamSynchronize(uploads_) : r;
}

Result<CUmodule> Context::module(std::string_view id) {
  if (const auto found = modules_.find(id); found != modules_.end()) return found->second;
  const auto image = std::ranges::find(module_images(), id, &ModuleImage::id);
  if (image == module_images().end()) return Error{ErrorCode::internal, "there are no kernels of " + std::string(id), {}};
  CUmodule loaded = nullptr;
  if (const CUresult r = cu_.ModuleLoadData(&loaded, image->bytes); r != CUDA_SUCCESS) {
    return to_error(cu_, r, "loading kernels into the GPU");
  }
  modules_.emplace(id, loaded);
  return loaded;
}

Result<CUfunction> Context::kernel(const std::string& id, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const Result<CUmodule> loaded = module(id);
  if (!loaded) return loaded.error();
  CUfunction function = nullptr;
  if (const CUresult r = cu_.ModuleGetFunction(&function, *loaded, name.c_str()); r != CUDA_SUCCESS) {
    return to_error(cu_, r, ("finding the kernel " + name).c_str());
  }
  return function;
}

}  // namespace mollify::cuda
