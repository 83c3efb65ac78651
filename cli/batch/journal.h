// What an interrupted run had done already. Files that replace their sources cannot be told from sources by looking at them: a second
// run would blur them twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace mollify::cli {

[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);
/// Of a whole file; throws Failure with the system's reason.
[[nodiscard]] std::uint64_t hash_of_file(int descriptor);

/// A hidden file in the folder of the results, one line for each file that is complete: which blur, size, hash, name. The line is on the
/// disk before the file gets its name. It is removed when a run ends without a failure.
class Journal {
 public:
  /// Makes the journal or reads the one that is there, and locks it: Failure where another run works there. The lock is shared with the
  /// workers that inherit the descriptor, so it ends with the last of them. `blur` says all that makes a difference to pixels. A batch has
  /// one journal for its folder. A run that replaces `only_file` has one of its own, so that several can work in one folder.
  Journal(const std::string& folder, std::string_view blur, const std::string& only_file = {});
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// Whether the file is what an interrupted run of the same blur has made of it.
  [[nodiscard]] bool is_done(const std::string& name, const std::string& path);
  void remove();
  /// Where no file is complete, there is nothing to remember. Called when it goes; whoever ends the program otherwise calls it first.
  void remove_if_empty();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::uint64_t blur() const { return blur_; }

 private:
  struct Entry {
    std::int64_t size = 0;
    std::uint64_t hash = 0;
  };
  void read();

  std::string path_;
  std::uint64_t blur_;
  int descriptor_ = -1;
  bool is_removed_ = false;
  std::map<std::string, Entry> entries_;  ///< of this blur, by name
};

/// Removes the journals in a folder that killed runs have left there with nothing in them.
void remove_empty_journals(const std::string& folder);

/// By a worker: one line for the complete file that is open as `file`.
void append_to_journal(int journal, std::uint64_t blur, const std::string& name, int file);

}  // namespace mollify::cli
