// The form of gauss.cut for all but 8-bit images that are only blurred.
#pragma once

#include "algorithms/algorithm.h"

namespace mollify {

[[nodiscard]] Result<Proposal> propose_cut_tails(const Problem& p);

}  // namespace mollify
