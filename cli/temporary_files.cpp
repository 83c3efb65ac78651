#include "temporary_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace mollify::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".mollify-";
constexpr std::size_t kRandomDigits = 16;

// The process in the name of a temporary file; none where it is another file.
std::optional<pid_t> process_in(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  if (error != std::errc{} || process <= 0) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  const bool fits = name.size() == kRandomDigits + 1 && name[0] == '-' && name.find_first_not_of("0123456789abcdef", 1) == name.npos;
  return fits ? std::optional(process) : std::nullopt;
}

// One that has ended and that nobody has waited for, as where a container has no init, runs no more.
bool is_running(pid_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() || line[name_end + 2] != 'Z';
}

enum class Lock : std::uint8_t { held, free, unknown };

Lock lock_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return Lock::held;  // somebody else's, or gone
  const bool is_ours = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  const Lock lock = is_ours ? Lock::free : errno == EWOULDBLOCK ? Lock::held : Lock::unknown;
  ::close(descriptor);
  return lock;
}

bool is_just_made(const std::string& path) {
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - changed < std::chrono::seconds(10);
}

// Locks are believed first: numbers of processes mean nothing in another container or on another machine that shares the folder, and are
// used again. Between the making of a file and its locking there is the number only, as on file systems without locks.
bool is_being_written(pid_t process, const std::string& path) {
  switch (lock_of(path)) {
    case Lock::held:
      return true;
    case Lock::free:
      return is_just_made(path) && is_running(process);
    case Lock::unknown:
      return is_running(process);
  }
  return true;
}

template <class Wanted>
void remove_temporaries(const std::string& folder, Wanted wanted) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::optional<pid_t> process = process_in(entry->path().filename().string());
    std::error_code unknown;
    if (process && fs::is_regular_file(entry->symlink_status(unknown)) && wanted(*process, entry->path().string())) {
      found.push_back(entry->path());
    }
  }
  for (const fs::path& path : found) fs::remove(path, error);
}

}  // namespace

std::string temporary_name(const std::string& folder) {
  std::random_device random;
  return (fs::path(folder) / fmt::format("{}{}-{:08x}{:08x}", kPrefix, ::getpid(), random(), random())).string();
}

int open_without_name(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  // A file system that cannot do it: the name goes at once.
  std::string name = folder + "/mollify-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

void lock_temporary(int descriptor) {
  static_cast<void>(::flock(descriptor, LOCK_EX | LOCK_NB));  // a file system without locks has the process number still
}

void remove_temporaries_of(pid_t process, const std::string& folder) {
  remove_temporaries(folder, [&](pid_t owner, const std::string&) { return owner == process; });
}

void remove_left_overs(const std::string& folder) {
  remove_temporaries(folder, [](pid_t owner, const std::string& path) { return !is_being_written(owner, path); });
}

std::string follow_links(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(follow_links(path)).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace mollify::cli
