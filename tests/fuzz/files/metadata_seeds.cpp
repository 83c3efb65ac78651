#include "fuzz/files/metadata_seeds.h"

#include <cstring>
#include <string_view>
#include <vector>

#include "files/colour.h"

namespace mollify::fuzz {
namespace {

using cases::Random;
using files::Bytes;

enum class Order : std::uint8_t { little, big };

void put(Bytes& bytes, std::uint32_t value, int size, Order order) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * (order == Order::big ? size - 1 - i : i))));
}
void put(Bytes& bytes, std::string_view text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

struct Field {
  std::uint32_t tag, type, count, value;
};

/// A directory that ends with the place of the next.
void put_directory(Bytes& bytes, const std::vector<Field>& fields, std::uint32_t next, Order order) {
  put(bytes, static_cast<std::uint32_t>(fields.size()), 2, order);
  for (const Field& field : fields) {
    constexpr std::uint32_t kShort = 3;
    put(bytes, field.tag, 2, order);
    put(bytes, field.type, 2, order);
    put(bytes, field.count, 4, order);
    const bool is_short = field.type == kShort && field.count == 1;
    put(bytes, field.value, is_short ? 2 : 4, order);
    if (is_short) put(bytes, 0, 2, order);
  }
  put(bytes, next, 4, order);
}

/// The smallest thing that begins and ends as a JPEG file does.
constexpr std::string_view kThumbnail{"\xff\xd8\xff\xe0\0\x04xx\xff\xda\0\x02pixels\xff\xd9", 20};

}  // namespace

Bytes exif_block(Random& random) {
  const Order order = random.one_in(2) ? Order::little : Order::big;
  constexpr std::uint32_t kFirst = 8, kFirstFields = 6, kCamera = kFirst + 2 + 12 * kFirstFields + 4, kCameraFields = 4;
  constexpr std::uint32_t kThumbnailDirectory = kCamera + 2 + 12 * kCameraFields + 4, kThumbnailFields = 3;
  constexpr std::uint32_t kValues = kThumbnailDirectory + 2 + 12 * kThumbnailFields + 4;
  constexpr std::uint32_t kAscii = 2, kShort = 3, kLong = 4, kRational = 5, kUndefined = 7;
  constexpr std::uint32_t kMakerNoteBytes = 40;
  Bytes block;
  put(block, order == Order::little ? "II" : "MM");
  put(block, 42, 2, order);
  put(block, kFirst, 4, order);
  put_directory(block,
                {{271, kAscii, 8, kValues},
                 {274, kShort, 1, static_cast<std::uint32_t>(random.between(1, 8))},
                 {282, kRational, 1, kValues + 8},
                 {283, kRational, 1, kValues + 8},
                 {296, kShort, 1, 2},
                 {34665, kLong, 1, kCamera}},
                kThumbnailDirectory, order);
  put_directory(block,
                {{33434, kRational, 1, kValues + 8},
                 {36864, kUndefined, 4, 0x30323330},
                 {37500, kUndefined, kMakerNoteBytes, kValues + 16},
                 {40962, kLong, 1, 64}},
                0, order);
  put_directory(block,
                {{259, kShort, 1, 6},
                 {513, kLong, 1, kValues + 16 + kMakerNoteBytes},
                 {514, kLong, 1, static_cast<std::uint32_t>(kThumbnail.size())}},
                0, order);
  put(block, std::string_view("CAMERA\0\0", 8));
  put(block, 300, 4, order);
  put(block, 1, 4, order);
  put(block, "Nikon");
  while (block.size() < kValues + 16 + kMakerNoteBytes) block.push_back(static_cast<std::uint8_t>(random.next()));
  put(block, kThumbnail);
  return block;
}

Bytes xmp_packet() {
  constexpr std::string_view kPacket =
      "<?xpacket begin='\xef\xbb\xbf' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>"
      "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description rdf:about='' "
      "xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:tiff='http://ns.adobe.com/tiff/1.0/' xmlns:xmp='http://ns.adobe.com/xap/1.0/' "
      "xmlns:xmpGImg='http://ns.adobe.com/xap/1.0/g/img/' tiff:Orientation='6' tiff:ImageWidth='40'>"
      "<dc:title><rdf:Alt><rdf:li xml:lang='x-default'>A title</rdf:li></rdf:Alt></dc:title>"
      "<xmp:Thumbnails><rdf:Alt><rdf:li rdf:parseType='Resource'><xmpGImg:width>8</xmpGImg:width>"
      "<xmpGImg:image>/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==</xmpGImg:image></rdf:li></rdf:Alt></xmp:Thumbnails>"
      "</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>";
  return {kPacket.begin(), kPacket.end()};
}

Bytes iptc_records() {
  Bytes records;
  for (const auto& [dataset, text] :
       {std::pair{90, "\x1b%G"}, std::pair{120, "A caption"}, std::pair{25, "keyword"}, std::pair{25, "other"}}) {
    put(records, 0x1c, 1, Order::big);
    put(records, dataset == 90 ? 1 : 2, 1, Order::big);
    put(records, static_cast<std::uint32_t>(dataset), 1, Order::big);
    put(records, static_cast<std::uint32_t>(std::strlen(text)), 2, Order::big);
    put(records, text);
  }
  return records;
}

Bytes photoshop_blocks() {
  Bytes blocks;
  const auto block = [&](std::uint32_t id, std::string_view body) {
    put(blocks, "8BIM");
    put(blocks, id, 2, Order::big);
    put(blocks, 0, 2, Order::big);  // an empty name
    put(blocks, static_cast<std::uint32_t>(body.size()), 4, Order::big);
    put(blocks, body);
    if (body.size() % 2 != 0) blocks.push_back(0);
  };
  block(1005, std::string_view("\0\x48\0\0\0\x01\0\x01\0\x48\0\0\0\x01\0\x01", 16));
  block(1036, std::string(28, '\x01') + std::string(kThumbnail));
  block(2000, std::string(26, '\x02'));
  return blocks;
}

Bytes icc_profile() {
  files::Document document;
  files::Page page;
  page.width = page.height = 1;
  page.channels = {{"R"}, {"G"}, {"B"}};
  document.items.push_back({.kind = files::ItemKind::gamma, .name = "gAMA", .number = 55556});
  document.pages.push_back(page);
  return files::ColourSpace(document, page).made_profile();
}

}  // namespace mollify::fuzz
