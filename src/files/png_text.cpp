#include "files/png_text.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace mollify::files::png {
namespace {

constexpr std::string_view kXmpKeyword = "XML:com.adobe.xmp";
constexpr std::size_t kMostKeywordBytes = 79;
constexpr std::size_t kCompressedFrom = 1024;  ///< bytes of a text

Span span_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
std::string_view text_of(Span bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
constexpr std::uint8_t kZero[] = {0};

class Inflater {
 public:
  explicit Inflater(Span stream) {
    stream_.next_in = const_cast<Bytef*>(stream.data());
    stream_.avail_in = static_cast<uInt>(stream.size());
    if (inflateInit(&stream_) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// How many bytes there are, up to those asked for; unset where the stream is damaged or cut off.
  std::optional<std::size_t> next(std::span<std::uint8_t> into) {
    constexpr std::size_t kMostAtOnce = 1 << 30;
    into = into.first(std::min(into.size(), kMostAtOnce));
    stream_.next_out = into.data();
    stream_.avail_out = static_cast<uInt>(into.size());
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) return std::nullopt;
    has_ended_ = code == Z_STREAM_END;
    return into.size() - stream_.avail_out;
  }
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  z_stream stream_{};
  bool has_ended_ = false;
};

/// Cuts off what comes before the next zero byte, and that byte.
std::optional<Span> take_until_zero(Span& bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), 0);
  if (end == bytes.end()) return std::nullopt;
  const Span taken(bytes.begin(), end);
  bytes = bytes.subspan(taken.size() + 1);
  return taken;
}

bool starts_with(Span bytes, std::string_view text) {
  return text_of(bytes).starts_with(text);
}

int value_of_digit(std::uint8_t digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const int letter = digit | 0x20;
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/// "\nexif\n      42\n0a1b...\n": the bytes that the digits stand for, if they are as many as it says.
std::optional<Bytes> bytes_of_digits(Span text) {
  std::size_t at = 0;
  const auto is_space = [&] { return at < text.size() && (text[at] == '\n' || text[at] == '\r' || text[at] == ' '); };
  while (is_space()) ++at;
  while (at < text.size() && text[at] != '\n') ++at;  // the type, again
  while (is_space()) ++at;
  std::size_t count = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9' && count <= text.size()) count = 10 * count + (text[at++] - '0');
  if (count > text.size() / 2 || !is_space()) return std::nullopt;
  Bytes bytes;
  bytes.reserve(count);
  for (int high = -1; at < text.size(); ++at) {
    if (is_space()) continue;
    const int digit = value_of_digit(text[at]);
    if (digit < 0) return std::nullopt;
    if (high >= 0) bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
    high = high >= 0 ? -1 : digit;
  }
  if (bytes.size() != count) return std::nullopt;
  return bytes;
}

constexpr std::string_view kExifIntroduction("Exif\0\0", 6);
constexpr std::string_view kXmpIntroduction("http://ns.adobe.com/xap/1.0/\0", 29);
constexpr std::string_view kIptcBlock("8BIM\x04\x04\0\0", 8);
constexpr std::size_t kIptcHeadBytes = kIptcBlock.size() + 4;

/// Whether the bytes are one of Photoshop's blocks, with IPTC records, and nothing else.
bool is_iptc_block(Span bytes) {
  if (bytes.size() < kIptcHeadBytes || !starts_with(bytes, kIptcBlock)) return false;
  const std::size_t rest = bytes.size() - kIptcHeadBytes;
  const std::size_t length = get_u32(bytes.data() + kIptcBlock.size());
  return rest == length || rest == length + (length & 1);
}

Bytes without_first(const Bytes& bytes, std::size_t count) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(count), bytes.end()};
}

Item item_of_raw_profile(std::string_view type, Bytes bytes) {
  const auto is = [type](std::string_view name) {
    return std::equal(type.begin(), type.end(), name.begin(), name.end(), [](char a, char b) { return (a | 0x20) == (b | 0x20); });
  };
  if (is("exif") || is("app1")) {
    if (starts_with(bytes, kExifIntroduction)) return {ItemKind::exif, "eXIf", without_first(bytes, kExifIntroduction.size())};
    if (starts_with(bytes, kXmpIntroduction))
      return {ItemKind::xmp, std::string(kXmpKeyword), without_first(bytes, kXmpIntroduction.size())};
    if (starts_with(bytes, "II") || starts_with(bytes, "MM")) return {ItemKind::exif, "eXIf", std::move(bytes)};
  }
  if (is("xmp")) return {ItemKind::xmp, std::string(kXmpKeyword), std::move(bytes)};
  if (is("icc") || is("icm")) return {ItemKind::icc_profile, "iCCP", std::move(bytes)};
  if (is("iptc") && starts_with(bytes, "\x1c")) return {ItemKind::iptc, "iptc", std::move(bytes)};
  if ((is("iptc") || is("8bim")) && is_iptc_block(bytes)) {
    const std::size_t length = get_u32(bytes.data() + kIptcBlock.size());
    Bytes records = without_first(bytes, kIptcHeadBytes);
    records.resize(length);
    return {ItemKind::iptc, "iptc", std::move(records)};
  }
  if ((is("iptc") || is("8bim")) && starts_with(bytes, "8BIM")) return {ItemKind::photoshop, "8bim", std::move(bytes)};
  return {ItemKind::unknown, std::string(kRawProfile) + std::string(type), std::move(bytes)};
}

