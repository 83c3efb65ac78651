// The values that the cases of a device are made of, one list an axis.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cases/cases.h"
#include "cases/covering_array.h"

namespace mollify::cases {

/// The axes, in the order of a Choice.
struct Axis {
  enum Index : std::size_t {
    kKernel,
    kSize,
    kSource,       ///< source format
    kDestination,  ///< component class and bits of the destination
    kBorderX,
    kBorderY,
    kBorderValue,
    kLayout,
    kInset,
    kStride,
    kColour,
    kMaxError,
    kContent,
    kCount,
  };
};

/// An index into each axis, or kOpen.
using Choice = std::array<std::size_t, Axis::kCount>;

struct ComponentType {
  ComponentClass component_class;
  int bits;
};

struct Colour {
  AlphaMode alpha;
  TransferFunction transfer;
};

/// Which formats cases have: those that floats of 32 bits can hold, or pairs with at least one that they cannot.
enum class Formats : std::uint8_t { usual, wide };

/// The first value of each goes with everything.
struct Axes {
  DeviceInfo device;
  Formats formats = Formats::usual;
  bool is_slow = false;  ///< a driver that runs on the processor
  std::vector<KernelSpec> kernels;
  std::vector<PerAxis<std::int32_t>> sizes;
  std::vector<PixelFormat> sources;
  std::vector<ComponentType> destinations;
  std::vector<BorderMode> border_modes;
  std::vector<std::array<double, 4>> border_values;
  std::vector<Layout> layouts;
  std::vector<std::optional<std::int32_t>> insets;  ///< of the region of interest; unset: no region
  std::vector<PerAxis<Stride>> strides;
  std::vector<std::string> with_stride;  ///< algorithms that take one
  std::vector<Colour> colours;
  std::vector<std::optional<double>> max_errors;  ///< the last is the largest
  std::vector<Content> contents;

  [[nodiscard]] Choice counts() const;
  [[nodiscard]] Case at(const AlgorithmChoice& algorithm, const Choice& choice, std::uint64_t seed) const;
};

[[nodiscard]] Axes axes(const DeviceInfo& device, Formats formats = Formats::usual);

/// Can the algorithm, with some value on each open axis, run on the device? Not where values contradict each other or
/// would take seconds.
[[nodiscard]] bool can_run(const Axes& axes, const AlgorithmChoice& algorithm, const Choice& choice);

/// Is what the plan says of such pixels true yet?
[[nodiscard]] bool is_held_to(const DeviceInfo& device, const Plan& plan, Content content);

[[nodiscard]] Result<Plan> plan_of(const Case& c, const DeviceInfo& device);

}  // namespace mollify::cases
