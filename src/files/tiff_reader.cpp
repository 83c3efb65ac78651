// Reads TIFF files: one row of strips or tiles at a time.
#include <algorithm>
#include <cstring>
#include <utility>

#include "files/numbers.h"
#include "files/tiff_codestream.h"
#include "files/tiff_library.h"
#include "files/tiff_pages.h"
#include "files/tiff_structure.h"
#include "files/tiff_substitute.h"
#include "files/tiff_tags.h"

namespace mollify::files {
namespace {

using namespace tiff;

/// Rows that are decoded at once.
std::int64_t rows_of_band(const PageOfFile& page) {
  constexpr std::int64_t kBytes = 1 << 20;
  const Layout& layout = page.layout;
  const std::int64_t row_bytes = layout.tiled ? layout.stored_pixel_bytes() * page.page.width : layout.widest_strile_row_bytes();
  const std::int64_t rows = layout.reads_directly() ? kBytes / std::max<std::int64_t>(1, row_bytes) : std::int64_t{layout.strile_rows};
  return std::clamp<std::int64_t>(rows, 1, page.page.height);
}

/// The band, a strip or tile as it is decoded and as it is stored, and where all of them are.
CodecMemory memory_of_page(const PageOfFile& page) {
  const Layout& layout = page.layout;
  const auto columns = static_cast<double>(page.page.width) / layout.strile_width;
  const auto rows = static_cast<double>(page.page.height) / layout.strile_rows;
  constexpr double kPlace = 16.0, kDecoder = 1 << 18;
  const std::int64_t band_rows = rows_of_band(page);
  const double strile =
      static_cast<double>(layout.widest_strile_row_bytes()) * static_cast<double>(layout.reads_directly() ? band_rows : layout.strile_rows);
  const double pixels = static_cast<double>(layout.strile_width) * static_cast<double>(layout.strile_rows);
  const double decoders = layout.view == View::planes ? kDecoder * layout.planes()
                          : layout.view == View::none ? kCodestreamSampleBytes * layout.strile_samples() * pixels
                                                      : kDecoder;
  const double bytes = static_cast<double>(layout.stored_pixel_bytes() * page.page.width) * static_cast<double>(band_rows) + 2.0 * strile +
                       kPlace * (columns + 1.0) * (rows + 1.0) * layout.planes() + decoders;
  return {whole_bytes(bytes), layout.tiled ? "a row of tiles" : "a strip"};
}

// Decodes one page, top to bottom.
class PageDecoder {
 public:
  PageDecoder(ByteSource& source, LibraryReader& library, const PageOfFile& page, bool swaps, const ReadOptions& options,
              Messages& messages)
      : source_(source), library_(library), page_(page.page), layout_(page.layout), swaps_(swaps), options_(options), messages_(messages) {
    const std::int64_t needed = memory_of_page(page).bytes;
    if (needed > options.memory_bytes)
      throw FileError("has strips or tiles that need " + std::to_string(needed >> 20) + " MB of memory, more than may be used");
    if (layout_.view == View::directory) {
      prepare_library();
    } else if (layout_.view == View::none) {
      prepare_codestreams();
    } else {
      prepare_substitutes(page, options.memory_bytes);
    }
    band_rows_ = rows_of_band(page);
    stored_row_bytes_ = layout_.stored_pixel_bytes() * page_.width;
  }

  void read(std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) {
    for (std::int32_t i = 0; i < count;) {
      const std::int64_t row = std::int64_t{y} + i;
      std::uint8_t* const to = into + i * row_bytes;
      if (row < band_begin_ || row >= band_begin_ + band_count_) {
        choose_band(row);
        if (layout_.conversion == Conversion::none && band_begin_ == row && band_count_ <= count - i) {
          i += static_cast<std::int32_t>(band_count_);
          load_band(to, row_bytes);
          band_count_ = 0;
          continue;
        }
        band_.resize(static_cast<std::size_t>(band_rows_ * stored_row_bytes_));
        load_band(band_.data(), stored_row_bytes_);
      }
      convert(band_.data() + (row - band_begin_) * stored_row_bytes_, to);
      ++i;
    }
  }

 private:
  /// What libtiff is shown instead of the file's directory.
  struct Substitute {
    SubstituteSource source;
    LibraryReader library;
    Substitute(ByteSource& file, const PageOfFile& page, int plane, std::int64_t memory_bytes)
        : source(file, page, plane), library(source, memory_bytes) {}
  };

