// Stands in for CUDA's driver where there is no GPU: "device memory" is memory. Copies, element-wise steps and blurs by taps in one pass
// are plain loops over the arguments that the backend gives; cuda_emulation.h runs other kernels. Streams run at
// once, but what follows a function of the host runs when the stream is waited for. Time is counted and not measured. It is built as
// libcuda.so.1.
#include <cuda.h>
#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cuda/kernels/arguments.h"
#include "backends/cuda/kernels/copy_shape.h"
#include "backends/cuda/kernels/numbers_shape.h"
#include "base/half.h"
#include "cuda_emulated_kernels.h"

using namespace mollify;
using namespace mollify::cuda;

namespace {

double clock_ms = 0.0;            // of the device
constexpr double kLaunch = 2e-3;  // what a launch takes
constexpr double kBytesPerMs = 1e9;

struct UserObject {
  CUhostFn destroy = nullptr;
  void* data = nullptr;
};

struct Graph {
  std::vector<std::function<void()>> works;
  std::vector<UserObject> kept;
};

struct Stream {
  bool is_held = false;
  Graph* captured = nullptr;
  std::vector<std::function<void()>> works;
  void add(std::function<void()> work) {
    if (captured != nullptr)
      captured->works.push_back(std::move(work));
    else if (is_held)
      works.push_back(std::move(work));
    else
      work();
  }
};
Stream default_stream;
Stream& of(CUstream stream) {
  return reinterpret_cast<std::uintptr_t>(stream) < 4096 ? default_stream : *reinterpret_cast<Stream*>(stream);
}

struct Event {
  double ms = -1.0;
};

struct Function {
  std::string name;
};

void pass(double bytes) {
  clock_ms += kLaunch + bytes / kBytesPerMs;
}

std::int64_t outside(std::int32_t mode, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  const auto modulo = [](std::int64_t a, std::int64_t b) { return (a % b + b) % b; };
  switch (mode) {
    case kClamp:
      return std::clamp<std::int64_t>(i, 0, n - 1);
    case kWrap:
      return modulo(i, n);
    case kReflect: {
      const std::int64_t m = modulo(i, 2 * n);
      return m < n ? m : 2 * n - 1 - m;
    }
    case kMirror: {
      const std::int64_t m = n == 1 ? 0 : modulo(i, 2 * n - 2);
      return m < n ? m : 2 * n - 2 - m;
    }
    default:
      return -1;
  }
}

std::size_t bytes_of(Component component) {
  return component == Component::u8 ? 1 : component == Component::f32 ? 4 : 2;
}

double load(Component component, const std::byte* at) {
  float f = 0.0F;
  std::uint16_t h = 0;
  switch (component) {
    case Component::u8:
      return std::to_integer<int>(*at);
    case Component::u16:
      std::memcpy(&h, at, 2);
      return h;
    case Component::f16:
      std::memcpy(&h, at, 2);
      return half_to_float(h);
    case Component::f32:
      std::memcpy(&f, at, 4);
      return f;
    default:  // which no kernel has that is a plain loop
      std::abort();
  }
}

void store(Component component, std::byte* at, double number) {
  const bool is_unorm = component == Component::u8 || component == Component::u16;
  const double most = component == Component::u8 ? 255 : 65535;
  const auto code = is_unorm ? static_cast<std::uint16_t>(std::floor(std::clamp(number, 0.0, most) + 0.5)) : 0;
  const auto f = static_cast<float>(number);
  const auto h = static_cast<std::uint16_t>(component == Component::f16 ? float_to_half(f) : code);
  if (component == Component::u8) *at = static_cast<std::byte>(code);
  if (component == Component::u16 || component == Component::f16) std::memcpy(at, &h, 2);
  if (component == Component::f32) std::memcpy(at, &f, 4);
}

/// sep_fused.cu.
void blur(const SepFused& a, int channels, std::int64_t blocks) {
  if (a.from.premultiplied || a.from.is_srgb) std::abort();  // there is no such thing here
  const std::int64_t images = blocks / (std::int64_t{a.blocks_across} * a.blocks_down);
  for (std::int64_t image = 0; image < images; ++image) {
    TapsOfImage own{a.taps, a.taps_x, a.taps_y, a.first_x, a.first_y, static_cast<std::int32_t>(image)};
    if (a.each != 0) {
      own = reinterpret_cast<const TapsOfImage*>(a.each)[image];
      own.taps += a.taps;
    }
    const auto* taps = reinterpret_cast<const float*>(own.taps);
    const auto* source = reinterpret_cast<const std::byte*>(a.source.data) + own.image * a.source.image_bytes;
    auto* destination = reinterpret_cast<std::byte*>(a.destination.data) + own.image * a.destination.image_bytes;
    const auto number = [&](std::int64_t x, std::int64_t y, int c) {
      x = outside(a.outside.mode_x, x, a.source.width);
      y = outside(a.outside.mode_y, y, a.source.height);
      if (x < 0 || y < 0) return a.outside.value[c];
      return a.from.scale * load(a.from.component, source + y * a.source.row_bytes + (x * channels + c) * bytes_of(a.from.component));
    };
    for (std::int32_t y = 0; y < a.destination.height; ++y) {
      for (std::int32_t x = 0; x < a.destination.width; ++x) {
        for (int c = 0; c < channels; ++c) {
          double sum = 0.0;
          for (std::int32_t j = 0; j < own.taps_y; ++j) {
            double row = 0.0;
            for (std::int32_t i = 0; i < own.taps_x; ++i) row += taps[i] * number(x + own.first_x + i, y + own.first_y + j, c);
            sum += taps[own.taps_x + j] * row;
          }
          store(a.to.component, destination + y * a.destination.row_bytes + (x * channels + c) * bytes_of(a.to.component),
                sum * a.to.scale);
        }
      }
    }
  }
  pass(static_cast<double>(images) * a.source.width * a.source.height * channels * 2);
}

template <class T>
T value_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float load(std::int32_t type, const std::byte* at) {
  if (type == kBoolean) return *at != std::byte{} ? 1.0F : 0.0F;
  if (type == kI8) return value_at<std::int8_t>(at);
  if (type == kI16) return value_at<std::int16_t>(at);
  return type == kF32 ? value_at<float>(at) : std::bit_cast<float>(std::uint32_t{value_at<std::uint16_t>(at)} << 16);
}

template <class T>
void put(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
}

void store(std::int32_t type, std::byte* at, float value) {
  if (type == kBoolean) put(static_cast<std::uint8_t>(value >= 0.5F ? 1 : 0), at);
  if (type == kI8) put(static_cast<std::int8_t>(std::nearbyint(std::clamp(value, -128.0F, 127.0F))), at);
  if (type == kI16) put(static_cast<std::int16_t>(std::nearbyint(std::clamp(value, -32768.0F, 32767.0F))), at);
  if (type == kF32) put(value, at);
  if (type != kBf16) return;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  put(static_cast<std::uint16_t>(std::isnan(value) ? bits >> 16 | 0x40U : (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16), at);
}

/// numbers.cu, at once: no test holds a stream that they are launched in.
template <class Float>
void numbers(std::string_view name, void** parameters) {
  const auto at = [&]<class T>(int i, T) { return *static_cast<const T*>(parameters[i]); };
  constexpr Float* kPacked = nullptr;
  if (name == "fill") {
    std::fill_n(at(0, kPacked), at(1, std::int64_t{}), at(2, Float{}));
  } else if (name == "weigh") {
    Float* const weights = at(0, kPacked);
    Float* const image = at(1, kPacked);
    for (std::int64_t i = 0; i < at(2, std::int64_t{}); ++i) {
      if (weights[i] == Float{} || (at(3, false) && std::isnan(image[i]))) weights[i] = image[i] = Float{};
      image[i] *= weights[i];
    }
  } else if (name == "divide") {
    const Float* const weights = at(0, kPacked);
    Float* const image = at(1, kPacked);
    for (std::int64_t i = 0; i < at(2, std::int64_t{}); ++i)
      image[i] = weights[i] > at(3, Float{}) ? image[i] / weights[i] : at(4, Float{});
  } else if (name == "sharpen") {
    const Float* const blurred = at(0, kPacked);
    Float* const image = at(1, kPacked);
    for (std::int64_t i = 0; i < at(2, std::int64_t{}); ++i) image[i] += at(3, Float{}) * (image[i] - blurred[i]);
  } else {  // gather and scatter
    const Strided array = at(3, Strided{});
    const bool gathers = name == "gather";
    for (std::int64_t i = 0; i < at(2, std::int64_t{}); ++i) {
      auto* other = at(gathers ? 0 : 1, static_cast<std::byte*>(nullptr));
      Float& packed = at(gathers ? 1 : 0, kPacked)[i];
      std::int64_t left = i;
      for (int axis = 0; axis < array.axes; ++axis) {
        other += left % array.extents[axis] * array.strides[axis];
        left /= array.extents[axis];
      }
      if (gathers)
        packed = load(array.type, other);
      else
        store(array.type, other, static_cast<float>(packed));
    }
  }
}

bool is_plain_loop(const std::string& name) {
  return name.starts_with("sep_fused_");
}

std::byte* end_of(CUmemorytype type, void* host, CUdeviceptr device) {
  return static_cast<std::byte*>(type == CU_MEMORYTYPE_HOST ? host : reinterpret_cast<void*>(device));
}

/// `waits`: the kernel may begin before those before it in the stream have ended.
CUresult launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream, void** parameters, bool waits) {
  const std::string& name = reinterpret_cast<const Function*>(function)->name;
  if (name == "copy") {
    const auto from = *static_cast<const CUdeviceptr*>(parameters[0]);
    const auto to = *static_cast<const CUdeviceptr*>(parameters[1]);
    const auto bytes = 16 * *static_cast<const unsigned long long*>(parameters[2]);
    if (std::uint64_t{blocks} * kCopyThreads * 16 < bytes) return CUDA_ERROR_INVALID_VALUE;
    return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
  }
  if (name.starts_with("numbers_")) {
    const std::string_view step = std::string_view(name).substr(8, name.find('_', 8) - 8);
    (name.ends_with("_f64") ? numbers<double> : numbers<float>)(step, parameters);
    return CUDA_SUCCESS;
  }
  if (!is_plain_loop(name)) {
    std::function<void()> launch = mollify::test::emulated_launch(name, parameters[0], blocks, threads, waits);
    if (!launch) return CUDA_ERROR_NOT_FOUND;
    of(stream).add([launch = std::move(launch)] {
      launch();
      pass(0.0);
    });
    return CUDA_SUCCESS;
  }
  const int channels = name[name.find('_', 4) + 1] - '0';
  of(stream).add([a = *static_cast<const SepFused*>(parameters[0]), channels, blocks] { blur(a, channels, blocks); });
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "stand-in", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = std::size_t{2} << 30;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  static const std::map<CUdevice_attribute, int> values = {{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
                                                           {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
                                                           {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                                                           {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
                                                           {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
                                                           {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
                                                           {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
                                                           {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
                                                           {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472}};
  const char* const given = std::getenv("MOLLIFY_STAND_IN_CAPABILITY");
  const int capability = given == nullptr ? 90 : std::atoi(given);
  const auto found = values.find(which);
  if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
    *value = capability / 10;
  else if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    *value = capability % 10;
  else
    *value = found == values.end() ? 0 : found->second;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(8);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext*) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuPointerGetAttribute(void* data, CUpointer_attribute, CUdeviceptr) {
  *static_cast<int*>(data) = 0;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGetErrorString(CUresult, const char** text) {
  *text = "an error of the stand-in";
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* memory, size_t bytes) {
  *memory = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return *memory == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
/// What is gone is no longer there to be read.
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr memory) {
  auto* const bytes = reinterpret_cast<void*>(memory);
  if (bytes != nullptr) std::memset(bytes, 0x7F, malloc_usable_size(bytes));
  std::free(bytes);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFreeHost(void* memory) {
  std::free(memory);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  of(stream).add([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  of(stream).add([=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    pass(static_cast<double>(bytes));
  });
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* wanted, CUstream stream) {
  of(stream).add([copy = *wanted] {
    const std::byte* from = end_of(copy.srcMemoryType, const_cast<void*>(copy.srcHost), copy.srcDevice);
    std::byte* to = end_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice);
    for (std::size_t y = 0; y < copy.Height; ++y) std::memcpy(to + y * copy.dstPitch, from + y * copy.srcPitch, copy.WidthInBytes);
  });
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(new Stream);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  Stream& one = of(stream);
  for (const auto& work : one.works) work();
  one = {};
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamDestroy_v2(CUstream stream) {
  delete reinterpret_cast<Stream*>(stream);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*, CUgraph* graph, const CUgraphNode**,
                                           const CUgraphEdgeData**, size_t*) {
  Graph* const captured = of(stream).captured;
  *status = captured == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (captured != nullptr) *graph = reinterpret_cast<CUgraph>(captured);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  of(stream).captured = new Graph;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  *graph = reinterpret_cast<CUgraph>(std::exchange(of(stream).captured, nullptr));
  return CUDA_SUCCESS;
}
/// A graph is what is made of it.
CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  *executable = reinterpret_cast<CUgraphExec>(graph);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  for (const auto& work : reinterpret_cast<const Graph*>(executable)->works) of(stream).add(work);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  auto* const gone = reinterpret_cast<Graph*>(graph);
  for (const UserObject& object : gone->kept) object.destroy(object.data);
  delete gone;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn destroy, unsigned, unsigned) {
  *object = reinterpret_cast<CUuserObject>(new UserObject{destroy, data});
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned, unsigned) {
  auto* const kept = reinterpret_cast<UserObject*>(object);
  reinterpret_cast<Graph*>(graph)->kept.push_back(*kept);
  delete kept;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  of(stream).is_held = true;
  of(stream).add([=] { function(data); });
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new Event);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventDestroy_v2(CUevent event) {
  delete reinterpret_cast<Event*>(event);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  of(stream).add([event] { reinterpret_cast<Event*>(event)->ms = clock_ms; });
  return CUDA_SUCCESS;
}
/// Streams run at once, so that there is nothing to wait for. On a GPU an event that was not recorded would not be waited for.
CUresult CUDAAPI cuStreamWaitEvent(CUstream, CUevent event, unsigned) {
  return reinterpret_cast<const Event*>(event)->ms < 0.0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
#undef cuEventElapsedTime
CUresult CUDAAPI cuEventElapsedTime(float* ms, CUevent start, CUevent end) {
  const double first = reinterpret_cast<const Event*>(start)->ms;
  if (first < 0.0) return CUDA_ERROR_NOT_READY;
  *ms = static_cast<float>(reinterpret_cast<const Event*>(end)->ms - first);
  return CUDA_SUCCESS;
}

int mollify_stand_in_loads = 0;
CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void*) {
  ++mollify_stand_in_loads;
  *module = reinterpret_cast<CUmodule>(8);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleUnload(CUmodule) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  static auto* functions = new std::map<std::string, Function>;
  const std::string text(name);
  *function = reinterpret_cast<CUfunction>(&functions->try_emplace(text, Function{text}).first->second);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  if (attribute != CU_FUNC_ATTRIBUTE_PTX_VERSION) return CUDA_ERROR_INVALID_VALUE;
  *value = 90;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                                CUstream stream, void** parameters, void**) {
  return launch(function, blocks, threads, stream, parameters, false);
}
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
  return launch(function, config->gridDimX, config->blockDimX, config->hStream, parameters, config->numAttrs > 0);
}

}  // extern "C"