/// `text` is in Latin-1.
Item item_of_plain_text(Span keyword, Bytes text) {
  if (text_of(keyword) == kXmpKeyword) return {ItemKind::xmp, std::string(kXmpKeyword), std::move(text)};
  if (starts_with(keyword, kRawProfile)) {
    if (auto bytes = bytes_of_digits(text)) return item_of_raw_profile(text_of(keyword).substr(kRawProfile.size()), std::move(*bytes));
  }
  return {ItemKind::text, std::string(text_of(utf8_of_latin1(keyword))), utf8_of_latin1(text)};
}

std::optional<Item> read_international_text(Span keyword, Span rest, MemoryLimit& memory) {
  if (rest.size() < 2 || rest[0] > 1) return std::nullopt;
  const bool is_compressed = rest[0] == 1;
  rest = rest.subspan(2);
  const auto language = take_until_zero(rest);
  if (!language) return std::nullopt;
  const auto translated = take_until_zero(rest);
  if (!translated) return std::nullopt;
  std::optional<Bytes> text = is_compressed ? inflate(rest, memory) : Bytes(rest.begin(), rest.end());
  if (!text) return std::nullopt;
  if (text_of(keyword) == kXmpKeyword) return Item{ItemKind::xmp, std::string(kXmpKeyword), std::move(*text)};
  Item item{ItemKind::text, std::string(text_of(utf8_of_latin1(keyword))), std::move(*text), kInternational};
  if (!language->empty() || !translated->empty()) {
    item.detail = std::string(text_of(*language)) + std::string(1, '\0') + std::string(text_of(*translated));
  }
  return item;
}

/// 1 to 79 characters of Latin-1 without control characters, leading, trailing and double spaces.
std::string keyword_of(const std::string& name) {
  Bytes latin1;
  if (auto exact = latin1_of_utf8(span_of(name))) {
    latin1 = std::move(*exact);
  } else {
    std::copy_if(name.begin(), name.end(), std::back_inserter(latin1), [](unsigned char c) { return c < 0x80; });
  }
  std::string keyword;
  for (const std::uint8_t byte : latin1) {
    const bool is_printed = (byte > 0x20 && byte < 0x7f) || byte > 0xa0;
    if (is_printed) keyword.push_back(static_cast<char>(byte));
    if (!is_printed && !keyword.empty() && keyword.back() != ' ') keyword.push_back(' ');
  }
  keyword.resize(std::min(keyword.size(), kMostKeywordBytes));
  while (keyword.ends_with(' ')) keyword.pop_back();
  return keyword.empty() ? "Comment" : keyword;
}

void write_plain_text(ChunkSink& sink, Span keyword, Span latin1) {
  if (latin1.size() >= kCompressedFrom) {
    const Bytes stream = deflate(latin1);
    if (stream.size() < latin1.size()) return sink.put(kZtxt, {keyword, kZero, kZero, stream});
  }
  sink.put(kText, {keyword, kZero, latin1});
}

void write_international_text(ChunkSink& sink, Span keyword, const Item& text) {
  constexpr std::uint8_t kPlain[] = {0, 0, 0};  // the end of the keyword, not compressed, method 0
  constexpr std::uint8_t kCompressed[] = {0, 1, 0};
  const std::string head = text.detail.find('\0') == std::string::npos ? std::string(2, '\0') : text.detail + std::string(1, '\0');
  if (text.data.size() >= kCompressedFrom) {
    const Bytes stream = deflate(text.data);
    if (stream.size() < text.data.size()) return sink.put(kItxt, {keyword, kCompressed, span_of(head), stream});
  }
  sink.put(kItxt, {keyword, kPlain, span_of(head), text.data});
}

}  // namespace

