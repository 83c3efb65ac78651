#include "files/png_items.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "files/png_text.h"
#include "files/resolution.h"

namespace mollify::files::png {
namespace {

constexpr std::string_view kSignificantBits = "sBIT";

int bits_of(const Page& page) {
  return 8 * bytes_of(page.channels.front().type);
}

/// Four letters of a chunk that is not critical and not one of those that this file or the pixels are written by.
bool names_free_chunk(const Item& item) {
  constexpr std::array kTaken = {kActl, kFctl, kFdat, kTrns, kHist, kIccp, kBkgd};
  if (item.name.size() != 4) return false;
  const ChunkType type = chunk_type(item.name);
  return is_valid(type) && !is_critical(type) && std::find(kTaken.begin(), kTaken.end(), type) == kTaken.end();
}

bool is_raw_profile(const Item& item) {
  return item.name.starts_with(kRawProfile);
}

Place place_of_chunk(const Item& item) {
  if (item.detail == kAfterPixels) return Place::after_pixels;
  return item.detail == kBeforePalette ? Place::before_palette : Place::before_pixels;
}

/// A chunk of PNG's standard keeps its name, where a draft had another.
ChunkType type_of(const Item& item) {
  switch (item.kind) {
    case ItemKind::cicp:
      return kCicp;
    case ItemKind::mastering_display:
      return kMdcv;
    case ItemKind::content_light:
      return kClli;
    case ItemKind::srgb_intent:
      return kSrgb;
    case ItemKind::exif:
      return kExif;
    default:
      return chunk_type(item.name);
  }
}

void write_profile(ChunkSink& sink, const Item& item) {
  constexpr std::size_t kMostNameBytes = 79;
  constexpr std::uint8_t kSeparator[] = {0, 0};  // the end of the name, and the only method of compression
  const bool has_name = !item.detail.empty() && item.detail.size() <= kMostNameBytes && item.detail.find('\0') == std::string::npos;
  const std::string name = has_name ? item.detail : "ICC profile";
  sink.put(kIccp, {Span(reinterpret_cast<const std::uint8_t*>(name.data()), name.size()), kSeparator, deflate(item.data)});
}

void write_gamma(ChunkSink& sink, const Item& item) {
  Bytes body;
  put_u32(body, item.number);
  sink.put(kGama, body);
}

void write_chromaticities(ChunkSink& sink, const Item& item) {
  std::array<float, 8> numbers{};
  if (item.data.size() != sizeof numbers) unaccounted(item, FileFormat::png);
  std::memcpy(numbers.data(), item.data.data(), sizeof numbers);
  Bytes body;
  constexpr double kMost = 21474.0;  // of 32 bits with a sign
  for (const float number : numbers) {
    const double kept = std::isfinite(number) ? std::clamp(double{number}, -kMost, kMost) : 0.0;
    put_u32(body, static_cast<std::uint32_t>(std::lround(kept * kChromaticityScale)));
  }
  sink.put(kChrm, body);
}

struct Background {
  std::array<std::uint32_t, 3> colour{};
  std::uint32_t most = 255;
};
std::optional<Background> background_of(const Item& item) {
  Background background;
  const auto& data = item.data;
  if (item.name == "bKGD" && (data.size() == 2 || data.size() == 6)) {
    for (std::size_t i = 0; i < 3; ++i) background.colour[i] = get_u16(data.data() + (data.size() == 6 ? 2 * i : 0));
    background.most = item.number == 16 ? 65535 : 255;
    return background;
  }
  if (item.name != "ANIM" || data.size() != 4) return std::nullopt;
  background.colour = {data[2], data[1], data[0]};  // WebP's order is blue, green, red, alpha
  return background;
}

void write_background(ChunkSink& sink, const Item& item, const Page& page) {
  const auto background = background_of(item);
  if (!background) unaccounted(item, FileFormat::png);
  const std::uint64_t most = (1U << bits_of(page)) - 1;
  std::array<std::uint32_t, 3> colour{};
  for (std::size_t i = 0; i < 3; ++i) {
    colour[i] =
        static_cast<std::uint32_t>((std::min(background->colour[i], background->most) * most + background->most / 2) / background->most);
  }
  Bytes body;
  if (page.model == ColourModel::grey) {
    const double luma = 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2];
    put_u16(body, static_cast<std::uint32_t>(std::lround(luma)));
  } else {
    for (const std::uint32_t number : colour) put_u16(body, number);
  }
  sink.put(kBkgd, body);
}

/// "2026:11:27 01:02:03", with any characters between the numbers.
std::optional<Bytes> time_of_text(Span text) {
  constexpr std::array<std::size_t, 6> kBegins = {0, 5, 8, 11, 14, 17};
  constexpr std::array<int, 6> kLeast = {0, 1, 1, 0, 0, 0};
  constexpr std::array<int, 6> kMost = {9999, 12, 31, 23, 59, 60};
  constexpr std::size_t kBytes = 19;
  if (text.size() < kBytes) return std::nullopt;
  Bytes time;
  for (std::size_t i = 0; i < kBegins.size(); ++i) {
    const char* begin = reinterpret_cast<const char*>(text.data()) + kBegins[i];
    const char* end = begin + (i == 0 ? 4 : 2);
    int number = 0;
    const auto parsed = std::from_chars(begin, end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number < kLeast[i] || number > kMost[i]) return std::nullopt;
    if (i == 0) time.push_back(static_cast<std::uint8_t>(number >> 8));
    time.push_back(static_cast<std::uint8_t>(number));
  }
  return time;
}

void write_time(ChunkSink& sink, const Item& item) {
  constexpr std::size_t kTimeBytes = 7;
  if (item.data.size() == kTimeBytes) return sink.put(kTime, item.data);
  if (const auto time = time_of_text(item.data)) return sink.put(kTime, *time);
  Item text{ItemKind::text, "Creation Time", item.data};
  while (!text.data.empty() && text.data.back() == 0) text.data.pop_back();
  write_text(sink, text);
}

void write_comment(ChunkSink& sink, const Item& item) {
  Item text = item;
  text.name = "Comment";
  text.number = 0;
  text.detail.clear();
  write_text(sink, text);
}

}  // namespace

