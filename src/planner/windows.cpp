// Windows of a destination that keep a run within so many bytes.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "backends/cpu/kernels/layout.h"
#include "base/places.h"
#include "base/source_region.h"
#include "mollify/plan.h"
#include "planner/window_plan.h"

namespace mollify {
namespace {

/// What one axis of windows of some length takes, wherever they lie.
struct AxisCost {
  const Halo& halo;
  AxisPlaces places;
  std::int64_t source_length;

  [[nodiscard]] std::int64_t block() const { return std::max(halo.before.block, halo.after.block); }
  [[nodiscard]] std::int64_t halo_pixels() const { return halo.before.pixels + halo.after.pixels + block() - 1; }
  [[nodiscard]] std::int64_t source_pixels(std::int64_t length) const {
    return std::min(places.length(length) + halo_pixels(), source_length);
  }
  /// Of a coarse grid whose blocks are these.
  [[nodiscard]] std::int64_t samples(std::int64_t length) const { return (places.length(length) + halo_pixels()) / block() + 1; }
  /// Destination pixels whose places take up whole blocks.
  [[nodiscard]] std::int64_t whole_blocks() const { return block() / std::gcd(block(), places.step); }
};

class WindowCost {
 public:
  explicit WindowCost(const Plan& plan)
      : plan_(plan), x_{plan.halo->x, places_of(plan.spec).x, plan.src.width}, y_{plan.halo->y, places_of(plan.spec).y, plan.src.height} {}

  /// Source, destination and scratch memory of the largest of such windows.
  [[nodiscard]] std::int64_t bytes(std::int64_t width, std::int64_t height) const {
    const std::int64_t source = x_.source_pixels(width) * y_.source_pixels(height) * info(plan_.src.format).pixel_bytes();
    return source + width * height * info(plan_.dst.format).pixel_bytes() + scratch_bytes(width, height);
  }

  /// The part of what is read that windows do not share.
  [[nodiscard]] double efficiency(std::int64_t width, std::int64_t height) const {
    return static_cast<double>(x_.places.length(width)) / static_cast<double>(x_.source_pixels(width)) *
           static_cast<double>(y_.places.length(height)) / static_cast<double>(y_.source_pixels(height));
  }

  /// The most rows that windows of this width have within so many bytes, whole blocks if there is one; 0 where there is no room for any.
  [[nodiscard]] std::int64_t most_rows(std::int64_t width, std::int64_t most_bytes) const {
    std::int64_t fits = 0;
    for (std::int64_t above = std::int64_t{plan_.dst.height} + 1; above - fits > 1;) {
      const std::int64_t middle = (fits + above) / 2;
      (bytes(width, middle) <= most_bytes ? fits : above) = middle;
    }
    if (fits == plan_.dst.height || fits < y_.whole_blocks()) return fits;
    return fits / y_.whole_blocks() * y_.whole_blocks();
  }

  /// In rows of the destination.
  [[nodiscard]] std::int64_t halo_rows() const { return (y_.halo_pixels() + y_.places.step - 1) / y_.places.step; }

 private:
  /// About what the image of a window takes: the source and the destination lie on the device and in memory that the host sees.
  [[nodiscard]] std::int64_t gpu_scratch_bytes(std::int64_t width, std::int64_t height) const {
    constexpr std::int64_t kPadding = 16;  // pixels that a row may be longer on the device
    const std::int64_t read = (x_.source_pixels(width) + kPadding) * y_.source_pixels(height);
    const std::int64_t images =
        read * info(plan_.src.format).pixel_bytes() + (width + kPadding) * height * info(plan_.dst.format).pixel_bytes();
    const double share = static_cast<double>(read) / (static_cast<double>(plan_.src.width) * plan_.src.height);
    return 2 * images + static_cast<std::int64_t>(share * static_cast<double>(plan_.intermediate_bytes));
  }

  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t width, std::int64_t height) const {
    if (plan_.device.backend != Backend::cpu) return gpu_scratch_bytes(width, height);
    const std::int64_t aside = plan_.overlap == Overlap::in_place ? plan_.dst.payload_bytes() : 0;
    const std::int64_t of_workers = plan_.scratch_bytes - plan_.intermediate_bytes - aside;
    if (plan_.intermediate_bytes == 0) return of_workers;
    const std::int64_t row = cpu::row_stride(x_.samples(width) * info(plan_.src.format).channels);
    const std::int64_t coarse = row * y_.samples(height) * static_cast<std::int64_t>(sizeof(float));
    return of_workers + std::min(coarse, plan_.intermediate_bytes);
  }

