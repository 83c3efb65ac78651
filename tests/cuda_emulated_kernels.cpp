// Kernels of CUDA compiled for the processor: all but those that cuda_stand_in.cpp has as plain loops.
#include "cuda_emulated_kernels.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "cuda_emulation.h"

namespace mollify::cuda {
namespace {

int4 memory[15000];  // shared memory of a block
double bytes[30000];
[[maybe_unused]] const bool kIsPoisoned = [] {
  emulation::Block::shared_memory = {std::as_writable_bytes(std::span(memory)), std::as_writable_bytes(std::span(bytes))};
  return true;
}();

}  // namespace
}  // namespace mollify::cuda

#include "backends/cuda/kernels/box_any.cu"
#include "backends/cuda/kernels/box_passes.cu"
#include "backends/cuda/kernels/box_segments.cu"
#include "backends/cuda/kernels/box_segments_floats.cu"
#include "backends/cuda/kernels/box_wide.cu"
#include "backends/cuda/kernels/gauss_downsample.cu"
#include "backends/cuda/kernels/gauss_grid.cu"
#include "backends/cuda/kernels/gauss_grid_matrix.cu"
#include "backends/cuda/kernels/gauss_matrix.cu"
#include "backends/cuda/kernels/gauss_strips.cu"
#include "backends/cuda/kernels/gauss_upsample.cu"
#include "backends/cuda/kernels/gauss_upsample_matrix.cu"
#include "backends/cuda/kernels/nxn_direct.cu"
#include "backends/cuda/kernels/sep_matrix.cu"
#include "backends/cuda/kernels/sep_matrix_planes.cu"
#include "backends/cuda/kernels/sep_passes.cu"
#include "backends/cuda/kernels/sep_scatter.cu"
#include "backends/cuda/kernels/sep_scatter_each.cu"
#include "backends/cuda/kernels/sep_warps.cu"
#include "backends/cuda/kernels/sep_warps_each.cu"
#include "backends/cuda/kernels/words.cu"