std::optional<Bytes> inflate(Span stream, MemoryLimit& memory) {
  constexpr std::size_t kLeastBytes = 4096;
  Inflater inflater(stream);
  Bytes bytes;
  for (std::size_t done = 0; !inflater.has_ended();) {
    if (done == bytes.size()) {
      const std::size_t more = std::max(bytes.size(), kLeastBytes);
      memory.take(static_cast<std::int64_t>(more), "compressed metadata");
      bytes.resize(bytes.size() + more);
    }
    const auto count = inflater.next(std::span(bytes).subspan(done));
    if (!count) return std::nullopt;
    done += *count;
    if (inflater.has_ended()) bytes.resize(done);
  }
  return bytes;
}

Bytes deflate(Span bytes) {
  uLongf size = compressBound(bytes.size());
  Bytes stream(size);
  if (compress2(stream.data(), &size, bytes.data(), bytes.size(), Z_DEFAULT_COMPRESSION) != Z_OK) throw std::bad_alloc();
  stream.resize(size);
  return stream;
}

Bytes utf8_of_latin1(Span latin1) {
  Bytes utf8;
  utf8.reserve(latin1.size());
  for (const std::uint8_t byte : latin1) {
    if (byte >= 0x80) utf8.push_back(static_cast<std::uint8_t>(0xc0 | byte >> 6));
    utf8.push_back(byte < 0x80 ? byte : static_cast<std::uint8_t>(0x80 | (byte & 0x3f)));
  }
  return utf8;
}

std::optional<Bytes> latin1_of_utf8(Span utf8) {
  Bytes latin1;
  latin1.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const std::uint8_t byte = utf8[i];
    if (byte < 0x80) {
      latin1.push_back(byte);
      continue;
    }
    const bool is_latin1 = (byte == 0xc2 || byte == 0xc3) && i + 1 < utf8.size() && (utf8[i + 1] & 0xc0) == 0x80;
    if (!is_latin1) return std::nullopt;
    latin1.push_back(static_cast<std::uint8_t>((byte & 3) << 6 | (utf8[++i] & 0x3f)));
  }
  return latin1;
}

std::optional<Item> read_text(ChunkType type, Span body, MemoryLimit& memory) {
  const auto keyword = take_until_zero(body);
  if (!keyword || keyword->empty() || keyword->size() > kMostKeywordBytes) return std::nullopt;
  memory.take(2 * static_cast<std::int64_t>(body.size()), "a text");
  if (type == kItxt) return read_international_text(*keyword, body, memory);
  if (type == kText) return item_of_plain_text(*keyword, Bytes(body.begin(), body.end()));
  if (body.empty() || body[0] != 0) return std::nullopt;
  std::optional<Bytes> text = inflate(body.subspan(1), memory);
  if (!text) return std::nullopt;
  memory.take(2 * static_cast<std::int64_t>(text->size()), "a text");
  return item_of_plain_text(*keyword, std::move(*text));
}

void write_text(ChunkSink& sink, const Item& text) {
  const std::string keyword = keyword_of(text.name);
  if (text.number != kInternational) {
    const auto latin1 = latin1_of_utf8(text.data);
    if (latin1 && std::find(latin1->begin(), latin1->end(), 0) == latin1->end()) return write_plain_text(sink, span_of(keyword), *latin1);
  }
  write_international_text(sink, span_of(keyword), text);
}

void write_xmp(ChunkSink& sink, Span packet) {
  constexpr std::uint8_t kPlain[] = {0, 0, 0, 0, 0};  // XMP's specification wants it uncompressed
  sink.put(kItxt, {span_of(kXmpKeyword), kPlain, packet});
}

void write_raw_profile(ChunkSink& sink, std::string_view type, Span profile) {
  constexpr std::size_t kBytesPerLine = 36;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string count = std::to_string(profile.size());
  count.insert(0, count.size() < 8 ? 8 - count.size() : 0, ' ');
  std::string text = "\n" + std::string(type) + "\n" + count;
  text.reserve(text.size() + 2 * profile.size() + profile.size() / kBytesPerLine + 2);
  for (std::size_t i = 0; i < profile.size(); ++i) {
    if (i % kBytesPerLine == 0) text.push_back('\n');
    text.push_back(kDigits[profile[i] >> 4]);
    text.push_back(kDigits[profile[i] & 15]);
  }
  text.push_back('\n');
  const std::string keyword = std::string(kRawProfile) + std::string(type);
  sink.put(kZtxt, {span_of(keyword), kZero, kZero, deflate(span_of(text))});
}

void write_iptc(ChunkSink& sink, Span records) {
  Bytes block(kIptcBlock.begin(), kIptcBlock.end());
  put_u32(block, static_cast<std::uint32_t>(records.size()));
  block.insert(block.end(), records.begin(), records.end());
  if (block.size() % 2 != 0) block.push_back(0);
  write_raw_profile(sink, "iptc", block);
}

}  // namespace mollify::files::png
