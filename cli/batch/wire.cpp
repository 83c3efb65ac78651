#include "batch/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace mollify::cli {

using nlohmann::json;

Wire::Wire(Wire&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Wire& Wire::operator=(Wire&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Wire::~Wire() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Wire::send(const json& message) {
  const std::vector<std::uint8_t> bytes = json::to_cbor(message);  // unlike text, it takes names that are no UTF-8
  ssize_t sent = -1;
  do {
    sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<json> Wire::receive() {
  constexpr std::size_t kLongest = 1 << 18;  // beyond what a socket takes at once
  std::vector<std::uint8_t> bytes(kLongest);
  ssize_t size = -1;
  do {
    size = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return std::nullopt;
  return json::from_cbor(bytes.begin(), bytes.begin() + size);
}

json to_json(const BlurReport& report) {
  return {{"width", report.width},
          {"height", report.height},
          {"channels", report.channels},
          {"components", report.components},
          {"images", report.images},
          {"algorithms", report.algorithms},
          {"error", report.predicted_error},
          {"read_seconds", report.read_seconds},
          {"blur_seconds", report.blur_seconds},
          {"write_seconds", report.write_seconds},
          {"messages", report.notes}};
}

BlurReport report_of(const json& message) {
  BlurReport report;
  report.width = message["width"];
  report.height = message["height"];
  report.channels = message["channels"];
  report.components = message["components"];
  report.images = message["images"];
  report.algorithms = message["algorithms"].get<std::set<std::string>>();
  report.predicted_error = message["error"];
  report.read_seconds = message["read_seconds"];
  report.blur_seconds = message["blur_seconds"];
  report.write_seconds = message["write_seconds"];
  report.notes = message["messages"].get<std::vector<std::string>>();
  return report;
}

}  // namespace mollify::cli
