// What box.any of floats on GPUs does about NaN, infinities and outliers. Running sums subtract what they have added, which leaves
// nothing of the other numbers once one of them was so large. Such sums are made to overflow: pixels are summed as a power of two times
// what they are. What overflows is no finite number to the end of its band, and a last pass sums those pixels anew, from their windows
// alone.
#pragma once

#include <cstdint>

#include "algorithms/box/box_gpu.h"

namespace mollify {

/// The power of two that sums of columns are multiplied by before sums along a row take in up to `columns` of them. A sum along a row
/// then overflows only where that of a column has done so, which lasts to the end of the band: what overflows in one row alone would not
/// be seen. 1 of integers.
[[nodiscard]] double box_scale_along_rows(const Problem& p, double columns);

/// Refuses destinations whose numbers do not tell which sums were spoiled.
[[nodiscard]] Status can_mend_box(const Problem& p);

/// Where sums can be spoiled: appends the pass that sums anew, for bands of so many rows, and sets the proposal's reach to the window.
[[nodiscard]] Status mend_box(const Problem& p, const PerAxis<BoxAxis>& box, std::int32_t height, Proposal& out);

/// Where sums can be spoiled: says of a proposal that NaN, infinities and outliers act on pixels so far beyond their windows, and that it
/// is taken only where it is asked for.
void leave_box_spoiled(const Problem& p, const PerAxis<BoxAxis>& box, PerAxis<Reach> beyond, Proposal& out);

}  // namespace mollify
