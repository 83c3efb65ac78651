// Result<T>: a value, or an Error that says what went wrong in one line and why in more.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mollify {

enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< the request itself makes no sense: negative sigma, NaN, empty image, region outside the image
  unsupported,       ///< the request makes sense, nothing here can do it: see Error::reasons
  out_of_memory,
  device_lost,
  internal,
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;               ///< one line, names the thing that is wrong
  std::vector<std::string> reasons;  ///< one line each, e.g. why every algorithm refused
};

/// Holds a T or an Error. Reading the side that is not there is a programming error (std::bad_variant_access).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;` should work
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;

}  // namespace mollify
