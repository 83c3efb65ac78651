// How a command ends early: one line on stderr and an exit code.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mollify/result.h"

namespace mollify::cli {

inline constexpr int kExitFailure = 1;  ///< the request was understood and could not be fulfilled
inline constexpr int kExitUsage = 2;    ///< the command line itself is wrong

/// Thrown by commands, caught by main(), which prints `mollify: <message>` unless the message is empty.
struct Failure {
  int exit_code = kExitFailure;
  std::string message;
};

/// A file that needs more memory than it may use. In a batch it is tried again alone, with all that the batch may use.
struct MemoryFailure : Failure {};
[[noreturn]] inline void fail_for_memory(std::string message) {
  throw MemoryFailure{{kExitFailure, std::move(message)}};
}

[[noreturn]] inline void fail(std::string message) {
  throw Failure{kExitFailure, std::move(message)};
}
[[noreturn]] inline void fail_usage(std::string message) {
  throw Failure{kExitUsage, std::move(message)};
}

/// The error as one line: its message, then its reasons, or the first of many.
[[nodiscard]] std::string one_line(const Error& error);

/// The value, or a Failure that says `<subject>: <error>`.
template <class T>
T value_or_fail(Result<T> result, std::string_view subject = {}) {
  if (!result.ok()) {
    fail((subject.empty() ? "" : std::string(subject) + ": ") + one_line(result.error()));
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace mollify::cli
