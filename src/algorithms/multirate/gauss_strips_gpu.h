// How gauss.decimate's last step on GPUs walks down strips, which it blurs as it goes.
#pragma once

#include "algorithms/multirate/gauss_decimate_gpu.h"
#include "algorithms/multirate/gauss_grid.h"

namespace mollify {

/// What one group of gauss_upsample_strip.comp makes, as that works it out.
struct Strip {
  std::int32_t threads = 128;
  std::int32_t cell_rows = 4;  ///< that it expands
  GridTile cells;              ///< that it blurs in a turn
  double seconds = 0.0;

  [[nodiscard]] std::int64_t shared_bytes() const { return cells.shared_bytes() + cells.bytes_without_margins(); }
};

/// As the options ask for, else the fastest.
[[nodiscard]] Result<Strip> choose_strip(const Problem& p, const Expansion& e);

}  // namespace mollify
