// Sums of weighted float64 numbers, many at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mollify::python {

/// A weight, and how many numbers after the place of a sum its number lies.
struct OffsetWeight {
  std::ptrdiff_t offset;
  double weight;
};

/// out[i] is the sum of weight * in[i + offset] over all weights, in their order, for the i below `count`.
void weighted_sums(std::span<const OffsetWeight> weights, const double* in, double* out, std::size_t count);

}  // namespace mollify::python
