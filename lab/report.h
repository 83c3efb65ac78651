// The report: one HTML file with everything in it.
#pragma once

#include <span>
#include <string>

#include "lab/results.h"

namespace mollify::lab {

/// The page for these records, of the lab or of `mollify bench --json`. It loads nothing: not from the network, not from
/// files beside it.
[[nodiscard]] std::string report_page(std::span<const Json> records);

}  // namespace mollify::lab
