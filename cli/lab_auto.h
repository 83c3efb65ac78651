// mollify lab auto: whether the device that --device auto takes is the faster one.
#pragma once

#include "commands.h"

namespace mollify::cli {

void add_auto(Command& lab);

}  // namespace mollify::cli
