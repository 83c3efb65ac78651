#include "machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "failure.h"
#include "parse.h"

namespace mollify::cli {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number)) return std::nullopt;  // "max", or no such file
  return number;
}

// "MemAvailable" of /proc/meminfo, "inactive_file" of memory.stat
std::optional<std::int64_t> field_in(const std::string& path, std::string_view field) {
  std::ifstream file(path);
  std::string word;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(field) || line.size() <= field.size() || (line[field.size()] != ':' && line[field.size()] != ' ')) continue;
    const std::size_t digits = line.find_first_of("0123456789", field.size());
    if (digits != std::string::npos) return std::stoll(line.substr(digits));
  }
  return std::nullopt;
}

struct GroupFiles {
  const char* root;
  const char* limit;
  const char* used;
  const char* cached;
};
constexpr GroupFiles kVersion2{"/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};

std::int64_t free_in(const std::string& folder, const GroupFiles& files) {
  const std::optional<std::int64_t> limit = number_in(folder + files.limit);
  const std::optional<std::int64_t> used = number_in(folder + files.used);
  if (!limit || !used) return kNoLimit;
  const std::int64_t cached = field_in(folder + "/memory.stat", files.cached).value_or(0);
  return std::max<std::int64_t>(*limit - *used + cached, 0);
}

// A group is limited by those above it as well. Inside a container its path may lead nowhere: its root is the container's then.
std::int64_t free_in_groups() {
  std::int64_t least = kNoLimit;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const bool is_version_2 = line.starts_with("0::");
    const std::size_t memory = line.find(":memory:");
    if (!is_version_2 && memory == std::string::npos) continue;
    const GroupFiles& files = is_version_2 ? kVersion2 : kVersion1;
    std::string path = line.substr(line.find(':', line.find(':') + 1) + 1);
    while (!path.empty() && path != "/") {
      least = std::min(least, free_in(files.root + path, files));
      path = path.substr(0, path.rfind('/'));
    }
    least = std::min(least, free_in(files.root, files));
  }
  return least;
}

std::int64_t parse_suffixed(std::string_view text, std::string_view option, double step, std::string_view example) {
  constexpr std::string_view kSuffixes = "KMGT";
  std::string_view digits = text;
  double scale = 1.0;
  if (!digits.empty() && step == 1024.0 && (digits.back() == 'B' || digits.back() == 'b')) digits.remove_suffix(1);
  if (!digits.empty()) {
    const auto upper = static_cast<char>(digits.back() >= 'a' && digits.back() <= 'z' ? digits.back() - 'a' + 'A' : digits.back());
    if (const std::size_t suffix = kSuffixes.find(upper); suffix != std::string_view::npos) {
      scale = std::pow(step, static_cast<double>(suffix + 1));
      digits.remove_suffix(1);
    }
  }
  const std::optional<double> number = to_number(digits);
  if (!number || !(*number > 0.0) || *number * scale >= 9e18) {
    fail_usage(
        fmt::format("{}: {} is not a number above 0, with K, M or G behind it if need be, as in {}", option, in_quotes(text), example));
  }
  return std::max<std::int64_t>(static_cast<std::int64_t>(*number * scale), 1);
}

}  // namespace

int processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

std::int64_t free_memory() {
  constexpr std::int64_t kUnknown = std::int64_t{4} << 30;
  const std::optional<std::int64_t> kilobytes = field_in("/proc/meminfo", "MemAvailable");
  return std::min(kilobytes ? *kilobytes * 1024 : kUnknown, free_in_groups());
}

int startable_threads(int wanted) {
  std::mutex mutex;
  std::condition_variable changed;
  bool may_end = false;
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < wanted; ++i) {
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return may_end; });
      });
    }
  } catch (const std::system_error&) {  // that was one too many
  }
  {
    const std::lock_guard lock(mutex);
    may_end = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

std::int64_t parse_bytes(std::string_view text, std::string_view option) {
  return parse_suffixed(text, option, 1024.0, "2G");
}

std::int64_t parse_count(std::string_view text, std::string_view option) {
  return parse_suffixed(text, option, 1000.0, "100M");
}

}  // namespace mollify::cli
