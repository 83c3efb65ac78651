// An open GPU: its context, and the kernels that have been loaded into it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cuda/functions.h"

namespace mollify::cuda {

[[nodiscard]] std::vector<DeviceInfo> list_devices();
[[nodiscard]] Result<std::shared_ptr<DeviceImpl>> open_device(std::string_view which, const DeviceOptions& options);

class Context {
 public:
  /// The primary context of a GPU, which the CUDA runtime and libraries on top of it use as well. Refuses a GPU that the kernels are not
  /// for. Where the driver has to compile them, that is done here, so that nothing waits for it later; `on_wait` is told before.
  [[nodiscard]] static Result<std::shared_ptr<Context>> open(const Functions& cu, int index,
                                                             const std::function<void(const std::string&)>& on_wait);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const Functions& cu() const { return cu_; }
  [[nodiscard]] const DeviceInfo& info() const { return info_; }
  void set_tuning(std::vector<TuningRow> rows) { info_.tuning = std::move(rows); }
  /// A kernel of the module `id`. Loads the module when it is first asked for.
  [[nodiscard]] Result<CUfunction> kernel(const std::string& id, const std::string& name);
  /// Copies to the device, and waits for nothing else that the device does. The context is current.
  [[nodiscard]] CUresult upload(CUdeviceptr to, const void* from, std::size_t bytes) const;

 private:
  friend class Current;
  /// That of this id, which is loaded when it is first asked for. The caller holds the lock.
  [[nodiscard]] Result<CUmodule> module(std::string_view id);
  [[nodiscard]] Status compile_all(const std::function<void(const std::string&)>& on_wait);
  Context(const Functions& cu, CUdevice device, DeviceInfo info) : cu_(cu), device_(device), info_(std::move(info)) {}

  const Functions& cu_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  CUstream uploads_ = nullptr;
  DeviceInfo info_;
  std::mutex mutex_;
  std::map<std::string, CUmodule, std::less<>> modules_;
};

/// Makes the context the calling thread's own for as long as this lives.
class Current {
 public:
  explicit Current(const Context& context) : context_(context) { context.cu().CtxPushCurrent(context.context_); }
  ~Current() {
    CUcontext own = nullptr;
    context_.cu().CtxPopCurrent(&own);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Context& context_;
};

}  // namespace mollify::cuda