namespace mollify::test {
namespace {

using emulation::Barriers;

struct Kernel {
  std::function<std::function<void()>(const void* arguments)> with_copy_of;
  Barriers barriers = Barriers::yes;
};

template <class Arguments>
Kernel kernel_of(void (*kernel)(Arguments), Barriers barriers = Barriers::yes) {
  return {[kernel](const void* arguments) { return [kernel, copy = *static_cast<const Arguments*>(arguments)] { kernel(copy); }; },
          barriers};
}

const std::map<std::string, Kernel>& kernels() {
  using namespace cuda;
  static const auto kKernels = [] {
    std::map<std::string, Kernel> by_name;
#define MOLLIFY_ADD(name, pixels)                          \
  by_name["box_any_" #name] = kernel_of(box_any_##name);   \
  by_name["box_down_" #name] = kernel_of(box_down_##name); \
  by_name["box_along_" #name] = kernel_of(box_along_##name);
    MOLLIFY_OF_BOXES(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(form, means, ...) by_name["box_segments_4_u8_" #form "_" #means] = kernel_of(box_segments_4_u8_##form##_##means);
    MOLLIFY_OF_BOX_SEGMENTS(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(type, kind, form) by_name["box_segments_4_" #type "_" #form] = kernel_of(box_segments_4_##type##_##form);
    MOLLIFY_OF_BOX_SEGMENTS_OF_FLOATS(MOLLIFY_ADD)
#undef MOLLIFY_ADD
    by_name["box_blocks_4_u8"] = kernel_of(box_blocks_4_u8);
    by_name["box_blocks_4_u8_many"] = kernel_of(box_blocks_4_u8_many);
    by_name["box_blocks_4_f16"] = kernel_of(box_blocks_4_f16);
    by_name["box_blocks_4_f32"] = kernel_of(box_blocks_4_f32);
    by_name["words"] = kernel_of(words, Barriers::no);
#define MOLLIFY_ADD(name, pixels, support, exact) \
  by_name["gauss_decimate_" #name "_" #support] = kernel_of(gauss_decimate_##name##_##support);
    MOLLIFY_OF_GAUSS_DECIMATE(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, pixels, support) by_name["gauss_spans_" #name "_" #support] = kernel_of(gauss_spans_##name##_##support);
    MOLLIFY_OF_GAUSS_SPANS(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, pixels, support) by_name["gauss_strips_" #name "_" #support] = kernel_of(gauss_strips_##name##_##support);
    MOLLIFY_OF_GAUSS_STRIPS(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, pixels, support, exact) \
  by_name["gauss_upsample_" #name "_" #support] = kernel_of(gauss_upsample_##name##_##support);
    MOLLIFY_OF_GAUSS_UPSAMPLE(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, component, channels, tiles) by_name["gauss_matrix_" #name "_" #tiles] = kernel_of(gauss_matrix_##name##_##tiles);
    MOLLIFY_OF_GAUSS_MATRIX(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, numbers, component, channels, row_blocks) \
  by_name["gauss_upsample_matrix_" #name "_" #row_blocks] = kernel_of(gauss_upsample_matrix_##name##_##row_blocks);
    MOLLIFY_OF_GAUSS_UPSAMPLE_MATRIX(MOLLIFY_ADD)
#undef MOLLIFY_ADD
    by_name["gauss_grid_matrix_1_f32"] = kernel_of(gauss_grid_matrix_1_f32);
#define MOLLIFY_ADD(name, component, channels, across, down) \
  by_name["sep_matrix_" #name "_" #across "_" #down] = kernel_of(sep_matrix_##name##_##across##_##down);
    MOLLIFY_OF_SEP_MATRIX(MOLLIFY_ADD)
    MOLLIFY_OF_SEP_MATRIX_PLANES(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(channels, taps) by_name["sep_scatter_" #channels "_f32_" #taps] = kernel_of(sep_scatter_##channels##_f32_##taps);
    MOLLIFY_OF_SEP_SCATTER(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(channels, taps) \
  by_name["sep_scatter_each_" #channels "_f32_" #taps] = kernel_of(sep_scatter_each_##channels##_f32_##taps);
    MOLLIFY_OF_SEP_SCATTER_EACH(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, pixels, taps) by_name["sep_warps_" #name "_" #taps] = kernel_of(sep_warps_##name##_##taps);
    MOLLIFY_OF_SEP_WARPS(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name, pixels, taps) by_name["sep_warps_each_" #name "_" #taps] = kernel_of(sep_warps_each_##name##_##taps);
    MOLLIFY_OF_SEP_WARPS_EACH(MOLLIFY_ADD)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(name)                                                      \
  by_name["box_rows_" #name] = kernel_of(box_rows_##name);                     \
  by_name["box_columns_" #name] = kernel_of(box_columns_##name);               \
  by_name["sep_rows_" #name] = kernel_of(sep_rows_##name);                     \
  by_name["sep_columns_" #name] = kernel_of(sep_columns_##name, Barriers::no); \
  by_name["nxn_direct_" #name] = kernel_of(nxn_direct_##name, Barriers::no);
    MOLLIFY_ADD(1_f32)
    MOLLIFY_ADD(2_f32)
    MOLLIFY_ADD(3_f32)
    MOLLIFY_ADD(4_f32)
    MOLLIFY_ADD(1_f64)
    MOLLIFY_ADD(2_f64)
    MOLLIFY_ADD(3_f64)
    MOLLIFY_ADD(4_f64)
#undef MOLLIFY_ADD
#define MOLLIFY_ADD(channels)                                                                 \
  by_name["gauss_grid_rows_" #channels "_f32"] = kernel_of(gauss_grid_rows_##channels##_f32); \
  by_name["gauss_grid_columns_" #channels "_f32"] = kernel_of(gauss_grid_columns_##channels##_f32);
    MOLLIFY_ADD(1)
    MOLLIFY_ADD(2)
    MOLLIFY_ADD(3)
#undef MOLLIFY_ADD
    by_name["gauss_grid_tile"] = kernel_of(gauss_grid_tile);
    return by_name;
  }();
  return kKernels;
}

}  // namespace

std::function<void()> emulated_launch(const std::string& name, const void* arguments, unsigned blocks, unsigned threads, bool waits) {
  const auto found = kernels().find(name);
  if (found == kernels().end()) return {};
  return [launch = found->second.with_copy_of(arguments), barriers = found->second.barriers, blocks, threads, waits, name] {
    emulation::Block::run(launch, blocks, threads, barriers);
    if (!waits || emulation::Block::awaited() == std::uint64_t{blocks} * threads) return;
    std::fprintf(stderr, "%s does not wait for the kernels before it\n", name.c_str());
    std::abort();
  };
}

}  // namespace mollify::test
