// sep.fused has one form for CPUs and one for GPUs.
#pragma once

#include "algorithms/propose.h"

namespace mollify {

[[nodiscard]] Result<Proposal> propose_sep_fused_gpu(const Problem& p);

}  // namespace mollify
