// Kernels of CUDA on the processor, for tests where there is no GPU: a thread of a block is a fiber, and one runs at a time. It stands for
// what kernels compute, and for their barriers; not for what a GPU does at once, nor for caches, registers and speed.
// To be included before a kernel's source.
#pragma once

#include <cuda_fp16.h>
#include <ucontext.h>
#include <vector_functions.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#define MOLLIFY_EMULATION

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#undef __shared__
#define __shared__

namespace emulation {

inline constexpr std::size_t kStackBytes = 1 << 16;

/// Whether threads of a block wait for one another. Where none does, each runs to its end at once, which takes far less time.
enum class Barriers : bool { no, yes };

/// The threads of one block.
class Block {
 public:
  /// Runs `kernel` for each of `blocks` blocks, one after the other.
  static void run(const std::function<void()>& kernel, unsigned blocks, unsigned threads, Barriers barriers) {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    static Block block;
    current_ = &block;
    block.threads_ = threads;
    block.awaited_ = 0;
    barriers == Barriers::yes ? block.launch(kernel, blocks, threads) : block.launch_apart(kernel, blocks);
  }
  static Block& running() { return *current_; }

  /// Shared memory: a block finds nothing sensible there.
  static inline std::vector<std::span<std::byte>> shared_memory;

  /// Until all threads have come here.
  void wait() { swapcontext(&fibers_[thread_], &scheduler_); }
  bool all_of_warp(bool holds) {
    votes_[thread_] = holds;
    wait();
    bool all = true;
    for (unsigned i = thread_ / 32 * 32; i < std::min<unsigned>(thread_ / 32 * 32 + 32, threads_); ++i) all = all && votes_[i];
    wait();  // before the next vote
    return all;
  }
  bool any(bool holds) {
    votes_[thread_] = holds;
    wait();
    const bool found = std::ranges::find(votes_, true) != votes_.end();
    wait();  // before the next vote
    return found;
  }
  /// What `lane` of the warp has.
  template <class T>
  T of_lane(T value, unsigned lane) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    std::memcpy(&words_[thread_], &value, sizeof(T));
    wait();
    T found;
    std::memcpy(&found, &words_[thread_ / 32 * 32 + lane], sizeof(T));
    wait();  // before the next exchange
    return found;
  }
  /// What the lanes of a warp hold of three matrices: see matrices.cuh.
  void multiply_add(float (&sums)[4], const unsigned (&left)[4], unsigned right, unsigned below, const float (&addend)[4]) {
    turns_[thread_] ^= 1U;  // so that one barrier is enough
    std::vector<Operands>& all = operands_[turns_[thread_]];
    all[thread_] = {{left[0], left[1], left[2], left[3]}, {right, below}};
    wait();
    const Operands* const warp = &all[thread_ / 32 * 32];
    const unsigned lane = thread_ % 32;
    const auto number = [](unsigned word, unsigned half) {
      return __half2float(__ushort_as_half(static_cast<unsigned short>(word >> 16 * half)));
    };
    for (unsigned i = 0; i < 4; ++i) {
      float sum = addend[i];
      const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      for (unsigned k = 0; k < 16; ++k) {
        const Operands& of_left = warp[row % 8 * 4 + k % 8 / 2];
        const Operands& of_right = warp[column * 4 + k % 8 / 2];
        sum += number(of_left.left[row / 8 + k / 8 * 2], k % 2) * number(of_right.right[k / 8], k % 2);
      }
      sums[i] = sum;
    }
  }
  /// The same of numbers of f32 without their lower 13 bits.
  void multiply_add_tf32(float (&sums)[4], const unsigned (&left)[4], const unsigned (&right)[2], const float (&addend)[4]) {
    turns_[thread_] ^= 1U;
    std::vector<Operands>& all = operands_[turns_[thread_]];
    all[thread_] = {{left[0], left[1], left[2], left[3]}, {right[0], right[1]}};
    wait();
    const Operands* const warp = &all[thread_ / 32 * 32];
    const unsigned lane = thread_ % 32;
    const auto number = [](unsigned word) { return std::bit_cast<float>(word & 0xFFFFE000U); };
    for (unsigned i = 0; i < 4; ++i) {
      float sum = addend[i];
      const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      for (unsigned k = 0; k < 8; ++k) {
        sum += number(warp[row % 8 * 4 + k % 4].left[row / 8 + k / 4 * 2]) * number(warp[column * 4 + k % 4].right[k / 4]);
      }
      sums[i] = sum;
    }
  }
  /// What a kernel calls that may begin before the ones before it have ended.
  void await_previous() { awaited_ = awaited_ + 1; }
  /// How many threads of the last launch did.
  [[nodiscard]] static std::uint64_t awaited() { return current_ == nullptr ? 0 : current_->awaited_; }
  [[nodiscard]] unsigned thread() const { return thread_; }
  [[nodiscard]] unsigned index() const { return index_; }
  [[nodiscard]] unsigned threads() const { return threads_; }

 private:
  static void enter() {
    Block& block = running();
    (*block.kernel_)();
    block.ended_[block.thread_] = true;
    swapcontext(&block.fibers_[block.thread_], &block.scheduler_);
  }

  void launch_apart(const std::function<void()>& kernel, unsigned blocks) {
    for (index_ = 0; index_ < blocks; ++index_) {
      for (thread_ = 0; thread_ < threads_; ++thread_) kernel();
    }
  }

