// device="auto": where a blur of an array in host memory ends first, as far as that can be told before.
#pragma once

#include <string>

#include "prepared.h"

namespace mollify::python {

inline constexpr const char* kAutoDevice = "auto";

struct AutoDevice {
  std::string name;  ///< "cpu", or that of a GPU
  std::string why;   ///< what was compared, in a line
};

/// The request is for the processor. Throws what Prepared does.
[[nodiscard]] AutoDevice choose_device(const Task& task_on_cpu);

}  // namespace mollify::python
