// A file of lab records: one JSON object a line, only ever added to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "mollify/result.h"

namespace mollify::lab {

/// What tells records apart: case, device, threads, who ran it, on a CPU by which instructions, and of how many images at once.
[[nodiscard]] std::string key_of(const Json& record);
[[nodiscard]] std::string key_of(const std::string& case_name, const std::string& device, int threads, const std::string& peer = {},
                                 const std::string& cpu_target = {});

/// Every record of the file. A last line that was cut off in the middle is left out; any other line that is no record
/// is an Error that names it.
[[nodiscard]] Result<std::vector<Json>> read_results(const std::string& path);

enum class Resume : bool { no, yes };

/// Held by one program at a time, until it ends or this does.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileLock();
  /// Makes the file where there is none. An Error where it cannot be written or another program holds it.
  [[nodiscard]] static Result<FileLock> take(const std::string& path);

 private:
  int descriptor_ = -1;
};

/// A file that is being added to.
class Results {
 public:
  /// An existing file with records in it is refused unless it is to be resumed; then what it holds counts as done. A last line that
  /// was cut off goes when the first record is added; a file that never was one of records, or that another program adds to, is refused.
  [[nodiscard]] static Result<Results> open(const std::string& path, Resume resume);

  [[nodiscard]] bool has(const std::string& key) const { return done_.contains(key); }
  [[nodiscard]] std::size_t size() const { return done_.size(); }
  /// On the disk when it returns.
  [[nodiscard]] Status add(const Json& record);

 private:
  std::string path_;
  FileLock lock_;
  std::ofstream file_;
  std::optional<std::uintmax_t> cut_to_;  ///< bytes, where the last line was cut off
  bool ends_in_a_line_ = false;           ///< whose end is missing
  std::set<std::string> done_;
};

}  // namespace mollify::lab