  ByteSource& source_;
  LibraryReader& library_;
  std::vector<std::unique_ptr<Substitute>> substitutes_;  ///< of each plane, or of the page
  const Page& page_;
  Layout layout_;
  bool swaps_;
  const ReadOptions& options_;
  Messages& messages_;
  /// Decodes strips and tiles that are pictures by themselves, and where these are.
  std::unique_ptr<CodestreamDecoder> codestreams_;
  StrileShape shape_;
  std::vector<std::uint64_t> offsets_, counts_;
  std::int64_t band_rows_ = 0, stored_row_bytes_ = 0;
  std::int64_t band_begin_ = 0, band_count_ = 0;
  Bytes band_, strile_, samples_;
  std::uint8_t* rows_ = nullptr;  ///< where a band is decoded to
  std::ptrdiff_t row_bytes_ = 0;

  [[nodiscard]] Substitute* substitute(int plane) const {
    if (substitutes_.empty()) return nullptr;
    return substitutes_[layout_.view == View::planes ? static_cast<std::size_t>(plane) : 0].get();
  }
  /// Decodes the strips and tiles of a plane.
  [[nodiscard]] LibraryReader& library(int plane) const {
    Substitute* const shown = substitute(plane);
    return shown == nullptr ? library_ : shown->library;
  }
  [[nodiscard]] TIFF* handle(int plane) const { return library(plane).handle(); }

  /// The number of the strip or tile with this pixel, as library(plane) counts.
  [[nodiscard]] std::uint32_t strile_at(std::int64_t x, std::int64_t y, int plane) const {
    const std::int64_t across = (page_.width + std::int64_t{layout_.strile_width} - 1) / layout_.strile_width;
    const std::int64_t down = (page_.height + std::int64_t{layout_.strile_rows} - 1) / layout_.strile_rows;
    const std::int64_t before = layout_.view == View::planes ? 0 : plane * across * down;
    return static_cast<std::uint32_t>(before + y / layout_.strile_rows * across + x / layout_.strile_width);
  }

  [[nodiscard]] tmsize_t strile_bytes(int plane) const {
    const tmsize_t bytes = layout_.tiled ? TIFFTileSize(handle(plane)) : TIFFStripSize(handle(plane));
    library(plane).check(bytes > 0);
    return bytes;
  }

  void prepare_substitutes(const PageOfFile& page, std::int64_t memory_bytes) {
    const int count = layout_.view == View::planes ? layout_.planes() : 1;
    for (int plane = 0; plane < count; ++plane) {
      substitutes_.push_back(std::make_unique<Substitute>(source_, page, plane, memory_bytes));
      library(plane).open_directory(SubstituteSource::directory());
      require_known_rows(plane);
    }
  }

  void prepare_codestreams() {
    codestreams_ = make_codestream_decoder(codestream_of(layout_.compression), options_);
    shape_ = {.width = layout_.strile_width, .rows = layout_.strile_rows, .samples = layout_.strile_samples(), .sample = layout_.sample};
    layout_.sample.bits = 8 * bytes_of(shape_.type());  // of a strip or tile when it is decoded
    const StructureReader structure(source_);
    const DirectoryPlace directory = structure.read_directory(layout_.directory);
    offsets_ = structure.integers(directory, layout_.tiled ? kTileOffsets : kStripOffsets);
    counts_ = structure.integers(directory, layout_.tiled ? kTileByteCounts : kStripByteCounts);
    const std::uint32_t last = strile_at(page_.width - 1, page_.height - 1, layout_.planes() - 1);
    if (std::min(offsets_.size(), counts_.size()) <= last) throw FileError("is cut off: it lacks strips or tiles");
  }

  void prepare_library() {
    library_.open_directory(layout_.directory);
    TIFF* handle = library_.handle();
    if (layout_.compression == COMPRESSION_JPEG && std::get<TiffCoding>(page_.coding).photometric == PHOTOMETRIC_YCBCR) {
      library_.check(TIFFSetField(handle, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB) == 1);
    }
    if (layout_.compression == COMPRESSION_SGILOG || layout_.compression == COMPRESSION_SGILOG24) {
      library_.check(TIFFSetField(handle, TIFFTAG_SGILOGDATAFMT, SGILOGDATAFMT_FLOAT) == 1);
    }
    if (layout_.conversion == Conversion::ycbcr && layout_.compression == COMPRESSION_OJPEG) {
      std::uint16_t h = 1, v = 1;  // what the stream says
      TIFFGetFieldDefaulted(handle, TIFFTAG_YCBCRSUBSAMPLING, &h, &v);
      layout_.ycbcr.h = std::max<int>(1, h);
      layout_.ycbcr.v = std::max<int>(1, v);
      layout_.packs_blocks = h * v > 1;
    }
    if (!layout_.packs_blocks) require_known_rows(0);
  }

