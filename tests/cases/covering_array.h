// Rows that hold every pair of values of every two axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace mollify::cases {

/// May `value_a` of `axis_a` and `value_b` of `axis_b` (axis_a < axis_b) occur in one row?
using PairAllowed =
    std::function<bool(std::size_t axis_a, std::size_t value_a, std::size_t axis_b, std::size_t value_b)>;

/// Greedy: every allowed pair occurs in a row, no row holds a forbidden one. A row that no value can complete is
/// dropped together with the pair that it was to cover; give each axis a value that goes with everything and there is
/// none.
[[nodiscard]] std::vector<std::vector<std::size_t>> covering_array(std::span<const std::size_t> axis_sizes,
                                                                   const PairAllowed& allowed, std::uint64_t seed);

}  // namespace mollify::cases
