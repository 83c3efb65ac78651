#include "result_sink.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "failure.h"

namespace mollify::cli {

void FileSink::write_at(std::int64_t offset, std::span<const std::uint8_t> bytes) {
  file_.write(bytes.data(), bytes.size(), offset);
  file_.check();
}

std::size_t FileSink::read_at(std::int64_t offset, std::span<std::uint8_t> into) {
  return file_.read(into.data(), into.size(), offset);
}

std::int64_t OpenFileSink::size() const {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 ? status.st_size : 0;
}

void OpenFileSink::write_at(std::int64_t offset, std::span<const std::uint8_t> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(fmt::format("{}: cannot be written: {}", name_, std::strerror(errno)));
    done += static_cast<std::size_t>(n);
  }
}

std::size_t OpenFileSink::read_at(std::int64_t offset, std::span<std::uint8_t> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = ::pread(descriptor_, into.data() + done, into.size() - done, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace mollify::cli
