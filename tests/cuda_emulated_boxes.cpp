// The kernels of box.any, compiled for the processor.
#include "cuda_emulated_boxes.h"

#include <map>

#include "cuda_emulation.h"

namespace mollify::cuda {
namespace {

int4 memory[15000];  // shared memory of a block

}  // namespace
}  // namespace mollify::cuda

#include "backends/cuda/kernels/box_any.cu"
#include "backends/cuda/kernels/box_wide.cu"

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

}  // namespace

bool has_box(const std::string& name) {
  return kernels().contains(name);
}

void launch_box(const std::string& name, const cuda::BoxAny& arguments, unsigned blocks, unsigned threads) {
  emulation::Block::run([&] { kernels().at(name)(arguments); }, blocks, threads);
}

}  // namespace mollify::test
