#include "files/codec.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <cstring>

namespace mollify::files {
namespace {

struct FormatRow {
  FileFormat format;
  std::string_view name;
  std::array<std::string_view, 4> endings;  ///< of names, in lower case; none: it is only read
};
constexpr std::array kFormats = {
    FormatRow{FileFormat::png, "PNG", {".png", ".apng"}},
    FormatRow{FileFormat::jpeg, "JPEG", {".jpg", ".jpeg", ".jpe", ".jfif"}},
    FormatRow{FileFormat::tiff, "TIFF", {".tif", ".tiff", ".btf", ".tf8"}},
    FormatRow{FileFormat::exr, "OpenEXR", {".exr", ".sxr", ".mxr"}},
    FormatRow{FileFormat::webp, "WebP", {".webp"}},
    FormatRow{FileFormat::hdr, "HDR", {".hdr", ".rgbe", ".pic"}},
    FormatRow{FileFormat::heif, "HEIF", {}},
    FormatRow{FileFormat::avif, "AVIF", {}},
    FormatRow{FileFormat::jxl, "JPEG XL", {}},
};

/// Bytes at a place near the beginning of a file; `format` is unset for formats that mollify does not read.
struct Signature {
  std::optional<FileFormat> format;
  std::string_view name;
  std::size_t offset;
  std::string_view bytes;
};
using namespace std::string_view_literals;
constexpr std::array kSignatures = {
    Signature{FileFormat::png, "PNG", 0, "\x89PNG\r\n\x1a\n"sv},
    Signature{FileFormat::jpeg, "JPEG", 0, "\xff\xd8\xff"sv},
    Signature{FileFormat::tiff, "TIFF", 0, "II*\0"sv},
    Signature{FileFormat::tiff, "TIFF", 0, "MM\0*"sv},
    Signature{FileFormat::tiff, "TIFF", 0, "II+\0"sv},
    Signature{FileFormat::tiff, "TIFF", 0, "MM\0+"sv},
    Signature{FileFormat::exr, "OpenEXR", 0, "\x76\x2f\x31\x01"sv},
    Signature{FileFormat::webp, "WebP", 8, "WEBP"sv},
    Signature{FileFormat::hdr, "HDR", 0, "#?RADIANCE"sv},
    Signature{FileFormat::hdr, "HDR", 0, "#?RGBE"sv},
    Signature{FileFormat::avif, "AVIF", 4, "ftypavif"sv},
    Signature{FileFormat::avif, "AVIF", 4, "ftypavis"sv},
    Signature{FileFormat::heif, "HEIF", 4, "ftyphei"sv},
    Signature{FileFormat::heif, "HEIF", 4, "ftyphev"sv},
    Signature{FileFormat::heif, "HEIF", 4, "ftypmif1"sv},
    Signature{FileFormat::heif, "HEIF", 4, "ftypmsf1"sv},
    Signature{FileFormat::jxl, "JPEG XL", 0, "\xff\x0a"sv},
    Signature{FileFormat::jxl, "JPEG XL", 4, "JXL \r\n\x87\n"sv},
    Signature{{}, "a GIF file", 0, "GIF8"sv},
    Signature{{}, "a Windows bitmap (BMP)", 0, "BM"sv},
    Signature{{}, "a DPX file", 0, "SDPX"sv},
    Signature{{}, "a DPX file", 0, "XPDS"sv},
    Signature{{}, "a Cineon file", 0, "\x80\x2a\x5f\xd7"sv},
    Signature{{}, "a Photoshop file (PSD)", 0, "8BPS"sv},
    Signature{{}, "a JPEG 2000 file", 4, "jP  \r\n\x87\n"sv},
    Signature{{}, "a JPEG 2000 codestream", 0, "\xff\x4f\xff\x51"sv},
    Signature{{}, "a JPEG XR file", 0, "II\xbc"sv},
    Signature{{}, "an MNG animation", 0, "\x8aMNG\r\n\x1a\n"sv},
    Signature{{}, "a JNG file", 0, "\x8bJNG\r\n\x1a\n"sv},
    Signature{{}, "a netpbm file (PNM)", 0, "P1"sv},
    Signature{{}, "a netpbm file (PNM)", 0, "P2"sv},
    Signature{{}, "a netpbm file (PNM)", 0, "P3"sv},
    Signature{{}, "a netpbm file (PNM)", 0, "P4"sv},
    Signature{{}, "a netpbm file (PNM)", 0, "P5"sv},
    Signature{{}, "a netpbm file (PNM)", 0, "P6"sv},
    Signature{{}, "a netpbm file (PAM)", 0, "P7"sv},
    Signature{{}, "a PFM file", 0, "PF"sv},
    Signature{{}, "a PFM file", 0, "Pf"sv},
    Signature{{}, "a FITS file", 0, "SIMPLE  ="sv},
    Signature{{}, "a DICOM file", 128, "DICM"sv},
    Signature{{}, "a Windows icon", 0, "\0\0\x01\0"sv},
    Signature{{}, "a DDS texture", 0, "DDS "sv},
    Signature{{}, "a KTX texture", 0, "\xabKTX"sv},
    Signature{{}, "a DjVu file", 0, "AT&TFORM"sv},
    Signature{{}, "a PDF file", 0, "%PDF"sv},
    Signature{{}, "an SVG or XML file", 0, "<?xml"sv},
    Signature{{}, "an SVG file", 0, "<svg"sv},
    Signature{{}, "a ZIP archive", 0, "PK\x03\x04"sv},
    Signature{{}, "a gzip archive", 0, "\x1f\x8b"sv},
    Signature{{}, "an HDF5 file", 0, "\x89HDF\r\n\x1a\n"sv},
    Signature{{}, "a Canon raw file (CR3)", 4, "ftypcrx "sv},
    Signature{{}, "a Fujifilm raw file", 0, "FUJIFILMCCD-RAW"sv},
    Signature{{}, "a QuickTime or MP4 video", 4, "ftyp"sv},
    Signature{{}, "a Matroska or WebM video", 0, "\x1a\x45\xdf\xa3"sv},
};
constexpr std::string_view kFormatsRead = "mollify reads PNG, JPEG, TIFF, OpenEXR, WebP and HDR";

const FormatRow& row(FileFormat format) {
  return kFormats[static_cast<std::size_t>(format)];
}

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Bytes bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) override {
    if (offset < 0 || offset >= size()) return 0;
    const std::size_t count = std::min(into.size(), bytes_.size() - static_cast<std::size_t>(offset));
    std::copy_n(bytes_.begin() + offset, count, into.begin());
    return count;
  }

