#include "batch/wire.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mollify::cli {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

namespace {

constexpr std::size_t kMostDescriptors = 4;  // of one message

struct alignas(cmsghdr) ControlBytes {
  std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> bytes{};
};

msghdr header_of(iovec& bytes) {
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  return header;
}

void take_descriptors(msghdr& header, std::vector<Descriptor>& into) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr; control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      into.emplace_back(number);
    }
  }
}

}  // namespace

bool Wire::send(const Json& message, std::span<const int> descriptors) {
  std::vector<std::uint8_t> bytes = message.to_cbor();  // unlike text, it takes names that are no UTF-8
  iovec data{bytes.data(), bytes.size()};
  msghdr header = header_of(data);
  ControlBytes control;
  if (!descriptors.empty()) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(first), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(this->descriptor(), &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<Json> Wire::receive(std::vector<Descriptor>* descriptors) {
  constexpr std::size_t kLongest = 1 << 18;  // beyond what a socket takes at once
  std::vector<std::uint8_t> bytes(kLongest);
  iovec data{bytes.data(), bytes.size()};
  ControlBytes control;
  msghdr header{};
  ssize_t size = -1;
  do {
    header = header_of(data);
    if (descriptors != nullptr) {
      header.msg_control = control.bytes.data();
      header.msg_controllen = control.bytes.size();
    }
    size = ::recvmsg(descriptor(), &header, MSG_CMSG_CLOEXEC);
    // An end that was closed before it had read all is told first, once; what it has sent before comes after that.
  } while (size < 0 && (errno == EINTR || errno == ECONNRESET));
  if (size <= 0) return std::nullopt;
  if (descriptors != nullptr) take_descriptors(header, *descriptors);
  return Json::from_cbor(bytes.data(), static_cast<std::size_t>(size));
}

std::pair<Wire, Wire> make_wire() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail(fmt::format("a worker process cannot be started: {}", std::strerror(errno)));
  }
  return {Wire(ends[0]), Wire(ends[1])};
}

Json to_json(const BlurReport& report) {
  return {{"width", report.width},
          {"height", report.height},
          {"source_format", report.source_format},
          {"result_format", report.result_format},
          {"channels", report.channels},
          {"components", report.components},
          {"images", report.images},
          {"algorithms", report.algorithms},
          {"devices", report.devices},
          {"error", report.predicted_error},
          {"read_seconds", report.read_seconds},
          {"blur_seconds", report.blur_seconds},
          {"write_seconds", report.write_seconds},
          {"messages", report.notes}};
}

BlurReport report_of(const Json& message) {
  BlurReport report;
  report.width = message["width"];
  report.height = message["height"];
  report.source_format = message["source_format"];
  report.result_format = message["result_format"];
  report.channels = message["channels"];
  report.components = message["components"];
  report.images = message["images"];
  report.algorithms = message["algorithms"].get<std::set<std::string>>();
  report.devices = message["devices"].get<std::set<std::string>>();
  report.predicted_error = message["error"];
  report.read_seconds = message["read_seconds"];
  report.blur_seconds = message["blur_seconds"];
  report.write_seconds = message["write_seconds"];
  report.notes = message["messages"].get<std::vector<std::string>>();
  return report;
}

}  // namespace mollify::cli
