// The values that cases are made of, one list an axis.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "cases/cases.h"

namespace mollify::cases {

/// The axes, in the order of a Choice.
enum Axis : std::size_t {
  kAlgorithm,
  kKernel,
  kSize,
  kSource,       ///< source format
  kDestination,  ///< component class and bits of the destination
  kBorderX,
  kBorderY,
  kBorderValue,
  kLayout,
  kInset,
  kColour,
  kMaxError,
  kAxisCount,
};

/// An index into each axis.
using Choice = std::array<std::size_t, kAxisCount>;

struct ComponentType {
  ComponentClass component_class;
  int bits;
};

struct Colour {
  AlphaMode alpha;
  TransferFunction transfer;
};

struct Axes {
  std::vector<AlgorithmChoice> algorithms;  ///< the planner's choice first
  std::vector<KernelSpec> kernels;
  std::vector<PerAxis<std::int32_t>> sizes;
  std::vector<PixelFormat> sources;
  std::vector<ComponentType> destinations;
  std::vector<BorderMode> border_modes;
  std::vector<std::array<double, 4>> border_values;
  std::vector<Layout> layouts;
  std::vector<std::optional<std::int32_t>> insets;  ///< of the region of interest; unset: no region
  std::vector<Colour> colours;
  std::vector<std::optional<double>> max_errors;

  [[nodiscard]] Choice counts() const;
  [[nodiscard]] Case at(const Choice& choice, std::uint64_t seed) const;
};

[[nodiscard]] const Axes& axes();

/// Could a case hold both? False where the two contradict each other or would take seconds.
[[nodiscard]] bool compatible(const Axes& axes, Axis a, std::size_t index_a, Axis b, std::size_t index_b);

/// Does any device present have a plan?
[[nodiscard]] bool has_plan(const Case& c);

}  // namespace mollify::cases