  const Plan& plan_;
  AxisCost x_, y_;
};

/// Full-width strips as long as they are as high as what they share; else the tiles that share the least.
std::optional<PerAxis<std::int64_t>> best_size(const Plan& plan, const WindowCost& cost, std::int64_t bytes) {
  std::optional<PerAxis<std::int64_t>> best;
  double most = 0.0;
  for (std::int64_t columns = 1; columns < 2 * std::int64_t{plan.dst.width}; columns *= 2) {
    const std::int64_t width = (plan.dst.width + columns - 1) / columns;
    const std::int64_t height = cost.most_rows(width, bytes);
    if (height == 0) continue;
    const double efficiency = cost.efficiency(width, height);
    if (efficiency <= most) continue;
    best = {width, height};
    most = efficiency;
    if (columns == 1 && (height >= cost.halo_rows() || height == plan.dst.height)) break;
  }
  return best;
}

/// Windows begin where blocks of the source do, but for the first, where a stride lets them.
std::int64_t first_end(const HaloEdge& edge, const AxisPlaces& places, std::int64_t length) {
  if (places.step > 1 || length % edge.block != 0) return length;
  const std::int64_t within = (places.first - edge.offset) % edge.block;
  return length - (within < 0 ? within + edge.block : within);
}

}  // namespace

std::vector<Span> full_width_strips(const Plan& whole, std::int64_t rows) {
  const AxisCost axis{whole.halo->y, places_of(whole.spec).y, whole.src.height};
  const std::int64_t blocks = axis.whole_blocks();
  const std::int64_t size = (rows + blocks - 1) / blocks * blocks;
  std::vector<Span> strips;
  std::int64_t end = size >= whole.dst.height ? size : first_end(whole.halo->y.before, axis.places, size);
  for (std::int64_t y = 0; y < whole.dst.height; end += size) {
    strips.push_back({y, std::min<std::int64_t>(end, whole.dst.height)});
    y = strips.back().end;
  }
  return strips;
}

Result<std::vector<Rect>> windows(const Plan& plan, std::int64_t bytes) {
  if (Status s = check_destination(plan, {0, 0, plan.dst.width, plan.dst.height}); !s) return s.error();
  const WindowCost cost(plan);
  const std::optional<PerAxis<std::int64_t>> size = best_size(plan, cost, bytes);
  if (!size) {
    return Error{ErrorCode::out_of_memory,
                 "a window of one pixel takes " + std::to_string(cost.bytes(1, 1)) + " bytes, more than " + std::to_string(bytes),
                 {}};
  }
  std::vector<Rect> out;
  const AxisPlaces rows = places_of(plan.spec).y;
  std::int64_t y = 0;
  const bool is_one = size->y == plan.dst.height;
  for (std::int64_t end = is_one ? size->y : first_end(plan.halo->y.before, rows, size->y); y < plan.dst.height; end += size->y) {
    const std::int64_t bottom = std::min<std::int64_t>(end, plan.dst.height);
    for (std::int64_t x = 0; x < plan.dst.width; x += size->x) {
      out.push_back({static_cast<std::int32_t>(x), static_cast<std::int32_t>(y),
                     static_cast<std::int32_t>(std::min(size->x, plan.dst.width - x)), static_cast<std::int32_t>(bottom - y)});
    }
    y = bottom;
  }
  return out;
}

}  // namespace mollify
