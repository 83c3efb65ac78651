// How gauss.decimate's last step on GPUs moves down strips, which it blurs as it goes.
#pragma once

#include "algorithms/multirate/gauss_decimate_gpu.h"
#include "algorithms/multirate/gauss_grid.h"

namespace mollify {

/// What one group of gauss_upsample_strip.comp makes, as that works it out.
struct Strip {
  std::int32_t threads = 128;
  std::int32_t coarse_rows = 4;  ///< that it expands
  GridTile samples;              ///< that it blurs in a step
  double seconds = 0.0;

  [[nodiscard]] std::int64_t shared_bytes() const { return samples.shared_bytes() + samples.bytes_without_margins(); }
};

/// As the options ask for, else the fastest.
[[nodiscard]] Result<Strip> choose_strip(const Problem& p, const Expansion& e);

}  // namespace mollify
