// Scratch memory of the CPU backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace mollify::cpu {

/// Scratch memory begins on a page, as large images do. How its rows lie beside those of images modulo a page decides up to a tenth of a
/// kernel's time; where it lay on any line, that was a matter of what the program had allocated before.
inline constexpr std::size_t kPage = 4096;

struct FreeScratch {
  void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{kPage}); }
};
using Scratch = std::unique_ptr<std::byte, FreeScratch>;

/// Uninitialised, on a page; null where there is no memory.
[[nodiscard]] inline Scratch allocate_scratch(std::int64_t bytes) {
  return Scratch(static_cast<std::byte*>(::operator new (static_cast<std::size_t>(bytes), std::align_val_t{kPage}, std::nothrow)));
}

}  // namespace mollify::cpu
