// A file that appears under its name only when it is complete.
#pragma once

#include <OpenImageIO/filesystem.h>

#include <cstdint>
#include <string>

namespace mollify::cli {

/// Writes to a hidden file beside `path` and renames it in commit(). Without a commit, also when the program is
/// interrupted by a signal, the hidden file is removed and `path` is as it was. A file of this name is replaced, or, where that is not
/// wanted, refused in commit() even if it has just appeared. Image writers write through it as
/// OpenImageIO's IOProxy, so a full disk is noticed whether or not the writer of that format looks.
/// One at a time.
class AtomicFile final : public OIIO::Filesystem::IOProxy {
 public:
  AtomicFile(const std::string& path, bool replaces);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() override;

  /// Throws Failure when anything since the opening could not be written.
  void commit();
  /// Asks the system by one more write why a writer that does not go through this proxy has failed.
  void find_reason();
  /// Throws Failure when a write failed; writers often report less about it than the system did.
  void check() const;
  /// For writers that cannot write through a proxy.
  [[nodiscard]] const std::string& temporary_path() const { return temporary_path_; }

  const char* proxytype() const override { return "mollify"; }
  size_t read(void* data, size_t size) override;
  size_t write(const void* data, size_t size) override;
  size_t pread(void* data, size_t size, std::int64_t offset) override;
  size_t pwrite(const void* data, size_t size, std::int64_t offset) override;
  size_t size() const override;

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

}  // namespace mollify::cli
