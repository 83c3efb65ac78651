// Writes TIFF files. Strips and tiles are encoded by libtiff and appended to the sink as their rows come; directories follow at the end,
// when it is known whether offsets of 32 bits are enough. Planes behind one directory have it in front of them. A cloud-optimised GeoTIFF
// begins with its directories: its tiles are kept aside until these are known.
#include <tiffio.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "files/tiff_encoder.h"
#include "files/tiff_fields.h"
#include "files/tiff_structure.h"
#include "files/tiff_tags.h"

namespace mollify::files {
namespace {

using namespace tiff;

class TiffWriter final : public Writer {
 public:
  TiffWriter(ByteSink& sink, const Document& document, const WriteOptions& options) : sink_(sink), document_(document), options_(options) {
    if (document.pages.empty()) throw FileError("has no pages");
    for (const Page& page : document.pages) layouts_.push_back(layout_of(page, messages_));
    directories_.resize(document.pages.size());
    encoders_.resize(document.pages.size());
    places_.resize(document.pages.size());
    for (std::size_t i = 0; i < directories_.size(); ++i) describe(i);
    is_stack_ = is_stack();
    encoding_ = {.big_endian = document.big_endian, .big_offsets = document.big_offsets};
    if (is_stack_) {
      begin_stack();
    } else {
      kept().write_at(0, Bytes(16));  // room for either header; nothing has place 0
    }
  }

  void write_rows(int page, std::int32_t, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) override {
    if (is_stack_) return write_plane_rows(count, from, row_bytes);
    const auto index = static_cast<std::size_t>(page);
    std::unique_ptr<PageEncoder>& encoder = encoders_[index];
    if (!encoder) encoder = std::make_unique<PageEncoder>(kept(), document_.pages[index], layouts_[index], document_.big_endian, options_);
    encoder->write(count, from, row_bytes);
    if (!encoder->is_complete()) return;
    PageEncoder::Places places = encoder->places();
    encoder.reset();
    add_places(index, places.offsets, places.counts);
    if (options_.kept_aside != nullptr) places_[index] = std::move(places);
  }

  void finish() override {
    if (is_stack_) return;
    std::int64_t end = kept().size();
    for (const Directory& each : directories_) end += directory_bytes(each);
    if (!encoding_.big_offsets && end > std::numeric_limits<std::uint32_t>::max()) {
      encoding_.big_offsets = true;
      messages_.add("the result has more than 4 GB and became BigTIFF");
    }
    if (options_.kept_aside == nullptr) {
      write_directories();
    } else {
      write_directories_first(static_cast<std::uint64_t>(end));
    }
  }

  [[nodiscard]] const Messages& messages() const override { return messages_; }

 private:
  ByteSink& sink_;
  Document document_;
  WriteOptions options_;
  Messages messages_;
  std::vector<PageLayout> layouts_;
  std::vector<Directory> directories_;
  Encoding encoding_;
  bool is_stack_ = false;
  std::vector<std::unique_ptr<PageEncoder>> encoders_;  ///< of the pages that are being written
  std::vector<PageEncoder::Places> places_;             ///< of pages that are kept aside

  [[nodiscard]] ByteSink& kept() { return options_.kept_aside != nullptr ? *options_.kept_aside : sink_; }
  [[nodiscard]] bool swaps() const { return document_.big_endian != (std::endian::native == std::endian::big); }

  void describe(std::size_t index) {
    Page& page = document_.pages[index];
    Directory& directory = directories_[index];
    directory.fields = structure_fields(page, layouts_[index]);
    for (const Item& item : page.items) add_item(item, swaps(), directory);
    for (const Item& item : document_.items) {
      // A profile holds for all pages of the file, other items are written once.
      if (index == 0 || (item.kind == ItemKind::icc_profile && page.kind != PageKind::mask)) add_item(item, swaps(), directory);
    }
    if (!page.name.empty()) directory.fields.push_back(text_field(kPageName, Bytes(page.name.begin(), page.name.end())));
    for (const Field& field : directory.exif.main) {
      if (tag_row(field.tag).use == TagUse::item) directory.fields.push_back(field);
    }
    remove_repeated(directory.fields);
    page.items.clear();
  }

  void add_places(std::size_t index, const std::vector<std::uint64_t>& offsets, const std::vector<std::uint64_t>& counts) {
    const bool tiled = layouts_[index].tiled;
    directories_[index].fields.push_back(offsets_field(tiled ? kTileOffsets : kStripOffsets, offsets));
    directories_[index].fields.push_back(offsets_field(tiled ? kTileByteCounts : kStripByteCounts, counts));
  }

  // An upper bound.
  static std::int64_t directory_bytes(const Directory& directory) {
    std::int64_t bytes = 1024 + 16 * static_cast<std::int64_t>(directory.children.size());
    for (const auto* fields : {&directory.fields, &directory.exif.exif, &directory.exif.gps, &directory.exif.interoperability}) {
      for (const Field& field : *fields) bytes += 24 + static_cast<std::int64_t>(field.data.size());
    }
    return bytes;
  }

