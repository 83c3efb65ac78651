// libtiff over sources and sinks of bytes. Its complaints become FileErrors; nothing reaches stderr.
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "files/codec.h"

namespace mollify::files::tiff {

/// An open handle of libtiff: decodes the strips and tiles of a file, one directory at a time.
class LibraryReader {
 public:
  LibraryReader(ByteSource& source, std::int64_t most_bytes_at_once);
  ~LibraryReader();
  LibraryReader(const LibraryReader&) = delete;
  LibraryReader& operator=(const LibraryReader&) = delete;

  [[nodiscard]] TIFF* handle() const { return handle_; }
  void open_directory(std::int64_t offset);
  /// After a call that failed, and after every call that decodes: throws where libtiff has said something that means lost pixels.
  void check(bool succeeded);

 private:
  struct State;
  std::unique_ptr<State> state_;
  TIFF* handle_ = nullptr;
};

/// A handle of libtiff that encodes strips and tiles of one page and appends them to a sink. The directory is not libtiff's part.
class LibraryWriter {
 public:
  LibraryWriter(ByteSink& sink, bool big_endian);
  ~LibraryWriter();
  LibraryWriter(const LibraryWriter&) = delete;
  LibraryWriter& operator=(const LibraryWriter&) = delete;

  [[nodiscard]] TIFF* handle() const { return handle_; }
  template <typename... Values>
  void set(std::uint32_t tag, Values... values) {
    check(TIFFSetField(handle_, tag, values...) == 1);
  }
  void check(bool succeeded);

 private:
  struct State;
  std::unique_ptr<State> state_;
  TIFF* handle_ = nullptr;
};

/// Whether a compression knows the differences of Predictor.
[[nodiscard]] bool has_predictor(int compression);
/// Whether a compression codes bytes, whatever they mean.
[[nodiscard]] bool codes_bytes(int compression);
/// Whether libtiff decodes (and encodes) a compression, and its name: "JPEG".
[[nodiscard]] bool is_supported(int compression);
[[nodiscard]] std::string compression_name(int compression);

}  // namespace mollify::files::tiff