  /// Where libtiff understands a page otherwise, its rows have another length.
  void require_known_rows(int plane) const {
    const tmsize_t row = layout_.tiled ? TIFFTileRowSize(handle(plane)) : TIFFScanlineSize(handle(plane));
    if (row != layout_.strile_row_bytes(plane)) throw FileError("has a page whose tags contradict each other");
  }

  /// The one with this row.
  void choose_band(std::int64_t row) {
    band_begin_ = row - row % (layout_.reads_directly() ? 1 : layout_.strile_rows);
    band_count_ = std::min(band_rows_, page_.height - band_begin_);
    if (layout_.reads_directly()) band_count_ = std::min(band_count_, layout_.strile_rows - row % layout_.strile_rows);
    if (layout_.plane_offset) band_count_ = std::min(band_rows_, page_.height - band_begin_);
  }

  void load_band(std::uint8_t* rows, std::ptrdiff_t row_bytes) {
    rows_ = rows;
    row_bytes_ = row_bytes;
    for (int plane = 0; plane < layout_.planes(); ++plane) {
      for (std::int64_t x = 0; x < page_.width; x += layout_.strile_width) {
        layout_.reads_directly() ? load_direct(x, plane) : load_strile(x, plane);
      }
    }
  }

  void load_direct(std::int64_t x, int plane) {
    const std::int64_t row = layout_.strile_row_bytes(plane), bytes = band_count_ * row;
    std::int64_t offset = 0;
    if (layout_.plane_offset) {
      offset = *layout_.plane_offset + band_begin_ * row;
    } else {
      const std::uint32_t strip = strile_at(x, band_begin_, plane);
      if (is_left_out(strip, plane)) return fill(x, std::min<std::int64_t>(layout_.strile_width, page_.width - x), plane);
      if (layout_.tiled) require_whole_tile(strip, plane);
      const Substitute* const shown = substitute(plane);
      const auto begin =
          static_cast<std::int64_t>(TIFFGetStrileOffset(handle(plane), strip)) - (shown == nullptr ? 0 : shown->source.shift());
      offset = begin + layout_.plane_shift + band_begin_ % layout_.strile_rows * row;
    }
    strile_.resize(static_cast<std::size_t>(bytes));
    if (source_.read_at(offset, strile_) != strile_.size()) throw FileError("is cut off");
    if (layout_.reverses_bits) TIFFReverseBits(strile_.data(), static_cast<tmsize_t>(bytes));
    const int bits = layout_.view == View::bytes ? 8 : layout_.sample_of_plane(plane).bits;
    const int unit = bits % 8 == 0 ? bits / 8 : 1;
    for (std::int64_t i = 0; swaps_ && unit > 1 && i + unit <= bytes; i += unit)
      std::reverse(strile_.data() + i, strile_.data() + i + unit);
    place_strile(x, plane);
  }

  void require_whole_tile(std::uint32_t tile, int plane) const {
    const auto stored = static_cast<std::int64_t>(TIFFGetStrileByteCount(handle(plane), tile));
    if (stored < layout_.strile_rows * layout_.strile_row_bytes(plane)) throw FileError("is damaged: a strip or tile is too short");
  }

  // Strips and tiles without a place and without bytes are those that a sparse file leaves out.
  [[nodiscard]] bool is_left_out(std::uint32_t strile, int plane) const {
    if (layout_.compression == COMPRESSION_OJPEG) return false;
    return TIFFGetStrileOffset(handle(plane), strile) == 0 && TIFFGetStrileByteCount(handle(plane), strile) == 0;
  }

