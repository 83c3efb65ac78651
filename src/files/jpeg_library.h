// libjpeg-turbo with the sources, sinks and errors of this library. Errors are FileErrors, thrown through libjpeg: it holds no
// state that a destructor would have to free, and Debian compiles C with unwind tables. Tests cut files off to see that it works.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "files/codec.h"

// Needs what is above.
#include <jpeglib.h>

namespace mollify::files::jpeg {

/// libjpeg's decoder. The source outlives it.
class Decoder {
 public:
  /// Two bytes of the source that are read as others: the height, where the frame header does not say it.
  struct Patch {
    std::int64_t offset = -1;
    std::uint16_t value = 0;
  };
  Decoder(ByteSource& source, const Patch& patch, Messages& messages);
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  [[nodiscard]] jpeg_decompress_struct& info() { return info_; }

 private:
  struct Errors : jpeg_error_mgr {
    Messages* messages = nullptr;
  };
  struct Input : jpeg_source_mgr {
    ByteSource* source = nullptr;
    std::int64_t offset = 0;  ///< of the byte after the buffer
    Patch patch;
    std::vector<std::uint8_t> buffer;
  };
  static void on_message(j_common_ptr info, int level);
  static boolean fill(j_decompress_ptr info);
  static void skip(j_decompress_ptr info, long count);

  Errors errors_{};
  Input input_{};
  jpeg_decompress_struct info_{};
};

/// libjpeg's encoder. The sink outlives it.
class Encoder {
 public:
  explicit Encoder(ByteSink& sink);
  ~Encoder() { jpeg_destroy_compress(&info_); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  [[nodiscard]] jpeg_compress_struct& info() { return info_; }

 private:
  struct Output : jpeg_destination_mgr {
    ByteSink* sink = nullptr;
    std::int64_t offset = 0;
    std::vector<std::uint8_t> buffer;
  };
  static boolean empty(j_compress_ptr info);
  static void finish(j_compress_ptr info);

  jpeg_error_mgr errors_{};
  Output output_{};
  jpeg_compress_struct info_{};
};

/// Rows that libjpeg holds of what it decodes or encodes, at most: blocks before and behind each step of its work.
inline constexpr std::int64_t kRowsInWork = 128;

/// What the coefficients of a picture take, which libjpeg holds all at once where a file has several scans.
[[nodiscard]] std::int64_t coefficient_bytes(const jpeg_component_info* components, int count, std::int64_t width, std::int64_t height);

}  // namespace mollify::files::jpeg
