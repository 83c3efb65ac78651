#include "backends/cuda/functions.h"

#include <dlfcn.h>

#include <string>

namespace mollify::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error unsupported(std::string message) {
  return {ErrorCode::unsupported, std::move(message), {}};
}

Result<const Functions*> load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // stays loaded: other libraries of the process may use it
  if (library == nullptr) return unsupported("there is no driver of NVIDIA here: libcuda.so.1 is not found");
  static Functions cu;
#define MOLLIFY_CUDA_LOAD(name, symbol)                                   \
  cu.name = reinterpret_cast<decltype(cu.name)>(dlsym(library, #symbol)); \
  if (cu.name == nullptr) return unsupported("the driver of NVIDIA is too old: it has no " #symbol);
  MOLLIFY_CUDA_FUNCTIONS(MOLLIFY_CUDA_LOAD)
#undef MOLLIFY_CUDA_LOAD
  if (const CUresult r = cu.Init(0); r != CUDA_SUCCESS) return unsupported(to_error(cu, r, "starting CUDA").message);
  // A driver runs what compilers of its own major version made, so that the kernels ask for no more than that.
  constexpr int kNeeded = CUDA_VERSION / 1000 * 1000;
  int version = 0;
  if (cu.DriverGetVersion(&version) != CUDA_SUCCESS || version < kNeeded) {
    return unsupported("the driver of NVIDIA is for CUDA " + version_text(version) + "; mollify's kernels need one for CUDA " +
                       version_text(kNeeded) + " or newer");
  }
  return &cu;
}

}  // namespace

Result<const Functions*> load_functions() {
  static const Result<const Functions*> loaded = load();
  return loaded;
}

Error to_error(const Functions& cu, CUresult result, const char* doing) {
  const char* text = nullptr;
  if (cu.GetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "unknown error of CUDA";
  const auto make = [&](ErrorCode code) { return Error{code, std::string(text) + ": " + doing, {}}; };
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return make(ErrorCode::out_of_memory);
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
      return make(ErrorCode::device_lost);
    default:
      return make(ErrorCode::internal);
  }
}

}  // namespace mollify::cuda
