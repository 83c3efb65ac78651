// Stands in for CUDA's driver and NPP where there is no GPU: "device memory" is memory, filters are the plain loops that NPP's
// manual describes. It is built as libcuda.so.1 and as libnppif.so.13.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "bench/peers/npp.h"

using namespace mollify::bench::npp;

namespace {

void* pointer(Address address) {
  return reinterpret_cast<void*>(address);
}

/// The pixels around (x, y), edges repeated, each by its weight: weight(i, j) at offsets -radius..radius of each axis.
template <class T, int kChannels, class Weight>
int filter(const void* src, int src_step, Size size, void* dst, int dst_step, Point radius, const Weight& weight) {
  const auto at = [&](int x, int y, int c) {
    const auto* row = static_cast<const std::byte*>(src) + std::ptrdiff_t{std::clamp(y, 0, size.height - 1)} * src_step;
    return static_cast<double>(reinterpret_cast<const T*>(row)[std::clamp(x, 0, size.width - 1) * kChannels + c]);
  };
  for (int y = 0; y < size.height; ++y) {
    auto* out = reinterpret_cast<T*>(static_cast<std::byte*>(dst) + std::ptrdiff_t{y} * dst_step);
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < kChannels; ++c) {
        double sum = 0.0;
        for (int j = -radius.y; j <= radius.y; ++j) {
          for (int i = -radius.x; i <= radius.x; ++i) sum += weight(i, j) * at(x + i, y + j, c);
        }
        out[x * kChannels + c] = static_cast<T>(std::is_integral_v<T> ? std::floor(sum + 0.5) : sum);
      }
    }
  }
  return 0;
}

bool fits(Size size, Size roi, Point offset, int border) {
  return size.width == roi.width && size.height == roi.height && offset.x == 0 && offset.y == 0 && border == kReplicate;
}

constexpr int kNotSupported = -9999;

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return 0;
}
int cuDeviceGet(Device* device, int) {
  *device = 0;
  return 0;
}
int cuDeviceGetAttribute(int* value, int, Device) {
  *value = 1;
  return 0;
}
int cuDevicePrimaryCtxRetain(Context*, Device) {
  return 0;
}
int cuCtxSetCurrent(Context) {
  return 0;
}
int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  *address = reinterpret_cast<Address>(std::malloc(bytes));
  return *address != 0 ? 0 : 2;
}
int cuMemFree_v2(Address address) {
  std::free(pointer(address));
  return 0;
}
int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  std::memcpy(pointer(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  std::memcpy(to, pointer(from), bytes);
  return 0;
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream) {
  return cuMemcpyHtoD_v2(to, pointer(from), bytes);
}

// An event is the time at which it was recorded.
using Clock = std::chrono::steady_clock;
int cuEventCreate(Event* event, unsigned) {
  *event = new Clock::time_point;
  return 0;
}
int cuEventDestroy_v2(Event event) {
  delete static_cast<Clock::time_point*>(event);
  return 0;
}
int cuEventRecord(Event event, Stream) {
  *static_cast<Clock::time_point*>(event) = Clock::now();
  return 0;
}
int cuEventSynchronize(Event) {
  return 0;
}
int cuEventElapsedTime(float* ms, Event begin, Event end) {
  *ms = std::chrono::duration<float, std::milli>(*static_cast<Clock::time_point*>(end) - *static_cast<Clock::time_point*>(begin)).count();
  return 0;
}

const LibraryVersion* nppGetLibVersion() {
  static const LibraryVersion version{13, 0, 7};
  return &version;
}

int nppiFilterRowBorder32f_8u_C4R_Ctx(const void* src, int src_step, Size size, Point offset, void* dst, int dst_step, Size roi,
                                      const float* taps, int length, int anchor, int border, StreamContext) {
  if (!fits(size, roi, offset, border)) return kNotSupported;
  return filter<std::uint8_t, 4>(src, src_step, size, dst, dst_step, {length / 2, 0}, [&](int i, int) { return taps[i + anchor]; });
}

int nppiFilterColumnBorder32f_8u_C4R_Ctx(const void* src, int src_step, Size size, Point offset, void* dst, int dst_step, Size roi,
                                         const float* taps, int length, int anchor, int border, StreamContext) {
  if (!fits(size, roi, offset, border)) return kNotSupported;
  return filter<std::uint8_t, 4>(src, src_step, size, dst, dst_step, {0, length / 2}, [&](int, int j) { return taps[j + anchor]; });
}

int nppiFilterGaussAdvancedBorder_32f_C1R_Ctx(const void* src, int src_step, Size size, Point offset, void* dst, int dst_step, Size roi,
                                              int length, const float* taps, int border, StreamContext) {
  if (!fits(size, roi, offset, border)) return kNotSupported;
  const int radius = length / 2;
  return filter<float, 1>(src, src_step, size, dst, dst_step, {radius, radius},
                          [&](int i, int j) { return double{taps[i + radius]} * taps[j + radius]; });
}

int nppiFilterBoxBorder_8u_C4R_Ctx(const void* src, int src_step, Size size, Point offset, void* dst, int dst_step, Size roi, Size mask,
                                   Point anchor, int border, StreamContext) {
  if (!fits(size, roi, offset, border)) return kNotSupported;
  return filter<std::uint8_t, 4>(src, src_step, size, dst, dst_step, anchor, [&](int, int) { return 1.0 / (mask.width * mask.height); });
}

}  // extern "C"
