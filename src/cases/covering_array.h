// Rows that hold every pair of values of two axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace mollify::cases {

/// Where a row has no value yet.
inline constexpr std::size_t kOpen = SIZE_MAX;

/// Is there a complete row with these values?
using RowAllowed = std::function<bool(std::span<const std::size_t> row)>;

/// Greedy: of every two axes of which one at least is among the first `leading`, every pair of values that an allowed row
/// can hold occurs in a row. All rows are allowed.
[[nodiscard]] std::vector<std::vector<std::size_t>> covering_array(std::span<const std::size_t> axis_sizes, std::size_t leading,
                                                                   const RowAllowed& allowed, std::uint64_t seed);

}  // namespace mollify::cases