 private:
  Bytes bytes_;
};

}  // namespace

std::unique_ptr<ByteSource> memory_source(Bytes bytes) {
  return std::make_unique<MemorySource>(std::move(bytes));
}

Bytes read_exactly(ByteSource& source, std::int64_t offset, std::int64_t count) {
  if (offset < 0 || count < 0 || count > source.size() - offset) throw FileError("is cut off");
  Bytes bytes(static_cast<std::size_t>(count));
  if (source.read_at(offset, bytes) != bytes.size()) throw FileError("is cut off");
  return bytes;
}

void MemorySink::write_at(std::int64_t offset, std::span<const std::uint8_t> bytes) {
  const std::size_t end = static_cast<std::size_t>(offset) + bytes.size();
  if (bytes_.size() < end) bytes_.resize(end);
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + offset);
}

std::size_t MemorySink::read_at(std::int64_t offset, std::span<std::uint8_t> into) {
  if (offset < 0 || offset >= size()) return 0;
  const std::size_t count = std::min(into.size(), bytes_.size() - static_cast<std::size_t>(offset));
  std::copy_n(bytes_.begin() + offset, count, into.begin());
  return count;
}

void unaccounted(const Item& item, FileFormat format) {
  assert(false && "the contract passes on an item that the writer has no place for");
  throw FileError("holds \"" + item.name + "\", which " + std::string(name_of(format)) + " files have no place for");
}

std::string_view name_of(FileFormat format) {
  return row(format).name;
}

FileFormat format_of_bytes(ByteSource& source) {
  std::array<std::uint8_t, 160> head{};
  const std::size_t read = source.read_at(0, head);
  if (read == 0) throw FileError("is empty");
  const std::string_view text(reinterpret_cast<const char*>(head.data()), read);
  for (const Signature& signature : kSignatures) {
    if (!text.substr(std::min(signature.offset, read)).starts_with(signature.bytes)) continue;
    if (signature.format == FileFormat::webp && !text.starts_with("RIFF")) continue;
    if (signature.format) return *signature.format;
    throw FileError("is " + std::string(signature.name) + "; " + std::string(kFormatsRead));
  }
  throw FileError("is of no known image format; " + std::string(kFormatsRead));
}

std::optional<FileFormat> format_of_name(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::string ending(path.substr(dot));
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const FormatRow& each : kFormats) {
    if (std::find(each.endings.begin(), each.endings.end(), ending) != each.endings.end()) return each.format;
  }
  return std::nullopt;
}

std::unique_ptr<Reader> open_reader(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  switch (format_of_bytes(*source)) {
    case FileFormat::png:
      return open_png(std::move(source), options);
    case FileFormat::jpeg:
      return open_jpeg(std::move(source), options);
    case FileFormat::tiff:
      return open_tiff(std::move(source), options);
    case FileFormat::exr:
      return open_exr(std::move(source), options);
    case FileFormat::webp:
      return open_webp(std::move(source), options);
    case FileFormat::hdr:
      return open_hdr(std::move(source), options);
    case FileFormat::heif:
      return open_heif(std::move(source), options);
    case FileFormat::avif:
      return open_avif(std::move(source), options);
    case FileFormat::jxl:
      break;
  }
  return open_jxl(std::move(source), options);
}

std::optional<CodecMemory> memory_of_writer(FileFormat format, const Page& page, const WriteOptions& options) {
  switch (format) {
    case FileFormat::png:
      return memory_of_png_writer(page);
    case FileFormat::jpeg:
      return memory_of_jpeg_writer(page);
    case FileFormat::tiff:
      return memory_of_tiff_writer(page);
    case FileFormat::exr:
      return memory_of_exr_writer(page, options.threads);
    case FileFormat::hdr:
      return memory_of_hdr_writer(page);
    default:
      return std::nullopt;
  }
}

std::unique_ptr<Writer> make_writer(FileFormat format, ByteSink& sink, const Document& document, const WriteOptions& options) {
  switch (format) {
    case FileFormat::png:
      return make_png_writer(sink, document, options);
    case FileFormat::jpeg:
      return make_jpeg_writer(sink, document, options);
    case FileFormat::tiff:
      return make_tiff_writer(sink, document, options);
    case FileFormat::exr:
      return make_exr_writer(sink, document, options);
    case FileFormat::webp:
      return make_webp_writer(sink, document, options);
    case FileFormat::hdr:
      return make_hdr_writer(sink, document, options);
    default:
      break;
  }
  throw FileError(std::string(name_of(format)) + " files are read, not written");
}

}  // namespace mollify::files
