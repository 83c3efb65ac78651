// stream_copy, compiled for every instruction set that Highway knows and dispatched at run time.
#include <cstdint>
#include <cstring>

#include "bench/copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/copy_kernel.cpp"
#include <hwy/foreach_target.h>
// highway.h leaves FlushStream out
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mollify::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Several pages at once: every page is a stream of its own to the hardware's prefetchers, which stop at its end,
// so more of them in flight hide more of the latency.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 4;
constexpr std::size_t kBlock = kPages * kPage;

void stream_copy(const std::uint8_t* src, std::uint8_t* dst, std::size_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  // Streaming stores need aligned addresses, and pay only where they fill whole cache lines.
  const std::size_t line = lanes < 64 ? 64 : lanes;
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(dst) % line;
  std::size_t i = misaligned == 0 ? 0 : line - misaligned;
  if (i > bytes) i = bytes;
  std::memcpy(dst, src, i);

  for (; i + kBlock <= bytes; i += kBlock) {
    for (std::size_t in_page = 0; in_page < kPage; in_page += line) {
      for (std::size_t page = 0; page < kPages; ++page) {
        const std::size_t begin = i + page * kPage + in_page;
        hwy::Prefetch(src + begin + kBlock);
        for (std::size_t j = begin; j < begin + line; j += lanes) hn::Stream(hn::LoadU(d, src + j), d, dst + j);
      }
    }
  }
  for (; i + line <= bytes; i += line) {
    for (std::size_t j = i; j < i + line; j += lanes) hn::Stream(hn::LoadU(d, src + j), d, dst + j);
  }
  hwy::FlushStream();
  std::memcpy(dst + i, src + i, bytes - i);
}

const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace mollify::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::bench {

HWY_EXPORT(stream_copy);
HWY_EXPORT(target_name);

void stream_copy(const std::byte* src, std::byte* dst, std::size_t bytes) {
  HWY_DYNAMIC_DISPATCH(stream_copy)
  (reinterpret_cast<const std::uint8_t*>(src), reinterpret_cast<std::uint8_t*>(dst), bytes);
}

std::string_view simd_target() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace mollify::bench
#endif  // HWY_ONCE
