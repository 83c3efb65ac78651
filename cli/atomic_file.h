// A file that appears under its name only when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mollify::cli {

/// Writes to a hidden file beside `path` and renames it in commit(). Without a commit, also when the program is
/// interrupted by a signal, the hidden file is removed and `path` is as it was. A file of this name is replaced, or, where that is not
/// wanted, refused in commit() even if it has just appeared. One at a time.
class AtomicFile {
 public:
  AtomicFile(const std::string& path, bool replaces);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// Bytes that were read or written from `offset` on; fewer at the end of the file and where it could not be written, which
  /// is remembered.
  std::size_t read(void* data, std::size_t size, std::int64_t offset);
  std::size_t write(const void* data, std::size_t size, std::int64_t offset);
  [[nodiscard]] std::size_t size() const;

  /// Throws Failure when anything since the opening could not be written.
  void commit();
  /// Asks the system by one more write why a writer that does not go through write() has failed.
  void find_reason();
  /// Throws Failure when a write failed; writers often report less about it than the system did.
  void check() const;
  /// Called in commit() when a file is complete and on the disk, just before it gets its name.
  using BeforeRename = std::function<void(int descriptor, const std::string& target_path)>;
  static void set_before_rename(BeforeRename function);

  /// For writers that open files by themselves.
  [[nodiscard]] const std::string& temporary_path() const { return temporary_path_; }

 private:
  void discard();

  std::string path_;         ///< as the user wrote it, for messages
  std::string target_path_;  ///< where it leads
  std::string temporary_path_;
  bool replaces_;
  bool had_file_ = false;  ///< when it was opened
  int descriptor_ = -1;
  int write_error_ = 0;  ///< errno of the first write that failed
};

/// Throws Failure, now instead of after the work, where write_text_file() would. Makes the folders.
void require_writable(const std::string& path);

/// A whole text file, with the folders that it lies in. Throws Failure, and then what was there is as it was.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace mollify::cli
