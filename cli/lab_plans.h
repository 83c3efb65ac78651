// mollify lab plans: how far the planner's choices are from the best.
#pragma once

#include "commands.h"

namespace mollify::cli {

void add_plans(Command& lab);

}  // namespace mollify::cli