Place place_of(const Item& item) {
  switch (item.kind) {
    case ItemKind::icc_profile:
    case ItemKind::cicp:
    case ItemKind::mastering_display:
    case ItemKind::content_light:
    case ItemKind::gamma:
    case ItemKind::chromaticities:
    case ItemKind::srgb_intent:
      return Place::before_palette;
    case ItemKind::exif:
    case ItemKind::xmp:
    case ItemKind::iptc:
    case ItemKind::photoshop:
    case ItemKind::text:
    case ItemKind::comment:
    case ItemKind::timestamp:
    case ItemKind::background:
      return Place::before_pixels;
    case ItemKind::loop_count:
      return Place::elsewhere;
    case ItemKind::trailer:
      return Place::after_end;
    case ItemKind::known_tag:
      if (item.name == kSignificantBits) return Place::elsewhere;
      if (names_free_chunk(item)) return Place::before_pixels;
      break;
    case ItemKind::unknown:
      if (is_raw_profile(item)) return Place::before_pixels;
      if (names_free_chunk(item)) return place_of_chunk(item);
      break;
    default:
      break;
  }
  unaccounted(item, FileFormat::png);
}

void write_item(ChunkSink& sink, const Item& item, const Page& page) {
  switch (item.kind) {
    case ItemKind::icc_profile:
      return write_profile(sink, item);
    case ItemKind::gamma:
      return write_gamma(sink, item);
    case ItemKind::chromaticities:
      return write_chromaticities(sink, item);
    case ItemKind::xmp:
      return write_xmp(sink, item.data);
    case ItemKind::iptc:
      return write_iptc(sink, item.data);
    case ItemKind::photoshop:
      return write_raw_profile(sink, "8bim", item.data);
    case ItemKind::text:
      return write_text(sink, item);
    case ItemKind::comment:
      return write_comment(sink, item);
    case ItemKind::timestamp:
      return write_time(sink, item);
    case ItemKind::background:
      return write_background(sink, item, page);
    case ItemKind::trailer:
      return sink.put_raw(item.data);
    default:
      break;
  }
  if (is_raw_profile(item)) return write_raw_profile(sink, std::string_view(item.name).substr(kRawProfile.size()), item.data);
  sink.put(type_of(item), item.data);
}

void write_resolution(ChunkSink& sink, const Resolution& resolution) {
  const std::optional<Resolution> held = resolution_in(FileFormat::png, resolution);
  if (!held) return;
  Bytes body;
  put_u32(body, static_cast<std::uint32_t>(held->x));
  put_u32(body, static_cast<std::uint32_t>(held->y));
  body.push_back(held->unit == Resolution::Unit::none ? 0 : 1);
  sink.put(kPhys, body);
}

void write_significant_bits(ChunkSink& sink, const Document& document) {
  const Page& page = document.pages.front();
  const int bits = bits_of(page);
  Bytes body;
  for (const Item& item : document.items) {
    if (item.kind == ItemKind::known_tag && item.name == kSignificantBits) body = item.data;
  }
  const bool fits =
      body.size() == page.channels.size() && std::all_of(body.begin(), body.end(), [bits](int each) { return each >= 1 && each <= bits; });
  if (!fits) {
    if (page.significant_bits < 1 || page.significant_bits >= bits) return;
    body.assign(page.channels.size(), static_cast<std::uint8_t>(page.significant_bits));
    if (page.alpha != AlphaKind::none) body.back() = static_cast<std::uint8_t>(bits);
  }
  sink.put(kSbit, body);
}

}  // namespace mollify::files::png
