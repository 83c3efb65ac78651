#include "batch/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "failure.h"

namespace mollify::cli {
namespace {

constexpr const char* kName = ".mollify-journal";

std::string path_of(const std::string& folder, const std::string& only_file) {
  const std::string name = only_file.empty() ? kName : fmt::format("{}-{:016x}", kName, hash_of(only_file));
  return (std::filesystem::path(folder) / name).string();
}

// Eight bytes at a time: multiply, rotate, and mix at the end, so that a changed bit anywhere changes about half of the result.
class Hash {
 public:
  void add(std::string_view bytes) {
    size_ += bytes.size();
    while (bytes.size() >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), 8);
      mix(word);
      bytes.remove_prefix(8);
    }
    if (bytes.empty()) return;
    std::uint64_t rest = 0;
    std::memcpy(&rest, bytes.data(), bytes.size());
    mix(rest);
  }
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t h = state_ ^ size_;
    for (int i = 0; i < 2; ++i) h = (h ^ (h >> 31U)) * kFactor;
    return h ^ (h >> 29U);
  }

 private:
  static constexpr std::uint64_t kFactor = 0xd6e8feb86659fd93;
  void mix(std::uint64_t word) { state_ = std::rotl((state_ ^ word) * kFactor, 27) + 0x9e3779b97f4a7c15; }

  std::uint64_t state_ = 0x243f6a8885a308d3;
  std::uint64_t size_ = 0;
};

// A name without blanks and line ends.
std::string encoded(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte > 0x20 && byte != 0x7f && c != '%' ? std::string(1, c) : fmt::format("%{:02x}", byte);
  }
  return text;
}

// Waits a moment: workers of a run that was killed hold the lock until they have noticed. A file system without locks has none to wait for.
bool could_lock(int descriptor) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
    ::usleep(20 * 1000);
  }
  return false;
}

std::string whole_text(int descriptor) {
  std::string text;
  std::vector<char> block(1 << 16);
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(descriptor, block.data(), block.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(n));
    at += n;
  }
}

}  // namespace

std::uint64_t hash_of(std::string_view bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.value();
}

std::uint64_t hash_of_file(int descriptor) {
  Hash hash;
  std::vector<char> block(1 << 20);
  for (off_t at = 0;;) {
    std::size_t filled = 0;  // blocks are filled, since words must not depend on how much each read() returns
    while (filled < block.size()) {
      const ssize_t n = ::pread(descriptor, block.data() + filled, block.size() - filled, at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(std::strerror(errno));
      if (n == 0) break;
      filled += static_cast<std::size_t>(n);
      at += n;
    }
    hash.add({block.data(), filled});
    if (filled < block.size()) return hash.value();
  }
}

Journal::Journal(const std::string& folder, std::string_view blur, const std::string& only_file)
    : path_(path_of(folder, only_file)), blur_(hash_of(blur)) {
  // A run that has just ended may remove the file between our opening and our locking it.
  for (struct stat ours{}, there{}; descriptor_ < 0;) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
    if (!could_lock(descriptor_)) {
      ::close(std::exchange(descriptor_, -1));
      fail(only_file.empty() ? fmt::format("{}: another run of mollify replaces files in this folder", folder)
                             : fmt::format("{}/{}: another run of mollify replaces this file", folder, only_file));
    }
    const bool is_same = ::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 && ours.st_ino == there.st_ino;
    if (!is_same) ::close(std::exchange(descriptor_, -1));
  }
  read();
}

Journal::~Journal() {
  remove_if_empty();
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::remove() {
  if (!is_removed_) ::unlink(path_.c_str());
  is_removed_ = true;  // another run may have one of that name from now on
}

void Journal::remove_if_empty() {
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && status.st_size == 0) remove();
}

void remove_empty_journals(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code unknown;
    const bool is_empty_journal = entry.path().filename().string().starts_with(kName) && entry.is_regular_file(unknown) &&
                                  !entry.is_symlink(unknown) && entry.file_size(unknown) == 0 && !unknown;
    if (!is_empty_journal) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) continue;
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());  // nobody's
    ::close(file);
  }
}

void Journal::read() {
  const std::string all = whole_text(descriptor_);
  if (!all.empty() && all.back() != '\n') static_cast<void>(::write(descriptor_, "\n", 1));  // the next line must not go on with it
  std::istringstream text(all);
  for (std::string line; std::getline(text, line) && !text.eof();) {  // a line without its end was cut off
    std::istringstream words(line);
    std::uint64_t blur = 0;
    Entry entry;
    std::string name;
    if (words >> std::hex >> blur >> entry.hash >> std::dec >> entry.size >> name && blur == blur_) entries_[name] = entry;
  }
}

bool Journal::is_done(const std::string& name, const std::string& path) {
  read();
  const auto found = entries_.find(encoded(name));
  if (found == entries_.end()) return false;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status {};
  const bool has_size = ::fstat(file, &status) == 0 && status.st_size == found->second.size;
  const bool is_same = has_size && hash_of_file(file) == found->second.hash;
  ::close(file);
  return is_same;
}

void append_to_journal(int journal, std::uint64_t blur, const std::string& name, int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) fail(std::strerror(errno));
  const std::string line = fmt::format("{:016x} {:016x} {} {}\n", blur, hash_of_file(file), status.st_size, encoded(name));
  const ssize_t written = ::write(journal, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size()) && ::fdatasync(journal) == 0) return;
  fail(fmt::format("the journal of the batch cannot be written: {}", std::strerror(written < 0 || errno != 0 ? errno : ENOSPC)));
}

}  // namespace mollify::cli
