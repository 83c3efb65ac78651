// Readers and writers of image files: one of each for each format, behind one small interface that hands out and takes rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "files/document.h"

namespace mollify::files {

/// What is wrong with a file, as the end of the line "mollify: NAME: ...". Readers and writers throw nothing else, but for
/// std::bad_alloc.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the user is told that is no error, one sentence each, without repetition.
class Messages {
 public:
  void add(std::string message) {
    for (const std::string& each : all_) {
      if (each == message) return;
    }
    all_.push_back(std::move(message));
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
};

/// The bytes of a source. Positions are absolute, so that readers can seek.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Reads up to so many bytes from `offset` on; fewer only at the end. Throws FileError with the system's reason.
  [[nodiscard]] virtual std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) = 0;
};
/// A regular file is read where needed; a pipe or device is read to its end first, up to `most_bytes`. "-" is standard input.
[[nodiscard]] std::unique_ptr<ByteSource> open_source(const std::string& path, std::int64_t most_bytes);
[[nodiscard]] std::unique_ptr<ByteSource> memory_source(Bytes bytes);
/// Bytes [offset, offset + count), or FileError "is cut off".
[[nodiscard]] Bytes read_exactly(ByteSource& source, std::int64_t offset, std::int64_t count);

/// Where a result goes. TIFF and OpenEXR go back to what they have written.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  virtual void write_at(std::int64_t offset, std::span<const std::uint8_t> bytes) = 0;
  [[nodiscard]] virtual std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) = 0;
};
class MemorySink final : public ByteSink {
 public:
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  void write_at(std::int64_t offset, std::span<const std::uint8_t> bytes) override;
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) override;
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

struct ReadOptions {
  int threads = 1;
  /// The most bytes that a reader may allocate by itself, for metadata, tiles in flight, composed frames.
  std::int64_t memory_bytes = std::int64_t{1} << 30;
};

/// A number of bytes that headers may make as large as they like. What is more than any machine has stays so small that several can be
/// added up.
[[nodiscard]] inline std::int64_t whole_bytes(double bytes) {
  constexpr double kMost = 1e18;
  return static_cast<std::int64_t>(std::min(bytes, kMost));
}

/// What a reader or a writer takes for itself while the rows of one page pass through it.
struct CodecMemory {
  std::int64_t bytes = 0;
  std::string_view what;  ///< the largest part of it: "a row of tiles"
};

/// A file that is open. The constructor reads what describes the pictures and the items, and no pixels: it allocates nothing
/// in proportion to what a header claims.
class Reader {
 public:
  virtual ~Reader() = default;
  [[nodiscard]] virtual const Document& document() const = 0;
  /// Things that the reader itself had to change or leave out: "the palette became RGB".
  [[nodiscard]] virtual const Messages& messages() const = 0;
  /// Rows [y, y + count) of a page, into rows that are `row_bytes` apart. Calls come page after page and from top to bottom.
  /// A file that is cut off is a FileError, never grey pixels.
  virtual void read_rows(int page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) = 0;
  /// What read_rows() takes beside the rows of its caller, at most. Unset: it is not known, and pages are read as a whole.
  [[nodiscard]] virtual std::optional<CodecMemory> memory_of(int /*page*/) const { return std::nullopt; }
  /// After the last row that is wanted of a page: whether the rest of the file is whole, where rows were read one after the other.
  virtual void finish(int /*page*/) {}
};

struct WriteOptions {
  int threads = 1;
  std::optional<int> quality;      ///< 1 to 100, of JPEG and of WebP with losses; unset: as the source's coding
  std::optional<int> compression;  ///< 0 to 9, of deflate: PNG, TIFF, OpenEXR
  /// The most bytes that a writer may allocate by itself.
  std::int64_t memory_bytes = std::int64_t{1} << 30;
  /// Where TIFF keeps strips and tiles until all are made, for a file that begins with its directories, followed by the pages from the last
  /// to the first: the order of a cloud-optimised GeoTIFF. Unset: they are written as they come, and directories last.
  ByteSink* kept_aside = nullptr;
};

