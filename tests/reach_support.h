// How the tests of Plan::reach plant one bad pixel at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support.h"

namespace mollify::test {

/// What a test looks at: algorithms with options, as parse_algorithm() takes them.
[[nodiscard]] std::vector<std::string> ways_to_blur(const std::vector<std::string_view>& forms);

/// Of each kernel: all border modes, or where pipelines take long to make the next one in turn.
enum class Borders : std::uint8_t { all, in_turn };

/// One NaN or infinity at each of 64 places, in turns of kernel, border mode and format: pixels beyond the plan's reach keep all bits.
/// Where the algorithm is only for integers, the pixel becomes white. Returns the number of blurs that were judged.
int expect_reach_holds(const Device& device, std::string_view algorithm, Borders borders);

}  // namespace mollify::test
