// The kernels of box.any, of gauss.decimate, and those of sep.fused on tensor cores, compiled for the processor.
#include "cuda_emulated_kernels.h"

#include <map>

#include "cuda_emulation.h"

namespace mollify::cuda {
namespace {

int4 memory[15000];  // shared memory of a block

}  // namespace
}  // namespace mollify::cuda

#include "backends/cuda/kernels/box_any.cu"
#include "backends/cuda/kernels/box_wide.cu"
#include "backends/cuda/kernels/gauss_decimate.cu"
#include "backends/cuda/kernels/gauss_matrix.cu"
#include "backends/cuda/kernels/sep_matrix.cu"
#include "backends/cuda/kernels/sep_matrix_planes.cu"

namespace mollify::test {
namespace {

using Launch = std::function<void()>;
using Binding = std::function<Launch(const void* arguments)>;  // a kernel with a copy of its arguments

template <class Arguments>
Binding binding_of(void (*kernel)(Arguments)) {
  return [kernel](const void* arguments) { return [kernel, copy = *static_cast<const Arguments*>(arguments)] { kernel(copy); }; };
}

const std::map<std::string, Binding>& kernels() {
  using namespace cuda;
  static const auto kKernels = [] {
    std::map<std::string, Binding> by_name;
#define MOLLIFY_ADD(name, pixels)                           \
  by_name["box_any_" #name] = binding_of(box_any_##name);   \
  by_name["box_down_" #name] = binding_of(box_down_##name); \
  by_name["box_along_" #name] = binding_of(box_along_##name);
    MOLLIFY_OF_BOXES(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, pixels, support, by_steps, exact)                                      \
  by_name["gauss_decimate_" #name "_" #support] = binding_of(gauss_decimate_##name##_##support); \
  by_name["gauss_upsample_" #name "_" #support] = binding_of(gauss_upsample_##name##_##support);
    MOLLIFY_OF_GAUSS_DECIMATE(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(channels, tiles) by_name["gauss_matrix_" #channels "_u8_" #tiles] = binding_of(gauss_matrix_##channels##_u8_##tiles);
    MOLLIFY_OF_GAUSS_MATRIX(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, component, channels, across, down) \
  by_name["sep_matrix_" #name "_" #across "_" #down] = binding_of(sep_matrix_##name##_##across##_##down);
    MOLLIFY_OF_SEP_MATRIX(MOLLIFY_ADD)
    MOLLIFY_OF_SEP_MATRIX_PLANES(MOLLIFY_ADD)
#undef MOLLIFY_ADD
    return by_name;
  }();
  return kKernels;
}

}  // namespace

std::function<void()> launch_of(const std::string& name, const void* arguments, unsigned blocks, unsigned threads) {
  const auto found = kernels().find(name);
  if (found == kernels().end()) return {};
  return [launch = found->second(arguments), blocks, threads] { emulation::Block::run(launch, blocks, threads); };
}

}  // namespace mollify::test
