// How long blurs of an array take, compared with copies of its bytes.
#pragma once

#include <nanobind/nanobind.h>

namespace mollify::python {

namespace nb = nanobind;

void define_bench(nb::module_& module);

}  // namespace mollify::python
