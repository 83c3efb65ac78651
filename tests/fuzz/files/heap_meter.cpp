#include "fuzz/files/heap_meter.h"

#include <atomic>
#include <cstddef>

namespace mollify::fuzz {
namespace {

std::atomic<std::int64_t> allocated{0};
std::atomic<std::int64_t> peak{0};
std::int64_t at_start = 0;

}  // namespace

void start_heap_meter() {
  at_start = allocated.load();
  peak.store(at_start);
}

std::int64_t heap_peak() {
  return peak.load() - at_start;
}

}  // namespace mollify::fuzz

#ifdef __SANITIZE_ADDRESS__

// The names and signatures are those of the sanitizer's interface, whose headers GCC does not install everywhere.
extern "C" {

std::size_t __sanitizer_get_allocated_size(const volatile void* address);
int __lsan_do_recoverable_leak_check();

void __sanitizer_malloc_hook(const volatile void* address, std::size_t size) {
  using namespace mollify::fuzz;
  if (address == nullptr) return;
  const std::int64_t now = allocated.fetch_add(static_cast<std::int64_t>(size)) + static_cast<std::int64_t>(size);
  std::int64_t before = peak.load();
  while (now > before && !peak.compare_exchange_weak(before, now)) {
  }
}

void __sanitizer_free_hook(const volatile void* address) {
  if (address == nullptr) return;
  mollify::fuzz::allocated.fetch_sub(static_cast<std::int64_t>(__sanitizer_get_allocated_size(address)));
}

/// A single allocation of half a gigabyte ends the process with a report. Freed memory is kept for a while to find late uses of it.
const char* __asan_default_options() {
  return "max_allocation_size_mb=512:quarantine_size_mb=16:handle_abort=1:leak_check_at_exit=0";
}

}  // extern "C"

bool mollify::fuzz::has_leaks() {
  return __lsan_do_recoverable_leak_check() != 0;
}

#else

bool mollify::fuzz::has_leaks() {
  return false;
}

#endif
