// Sources of bytes: files and pipes of the system.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "files/codec.h"

namespace mollify::files {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void fail_with_reason() {
  throw FileError(std::strerror(errno));
}

class FileSource final : public ByteSource {
 public:
  FileSource(Descriptor file, std::int64_t size) : file_(std::move(file)), size_(size) {}
  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) override {
    std::size_t done = 0;
    while (offset >= 0 && done < into.size()) {
      const ssize_t n = ::pread(file_.get(), into.data() + done, into.size() - done, offset + static_cast<std::int64_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_with_reason();
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

 private:
  Descriptor file_;
  std::int64_t size_;
};

Bytes read_to_end(int descriptor, std::int64_t most_bytes) {
  constexpr std::size_t kStep = 1 << 20;
  Bytes bytes;
  for (std::size_t done = 0;;) {
    if (static_cast<std::int64_t>(done) > most_bytes)
      throw FileError("is larger than the " + std::to_string(most_bytes) + " bytes that may be used for a pipe");
    if (bytes.size() < done + kStep) bytes.resize(std::max(2 * bytes.size(), done + kStep));
    const ssize_t n = ::read(descriptor, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_reason();
    if (n == 0) {
      bytes.resize(done);
      return bytes;
    }
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::string& path, std::int64_t most_bytes) {
  Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_with_reason();
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_with_reason();
  if (S_ISDIR(status.st_mode)) throw FileError("is a folder");
  if (S_ISREG(status.st_mode)) {
    if (status.st_size == 0) throw FileError("is empty");
    return std::make_unique<FileSource>(std::move(file), status.st_size);
  }
  return memory_source(read_to_end(file.get(), most_bytes));
}

}  // namespace mollify::files
