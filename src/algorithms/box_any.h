// box.any has one form for CPUs and one for GPUs.
#pragma once

#include "algorithms/gpu.h"

namespace mollify {

/// What GPUs sum pixels in.
inline constexpr std::array<std::string_view, 4> kBoxAnySums = {"u16x2", "u32", "f32", "f32x2"};

[[nodiscard]] Result<Proposal> propose_box_any_gpu(const Problem& p);

}  // namespace mollify
