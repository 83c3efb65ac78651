#include "cases/reached.h"

#include <algorithm>

#include "reference/weights.h"

namespace mollify::cases {
namespace {

/// For the places of `count` destination pixels on an axis: does one within their reach stand for the source's place `planted`?
std::vector<bool> reached_from(std::int32_t planted, const Reach& reach, BorderMode mode, const Stride& stride, std::int64_t origin,
                               std::int64_t count, std::int64_t length) {
  const std::int64_t begin = origin + stride.phase_halves / 2;
  const std::int64_t end = begin + (count - 1) * stride.step + 1;
  std::vector<std::int64_t> found{0};  // up to each place
  for (std::int64_t i = begin - reach.before; i < end + reach.after; ++i) {
    found.push_back(found.back() + (reference::source_index(mode, i, length) == planted ? 1 : 0));
  }
  std::vector<bool> out;
  const std::int64_t window = std::int64_t{reach.before} + reach.after + 1;
  for (std::int64_t i = 0; i < end - begin; i += stride.step) {
    out.push_back(found[static_cast<std::size_t>(i + window)] != found[static_cast<std::size_t>(i)]);
  }
  return out;
}

}  // namespace

Reached::Reached(const Plan& plan, const std::vector<PerAxis<std::int32_t>>& planted) {
  const Rect region = plan.spec.roi.value_or(Rect{0, 0, plan.src.width, plan.src.height});
  const PerAxis<BorderMode> mode = plan.spec.border.mode;
  const PerAxis<Stride> stride = plan.spec.stride;
  for (const PerAxis<std::int32_t>& at : planted) {
    columns_and_rows_.push_back({reached_from(at.x, plan.reach.x, mode.x, stride.x, region.x, plan.dst.width, plan.src.width),
                                 reached_from(at.y, plan.reach.y, mode.y, stride.y, region.y, plan.dst.height, plan.src.height)});
  }
}

bool Reached::operator()(std::int32_t x, std::int32_t y) const {
  return std::ranges::any_of(columns_and_rows_, [&](const PerAxis<std::vector<bool>>& one) {
    return one.x[static_cast<std::size_t>(x)] && one.y[static_cast<std::size_t>(y)];
  });
}

}  // namespace mollify::cases
