// The kernels of box.any, and those of sep.fused on tensor cores, compiled for the processor.
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
#include "backends/cuda/kernels/sep_matrix.cu"
#include "backends/cuda/kernels/sep_matrix_planes.cu"

namespace mollify::test {
namespace {

const auto& kernels() {
  using namespace cuda;
  static const auto kKernels = [] {
    std::map<std::string, void (*)(BoxAny)> by_name;
#define MOLLIFY_ADD(name, pixels)               \
  by_name["box_any_" #name] = box_any_##name;   \
  by_name["box_down_" #name] = box_down_##name; \
  by_name["box_along_" #name] = box_along_##name;
    MOLLIFY_OF_BOXES(MOLLIFY_ADD)
#undef MOLLIFY_ADD
    return by_name;
  }();
  return kKernels;
}

const auto& matrix_kernels() {
  using namespace cuda;
  static const auto kKernels = [] {
    std::map<std::string, void (*)(SepMatrix)> by_name;
#define MOLLIFY_ADD(name, component, channels, across, down) \
  by_name["sep_matrix_" #name "_" #across "_" #down] = sep_matrix_##name##_##across##_##down;
    MOLLIFY_OF_SEP_MATRIX(MOLLIFY_ADD)
    MOLLIFY_OF_SEP_MATRIX_PLANES(MOLLIFY_ADD)
#undef MOLLIFY_ADD
    return by_name;
  }();
  return kKernels;
}

}  // namespace

bool has_box(const std::string& name) {
  return kernels().contains(name);
}

void launch_box(const std::string& name, const cuda::BoxAny& arguments, unsigned blocks, unsigned threads) {
  emulation::Block::run([&] { kernels().at(name)(arguments); }, blocks, threads);
}

bool has_matrix(const std::string& name) {
  return matrix_kernels().contains(name);
}

void launch_matrix(const std::string& name, const cuda::SepMatrix& arguments, unsigned blocks, unsigned threads) {
  emulation::Block::run([&] { matrix_kernels().at(name)(arguments); }, blocks, threads);
}

}  // namespace mollify::test