  // Appends a directory, and returns where it is.
  std::int64_t append(const std::vector<Field>& fields, std::int64_t& place_of_link) {
    if ((sink_.size() & 1) != 0) sink_.write_at(sink_.size(), Bytes(1));
    const std::int64_t offset = sink_.size();
    sink_.write_at(offset, encoded_directory(encoding_, fields, offset, 0));
    place_of_link = offset + place_of_next(encoding_, fields.size());
    return offset;
  }

  std::uint64_t append_unlinked(const std::vector<Field>& fields) {
    std::int64_t link = 0;
    return static_cast<std::uint64_t>(append(fields, link));
  }

  Field reference(std::uint16_t tag, const std::vector<std::uint64_t>& offsets) const {
    Field field = offsets_field(tag, offsets);
    if (tag == kSubIfds) field.type = field.type == kLong8 ? kIfd8 : kIfd;
    return field;
  }

  void add_exif(Directory& directory) {
    ExifDirectories& exif = directory.exif;
    if (!exif.interoperability.empty()) exif.exif.push_back(reference(kInteroperabilityIfd, {append_unlinked(exif.interoperability)}));
    if (!exif.exif.empty()) directory.fields.push_back(reference(kExifIfd, {append_unlinked(exif.exif)}));
    if (!exif.gps.empty()) directory.fields.push_back(reference(kGpsIfd, {append_unlinked(exif.gps)}));
  }

  [[nodiscard]] bool is_child(std::size_t index) const {
    const Page& page = document_.pages[index];
    const auto* coding = std::get_if<TiffCoding>(&page.coding);
    return coding != nullptr && coding->in_sub_directory && page.parent >= 0 && static_cast<std::size_t>(page.parent) < index;
  }

  // Children lie before their parents, whose fields say where.
  std::int64_t append_with_children(std::size_t index, std::int64_t& place_of_link) {
    Directory& directory = directories_[index];
    std::vector<std::uint64_t> children;
    for (const std::size_t child : directory.children) {
      std::int64_t link = 0;
      children.push_back(static_cast<std::uint64_t>(append_with_children(child, link)));
    }
    if (!children.empty()) directory.fields.push_back(reference(kSubIfds, children));
    add_exif(directory);
    return append(directory.fields, place_of_link);
  }

  void write_directories() {
    for (std::size_t i = 0; i < directories_.size(); ++i) {
      if (is_child(i)) directories_[static_cast<std::size_t>(document_.pages[i].parent)].children.push_back(i);
    }
    std::int64_t link = 0;
    for (std::size_t i = 0; i < directories_.size(); ++i) {
      if (is_child(i)) continue;
      const std::int64_t before = link;
      const std::int64_t offset = append_with_children(i, link);
      if (before == 0) {
        sink_.write_at(0, encoded_header(encoding_, offset));
      } else {
        sink_.write_at(before, encoded_offset(encoding_, offset));
      }
    }
  }

  /// All pages have directories of their own then. `end`: no offset is larger.
  void write_directories_first(std::uint64_t end) {
    const auto set_offsets = [&](std::size_t index) {
      const std::uint16_t tag = layouts_[index].tiled ? kTileOffsets : kStripOffsets;
      *std::ranges::find(directories_[index].fields, tag, &Field::tag) = offsets_field(tag, places_[index].offsets, end);
    };
    std::vector<std::int64_t> begins;
    std::int64_t at = encoding_.header_bytes();
    for (std::size_t i = 0; i < directories_.size(); ++i) {
      set_offsets(i);
      const ExifDirectories& exif = directories_[i].exif;
      std::vector<Field> fields = directories_[i].fields;
      if (!exif.exif.empty() || !exif.interoperability.empty()) fields.push_back(reference(kExifIfd, {0}));
      if (!exif.gps.empty()) fields.push_back(reference(kGpsIfd, {0}));
      begins.push_back(at);
      at += encoded_directory_bytes(encoding_, fields);
    }
    sink_.write_at(at - 1, Bytes(1));
    for (Directory& each : directories_) add_exif(each);
    for (std::size_t i = places_.size(); i-- > 0;) {
      bring_back(places_[i]);
      set_offsets(i);
    }
    for (std::size_t i = 0; i < directories_.size(); ++i) {
      const std::int64_t next = i + 1 < begins.size() ? begins[i + 1] : 0;
      sink_.write_at(begins[i], encoded_directory(encoding_, directories_[i].fields, begins[i], next));
    }
    sink_.write_at(0, encoded_header(encoding_, begins.front()));
  }

