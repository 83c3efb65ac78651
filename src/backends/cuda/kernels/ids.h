// The kernels that passes of plans may name. A build without the backend has the list too: it plans for GPUs that are described.
#pragma once

#include <array>
#include <string_view>

namespace mollify::cuda {

inline constexpr std::array<std::string_view, 25> kKernelIds = {
    "box_along",       "box_any",        "box_blocks",  "box_columns",        "box_down",          "box_rows",
    "box_segments",    "gauss_decimate", "gauss_grid",  "gauss_grid_columns", "gauss_grid_matrix", "gauss_grid_rows",
    "gauss_grid_tile", "gauss_matrix",   "gauss_spans", "gauss_strips",       "gauss_upsample",    "gauss_upsample_matrix",
    "nxn_direct",      "sep_columns",    "sep_fused",   "sep_matrix",         "sep_rows",          "sep_scatter",
    "sep_warps"};

}  // namespace mollify::cuda
