// The table of all algorithms, whether this build has them or not.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "algorithms/algorithm.h"

namespace mollify {

/// What has to be part of a build for it to have an algorithm.
enum class BuildPart : std::uint8_t {
  library,     ///< nothing more: the algorithm runs on CPUs
  gpus,        ///< a GPU backend
  techniques,  ///< a GPU backend, and the published techniques
};

struct RegistryRow {
  std::string_view id;
  BuildPart part;
  const Algorithm* algorithm;  ///< null where this build leaves it out
};
/// In order of preference where costs tie; registry() has the algorithms of this build in the same order.
[[nodiscard]] std::span<const RegistryRow> registry_rows();

}  // namespace mollify
