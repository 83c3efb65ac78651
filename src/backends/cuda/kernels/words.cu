// Writes its own parameters to memory, one word a thread.
#include "backends/cuda/kernels/words_shape.h"

extern "C" __global__ void __launch_bounds__(mollify::cuda::kWordsThreads) words(const __grid_constant__ mollify::cuda::Words a) {
  const unsigned i = blockIdx.x * mollify::cuda::kWordsThreads + threadIdx.x;
  if (i < a.count) reinterpret_cast<unsigned*>(a.to)[i] = a.word[i];
}
