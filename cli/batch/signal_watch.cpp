#include "batch/signal_watch.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

namespace mollify::cli {

SignalWatch::SignalWatch() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&watched, number);
  }
  ::sigprocmask(SIG_BLOCK, &watched, &before_);
  descriptor_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalWatch::~SignalWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void SignalWatch::end_program() const {
  signalfd_siginfo info{};
  const bool is_known = ::read(descriptor_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
  const int number = is_known ? static_cast<int>(info.ssi_signo) : SIGTERM;
  std::signal(number, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  ::raise(number);
  ::_exit(128 + number);
}

}  // namespace mollify::cli