  void load_codestream(std::int64_t x, int plane) {
    const std::uint32_t strile = strile_at(x, band_begin_, plane);
    const std::int64_t width = std::min<std::int64_t>(layout_.strile_width, page_.width - x);
    const auto offset = static_cast<std::int64_t>(offsets_[strile]), count = static_cast<std::int64_t>(counts_[strile]);
    if (offset == 0 && count == 0) return fill(x, width, plane);
    if (count < 0 || count > options_.memory_bytes) throw FileError("is cut off: a strip or tile is longer than the file");
    shape_.visible_width = width;
    shape_.visible_rows = band_count_;
    strile_.resize(static_cast<std::size_t>(shape_.row_bytes() * shape_.rows));
    codestreams_->decode(read_exactly(source_, offset, count), shape_, strile_.data());
    place_strile(x, plane);
  }

  void load_strile(std::int64_t x, int plane) {
    if (layout_.view == View::none) return load_codestream(x, plane);
    const std::uint32_t strile = strile_at(x, band_begin_, plane);
    if (is_left_out(strile, plane)) return fill(x, std::min<std::int64_t>(layout_.strile_width, page_.width - x), plane);
    const std::int64_t rows = layout_.tiled ? layout_.strile_rows : band_count_;
    const int step = layout_.pixels_of_plane(plane).y;
    const tmsize_t size = strile_bytes(plane);
    strile_.resize(static_cast<std::size_t>(size));
    const tmsize_t got = layout_.tiled ? TIFFReadEncodedTile(handle(plane), strile, strile_.data(), size)
                                       : TIFFReadEncodedStrip(handle(plane), strile, strile_.data(), size);
    library(plane).check(got >= 0);
    if (!layout_.packs_blocks && got < (rows + step - 1) / step * layout_.strile_row_bytes(plane))
      throw FileError("is damaged: a strip or tile is too short");
    place_strile(x, plane);
  }

  [[nodiscard]] SampleScale scale() const { return layout_.conversion == Conversion::palette ? SampleScale::none : SampleScale::full; }
  [[nodiscard]] std::uint8_t* place(std::int64_t row, std::int64_t x, int plane) {
    return rows_ + row * row_bytes_ + x * layout_.stored_pixel_bytes() + layout_.bytes_of_samples(plane * layout_.plane_samples);
  }

  void place_strile(std::int64_t x, int plane) {
    const std::int64_t width = std::min<std::int64_t>(layout_.strile_width, page_.width - x);
    if (layout_.packs_blocks) return place_blocks(x, width);
    if (layout_.planar) return place_plane(x, width, plane);
    const bool has_differences = has_predictor(layout_.compression) && std::get<TiffCoding>(page_.coding).predictor == PREDICTOR_HORIZONTAL;
    const MixedCoding coding{swaps_ != (std::endian::native == std::endian::big), has_differences};
    for (std::int64_t row = 0; row < band_count_; ++row) {
      const std::uint8_t* from = strile_.data() + row * layout_.strile_row_bytes();
      if (layout_.mixed.empty()) {
        unpack_samples(layout_.sample, scale(), from, width * layout_.samples, place(row, x, 0));
      } else {
        unpack_mixed(layout_.mixed, coding, from, width, place(row, x, 0));
      }
    }
  }

  void place_blocks(std::int64_t x, std::int64_t width) {
    const std::int64_t row_bytes = layout_.strile_width * layout_.stored_pixel_bytes();
    Bytes rows(static_cast<std::size_t>(band_count_ * row_bytes));
    unpack_blocks(layout_.sample, {layout_.ycbcr.h, layout_.ycbcr.v}, strile_.data(), layout_.strile_width, band_count_, rows.data(),
                  row_bytes);
    for (std::int64_t row = 0; row < band_count_; ++row) {
      std::memcpy(place(row, x, 0), rows.data() + row * row_bytes, static_cast<std::size_t>(width * layout_.stored_pixel_bytes()));
    }
  }

  void place_plane(std::int64_t x, std::int64_t width, int plane) {
    const int first = plane * layout_.plane_samples;
    const auto size = static_cast<std::size_t>(layout_.bytes_of_samples(first + layout_.plane_samples) - layout_.bytes_of_samples(first));
    const PerAxis<int> step = layout_.pixels_of_plane(plane);
    const std::int64_t count = (width + step.x - 1) / step.x;
    samples_.resize(static_cast<std::size_t>(count) * size);
    for (std::int64_t row = 0; row < band_count_; ++row) {
      const std::uint8_t* from = strile_.data() + row / step.y * layout_.strile_row_bytes(plane);
      if (layout_.mixed.empty()) {
        unpack_samples(layout_.sample, scale(), from, count * layout_.plane_samples, samples_.data());
      } else {
        // libtiff has brought the bytes of whole samples into the order of this machine.
        const MixedCoding coding{.big_endian = std::endian::native == std::endian::big};
        unpack_mixed(std::span(layout_.mixed).subspan(static_cast<std::size_t>(plane), 1), coding, from, count, samples_.data());
      }
      std::uint8_t* to = place(row, x, plane);
      for (std::int64_t i = 0; i < width; ++i, to += layout_.stored_pixel_bytes())
        std::memcpy(to, samples_.data() + static_cast<std::size_t>(i / step.x) * size, size);
    }
  }

