// What the readers of HEIF, AVIF and JPEG XL share. Their libraries are opened where they are installed, when a file asks for
// them, so that mollify neither needs them nor starts slower for them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "files/codec.h"

namespace mollify::files {

/// A shared library, open for the rest of the process: unloading codecs that run threads is not safe.
class SharedLibrary {
 public:
  /// Not open where the system has no library of this name.
  explicit SharedLibrary(const char* name);
  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  /// Sets a pointer to the function of this name; FileError where the library has none.
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address_of(name));
  }

 private:
  [[nodiscard]] void* address_of(const char* name) const;
  std::string name_;
  void* handle_ = nullptr;
};

/// Whether files of such a name's ending, ".heic", are read by a library that is installed.
[[nodiscard]] bool is_read_by_plugin(std::string_view ending);
[[nodiscard]] bool has_heif_library();
[[nodiscard]] bool has_avif_library();
[[nodiscard]] bool has_jxl_library();
inline constexpr const char* kJxlPackage = "libjxl0.7";

/// "is a HEIF file, which is read where libheif1 is installed; or convert it: heif-convert in.heic in.png"
[[noreturn]] void throw_not_installed(FileFormat format, const char* package, const char* command);

/// Standard error goes nowhere as long as this lives: Debian's libjxl prints the lines of its source where a file is damaged. It
/// is that of the whole process, so that messages of other threads are lost, too; keep it short.
class QuietStandardError {
 public:
  QuietStandardError();
  ~QuietStandardError();
  QuietStandardError(const QuietStandardError&) = delete;
  QuietStandardError& operator=(const QuietStandardError&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
  int saved_ = -1;
};

/// The numbers of `bits` bits become the same fractions of 16 bits.
void scale_to_u16(std::uint16_t* numbers, std::size_t count, int bits);

/// For libraries that decode whole pictures. The compressed file is in memory, and one picture at a time.
class DecodedReader : public Reader {
 public:
  DecodedReader(std::unique_ptr<ByteSource> source, const ReadOptions& options);
  [[nodiscard]] const Document& document() const final { return document_; }
  [[nodiscard]] const Messages& messages() const final { return messages_; }
  void read_rows(int page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) final;

 protected:
  /// All rows of a page, without gaps. Pages come in their order.
  virtual void decode(int page, Bytes& into) = 0;
  /// Adds a page with R, G, B or Y, and A where `alpha` says so. Checks the size.
  Page& add_page(std::int64_t width, std::int64_t height, NumberType type, ColourModel model, AlphaKind alpha);
  void add_item(ItemKind kind, std::string name, Bytes data);
  /// Exif in these formats begins with the distance to its TIFF header.
  void add_exif(Bytes data);

  const Bytes bytes_;
  const ReadOptions options_;
  Document document_;
  Messages messages_;

 private:
  int decoded_page_ = -1;
  Bytes pixels_;
};

}  // namespace mollify::files
