// Pixels of one component.
#include "backends/cuda/kernels/sep_matrix.cuh"

// See has_matrix_kernel().
#define MOLLIFY_OF_SEP_MATRIX_PLANES(add)               \
  MOLLIFY_SEP_MATRIX_SIZES(add, 1_u8, Component::u8, 1) \
  MOLLIFY_SEP_MATRIX_LARGE_SIZES(add, 1_f16, Component::f16, 1)

namespace mollify::cuda {

extern "C" {
MOLLIFY_OF_SEP_MATRIX_PLANES(MOLLIFY_SEP_MATRIX)
}

}  // namespace mollify::cuda