  void fill(std::int64_t x, std::int64_t width, int plane) {
    const int first = plane * layout_.plane_samples, end = layout_.planar ? first + layout_.plane_samples : layout_.samples;
    for (int sample = first; sample < end; ++sample) {
      std::array<std::uint8_t, 8> value{};
      store_number(layout_.type_of(sample), layout_.fill, value.data());
      const std::int64_t inside = layout_.bytes_of_samples(sample) - layout_.bytes_of_samples(first);
      for (std::int64_t row = 0; row < band_count_; ++row) {
        std::uint8_t* to = place(row, x, plane) + inside;
        for (std::int64_t i = 0; i < width; ++i, to += layout_.stored_pixel_bytes())
          std::memcpy(to, value.data(), static_cast<std::size_t>(bytes_of(layout_.type_of(sample))));
      }
    }
  }

  void convert(const std::uint8_t* stored, std::uint8_t* into) {
    if (layout_.conversion == Conversion::palette) {
      const bool has_all = layout_.palette.apply(stored, layout_.sample.bits, page_.width, layout_.samples, into);
      if (!has_all) messages_.add("indices without a colour in the palette became black");
      return;
    }
    std::memcpy(into, stored, static_cast<std::size_t>(stored_row_bytes_));
    if (layout_.conversion == Conversion::lab_signs) swap_lab_signs(layout_.type_of(0), into, page_.width, layout_.samples);
    if (layout_.conversion == Conversion::ycbcr) ycbcr_to_rgb(layout_.ycbcr, into, page_.width, layout_.samples);
    if (layout_.conversion == Conversion::xyz) {
      std::vector<float> row(static_cast<std::size_t>(page_.width) * 3);
      std::memcpy(row.data(), stored, static_cast<std::size_t>(stored_row_bytes_));
      xyz_to_rgb(row.data(), page_.width);
      std::memcpy(into, row.data(), static_cast<std::size_t>(stored_row_bytes_));
    }
  }
};

class TiffReader final : public Reader {
 public:
  TiffReader(std::unique_ptr<ByteSource> source, const ReadOptions& options) : source_(std::move(source)), options_(options) {
    const StructureReader file(*source_);
    Inventory inventory = take_inventory(file, options.memory_bytes, messages_);
    swaps_ = file.is_big_endian() != (std::endian::native == std::endian::big);
    document_.format = FileFormat::tiff;
    document_.big_endian = file.is_big_endian();
    document_.big_offsets = file.has_big_offsets();
    document_.items = std::move(inventory.items);
    pages_ = std::move(inventory.pages);
    for (const PageOfFile& each : pages_) document_.pages.push_back(each.page);
  }

  [[nodiscard]] const Document& document() const override { return document_; }
  [[nodiscard]] const Messages& messages() const override { return messages_; }

  void read_rows(int page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) override {
    if (!library_) library_ = std::make_unique<LibraryReader>(*source_, options_.memory_bytes);
    if (page != decoded_page_) {
      decoder_.reset();
      decoder_ = std::make_unique<PageDecoder>(*source_, *library_, pages_[static_cast<std::size_t>(page)], swaps_, options_, messages_);
      decoded_page_ = page;
    }
    decoder_->read(y, count, into, row_bytes);
  }

  [[nodiscard]] std::optional<CodecMemory> memory_of(int page) const override {
    return memory_of_page(pages_[static_cast<std::size_t>(page)]);
  }

 private:
  std::unique_ptr<ByteSource> source_;
  ReadOptions options_;
  Document document_;
  Messages messages_;
  std::vector<PageOfFile> pages_;
  bool swaps_ = false;
  std::unique_ptr<LibraryReader> library_;
  std::unique_ptr<PageDecoder> decoder_;
  int decoded_page_ = -1;
};

}  // namespace

std::unique_ptr<Reader> open_tiff(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  return std::make_unique<TiffReader>(std::move(source), options);
}

}  // namespace mollify::files
