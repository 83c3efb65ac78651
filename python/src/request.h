// What a caller asks for, before it is known for which array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mollify/spec.h"

namespace mollify::python {

/// One value for each axis that is blurred, in the order of these axes, or a single value for all of them.
template <class T>
using PerArrayAxis = std::vector<T>;

struct GaussianKernel {
  PerArrayAxis<double> sigma;
  PerArrayAxis<std::int32_t> radius;  ///< empty: the accuracy decides
  std::optional<double> truncate;
  PerArrayAxis<std::int32_t> order{0};  ///< of the derivative
  std::optional<double> amount;         ///< of what the blur takes away that is added to the image; unset: the blur itself is wanted
  bool operator==(const GaussianKernel&) const = default;
};

struct BoxKernel {
  PerArrayAxis<BoxExtent> extent;
  bool operator==(const BoxKernel&) const = default;
};

struct TentKernel {
  PerArrayAxis<double> radius;
  bool operator==(const TentKernel&) const = default;
};

/// Weights as the library takes them: those of a correlation.
struct SeparableKernel {
  PerArrayAxis<AxisTaps> taps;
  Normalization normalization = Normalization::none;
  bool is_for_one_axis = false;  ///< Whether it is an error to blur more axes.
  bool operator==(const SeparableKernel&) const = default;
};

/// Weights for two axes at once. Its rows run along the second of them.
struct MatrixKernel {
  Matrix matrix;
  bool operator==(const MatrixKernel&) const = default;
};

/// Weights for three axes or more at once, as they are given: those of a convolution. Its last axis runs along the last of them.
struct BlockKernel {
  std::vector<std::int64_t> extent;
  std::vector<double> weights;
  Normalization normalization = Normalization::none;
  bool operator==(const BlockKernel&) const = default;
};

using Kernel = std::variant<GaussianKernel, BoxKernel, TentKernel, SeparableKernel, MatrixKernel, BlockKernel>;

/// How a kernel is applied: what all functions have in common.
struct Manner {
  std::optional<std::vector<int>> axes;  ///< unset: all but channel_axis
  std::optional<int> channel_axis;
  PerArrayAxis<BorderMode> mode{BorderMode::clamp};
  double cval = 0.0;
  bool skips_nan = false;  ///< whether NaN is left out of the mean, instead of making it NaN
  bool has_alpha = false;  ///< whether the last number along channel_axis says how much of the others there is
  bool is_srgb = false;    ///< whether numbers are decoded to linear light
  std::optional<double> max_error;
  std::string device;        ///< empty: the GPU that the array lies on, else the processor
  std::int32_t threads = 0;  ///< 0: one for each hardware thread
  bool operator==(const Manner&) const = default;
};

struct Request {
  Kernel kernel;
  Manner manner;
  bool operator==(const Request&) const = default;
};

}  // namespace mollify::python
