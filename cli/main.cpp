// mollify, the command-line tool.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "commands.h"
#include "message.h"
#include "mollify/mollify.h"

namespace {

constexpr const char* kExamples =
    "Examples:\n"
#ifdef MOLLIFY_IMAGE_FILES
    R"(  mollify blur photo.jpg soft.jpg --gaussian 3        blur one image
  mollify blur *.png -o blurred --box 5               blur many into a folder
)"
#endif
    R"(  mollify plan 3840x2160 rgba8 --gaussian 12          how it would run, and why so
  mollify list algorithms                             what there is to choose from
  mollify verify                                      check every algorithm of the CPU, or of --device
)"
#ifdef MOLLIFY_BENCH
    R"(  mollify bench --size 3840x2160 --gaussian 3         measure it on this machine
  mollify tune --device vulkan:0                      find what is fastest on this device, and keep it
  mollify lab run --suite quick -o results.jsonl      measure a little of everything
)"
#endif
    R"('mollify COMMAND --help' explains every option.)";

// A file that is opened takes the first free descriptor. Were it one of these, what libraries say would land in an image.
void keep_standard_descriptors() {
  for (int wanted = STDIN_FILENO; wanted <= STDERR_FILENO; ++wanted) {
    if (::fcntl(wanted, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

// What is still in a buffer may meet a full disk only now.
int finished(int exit_code) {
  std::cout.flush();
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return exit_code;
  const int reason = errno;
  mollify::cli::complain(std::string("standard output cannot be written") + (reason != 0 ? std::string(": ") + std::strerror(reason) : ""));
  return mollify::cli::kExitFailure;
}

// CLI11 reports some mistakes over several lines; the tool promises one.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// "plan, list and lab"
std::string names_of_commands(const CLI::App& app) {
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::string names;
  for (const CLI::App* command : commands) {
    if (!names.empty()) names += command == commands.back() ? " and " : ", ";
    names += command->get_name();
  }
  return names;
}

// The command that was named last: "lab run" of "mollify lab run --fast".
const CLI::App& last_named(const CLI::App& app) {
  const std::vector<CLI::App*> named = app.get_subcommands();
  return named.empty() ? app : last_named(*named.back());
}

std::string path_of(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name() : path_of(*command.get_parent()) + " " + command.get_name();
}

std::string explained(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App& command = last_named(app);
  std::string what = first_line(error.what());
  const std::string commands = names_of_commands(command);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !commands.empty()) {
    what = fmt::format("{} needs one of {}", command.get_name(), commands);  // CLI11 names none of them
  }
  return fmt::format("{} (see '{} --help')", what, path_of(command));
}

int run(int argc, char** argv) {
  using namespace mollify::cli;
  CLI::App app{"mollify blurs images, fast and within an error that you set.", "mollify"};
  app.set_version_flag("--version", "mollify " + std::string(mollify::version()));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
#ifdef MOLLIFY_IMAGE_FILES
  add_blur(app);
#endif
  add_plan(app);
  add_list(app);
  add_verify(app);
#ifdef MOLLIFY_BENCH
  add_bench(app);
  add_tune(app);
  add_lab(app);
#endif
  app.footer(kExamples);  // behind the commands, which would inherit it

  const auto is_named = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty()) {
    complain(fmt::format("{} is not a command; there are {}", in_quotes(argv[1]), names_of_commands(app)));
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
    return finished(0);
  } catch (const CLI::Success& request) {  // --help and --version arrive as exceptions
    return finished(app.exit(request));
  } catch (const CLI::ParseError& error) {
    complain(explained(error, app));
    return kExitUsage;
  } catch (const Failure& failure) {
    if (!failure.message.empty()) complain(failure.message);
    return failure.exit_code;
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is a failed write, too
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit then is a failed write with a reason, not a sudden death
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    mollify::cli::complain("not enough memory");
  } catch (const std::exception& error) {
    mollify::cli::complain(error.what());
  }
  return mollify::cli::kExitFailure;
}
