#include "fuzz/files/seeds.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "files/codec.h"
#include "fuzz/files/metadata_seeds.h"

namespace mollify::fuzz {
namespace {

using files::AlphaKind;
using files::Channel;
using files::ChannelRole;
using files::ColourModel;
using files::Document;
using files::FileFormat;
using files::Item;
using files::ItemKind;
using files::NumberType;
using files::Page;
using files::PageKind;

Bytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

Page page_of(ColourModel model, AlphaKind alpha, NumberType type, int width, int height) {
  Page page;
  page.width = width;
  page.height = height;
  page.model = model;
  page.alpha = alpha;
  const std::string_view names = model == ColourModel::grey   ? "Y"
                                 : model == ColourModel::cmyk ? "CMYK"
                                 : model == ColourModel::lab  ? "Lab"
                                                              : "RGB";
  for (const char name : names) page.channels.push_back({std::string(1, name), type, ChannelRole::colour});
  if (alpha != AlphaKind::none) page.channels.push_back({"A", type, ChannelRole::alpha});
  return page;
}

Document document_of(FileFormat format, Page page) {
  Document document;
  document.format = format;
  document.pages.push_back(std::move(page));
  return document;
}

template <class T>
void put_number(std::uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Random integers, floats of 0 to 1.
Bytes row_of(const Page& page, Random& random) {
  Bytes row(static_cast<std::size_t>(page.row_bytes()));
  for (std::uint8_t& each : row) each = static_cast<std::uint8_t>(random.next());
  std::uint8_t* at = row.data();
  for (std::int32_t x = 0; x < page.width; ++x) {
    for (const Channel& channel : page.channels) {
      constexpr std::uint16_t kHalfOne = 0x3c00;
      if (channel.type == NumberType::f16) put_number(at, static_cast<std::uint16_t>(random.below(kHalfOne)));
      if (channel.type == NumberType::f32) put_number(at, static_cast<float>(random.uniform()));
      if (channel.type == NumberType::f64) put_number(at, random.uniform());
      at += files::bytes_of(channel.type);
    }
  }
  return row;
}

Bytes written(const Document& document, Random& random) {
  files::MemorySink sink;
  const auto writer = files::make_writer(document.format, sink, document, {});
  for (std::size_t i = 0; i < document.pages.size(); ++i) {
    const Page& page = document.pages[i];
    for (std::int32_t y = 0; y < page.height; ++y) {
      const Bytes row = row_of(page, random);
      writer->write_rows(static_cast<int>(i), y, 1, row.data(), page.row_bytes());
    }
  }
  writer->finish();
  return sink.bytes();
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::vector<Seed> make() {
    make_png();
    make_jpeg();
    make_tiff();
    make_exr();
    make_webp();
    make_hdr();
    for (Seed& seed : seeds_by_hand(random_)) seeds_.push_back(std::move(seed));
    return std::move(seeds_);
  }

 private:
  void add(const Document& document) { seeds_.push_back({document.format, written(document, random_)}); }

  Page page(ColourModel model, AlphaKind alpha, NumberType type) {
    return page_of(model, alpha, type, random_.between(1, 70), random_.between(1, 50));
  }
  static void put_resolution(Page& page) { page.resolution = files::Resolution{300, 300, files::Resolution::Unit::inch}; }

  std::vector<Item> blocks() {
    return {{.kind = ItemKind::exif, .name = "Exif", .data = exif_block(random_)},
            {.kind = ItemKind::xmp, .name = "XMP", .data = xmp_packet()},
            {.kind = ItemKind::icc_profile, .name = "ICC profile", .data = icc_profile()}};
  }

  static void make_animation(Document& document) {
    document.pages.front().kind = PageKind::frame;
    document.pages.front().timing = files::Timing{40};
    for (int i = 0; i < 2; ++i) document.pages.push_back(document.pages.front());
    document.items.push_back({.kind = ItemKind::loop_count, .name = "loops", .number = 3});
  }

  void make_png() {
    for (const ColourModel model : {ColourModel::grey, ColourModel::rgb}) {
      for (const AlphaKind alpha : {AlphaKind::none, AlphaKind::unassociated}) {
        for (const NumberType type : {NumberType::u8, NumberType::u16}) {
          for (const bool interlaced : {false, true}) {
            Document document = document_of(FileFormat::png, page(model, alpha, type));
            document.pages.front().coding = files::PngCoding{.interlaced = interlaced};
            put_resolution(document.pages.front());
            add(document);
            document.items = blocks();
            if (model == ColourModel::grey) document.items.pop_back();
            put_png_items(document.items);
            add(document);
            document.pages.front().coding = files::PngCoding{};
            make_animation(document);
            add(document);
          }
        }
      }
    }
  }

  static void put_png_items(std::vector<Item>& items) {
    const Bytes chromaticities(32, 0x3e);
    for (const Item& item : {Item{.kind = ItemKind::iptc, .name = "IPTC", .data = iptc_records()},
                             Item{.kind = ItemKind::photoshop, .name = "Photoshop", .data = photoshop_blocks()},
                             Item{.kind = ItemKind::text, .name = "Title", .data = bytes_of("A title")},
                             Item{.kind = ItemKind::text,
                             .name = "Comment",
                             .data = bytes_of("Gr\xc3\xbc\xc3\x9f"
                                              "e")},
                             Item{.kind = ItemKind::timestamp, .name = "tIME", .data = {7, 228, 11, 27, 1, 2, 3}},
                             Item{.kind = ItemKind::background, .name = "bKGD", .data = {0, 1, 0, 2, 0, 3}, .number = 8},
                             Item{.kind = ItemKind::gamma, .name = "gAMA", .number = 45455},
                             Item{.kind = ItemKind::chromaticities, .name = "cHRM", .data = chromaticities},
                             Item{.kind = ItemKind::cicp, .name = "cICP", .data = {1, 13, 0, 1}},
                             Item{.kind = ItemKind::content_light, .name = "cLLI", .data = Bytes(8, 1)},
                             Item{.kind = ItemKind::mastering_display, .name = "mDCV", .data = Bytes(24, 1)},
                             Item{.kind = ItemKind::srgb_intent, .name = "sRGB", .data = {0}},
                             Item{.kind = ItemKind::unknown, .name = "xyZz", .data = bytes_of("unknown"), .detail = "before IDAT"},
                             Item{.kind = ItemKind::unknown, .name = "Raw profile type app1", .data = bytes_of("unknown")},
                             Item{.kind = ItemKind::trailer, .name = "trailer", .data = bytes_of("bytes after the end")}})
      items.push_back(item);
  }

  void make_jpeg() {
    for (const ColourModel model : {ColourModel::grey, ColourModel::rgb, ColourModel::cmyk}) {
      Document document = document_of(FileFormat::jpeg, page(model, AlphaKind::none, NumberType::u8));
      put_resolution(document.pages.front());
      add(document);
      document.items = blocks();
      if (model != ColourModel::rgb) document.items.pop_back();
      document.items.push_back({.kind = ItemKind::iptc, .name = "IPTC", .data = iptc_records()});
      document.items.push_back({.kind = ItemKind::photoshop, .name = "Photoshop", .data = photoshop_blocks(), .number = 0xed});
      document.items.push_back({.kind = ItemKind::comment, .name = "COM", .data = bytes_of("A comment"), .number = 0xfe});
      document.items.push_back({.kind = ItemKind::unknown, .name = "APP7", .data = bytes_of("unknown"), .number = 0xe7, .detail = "7"});
      add(document);
      const auto reader = files::open_reader(files::memory_source(seeds_.back().data), {});
      auto coding = std::get<files::JpegCoding>(reader->document().pages.front().coding);
      coding.progressive = true;
      document.pages.front().coding = coding;
      add(document);
      coding.progressive = false;
      coding.restart_interval = 2;
      if (model == ColourModel::rgb) coding.components[0].h = coding.components[0].v = 2;
      document.pages.front().coding = coding;
      add(document);
    }
  }

  void make_tiff() {
    constexpr int kCompressions[] = {1, 5, 8, 32773};
    int number = 0;
    for (const ColourModel model : {ColourModel::grey, ColourModel::rgb, ColourModel::cmyk, ColourModel::lab}) {
      for (const NumberType type :
           {NumberType::u8, NumberType::u16, NumberType::u32, NumberType::i16, NumberType::f16, NumberType::f32, NumberType::f64}) {
        if (model == ColourModel::lab && type > NumberType::u16) continue;
        if (model == ColourModel::cmyk && type > NumberType::u16) continue;
        const AlphaKind alpha = model == ColourModel::lab ? AlphaKind::none : static_cast<AlphaKind>(number % 3);
        Page first = page(model, alpha, type);
        files::TiffCoding coding;
        coding.compression = kCompressions[number % 4];
        coding.bits = 8 * files::bytes_of(type);
        coding.planar = number % 5 == 3;
        coding.predictor = coding.compression == 5 || coding.compression == 8 ? 1 + number % 2 : 1;
        first.coding = coding;
        put_resolution(first);
        if (number % 2 != 0) first.tile_width = first.tile_height = 16;
        Document document = document_of(FileFormat::tiff, first);
        document.big_endian = number % 3 == 1;
        document.big_offsets = number % 4 == 2;
        add(document);
        Page smaller = first;
        smaller.width = (first.width + 1) / 2;
        smaller.height = (first.height + 1) / 2;
        smaller.kind = PageKind::level;
        smaller.parent = 0;
        coding.in_sub_directory = true;
        coding.subfile_type = 1;
        smaller.coding = coding;
        document.pages.push_back(smaller);
        document.pages.push_back(first);
        document.items = blocks();
        if (model != ColourModel::rgb) document.items.pop_back();
        put_tiff_items(document);
        add(document);
        ++number;
      }
    }
  }

  static void put_tiff_items(Document& document) {
    constexpr std::uint32_t kAscii = 2, kShort = 3, kDouble = 12;
    document.items.push_back({.kind = ItemKind::iptc, .name = "IPTC", .data = iptc_records()});
    document.items.push_back({.kind = ItemKind::photoshop, .name = "Photoshop", .data = photoshop_blocks()});
    std::vector<Item>& items = document.pages.front().items;
    const auto put = [&](ItemKind kind, const char* name, std::uint32_t tag, std::uint32_t type, Bytes data) {
      items.push_back({.kind = kind, .name = name, .data = std::move(data), .number = tag, .type = type});
    };
    put(ItemKind::geotiff, "ModelPixelScale", 33550, kDouble, Bytes(24, 0x3f));
    put(ItemKind::geotiff, "ModelTiepoint", 33922, kDouble, Bytes(48, 0x3f));
    put(ItemKind::geotiff, "GeoKeyDirectory", 34735, kShort, Bytes(16, 1));
    put(ItemKind::imagej, "ImageDescription", 270, kAscii, bytes_of(std::string_view("ImageJ=1.53\nimages=1\nslices=1\n\0", 32)));
    put(ItemKind::known_tag, "Software", 305, kAscii, bytes_of(std::string_view("software\0", 9)));
    put(ItemKind::timestamp, "DateTime", 306, kAscii, bytes_of(std::string_view("2026:11:27 01:02:03\0", 20)));
    put(ItemKind::unknown, "tag 65000", 65000, kShort, Bytes(20, 7));
  }

  void make_exr() {
    for (int compression = 0; compression < 10; ++compression) {
      const NumberType type = compression % 2 == 0 ? NumberType::f16 : NumberType::f32;
      Page first = page(compression % 4 == 1 ? ColourModel::grey : ColourModel::rgb,
                        compression % 3 == 0 ? AlphaKind::associated : AlphaKind::none, type);
      files::ExrCoding coding{.compression = compression, .line_order = compression % 2, .origin_x = -3, .origin_y = 5};
      first.coding = coding;
      first.display = Rect{2, -1, first.width + 4, first.height};
      put_resolution(first);
      put_exr_items(first.items);
      Document document = document_of(FileFormat::exr, first);
      add(document);
      document.pages.front().tile_width = 16;
      document.pages.front().tile_height = 8;
      coding.line_order = 0;
      coding.level_mode = 1;
      document.pages.front().coding = coding;
      Page level = document.pages.front();
      level.kind = PageKind::level;
      level.parent = 0;
      level.items.clear();
      while (level.width > 1 || level.height > 1) {
        level.width = std::max(1, level.width / 2);
        level.height = std::max(1, level.height / 2);
        document.pages.push_back(level);
      }
      add(document);
      Page other = first;
      other.kind = PageKind::part;
      other.name = "depth";
      other.channels = {{"Z", NumberType::f32, ChannelRole::kept},
                        {"id", NumberType::u32, ChannelRole::kept},
                        {"diffuse.R", NumberType::f16, ChannelRole::colour}};
      other.alpha = AlphaKind::none;
      first.kind = PageKind::part;
      document.pages = {first, other};
      add(document);
    }
  }

  static void put_exr_items(std::vector<Item>& items) {
    items.push_back({.kind = ItemKind::attribute, .name = "owner", .data = bytes_of("somebody"), .detail = "string"});
    items.push_back({.kind = ItemKind::attribute, .name = "matrix", .data = Bytes(64, 0x3f), .detail = "m44f"});
    items.push_back({.kind = ItemKind::attribute, .name = "own", .data = Bytes(11, 0x3f), .detail = "unheard of"});
    items.push_back(
        {.kind = ItemKind::thumbnail, .name = "preview", .data = {2, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, .detail = "preview"});
    Bytes chromaticities(32);
    for (std::size_t i = 0; i < 8; ++i) put_number(chromaticities.data() + 4 * i, 0.3F + 0.04F * static_cast<float>(i));
    items.push_back({.kind = ItemKind::light_primaries, .name = "chromaticities", .data = chromaticities});
  }

  void make_webp() {
    for (const AlphaKind alpha : {AlphaKind::none, AlphaKind::unassociated}) {
      for (const bool lossless : {false, true}) {
        Document document = document_of(FileFormat::webp, page(ColourModel::rgb, alpha, NumberType::u8));
        document.pages.front().coding = files::WebpCoding{lossless, alpha != AlphaKind::none};
        add(document);
        document.items = blocks();
        document.items.push_back({.kind = ItemKind::unknown, .name = "XYZW", .data = bytes_of("unknown")});
        document.items.push_back({.kind = ItemKind::trailer, .name = "trailer", .data = bytes_of("bytes after the end")});
        add(document);
        make_animation(document);
        document.items.push_back({.kind = ItemKind::background, .name = "ANIM", .data = {1, 2, 3, 4}});
        add(document);
      }
    }
  }

  void make_hdr() {
    for (const int width : {1, 7, 8, 40, 130}) {
      for (const int orientation : {1, 4, 6}) {
        Page first = page_of(ColourModel::rgb, AlphaKind::none, NumberType::f32, width, 12);
        first.orientation = orientation;
        Document document = document_of(FileFormat::hdr, first);
        document.items.push_back({.kind = ItemKind::attribute, .name = "EXPOSURE", .data = bytes_of("2.5")});
        document.items.push_back({.kind = ItemKind::comment, .name = "", .data = bytes_of("a comment")});
        Bytes chromaticities(32);
        for (std::size_t i = 0; i < 8; ++i) put_number(chromaticities.data() + 4 * i, 0.3F + 0.04F * static_cast<float>(i));
        document.items.push_back({.kind = ItemKind::light_primaries, .name = "PRIMARIES", .data = chromaticities});
        add(document);
      }
    }
  }

  Random random_;
  std::vector<Seed> seeds_;
};

}  // namespace

std::vector<Seed> made_seeds(std::uint64_t seed) {
  return Maker(seed).make();
}

}  // namespace mollify::fuzz
