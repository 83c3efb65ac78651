// Copies to shared memory that no register takes part in, where the GPU has them.
#pragma once

#include <cstdint>

namespace mollify::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define MOLLIFY_COPIES_AHEAD
#endif

/// A place in shared memory that copies go to. It stays in a register: compilers would compute its address again for each copy.
class SharedPlace {
 public:
#if defined(__CUDA_ARCH__)
  __device__ explicit SharedPlace(void* at) : at_(static_cast<unsigned>(__cvta_generic_to_shared(at))) {
    asm volatile("" : "+r"(at_));
  }
  [[nodiscard]] __device__ void* pointer() const {
    return __cvta_shared_to_generic(at_);
  }
  [[nodiscard]] __device__ unsigned address() const {
    return at_;
  }
#else
  __device__ explicit SharedPlace(void* at) : at_(static_cast<char*>(at)) {}
  [[nodiscard]] __device__ void* pointer() const {
    return at_;
  }
#endif
  [[nodiscard]] __device__ SharedPlace operator+(int bytes) const {
    SharedPlace out = *this;
    out.at_ += bytes;
    return out;
  }

 private:
#if defined(__CUDA_ARCH__)
  unsigned at_;
#else
  char* at_;
#endif
};

/// The same pointer, which compilers keep in a register for that reason.
__device__ inline const char* in_register(const char* pointer) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(pointer));
#endif
  return pointer;
}

/// Brings the 64 bytes at an address of an image nearer, to the second level of caches.
__device__ inline void prefetch_line([[maybe_unused]] const char* at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

/// So many bytes, whose addresses are multiples of as many. On GPUs of compute capability 7.5 they are loaded and stored.
template <int kBytes>
__device__ inline void copy_ahead(SharedPlace to, const void* from) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
#if defined(MOLLIFY_COPIES_AHEAD)
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to.address()), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to.address()), "l"(from), "n"(kBytes) : "memory");
  }
#else
#if !defined(__CUDA_ARCH__)
  if (reinterpret_cast<std::uintptr_t>(from) % kBytes != 0 || reinterpret_cast<std::uintptr_t>(to.pointer()) % kBytes != 0)
    __builtin_trap();
#endif
  if constexpr (kBytes == 16) {
    *static_cast<int4*>(to.pointer()) = *static_cast<const int4*>(from);
  } else if constexpr (kBytes == 8) {
    *static_cast<int2*>(to.pointer()) = *static_cast<const int2*>(from);
  } else {
    *static_cast<int*>(to.pointer()) = *static_cast<const int*>(from);
  }
#endif
}

/// What has been copied since the last call belongs together.
__device__ inline void end_stage() {
#if defined(MOLLIFY_COPIES_AHEAD)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until the thread's copies have arrived, but not for those of so many stages that ended last.
template <int kStages>
__device__ inline void wait_for_stage() {
#if defined(MOLLIFY_COPIES_AHEAD)
  asm volatile("cp.async.wait_group %0;" ::"n"(kStages) : "memory");
#endif
}

}  // namespace mollify::cuda
