// How what a pass makes is cut into tiles when it runs. Tiles as they were planned are of one image and of all of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mollify/image.h"

namespace mollify::cpu {

/// How what a pass makes, or a part of that, is cut into tiles.
struct Tiling {
  Rect area;
  PerAxis<std::int32_t> tile;

  [[nodiscard]] std::int64_t across() const { return (std::int64_t{area.width} + tile.x - 1) / tile.x; }
  [[nodiscard]] std::int64_t down() const { return (std::int64_t{area.height} + tile.y - 1) / tile.y; }
  [[nodiscard]] std::int64_t count() const { return across() * down(); }
  [[nodiscard]] Rect at(std::int64_t index) const {
    const auto x = static_cast<std::int32_t>(index % across()) * tile.x;
    const auto y = static_cast<std::int32_t>(index / across()) * tile.y;
    return {area.x + x, area.y + y, std::min(tile.x, area.width - x), std::min(tile.y, area.height - y)};
  }
};

/// Tiles as they were planned are as large as caches allow. Where a window has fewer of them than there are threads, they are narrower.
[[nodiscard]] inline Tiling shared_among(std::int32_t threads, Tiling tiling) {
  constexpr std::int64_t kLeastColumns = 256;
  const std::int64_t across = (threads + tiling.count() - 1) / tiling.count() * tiling.across();
  const std::int64_t columns = std::max((tiling.area.width + across - 1) / across, kLeastColumns);
  tiling.tile.x = static_cast<std::int32_t>(std::min<std::int64_t>(columns, tiling.tile.x));
  return tiling;
}

/// Images of a batch are tasks themselves: where there are enough, strips of them are put together, so that fewer rows of halos are
/// filtered twice.
[[nodiscard]] inline Tiling of_batch(std::int32_t threads, std::int64_t images, Tiling tiling) {
  if (images < 2) return tiling;
  constexpr std::int64_t kTasksOfThread = 4;  // so that uneven threads even out
  const std::int64_t tasks = (kTasksOfThread * threads + images - 1) / images;
  const std::int64_t strips = std::max<std::int64_t>(tasks / tiling.across(), 1);
  if (strips >= tiling.down()) return tiling;
  const std::int64_t together = (tiling.down() + strips - 1) / strips;
  tiling.tile.y = static_cast<std::int32_t>(std::min<std::int64_t>(together * tiling.tile.y, tiling.area.height));
  return tiling;
}

}  // namespace mollify::cpu
