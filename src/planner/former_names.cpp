#include "planner/former_names.h"

#include <array>
#include <utility>

namespace mollify {
namespace {

struct FormerOption {
  std::string_view algorithm;
  std::string_view former;
  std::string_view current;
};
constexpr std::array<FormerOption, 18> kOptions{{
    {"box.any", "span", "pixels_per_thread"},
    {"box.any", "batch", "rows_in_flight"},
    {"box.any", "walks", "lanes_per_row"},
    {"box.any", "vertical_groups", "chunks"},
    {"sep.fused", "neighbours", "exchange"},
    {"sep.fused", "span", "pixels_per_thread"},
    {"sep.fused", "halves", "split"},
    {"sep.fused", "batch", "rows_in_flight"},
    {"sep.fused", "vertical_groups", "chunks"},
    {"gauss.decimate", "cells", "support"},
    {"gauss.decimate", "batch", "step_rows"},
    {"gauss.decimate", "cell_rows", "coarse_rows"},
    {"gauss.decimate", "blur_span", "samples_per_thread"},
    {"gauss.decimate", "read_span", "read_pixels"},
    {"gauss.decimate", "write_span", "write_pixels"},
    {"sep.inline_sliding", "vertical_groups", "chunks"},
    {"sep.inline_sliding_shared", "vertical_groups", "chunks"},
    {"sep.sliding", "columns", "chunks"},
}};

struct FormerValue {
  std::string_view algorithm;
  std::string_view option;  // as it is called today
  std::string_view former;
  std::string_view current;
};
constexpr std::array<FormerValue, 8> kValues{{
    {"box.any", "form", "columns", "column_sums"},
    {"box.any", "form", "corners", "four_corner"},
    {"box.any", "form", "segments", "row_segments"},
    {"sep.fused", "exchange", "lanes", "shuffle"},
    {"sep.fused", "math", "matrix", "coopmat"},
    {"sep.fused", "math", "matrix_lanes", "coopmat_direct"},
    {"gauss.decimate", "math", "matrix", "coopmat"},
    {"gauss.decimate", "blur", "expand", "upsample"},
}};

}  // namespace

Options with_current_names(std::string_view algorithm, const Options& options) {
  Options out = options;
  for (const auto& [of, former, current] : kOptions) {
    if (of != algorithm || !out.contains(former) || out.contains(current)) continue;
    auto node = out.extract(out.find(former));
    node.key() = current;
    out.insert(std::move(node));
  }
  for (const auto& [of, option, former, current] : kValues) {
    if (of != algorithm) continue;
    if (const auto given = out.find(option); given != out.end() && given->second == former) given->second = current;
  }
  return out;
}

}  // namespace mollify
