// A pass of sep.direct along one axis, any number of taps. The blur of a coarse grid takes it, too.
#pragma once

#include <optional>
#include <string_view>

#include "algorithms/common/gpu.h"

namespace mollify {

inline constexpr std::string_view kSepDirectKernel = "sep_direct";
/// Taps whose products are added up by themselves, see blocked_summation_growth().
inline constexpr std::int32_t kSepDirectBlock = 32;

/// Without its taps, its origin, and what it reads and writes. `border`: on both axes, where it is not the blur's.
[[nodiscard]] Pass sep_direct_pass(PerAxis<std::int32_t> size, bool is_vertical, gpu::LaneOrder order, PerAxis<std::int32_t> group,
                                   gpu::Storage storage, std::optional<BorderMode> border = {});

}  // namespace mollify
