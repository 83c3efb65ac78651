// Names that options and their values had before version 0.2.0. They are accepted until version 0.3.0.
#pragma once

#include <string_view>

#include "mollify/plan.h"

namespace mollify {

/// The options of an algorithm with former names replaced by those of today. A former name stays where today's is
/// given as well: it is refused then, as any unknown option is.
[[nodiscard]] Options with_current_names(std::string_view algorithm, const Options& options);

}  // namespace mollify
