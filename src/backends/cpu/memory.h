// Scratch memory of the CPU backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace mollify::cpu {

inline constexpr std::size_t kCacheLine = 64;

struct FreeScratch {
  void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{kCacheLine}); }
};
using Scratch = std::unique_ptr<std::byte, FreeScratch>;

/// Uninitialised, on a cache line; null where there is no memory.
[[nodiscard]] inline Scratch allocate_scratch(std::int64_t bytes) {
  return Scratch(static_cast<std::byte*>(::operator new (static_cast<std::size_t>(bytes), std::align_val_t{kCacheLine}, std::nothrow)));
}

}  // namespace mollify::cpu
