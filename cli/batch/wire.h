// What a batch and its workers say to each other: one message at a time over a pair of sockets.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "blur_file.h"
#include "failure.h"
#include "json/json.h"

namespace mollify::cli {

/// An open file, closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// One end. Owns the descriptor.
class Wire {
 public:
  explicit Wire(int descriptor) : descriptor_(descriptor) {}
  explicit Wire(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  /// False where the other end is closed. The other end gets copies of the descriptors.
  bool send(const Json& message, std::span<const int> descriptors = {});
  /// Waits. Nothing where the other end is closed. Without a place for them, descriptors that come along are closed.
  [[nodiscard]] std::optional<Json> receive(std::vector<Descriptor>* descriptors = nullptr);
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
};

/// Both ends of a new one. Throws Failure.
[[nodiscard]] std::pair<Wire, Wire> make_wire();

[[nodiscard]] Json to_json(const BlurReport& report);
[[nodiscard]] BlurReport report_of(const Json& message);

}  // namespace mollify::cli
