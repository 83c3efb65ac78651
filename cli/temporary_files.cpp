#include "temporary_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
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

bool is_running(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

// Numbers of processes mean nothing in another container or on another machine that shares the folder; locks do.
bool is_locked(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return true;  // somebody else's, or gone
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return locked;
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

void lock_temporary(int descriptor) {
  static_cast<void>(::flock(descriptor, LOCK_EX | LOCK_NB));  // a file system without locks has the process number still
}

void remove_temporaries_of(pid_t process, const std::string& folder) {
  remove_temporaries(folder, [&](pid_t owner, const std::string&) { return owner == process; });
}

void remove_left_overs(const std::string& folder) {
  remove_temporaries(folder, [](pid_t owner, const std::string& path) { return !is_running(owner) && !is_locked(path); });
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
