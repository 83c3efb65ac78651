// The functions of NVIDIA's driver that the backend calls, loaded at run time: the library runs where there is no such driver.
#pragma once

#include <cuda.h>

#include "mollify/result.h"

namespace mollify::cuda {

// A name here and the symbol that the driver exports for it.
#define MOLLIFY_CUDA_FUNCTIONS(X)                          \
  X(CtxPopCurrent, cuCtxPopCurrent_v2)                     \
  X(CtxPushCurrent, cuCtxPushCurrent_v2)                   \
  X(DeviceGet, cuDeviceGet)                                \
  X(DeviceGetAttribute, cuDeviceGetAttribute)              \
  X(DeviceGetCount, cuDeviceGetCount)                      \
  X(DeviceGetName, cuDeviceGetName)                        \
  X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2) \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)      \
  X(DeviceTotalMem, cuDeviceTotalMem_v2)                   \
  X(DriverGetVersion, cuDriverGetVersion)                  \
  X(EventCreate, cuEventCreate)                            \
  X(EventDestroy, cuEventDestroy_v2)                       \
  X(EventElapsedTime, cuEventElapsedTime)                  \
  X(EventRecord, cuEventRecord)                            \
  X(FuncGetAttribute, cuFuncGetAttribute)                  \
  X(FuncSetAttribute, cuFuncSetAttribute)                  \
  X(GetErrorString, cuGetErrorString)                      \
  X(GraphRetainUserObject, cuGraphRetainUserObject)        \
  X(Init, cuInit)                                          \
  X(LaunchHostFunc, cuLaunchHostFunc)                      \
  X(LaunchKernel, cuLaunchKernel)                          \
  X(LaunchKernelEx, cuLaunchKernelEx)                      \
  X(MemAlloc, cuMemAlloc_v2)                               \
  X(MemFree, cuMemFree_v2)                                 \
  X(MemFreeHost, cuMemFreeHost)                            \
  X(MemHostAlloc, cuMemHostAlloc)                          \
  X(Memcpy2DAsync, cuMemcpy2DAsync_v2)                     \
  X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                 \
  X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                 \
  X(ModuleGetFunction, cuModuleGetFunction)                \
  X(ModuleLoadData, cuModuleLoadData)                      \
  X(ModuleUnload, cuModuleUnload)                          \
  X(StreamCreate, cuStreamCreate)                          \
  X(StreamDestroy, cuStreamDestroy_v2)                     \
  X(StreamGetCaptureInfo, cuStreamGetCaptureInfo_v3)       \
  X(StreamSynchronize, cuStreamSynchronize)                \
  X(StreamWaitEvent, cuStreamWaitEvent)                    \
  X(UserObjectCreate, cuUserObjectCreate)

struct Functions {
#define MOLLIFY_CUDA_MEMBER(name, symbol) decltype(&::symbol) name = nullptr;
  MOLLIFY_CUDA_FUNCTIONS(MOLLIFY_CUDA_MEMBER)
#undef MOLLIFY_CUDA_MEMBER
};

/// An Error that says why where there is no driver, it is too old, or it finds no GPU. The driver stays loaded.
[[nodiscard]] Result<const Functions*> load_functions();

[[nodiscard]] Error to_error(const Functions& cu, CUresult result, const char* doing);

}  // namespace mollify::cuda
