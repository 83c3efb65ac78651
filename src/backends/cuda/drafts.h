// From passes of plans to launches of kernels: what each kernel is given, before the device knows it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/pass_arguments.h"
#include "backends/cuda/pipeline.h"
#include "base/components.h"
#include "base/gpu_images.h"
#include "math/weights.h"

namespace mollify::cuda {

[[nodiscard]] inline std::int32_t ceil_div(std::int32_t a, std::int32_t b) {
  return (a + b - 1) / b;
}

/// Weights and the like that kernels read from memory, one after the other.
class Tables {
 public:
  /// Adds numbers as values of T; returns how many bytes lie before them.
  template <class T>
  std::int64_t add(const std::vector<double>& numbers) {
    return add_values(rounded<T>(numbers));
  }
  /// The same of values as they are.
  template <class T>
  std::int64_t add_values(const std::vector<T>& values) {
    constexpr std::size_t kAlignment = 16;  // of the widest loads
    const std::size_t place = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    bytes_.resize(place + values.size() * sizeof(T));
    std::memcpy(bytes_.data() + place, values.data(), values.size() * sizeof(T));
    return static_cast<std::int64_t>(place);
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// A launch before the kernel is known to the device. Addresses of tables are still places among them.
struct Draft {
  std::string module;
  std::string function;
  Launch launch;
};

/// Numbers are blurred as they are stored, but between 0 and 1 where colour handling has to know what 1 is.
[[nodiscard]] bool handles_colour(const Plan& plan);
/// What every kernel is given, but for places of images and the number of blocks.
[[nodiscard]] Shared shared_of(const Plan& plan, const Pass& pass);

[[nodiscard]] std::string name_of(std::string_view kernel, const Plan& plan, std::string_view ending = {});
[[nodiscard]] std::string_view ending_of(bool wide);
/// Of kernels of sep_fused.cu: components that become numbers as they are, and are of one type, or any.
[[nodiscard]] std::string_view ending_of(const Plan& plan);

/// Weights of x, then those of y.
[[nodiscard]] std::vector<double> of_both_axes(const PerAxis<AxisTaps>& taps);

// Of the kernels of these names, by family: drafts_separable.cpp, drafts_gauss.cpp and drafts_box.cpp.

[[nodiscard]] Draft nxn_direct(const Plan& plan, const Pass& pass, const FloatArguments& given, Tables& tables);
[[nodiscard]] Draft sep_columns(const Plan& plan, const Pass& pass, const ColumnsArguments& given, Tables& tables);
[[nodiscard]] Draft sep_fused(const Plan& plan, const Pass& pass, const NoArguments& given, Tables& tables);
[[nodiscard]] Draft sep_matrix(const Plan& plan, const Pass& pass, const MatrixArguments& given, Tables& tables);
[[nodiscard]] Draft sep_rows(const Plan& plan, const Pass& pass, const FloatArguments& given, Tables& tables);
[[nodiscard]] Draft sep_scatter(const Plan& plan, const Pass& pass, const SumsArguments& given, Tables& tables);
/// The same pass where each image has weights of its own.
[[nodiscard]] Draft sep_scatter_each(const Plan& plan, const Pass& pass, const SumsArguments& given, Tables& tables);
[[nodiscard]] Draft sep_warps(const Plan& plan, const Pass& pass, const SumsArguments& given, Tables& tables);
[[nodiscard]] Draft sep_warps_each(const Plan& plan, const Pass& pass, const SumsArguments& given, Tables& tables);

[[nodiscard]] Draft gauss_decimate(const Plan& plan, const Pass& pass, const DecimateArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_grid_tile(const Plan& plan, const Pass& pass, const GridBlurArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_spans(const Plan& plan, const Pass& pass, const DecimateArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_grid(const Plan& plan, const Pass& pass, const GridBlurArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_grid_columns(const Plan& plan, const Pass& pass, const GridBlurArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_grid_matrix(const Plan& plan, const Pass& pass, const GridMatrixArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_grid_rows(const Plan& plan, const Pass& pass, const GridBlurArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_matrix(const Plan& plan, const Pass& pass, const DecimateMatrixArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_strips(const Plan& plan, const Pass& pass, const StripsArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_upsample(const Plan& plan, const Pass& pass, const CoarseGridArguments& given, Tables& tables);
[[nodiscard]] Draft gauss_upsample_matrix(const Plan& plan, const Pass& pass, const UpsampleMatrixArguments& given, Tables& tables);

[[nodiscard]] Draft box_along(const Plan& plan, const Pass& pass, const BoxArguments& given, Tables& tables);
[[nodiscard]] Draft box_any(const Plan& plan, const Pass& pass, const BoxArguments& given, Tables& tables);
[[nodiscard]] Draft box_blocks(const Plan& plan, const Pass& pass, const BoxBlocksArguments& given, Tables& tables);
[[nodiscard]] Draft box_columns(const Plan& plan, const Pass& pass, const BoxPassArguments& given, Tables& tables);
[[nodiscard]] Draft box_down(const Plan& plan, const Pass& pass, const BoxArguments& given, Tables& tables);
[[nodiscard]] Draft box_rows(const Plan& plan, const Pass& pass, const BoxPassArguments& given, Tables& tables);
[[nodiscard]] Result<Draft> box_segments(const Plan& plan, const Pass& pass, const BoxSegmentsArguments& given, Tables& tables);

}  // namespace mollify::cuda
