// Signals that end the program, taken as events, so that it can clean up in order.
#pragma once

#include <csignal>

namespace mollify::cli {

class SignalWatch {
 public:
  /// SIGINT, SIGTERM and SIGHUP from here on, but for those that whoever started the program has it ignore.
  SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch();

  /// Readable when one has come.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// After that: ends the program by the signal.
  [[noreturn]] void end_program() const;

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

}  // namespace mollify::cli
