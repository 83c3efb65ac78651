// Kernels of one plan that follow each other. From compute capability 9.0 on, the blocks of a kernel may take their places while those of
// the kernel before end, and wait there for what it makes.
#pragma once

namespace mollify::cuda {

/// Lets blocks of the next kernel take their places once all blocks of this one have theirs.
__device__ inline void let_next_begin() {
#if !defined(MOLLIFY_EMULATION) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Waits until the kernels before have ended and what they wrote can be read. Before that a thread may read nothing but tables, and write
/// nothing.
__device__ inline void await_previous() {
#if defined(MOLLIFY_EMULATION)
  emulation::Block::running().await_previous();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Both, where a kernel has nothing to do before.
__device__ inline void take_turn() {
  let_next_begin();
  await_previous();
}

}  // namespace mollify::cuda
