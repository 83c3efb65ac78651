// Result<T>: a value, or an Error that says what went wrong in one line and why in more.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mollify {

/// What kind of failure an Error is.
enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< The request itself makes no sense: a negative sigma, NaN, an empty image, a region outside the image.
  unsupported,       ///< The request makes sense, but nothing here can do it. Error::reasons says why.
  out_of_memory,     ///< Memory of the host or of the device could not be had.
  device_lost,       ///< The driver reported that the GPU is lost, for example after a reset.
  internal,          ///< A mistake in mollify or in a driver.
  stopped,           ///< The caller asked for it, see RunControl.
};

/// Why something could not be done.
struct Error {
  ErrorCode code = ErrorCode::internal;  ///< The kind of failure.
  std::string message;                   ///< One line that names the thing that is wrong.
  std::vector<std::string> reasons;      ///< Further lines, such as why each algorithm refused. Often empty.
};

/// Holds a T or an Error. Reading the side that is not there is a programming error and throws std::bad_variant_access.
template <class T>
class [[nodiscard]] Result {
 public:
  /// Holds a value, so that `return value;` works.
  Result(T value) : state_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;` should work
  /// Holds an error, so that `return Error{...};` works.
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  /// Whether there is a value.
  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  /// Whether there is a value.
  explicit operator bool() const { return ok(); }

  /// The value. There must be one.
  T& value() & { return std::get<0>(state_); }
  /// The value. There must be one.
  const T& value() const& { return std::get<0>(state_); }
  /// Moves the value out. There must be one.
  T&& value() && { return std::get<0>(std::move(state_)); }
  /// The value. There must be one.
  T& operator*() & { return value(); }
  /// The value. There must be one.
  const T& operator*() const& { return value(); }
  /// Moves the value out. There must be one.
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  /// The value's members. There must be a value.
  T* operator->() { return &value(); }
  /// The value's members. There must be a value.
  const T* operator->() const { return &value(); }

  /// The error. There must be one.
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error. See Status.
template <>
class [[nodiscard]] Result<void> {
 public:
  /// Success.
  Result() = default;
  /// Holds an error, so that `return Error{...};` works.
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)

  /// Whether it succeeded.
  [[nodiscard]] bool ok() const { return ok_; }
  /// Whether it succeeded.
  explicit operator bool() const { return ok_; }
  /// The error. After success it is one without a message.
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

/// What a function returns that makes nothing: success or an Error.
using Status = Result<void>;

}  // namespace mollify
