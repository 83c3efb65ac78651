// What pymollify.compat reads of how other libraries mean their arguments.
#pragma once

#include <nanobind/nanobind.h>

namespace mollify::python {

namespace nb = nanobind;

void define_conventions(nb::module_& module);

}  // namespace mollify::python