/// A result that is being written. The document says all that it is to hold; items that the writer has no place for are a
/// mistake of the contract: `unaccounted()`.
class Writer {
 public:
  virtual ~Writer() = default;
  /// Rows [y, y + count) of a page. Calls come page after page and from top to bottom, and cover all rows. TIFF takes the rows of other
  /// pages in between.
  virtual void write_rows(int page, std::int32_t y, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) = 0;
  /// After the last row. The sink holds a complete file then.
  virtual void finish() = 0;
  /// What the writer had to change: "3 numbers below zero became zero", "JPEG inside became deflate". Complete after finish().
  [[nodiscard]] virtual const Messages& messages() const {
    static const Messages none;
    return none;
  }
};

/// For writers: the items of the file, then those of its pages.
template <typename Function>
void for_each_item(const Document& document, Function function) {
  for (const Item& item : document.items) function(item);
  for (const Page& page : document.pages) {
    for (const Item& item : page.items) function(item);
  }
}
/// For writers: an item that the contract passed on and that the format has no place for. Asserts in debug builds, throws FileError in
/// others.
[[noreturn]] void unaccounted(const Item& item, FileFormat format);

// One pair of functions for each format. `make_*_writer` throws FileError where the format cannot hold the pages as they are:
// by then the contract has converted what can be converted.
std::unique_ptr<Reader> open_png(std::unique_ptr<ByteSource> source, const ReadOptions& options);
std::unique_ptr<Reader> open_jpeg(std::unique_ptr<ByteSource> source, const ReadOptions& options);
std::unique_ptr<Reader> open_tiff(std::unique_ptr<ByteSource> source, const ReadOptions& options);
std::unique_ptr<Reader> open_exr(std::unique_ptr<ByteSource> source, const ReadOptions& options);
std::unique_ptr<Reader> open_webp(std::unique_ptr<ByteSource> source, const ReadOptions& options);
std::unique_ptr<Reader> open_hdr(std::unique_ptr<ByteSource> source, const ReadOptions& options);
std::unique_ptr<Reader> open_heif(std::unique_ptr<ByteSource> source, const ReadOptions& options);
std::unique_ptr<Reader> open_avif(std::unique_ptr<ByteSource> source, const ReadOptions& options);
std::unique_ptr<Reader> open_jxl(std::unique_ptr<ByteSource> source, const ReadOptions& options);

std::unique_ptr<Writer> make_png_writer(ByteSink& sink, const Document& document, const WriteOptions& options);
std::unique_ptr<Writer> make_jpeg_writer(ByteSink& sink, const Document& document, const WriteOptions& options);
std::unique_ptr<Writer> make_tiff_writer(ByteSink& sink, const Document& document, const WriteOptions& options);
std::unique_ptr<Writer> make_exr_writer(ByteSink& sink, const Document& document, const WriteOptions& options);
std::unique_ptr<Writer> make_webp_writer(ByteSink& sink, const Document& document, const WriteOptions& options);
std::unique_ptr<Writer> make_hdr_writer(ByteSink& sink, const Document& document, const WriteOptions& options);

/// What a writer takes for itself while rows of this page of its document come, at most. Unset: it is not known, and pages are written as
/// a whole.
[[nodiscard]] std::optional<CodecMemory> memory_of_writer(FileFormat format, const Page& page, const WriteOptions& options);
[[nodiscard]] CodecMemory memory_of_png_writer(const Page& page);
[[nodiscard]] CodecMemory memory_of_jpeg_writer(const Page& page);
[[nodiscard]] CodecMemory memory_of_tiff_writer(const Page& page);
[[nodiscard]] CodecMemory memory_of_exr_writer(const Page& page, int threads);
[[nodiscard]] CodecMemory memory_of_hdr_writer(const Page& page);

/// By the first bytes: a format, or FileError that says what the file is ("a DPX file; mollify reads PNG, JPEG, TIFF, ...").
[[nodiscard]] FileFormat format_of_bytes(ByteSource& source);
/// By the ending of a name, of those that are written.
[[nodiscard]] std::optional<FileFormat> format_of_name(std::string_view path);
/// "PNG", "JPEG", "TIFF", "OpenEXR", "WebP", "HDR"
[[nodiscard]] std::string_view name_of(FileFormat format);
[[nodiscard]] std::unique_ptr<Reader> open_reader(std::unique_ptr<ByteSource> source, const ReadOptions& options);
[[nodiscard]] std::unique_ptr<Writer> make_writer(FileFormat format, ByteSink& sink, const Document& document, const WriteOptions& options);

}  // namespace mollify::files
