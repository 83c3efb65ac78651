// How readers and writers keep to the memory_bytes of their options: they ask before they allocate.
#pragma once

#include <cstdint>
#include <string>

#include "files/codec.h"

namespace mollify::files {

/// A file that could be read or written with more memory.
class MemoryError : public FileError {
 public:
  using FileError::FileError;
};

/// Counts down the bytes that a reader or a writer may still allocate.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t bytes) : left_(bytes), all_(bytes) {}

  [[nodiscard]] std::int64_t left() const { return left_; }

  /// `what` is the subject of the error: "the interlaced picture".
  void take(std::int64_t bytes, const char* what) {
    if (bytes > left_) {
      throw MemoryError(std::string(what) + " needs " + std::to_string(bytes) + " bytes of memory at once; " + std::to_string(left_) +
                        " of the " + std::to_string(all_) + " that may be used are left");
    }
    left_ -= bytes;
  }

 private:
  std::int64_t left_;
  std::int64_t all_;
};

}  // namespace mollify::files
