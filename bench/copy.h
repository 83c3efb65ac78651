// The yardstick of the benchmark: the fastest copy of the same bytes that the CPU manages with the same threads.
// A blur that reads its source once and writes its destination once can at best take as long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace mollify::bench {

/// Which way of copying is faster depends on the machine and the size, so the benchmark times all and takes the best.
enum class CopyMethod : std::uint8_t {
  plain,   ///< memcpy of one strip a thread
  stream,  ///< SIMD loads and stores that bypass the caches, in chunks that idle threads take
};
inline constexpr std::array kCopyMethods{CopyMethod::plain, CopyMethod::stream};
[[nodiscard]] std::string_view name(CopyMethod method);

/// Copies with `threads` threads.
class Copier {
 public:
  explicit Copier(int threads);
  ~Copier();
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  void run(CopyMethod method, const std::byte* src, std::byte* dst, std::size_t bytes) const;

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

/// One thread's part of CopyMethod::stream. Any alignment; the bytes are visible to other threads on return.
void stream_copy(const std::byte* src, std::byte* dst, std::size_t bytes);
/// The instruction set that stream_copy runs on this machine, as Highway calls it: "AVX3".
[[nodiscard]] std::string_view simd_target();

}  // namespace mollify::bench
