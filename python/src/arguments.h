// From Python's arguments to a Request, and back.
#pragma once

#include <nanobind/nanobind.h>

#include "request.h"

namespace mollify::python {

namespace nb = nanobind;

/// The arguments that all functions have in common, as they were given.
struct MannerArguments {
  nb::handle axes;
  nb::handle channel_axis;
  nb::handle mode;
  nb::handle cval;
  nb::handle nan;
  nb::handle alpha;
  nb::handle srgb;
  nb::handle max_error;
  nb::handle device;
  nb::handle threads;
};

// They throw TypeError and ValueError whose messages begin with the name of the argument.
[[nodiscard]] Manner manner_of(const MannerArguments& arguments);
[[nodiscard]] Kernel gaussian_of(nb::handle sigma, nb::handle order, nb::handle truncate, nb::handle radius);
[[nodiscard]] Kernel unsharp_of(nb::handle sigma, nb::handle amount, nb::handle truncate, nb::handle radius);
[[nodiscard]] Kernel box_of(nb::handle radius, nb::handle size, nb::handle origin);
[[nodiscard]] Kernel tent_of(nb::handle radius);
[[nodiscard]] Kernel convolve_of(nb::handle weights, nb::handle normalize);
[[nodiscard]] Kernel separable_of(nb::handle weights, nb::handle normalize);

/// The name that Python has for this mode.
[[nodiscard]] std::string_view name_of(BorderMode mode);
/// The name of the function that makes this kernel.
[[nodiscard]] const char* function_name(const Kernel& kernel);
/// The arguments that make this request, by name. Those that have their default value are left out.
[[nodiscard]] nb::dict arguments_of(const Request& request);

}  // namespace mollify::python
