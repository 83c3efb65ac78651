#include "interrupt.h"

namespace mollify::cli {
namespace {

std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

}  // namespace

const std::atomic<bool>& stop_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal_number : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(signal_number, &action, &before);
    // What whoever started us ignores, as shells do for commands in the background, stays ignored.
    if (before.sa_handler == SIG_IGN) sigaction(signal_number, &before, nullptr);
  }
  return stop_asked;
}

}  // namespace mollify::cli
