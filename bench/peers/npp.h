// The few functions of NPP and of CUDA's driver that are called, as their headers declare them. Nobody needs the toolkit to build.
#pragma once

#include <cstddef>

namespace mollify::bench::npp {

// The driver: 0 is success.
using Device = int;
using Context = void*;
using Stream = void*;
using Event = void*;
using Address = unsigned long long;
using cuInit = int(unsigned flags);
using cuDeviceGet = int(Device*, int ordinal);
using cuDeviceGetAttribute = int(int* value, int attribute, Device);
using cuDevicePrimaryCtxRetain = int(Context*, Device);
using cuCtxSetCurrent = int(Context);
using cuMemAlloc = int(Address*, std::size_t bytes);
using cuMemFree = int(Address);
using cuMemcpyHtoD = int(Address to, const void* from, std::size_t bytes);
using cuMemcpyDtoH = int(void* to, Address from, std::size_t bytes);
using cuMemcpyDtoDAsync = int(Address to, Address from, std::size_t bytes, Stream);
using cuEventCreate = int(Event*, unsigned flags);
using cuEventDestroy = int(Event);
using cuEventRecord = int(Event, Stream);
using cuEventSynchronize = int(Event);
using cuEventElapsedTime = int(float* ms, Event begin, Event end);

// NPP 12 and 13: negative is an error.
struct LibraryVersion {
  int major, minor, build;
};
using nppGetLibVersion = const LibraryVersion*();

struct Size {
  int width, height;
};
struct Point {
  int x, y;
};
/// NppStreamContext.
struct StreamContext {
  Stream stream = nullptr;
  int device = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int threads_per_block = 0;
  std::size_t shared_bytes_per_block = 0;
  int compute_major = 0;
  int compute_minor = 0;
  unsigned stream_flags = 0;
  int reserved = 0;
};
/// NppiBorderType; the enumeration has the size of an int.
inline constexpr int kReplicate = 2;

// Steps are in bytes. The taps lie on the device.
using TapsFilter = int(const void* src, int src_step, Size src_size, Point src_offset, void* dst, int dst_step, Size roi, const float* taps,
                       int length, int anchor, int border, StreamContext);
using GaussFilter = int(const void* src, int src_step, Size src_size, Point src_offset, void* dst, int dst_step, Size roi, int length,
                        const float* taps, int border, StreamContext);
using BoxFilter = int(const void* src, int src_step, Size src_size, Point src_offset, void* dst, int dst_step, Size roi, Size mask,
                      Point anchor, int border, StreamContext);

}  // namespace mollify::bench::npp
