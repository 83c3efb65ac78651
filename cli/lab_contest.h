// mollify lab contest: two builds of the tool, run in turns.
#pragma once

#include "commands.h"

namespace mollify::cli {

void add_contest(Command& lab);

}  // namespace mollify::cli
