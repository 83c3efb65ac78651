// Pixels of four components.
#include "backends/cuda/kernels/sep_matrix.cuh"

#define MOLLIFY_OF_SEP_MATRIX(add)                      \
  MOLLIFY_SEP_MATRIX_SIZES(add, 4_u8, Component::u8, 4) \
  MOLLIFY_SEP_MATRIX_SIZES(add, 4_f16, Component::f16, 4)

namespace mollify::cuda {

extern "C" {
MOLLIFY_OF_SEP_MATRIX(MOLLIFY_SEP_MATRIX)
}

}  // namespace mollify::cuda
