// Random cases of every n-th pixel, for CPUs and for GPUs.
#pragma once

#include <string_view>
#include <vector>

#include "support.h"

namespace mollify::test {

/// The algorithm keeps to the reference, within what it promises, in so many random cases with a stride.
void expect_promise_with_strides(std::string_view algorithm, const std::vector<Device>& devices, int cases);

/// Windows have the bits of the whole, in so many random cases with a stride.
void expect_same_bits_on_windows_with_strides(std::string_view algorithm, const std::vector<Device>& devices, int cases);

}  // namespace mollify::test
