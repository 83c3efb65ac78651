// The reference's own weights and border rule, from the definitions in mollify/spec.h.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "mollify/spec.h"

namespace mollify::reference {

/// out(x) = sum_i weights[i] * in(x + first + i).
struct AxisKernel {
  std::int64_t first = 0;
  std::vector<double> weights;
};

using Separable = PerAxis<AxisKernel>;
/// A Matrix in here is already normalised where that was asked for.
using Kernel = std::variant<Separable, Matrix>;

/// Where a stride has an odd phase, the kernel is centred half a pixel behind the output's position.
[[nodiscard]] Kernel kernel_of(const KernelSpec& spec, const PerAxis<Stride>& stride = {});

/// `outside` where the border is constant and p is not in [0, extent).
inline constexpr std::int64_t kOutside = -1;
[[nodiscard]] std::int64_t source_index(BorderMode mode, std::int64_t p, std::int64_t extent);

struct Tap {
  std::int64_t index = 0;  ///< of the source pixel, or kOutside
  double weight = 0.0;
};
/// What an output at `position` sums up along one axis. A source pixel is named once however often the border repeats
/// it when the kernel is longer than the axis.
[[nodiscard]] std::vector<Tap> taps_at(const AxisKernel& kernel, BorderMode mode, std::int64_t position, std::int64_t extent);

}  // namespace mollify::reference
