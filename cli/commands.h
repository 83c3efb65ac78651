// The subcommands of the tool, and the one way in which they fail.
#pragma once

#include <CLI/CLI.hpp>

#include "args.h"     // IWYU pragma: export
#include "failure.h"  // IWYU pragma: export

namespace mollify::cli {

// Each registers one subcommand of `app` with a callback that does the work. A callback that returns is a success;
// one that throws Failure ends the tool with that line and exit code. Results go to stdout, complaints to stderr.
// Option structs live in a std::shared_ptr that the callback captures, since they must outlive the registration.
void add_blur(CLI::App& app);
void add_plan(CLI::App& app);
void add_list(CLI::App& app);
void add_verify(CLI::App& app);
void add_bench(CLI::App& app);
void add_tune(CLI::App& app);
void add_lab(CLI::App& app);

}  // namespace mollify::cli
