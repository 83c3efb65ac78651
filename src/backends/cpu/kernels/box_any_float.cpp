// Boxes of floats: the twins, and windows that are folded.
#include <algorithm>
#include <array>

#include "backends/cpu/kernels/box_window.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/pixel.h"

namespace mollify::cpu {

namespace scalar {
namespace {

template <class T>
void box_float(const BoxAny& box, const Tile& tile) {
  for_each_pixel<T>(box.rows, tile, [&](std::int64_t x, std::int64_t y) {
    std::array<T, 4> out;
    const std::array<double, 4> sum = window_sum<T, double>(box, tile.src, x, y);
    std::transform(sum.begin(), sum.end(), out.begin(), [&](double v) { return static_cast<T>(v * box.scale); });
    return out;
  });
}

}  // namespace

void box_any_f64(const BoxAny& box, const Tile& tile) {
  box_float<float>(box, tile);
}
void box_any_wide(const BoxAny& box, const Tile& tile) {
  box_float<double>(box, tile);
}

}  // namespace scalar

BoxWindow box_window(const BoxExtent& extent) {
  BoxWindow window;
  window.before = static_cast<std::int64_t>(extent.before);
  window.after = static_cast<std::int64_t>(extent.after);
  window.before_fraction = extent.before - static_cast<double>(window.before);
  window.after_fraction = extent.after - static_cast<double>(window.after);
  return window;
}

FoldedWindow fold_window(const BoxWindow& window, BorderMode mode, std::int64_t length) {
  FoldedWindow out{window, {}};
  if (mode == BorderMode::clamp || mode == BorderMode::constant) {
    out.window.before = std::min(window.before, length);
    out.window.after = std::min(window.after, length);
    out.fold.before = window.before - out.window.before;
    out.fold.after = window.after - out.window.after;
    return out;
  }
  const std::int64_t period = mode == BorderMode::wrap      ? length
                              : mode == BorderMode::reflect ? 2 * length
                                                            : std::max<std::int64_t>(2 * (length - 1), 1);
  // Two periods are left, so that one from any pixel on is among the columns of each tile.
  const auto whole = [&](std::int64_t reach) { return std::max<std::int64_t>(reach / period - 2, 0); };
  out.fold = {0, 0, whole(window.before) + whole(window.after), period};
  out.window.before -= whole(window.before) * period;
  out.window.after -= whole(window.after) * period;
  return out;
}

}  // namespace mollify::cpu
