// The subcommands of the tool, and the one way in which they fail.
#pragma once

#include "args.h"       // IWYU pragma: export
#include "arguments.h"  // IWYU pragma: export
#include "failure.h"    // IWYU pragma: export

namespace mollify::cli {

// Each registers one subcommand of `app` with a callback that does the work. A callback that returns is a success;
// one that throws Failure ends the tool with that line and exit code. Results go to stdout, complaints to stderr.
// Option structs live in a std::shared_ptr that the callback captures, since they must outlive the registration.
void add_blur(Command& app);
void add_pyramid(Command& app);
void add_plan(Command& app);
void add_list(Command& app);
void add_verify(Command& app);
void add_bench(Command& app);
void add_tune(Command& app);
void add_lab(Command& app);

}  // namespace mollify::cli
