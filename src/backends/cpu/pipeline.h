// From a pass of a plan to something that runs a tile: weights in the kernel's precision and the kernel's function.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/kernels/column_reads.h"
#include "backends/cpu/kernels/gauss_coarse.h"
#include "backends/cpu/kernels/kernels.h"
#include "mollify/plan.h"

namespace mollify::cpu {

struct Pipeline {
  std::function<void(const Tile&)> run;
  PerAxis<std::int32_t> size;  ///< of what the pass writes
  PerAxis<std::int32_t> tile;
  /// The source rows that a column of tiles takes to make the rows that lie where source rows [first, end) do, with what earlier passes
  /// need for that. Unset where another pass follows.
  std::function<ColumnReads(std::int64_t first, std::int64_t end)> reads{};
  std::optional<CoarseNeeds> coarse_needs{};  ///< of the coarse grid that the pass reads, which the pass before it makes
};

/// The ids of the kernels that this backend has.
[[nodiscard]] std::vector<std::string> kernel_ids();

/// One for each pass. Refuses a pass that does not tell its kernel exactly what that takes.
[[nodiscard]] Result<std::vector<Pipeline>> make_pipelines(const Plan& plan);

}  // namespace mollify::cpu