  /// Appends what was kept aside.
  void bring_back(PageEncoder::Places& places) {
    Bytes bytes;
    for (std::size_t i = 0; i < places.offsets.size(); ++i) {
      bytes.resize(places.counts[i]);
      if (bytes.empty()) continue;
      if (kept().read_at(static_cast<std::int64_t>(places.offsets[i]), bytes) != bytes.size()) throw FileError("cannot be read back");
      places.offsets[i] = static_cast<std::uint64_t>(sink_.size());
      sink_.write_at(sink_.size(), bytes);
    }
  }

  /// Readers find the planes behind one directory by its text. Where the text was left out, each plane has a directory of its own.
  [[nodiscard]] bool is_stack() const {
    const auto is_plane = [](const Page& page) { return page.kind == PageKind::plane; };
    const auto is_text = [](const Field& field) { return field.tag == kImageDescription && bytes_of_type(field.type) == 1; };
    return document_.pages.size() > 1 && std::ranges::all_of(document_.pages, is_plane) &&
           std::ranges::any_of(directories_.front().fields, is_text);
  }

  // Planes behind one directory: ImageJ's way beyond 4 GB. The directory comes first and says where the first plane begins.
  void begin_stack() {
    const Page& first = document_.pages.front();
    PageLayout& layout = layouts_.front();
    const bool is_alike = std::all_of(document_.pages.begin(), document_.pages.end(), [&](const Page& page) {
      return page.width == first.width && page.height == first.height && page.channels == first.channels;
    });
    if (!is_alike) throw FileError("cannot be a stack: its planes differ");
    layout.compression = COMPRESSION_NONE;
    layout.predictor = 1;
    layout.tiled = layout.planar = false;
    layout.strile_width = static_cast<std::uint32_t>(first.width);
    layout.strile_rows = static_cast<std::uint32_t>(first.height);
    Directory& directory = directories_.front();
    std::erase_if(directory.fields, [](const Field& field) {
      return field.tag == kCompression || field.tag == kPredictor || field.tag == kPlanarConfig || field.tag == kRowsPerStrip ||
             field.tag == kTileWidth || field.tag == kTileLength;
    });
    directory.fields.push_back(short_field(kCompression, COMPRESSION_NONE));
    directory.fields.push_back(short_field(kPlanarConfig, 1));
    directory.fields.push_back(long_field(kRowsPerStrip, layout.strile_rows));
    sink_.write_at(0, Bytes(static_cast<std::size_t>(encoding_.header_bytes())));
    add_exif(directory);
    const std::uint64_t count = static_cast<std::uint64_t>(layout.strile_row_bytes() * layout.strile_rows);
    add_places(0, {0}, {count});
    const std::int64_t offset = sink_.size();
    const std::int64_t data = offset + encoded_directory_bytes(encoding_, directory.fields);
    for (Field& field : directory.fields) {
      if (field.tag == kStripOffsets) field = offsets_field(kStripOffsets, std::vector<std::uint64_t>{static_cast<std::uint64_t>(data)});
    }
    std::int64_t link = 0;
    static_cast<void>(append(directory.fields, link));
    sink_.write_at(0, encoded_header(encoding_, offset));
  }

  void write_plane_rows(std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
    const PageLayout& layout = layouts_.front();
    const Page& page = document_.pages.front();
    Bytes row(static_cast<std::size_t>(layout.strile_row_bytes()));
    for (std::int32_t i = 0; i < count; ++i, from += row_bytes) {
      pack_samples(layout.sample, layout.type, from, std::int64_t{page.width} * layout.samples, row.data());
      const auto unit = static_cast<std::size_t>(layout.sample.bits % 8 == 0 ? layout.sample.bits / 8 : 1);
      for (std::size_t at = 0; swaps() && unit > 1 && at + unit <= row.size(); at += unit)
        std::reverse(row.data() + at, row.data() + at + unit);
      if (layout.reverses_bits) TIFFReverseBits(row.data(), static_cast<tmsize_t>(row.size()));
      sink_.write_at(sink_.size(), row);
    }
  }
};

}  // namespace

CodecMemory memory_of_tiff_writer(const Page& page) {
  Messages untold;
  const PageLayout layout = layout_of(page, untold);
  constexpr std::int64_t kPlace = 64, kEncoder = 1 << 19, kLzmaEncoder = 100 << 20;
  const std::int64_t across = (page.width + std::int64_t{layout.strile_width} - 1) / layout.strile_width;
  const std::int64_t down = (page.height + std::int64_t{layout.strile_rows} - 1) / layout.strile_rows;
  const std::int64_t strile = layout.strile_row_bytes() * layout.strile_rows;
  const std::int64_t encoder = layout.compression == COMPRESSION_LZMA ? kLzmaEncoder : kEncoder;
  return {(across * strile + kPlace * across * down) * layout.planes() + 2 * strile + encoder, layout.tiled ? "a row of tiles" : "a strip"};
}

std::unique_ptr<Writer> make_tiff_writer(ByteSink& sink, const Document& document, const WriteOptions& options) {
  return std::make_unique<TiffWriter>(sink, document, options);
}

}  // namespace mollify::files
