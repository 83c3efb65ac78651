// What a batch and its workers say to each other: one message at a time over a pair of sockets.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "blur_file.h"
#include "failure.h"

namespace mollify::cli {

/// One end. Owns the descriptor.
class Wire {
 public:
  explicit Wire(int descriptor) : descriptor_(descriptor) {}
  Wire(Wire&& other) noexcept;
  Wire& operator=(Wire&& other) noexcept;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  /// False where the other end is closed.
  bool send(const nlohmann::json& message);
  /// Waits. Nothing where the other end is closed.
  [[nodiscard]] std::optional<nlohmann::json> receive();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

[[nodiscard]] nlohmann::json to_json(const BlurReport& report);
[[nodiscard]] BlurReport report_of(const nlohmann::json& message);

}  // namespace mollify::cli
