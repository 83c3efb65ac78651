#include "atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "failure.h"
#include "temporary_files.h"

namespace mollify::cli {
namespace {

namespace fs = std::filesystem;

// What the signal handler removes. A plain array, since a handler may touch nothing that owns memory.
std::array<char, 4096> pending_path;
std::atomic<bool> is_pending = false;

void remove_pending_and_die(int signal_number) {
  if (is_pending) ::unlink(pending_path.data());
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void watch_signals() {
  static const bool once = [] {
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
      // A signal ignored by whoever started us, as under nohup, stays ignored.
      if (std::signal(signal_number, remove_pending_and_die) == SIG_IGN) std::signal(signal_number, SIG_IGN);
    }
    return true;
  }();
  static_cast<void>(once);
}

// Sets errno where it fails.
bool renamed(const std::string& from, const std::string& to, bool replaces) {
  if (!replaces) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
    const bool is_known = errno != EINVAL && errno != ENOSYS;  // to the file system and the kernel
    if (is_known) return false;
  }
  return std::rename(from.c_str(), to.c_str()) == 0;
}

AtomicFile::BeforeRename& before_rename() {
  static AtomicFile::BeforeRename function;
  return function;
}

}  // namespace

void AtomicFile::set_before_rename(BeforeRename function) {
  before_rename() = std::move(function);
}

AtomicFile::AtomicFile(const std::string& path, bool replaces) : path_(path), target_path_(follow_links(path)), replaces_(replaces) {
  struct stat existing {};
  const bool exists = ::stat(target_path_.c_str(), &existing) == 0;
  if (exists && !S_ISREG(existing.st_mode)) fail(fmt::format("{}: is not a regular file", path_));
  if (target_path_.size() + 48 >= pending_path.size()) fail(fmt::format("{}: {}", path_, std::strerror(ENAMETOOLONG)));

  watch_signals();
  temporary_path_ = temporary_name(fs::path(target_path_).parent_path().string());
  pending_path[temporary_path_.copy(pending_path.data(), pending_path.size() - 1)] = '\0';
  is_pending = true;  // before there is anything to remove: a signal may come at once
  descriptor_ = ::open(temporary_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    const int reason = errno;
    discard();
    fail(fmt::format("{}: cannot be written: {}", path_, std::strerror(reason)));
  }
  lock_temporary(descriptor_);
  // Keeps the rights of a file that is replaced. Where that is not allowed, the usual ones are no reason to fail.
  if (exists) static_cast<void>(::fchmod(descriptor_, existing.st_mode & 07777) == 0);
  had_file_ = exists;
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
  temporary_path_.clear();
  is_pending = false;
}

void AtomicFile::find_reason() {
  constexpr std::size_t kMoreThanABlock = 1 << 16;  // what is left of the last block can be written on a full disk
  const std::array<char, kMoreThanABlock> zeros{};
  if (write_error_ == 0) static_cast<void>(write(zeros.data(), zeros.size(), static_cast<std::int64_t>(size())));
}

void AtomicFile::check() const {
  if (write_error_ != 0) fail(fmt::format("{}: cannot be written: {}", path_, std::strerror(write_error_)));
}

void AtomicFile::commit() {
  check();
  // What replaces a file is on the disk before it does: else a power cut could leave neither.
  const bool is_kept = !had_file_ || ::fsync(descriptor_) == 0 || errno == EINVAL;  // not every file system knows of it
  if (!is_kept) {
    write_error_ = errno;
    check();
  }
  if (before_rename()) before_rename()(descriptor_, target_path_);
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    write_error_ = errno;
    check();
  }
  if (!renamed(temporary_path_, target_path_, replaces_)) {
    if (!replaces_ && errno == EEXIST) fail(fmt::format("{}: exists already; --force replaces it", path_));
    write_error_ = errno;
    check();
  }
  temporary_path_.clear();
  is_pending = false;
}

std::size_t AtomicFile::read(void* data, std::size_t size, std::int64_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(descriptor_, static_cast<char*>(data) + done, size - done, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::size_t AtomicFile::write(const void* data, std::size_t size, std::int64_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pwrite(descriptor_, static_cast<const char*>(data) + done, size - done, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (write_error_ == 0) write_error_ = errno;
      break;
    }
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::size_t AtomicFile::size() const {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

namespace {

void make_folder_of(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) fail(fmt::format("{}: cannot be written: {}", path, error.message()));
}

}  // namespace

void require_writable(const std::string& path) {
  make_folder_of(path);
  const AtomicFile file(path, true);  // which is removed again
}

void write_text_file(const std::string& path, std::string_view text) {
  make_folder_of(path);
  AtomicFile file(path, true);
  file.write(text.data(), text.size(), 0);
  file.commit();
}

}  // namespace mollify::cli
