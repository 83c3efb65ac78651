// The kernel of one axis of an array, and what two of them are to the library.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "mollify/spec.h"
#include "request.h"

namespace mollify::python {

struct GaussianAxis {
  double sigma = 0.0;
  std::optional<std::int32_t> radius;
  std::optional<double> truncate;
};
struct TentAxis {
  double radius = 0.0;
};
struct TapsAxis {
  AxisTaps taps;
  Normalization normalization = Normalization::none;
};
using AxisKernel = std::variant<GaussianAxis, BoxExtent, TentAxis, TapsAxis>;

/// The kernels of so many axes. Not for a MatrixKernel or BlockKernel, which have none for each axis. Throws std::invalid_argument where a
/// list of the request has another length.
[[nodiscard]] std::vector<AxisKernel> axis_kernels(const Kernel& kernel, std::size_t axes);

/// Whether the axis stays as it is.
[[nodiscard]] bool is_identity(const AxisKernel& kernel);
/// What the kernel makes of an array of ones.
[[nodiscard]] double sum(const AxisKernel& kernel);
/// How many times larger than the largest source a result can be.
[[nodiscard]] double gain(const AxisKernel& kernel);
[[nodiscard]] double gain(const Matrix& matrix);
[[nodiscard]] double gain(const BlockKernel& block);

/// Two kernels of one request, or one with nothing along the other axis.
[[nodiscard]] KernelSpec combine(const AxisKernel* x, const AxisKernel* y);

/// `values` for `count` axes, where one value stands for all. Throws std::invalid_argument, beginning with `argument`, where there is
/// another number of them.
template <class T>
[[nodiscard]] std::vector<T> spread(const PerArrayAxis<T>& values, std::size_t count, const char* argument) {
  if (values.size() == count) return values;
  if (values.size() == 1) return std::vector<T>(count, values.front());
  throw std::invalid_argument(std::string(argument) + ": " + std::to_string(values.size()) + " values for " + std::to_string(count) +
                              (count == 1 ? " axis" : " axes"));
}

}  // namespace mollify::python
