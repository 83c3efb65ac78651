// Checks the library on this machine, as `mollify verify` does.
#pragma once

#include <nanobind/nanobind.h>

namespace mollify::python {

namespace nb = nanobind;

void define_verify(nb::module_& module);

}  // namespace mollify::python
