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

constexpr const char* kFooter =
    "Examples:\n"
#ifdef MOLLIFY_IMAGE_FILES
    R"(  mollify blur photo.jpg soft.jpg --gaussian 3        blur one image
  mollify blur *.png -o blurred --box 5               blur many into a folder
  mollify pyramid scan.tif slide.ome.tif              a picture and its smaller copies
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

int run(int argc, char** argv) {
  using namespace mollify::cli;
  CommandLine tool("mollify", "mollify blurs images, fast and within an error that you set.", "mollify " + std::string(mollify::version()));
#ifdef MOLLIFY_IMAGE_FILES
  add_blur(tool);
  add_pyramid(tool);
#endif
  add_plan(tool);
  add_list(tool);
  add_verify(tool);
#ifdef MOLLIFY_BENCH
  add_bench(tool);
  add_tune(tool);
  add_lab(tool);
#endif
  tool.set_footer(kFooter);  // behind the commands, which would inherit it

  try {
    tool.run(argc, argv);
    return finished(0);
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