  void launch(const std::function<void()>& kernel, unsigned blocks, unsigned threads) {
    kernel_ = &kernel;
    fibers_.resize(threads);
    stacks_.resize(threads * kStackBytes);
    votes_.resize(threads);
    words_.resize(threads);
    turns_.assign(threads, 0);
    for (std::vector<Operands>& turn : operands_) turn.resize(threads);
    for (index_ = 0; index_ < blocks; ++index_) {
      for (const std::span<std::byte> memory : shared_memory) std::ranges::fill(memory, std::byte{0xA5});
      ended_.assign(threads, false);
      for (unsigned i = 0; i < threads; ++i) {
        getcontext(&fibers_[i]);
        fibers_[i].uc_stack.ss_sp = &stacks_[i * kStackBytes];
        fibers_[i].uc_stack.ss_size = kStackBytes;
        fibers_[i].uc_link = nullptr;
        makecontext(&fibers_[i], enter, 0);
      }
      // From barrier to barrier: all threads meet the same ones.
      while (!std::ranges::all_of(ended_, std::identity{})) {
        for (thread_ = 0; thread_ < threads; ++thread_) {
          if (!ended_[thread_]) swapcontext(&scheduler_, &fibers_[thread_]);
        }
      }
    }
  }

  static inline Block* current_ = nullptr;
  const std::function<void()>* kernel_ = nullptr;
  unsigned index_ = 0;
  unsigned threads_ = 0;
  std::uint64_t awaited_ = 0;
  unsigned thread_ = 0;
  ucontext_t scheduler_{};
  std::vector<ucontext_t> fibers_;
  std::vector<char> stacks_;
  std::vector<bool> votes_;
  std::vector<std::uint64_t> words_;
  struct Operands {
    unsigned left[4];
    unsigned right[2];
  };
  std::vector<Operands> operands_[2];
  std::vector<unsigned> turns_;
  std::vector<bool> ended_;
};

struct ThreadIndex {
  struct X {
    operator unsigned() const { return Block::running().thread(); }  // NOLINT
  } x;
};
struct BlockIndex {
  struct X {
    operator unsigned() const { return Block::running().index(); }  // NOLINT
  } x;
};
struct BlockSize {
  struct X {
    operator unsigned() const { return Block::running().threads(); }  // NOLINT
  } x;
};

inline void multiply_add(float (&sums)[4], const unsigned (&left)[4], unsigned right, unsigned below, const float (&addend)[4]) {
  Block::running().multiply_add(sums, left, right, below, addend);
}

inline unsigned transposed(unsigned matrix) {
  Block& block = Block::running();
  const unsigned lane = block.thread() % 32;
  unsigned out = 0;
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned word = block.of_lane(matrix, (lane % 4 * 2 + i) * 4 + lane / 8);
    out |= (word >> 16 * (lane / 4 % 2) & 0xFFFFU) << 16 * i;
  }
  return out;
}
inline void multiply_add_tf32(float (&sums)[4], const unsigned (&left)[4], const unsigned (&right)[2], const float (&addend)[4]) {
  Block::running().multiply_add_tf32(sums, left, right, addend);
}

}  // namespace emulation

inline emulation::ThreadIndex threadIdx;
inline emulation::BlockIndex blockIdx;
inline emulation::BlockSize blockDim;

inline void __syncthreads() {
  emulation::Block::running().wait();
}
inline bool __syncthreads_or(bool holds) {
  return emulation::Block::running().any(holds);
}
inline bool __all_sync(unsigned, bool holds) {
  return emulation::Block::running().all_of_warp(holds);
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return emulation::Block::running().of_lane(value, static_cast<unsigned>(lane));
}
template <class T>
T __shfl_down_sync(unsigned, T value, int delta, int width) {
  const unsigned lane = threadIdx.x % 32;
  const bool is_there = lane % static_cast<unsigned>(width) + static_cast<unsigned>(delta) < static_cast<unsigned>(width);
  return __shfl_sync(~0U, value, static_cast<int>(lane) + (is_there ? delta : 0));
}
template <class T>
T __shfl_up_sync(unsigned, T value, int delta) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  return __shfl_sync(~0U, value, lane >= delta ? lane - delta : lane);
}
inline void __syncwarp() {
  __syncthreads();
}
template <class T>
T __ldg(const T* from) {
  return *from;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  unsigned out = 0;
  for (unsigned i = 0; i < 4; ++i) out |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7U) & 0xFFU) << 8 * i;
  return out;
}
inline unsigned __float_as_uint(float v) {
  return std::bit_cast<unsigned>(v);
}
inline float __int_as_float(int v) {
  return std::bit_cast<float>(v);
}
inline float __uint_as_float(unsigned v) {
  return std::bit_cast<float>(v);
}
inline float __saturatef(float v) {
  return v > 0.0F ? std::min(v, 1.0F) : 0.0F;
}
inline unsigned __float2uint_rn(float v) {
  return static_cast<unsigned>(std::nearbyint(v));
}
inline unsigned __double2uint_rn(double v) {
  return static_cast<unsigned>(std::nearbyint(v));
}
inline int __double2int_rn(double v) {
  return static_cast<int>(std::nearbyint(v));
}
using std::isnan;
using std::max;
using std::min;
