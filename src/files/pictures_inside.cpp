#include "files/pictures_inside.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "files/metadata.h"

namespace mollify::files {
namespace {

using namespace std::string_view_literals;
using View = std::span<const std::uint8_t>;

std::string_view text_of(View bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::uint32_t big(View bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[at + static_cast<std::size_t>(i)];
  return value;
}
std::uint32_t little(View bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = count; i-- > 0;) value = value << 8 | bytes[at + static_cast<std::size_t>(i)];
  return value;
}

/// Checks what follows a signature; the whole must be plausible as far as it is there, since three bytes occur by chance.
using IsPlausible = bool (*)(View picture);
bool always(View) {
  return true;
}

bool is_early_jpeg_marker(std::uint8_t marker) {
  return (marker >= 0xE0 && marker <= 0xEF) || (marker >= 0xC0 && marker <= 0xC4) || marker == 0xC9 || marker == 0xDB || marker == 0xDD ||
         marker == 0xFE;
}
/// Segments follow each other from behind SOI on, as far as there are bytes; `least` of them are there whole.
bool has_jpeg_segments(View picture, int least) {
  std::size_t at = 2;
  for (int segment = 0; segment < 3; ++segment) {
    if (picture.size() < at + 4) return segment >= least;
    if (segment > 0 && picture[at] == 0xFF && picture[at + 1] == 0xDA) return true;
    if (picture[at] != 0xFF || !is_early_jpeg_marker(picture[at + 1])) return segment >= 2;
    const std::uint32_t length = big(picture, at + 2, 2);
    if (length < 3) return false;
    at += 2 + length;
  }
  return true;
}
/// With or without the first byte, which Minolta's cameras change.
bool is_jpeg(View picture) {
  return has_jpeg_segments(picture, picture.size() < 4 ? 1 : 0) && picture.size() >= 4 && is_early_jpeg_marker(picture[3]);
}

bool is_bitmap(View picture) {
  if (picture.size() < 26) return false;
  const std::uint32_t header = little(picture, 14, 4);
  const std::uint32_t start = little(picture, 10, 4);
  return (header == 12 || (header >= 40 && header <= 124)) && start >= 14 + header && start < 4096 && little(picture, 6, 4) == 0;
}
bool is_riff_picture(View picture) {
  const std::string_view type = text_of(picture).substr(std::min<std::size_t>(8, picture.size()));
  return type.starts_with("WEBP") || type.starts_with("AVI ");
}
/// The size of the first box, of a film or of HEIF, counts the names of few brands.
bool is_film(View picture) {
  const std::uint32_t size = big(picture, 0, 4);
  return size >= 12 && size <= 4096 && size % 4 == 0;
}
/// The first directory is beyond the header and begins with a plausible number of tags.
bool is_tiff(View picture) {
  if (picture.size() < 10) return false;
  const bool is_big = picture[0] == 'M';
  const std::uint32_t version = is_big ? big(picture, 2, 2) : little(picture, 2, 2);
  if (version == 43) return true;
  const std::uint32_t start = is_big ? big(picture, 4, 4) : little(picture, 4, 4);
  if (start < 8) return false;
  if (start + 2 > picture.size()) return start < (1U << 28);
  const std::uint32_t count = is_big ? big(picture, start, 2) : little(picture, start, 2);
  return count > 0 && count < 4096;
}
/// Its signature is two bytes: it counts at the very beginning of what is searched alone.
bool begins_as_jpeg_xl(View bytes, std::size_t least_size) {
  return bytes.size() >= least_size && bytes[0] == 0xFF && bytes[1] == 0x0A;
}

struct Signature {
  std::string_view bytes;
  std::size_t before;  ///< bytes of the picture in front of the signature
  IsPlausible is_plausible;
  bool is_tiff = false;
};
constexpr std::array kSignatures = {
    Signature{"\xFF\xD8\xFF"sv, 0, is_jpeg},
    Signature{"\x89PNG\r\n\x1a\n"sv, 0, always},
    Signature{"\x8aMNG\r\n\x1a\n"sv, 0, always},
    Signature{"\x8bJNG\r\n\x1a\n"sv, 0, always},
    Signature{"RIFF"sv, 0, is_riff_picture},
    Signature{"GIF87a"sv, 0, always},
    Signature{"GIF89a"sv, 0, always},
    Signature{"ftyp"sv, 4, is_film},
    Signature{"JXL \r\n\x87\n"sv, 4, always},
    Signature{"jP  \r\n\x87\n"sv, 4, always},
    Signature{"\xFF\x4F\xFF\x51\x00"sv, 0, always},
    Signature{"BM"sv, 0, is_bitmap},
    Signature{"\x1a\x45\xdf\xa3"sv, 0, always},
    Signature{"\x76\x2f\x31\x01"sv, 0, always},
    Signature{"8BPS\0\1"sv, 0, always},
    Signature{"II*\0"sv, 0, is_tiff, true},
    Signature{"MM\0*"sv, 0, is_tiff, true},
    Signature{"II+\0"sv, 0, is_tiff, true},
    Signature{"MM\0+"sv, 0, is_tiff, true},
};

/// Just after the EOI marker, if segments and scans lead to one.
std::optional<std::size_t> end_of_jpeg(View bytes, std::size_t offset) {
  std::size_t at = offset + 2;
  while (at + 2 <= bytes.size()) {
    if (bytes[at] != 0xFF) {
      ++at;
      continue;
    }
    const std::uint8_t marker = bytes[at + 1];
    if (marker == 0xD9) return at + 2;
    const bool is_alone = marker == 0 || marker == 1 || (marker >= 0xD0 && marker <= 0xD8);
    at += marker == 0xFF ? 1 : 2;
    if (is_alone || marker == 0xFF) continue;
    if (at + 2 > bytes.size()) break;
    at += big(bytes, at, 2);
  }
  return std::nullopt;
}

/// The first of one kind at `from` or behind it.
std::optional<std::size_t> find_signature(View bytes, std::size_t from, const Signature& signature) {
  const std::string_view text = text_of(bytes);
  for (std::size_t at = text.find(signature.bytes, from); at != std::string_view::npos; at = text.find(signature.bytes, at + 1)) {
    if (at < signature.before) continue;
    if (signature.is_plausible(bytes.subspan(at - signature.before))) return at - signature.before;
  }
  return std::nullopt;
}

std::optional<PictureInside> find_raw(View bytes, std::size_t from, Signatures signatures) {
  std::optional<PictureInside> first;
  const auto take = [&](std::size_t offset, std::optional<std::size_t> end) {
    if (!first || offset < first->offset) first = PictureInside{offset, end};
  };
  for (const Signature& signature : kSignatures) {
    if (signature.is_tiff && signatures == Signatures::all_but_tiff) continue;
    if (const auto at = find_signature(bytes, from, signature))
      take(*at, signature.is_plausible == is_jpeg ? end_of_jpeg(bytes, *at) : std::nullopt);
  }
  // A JPEG whose first byte was changed.
  const std::string_view text = text_of(bytes);
  for (std::size_t at = text.find("\xD8\xFF"sv, from + 1); at != std::string_view::npos; at = text.find("\xD8\xFF"sv, at + 1)) {
    if (!has_jpeg_segments(bytes.subspan(at - 1), 2)) continue;
    take(at - 1, end_of_jpeg(bytes, at - 1));
    break;
  }
  return first;
}

int base64_digit(std::uint8_t c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

/// A run of base64 digits, and where in the bytes each of them is; line breaks and what stands for them in XML are passed over.
struct Run {
  std::vector<std::uint8_t> digits;
  std::vector<std::size_t> places;
};
constexpr std::size_t kShortestRun = 16;
// JPEG XL begins with two bytes, as do names of paths ("/work"). It is longer, and its lines are.
constexpr std::size_t kLeastJpegXlInBase64 = 1024;
constexpr std::size_t kLeastLine = 60;

std::size_t size_of_break(View bytes, std::size_t at) {
  const std::string_view rest = text_of(bytes.subspan(at));
  for (const std::string_view each :
       {"\r"sv, "\n"sv, " "sv, "\t"sv, "\\n"sv, "\\r"sv, "\0"sv, "&#xA;"sv, "&#xD;"sv, "&#10;"sv, "&#13;"sv, "&#xa;"sv, "&#xd;"sv}) {
    if (rest.starts_with(each)) return each.size();
  }
  return 0;
}

std::size_t read_run(View bytes, std::size_t at, Run& run) {
  run = {};
  while (at < bytes.size()) {
    const int digit = base64_digit(bytes[at]);
    if (digit >= 0) {
      run.digits.push_back(static_cast<std::uint8_t>(digit));
      run.places.push_back(at++);
    } else if (const std::size_t size = run.digits.empty() ? 0 : size_of_break(bytes, at)) {
      at += size;
    } else {
      break;
    }
  }
  return at;
}

/// The bytes that a run means if so many digits of the first four are missing.
std::vector<std::uint8_t> decode(const Run& run, std::size_t missing) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(run.digits.size() * 3 / 4 + 3);
  std::uint32_t four = 0;
  for (std::size_t i = 0; i < run.digits.size() + 3; ++i) {
    four = four << 6 | (i < run.digits.size() ? run.digits[i] : 0U);
    if ((i + missing) % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(four >> shift));
  }
  return bytes;
}

std::optional<PictureInside> find_base64(View bytes, std::size_t from, Signatures signatures) {
  Run run;
  for (std::size_t at = from; at < bytes.size();) {
    const std::size_t end = read_run(bytes, at, run);
    if (run.digits.size() >= kShortestRun) {
      std::optional<PictureInside> first;
      for (std::size_t missing = 0; missing < 4; ++missing) {
        const std::vector<std::uint8_t> decoded = decode(run, missing);
        auto found = find_raw(decoded, 0, signatures);
        if (missing == 0 && begins_as_jpeg_xl(decoded, kLeastJpegXlInBase64) && run.places[kLeastLine] == at + kLeastLine)
          found = PictureInside{};
        if (!found) continue;
        const std::size_t digit = std::max(found->offset / 3 * 4, missing) - missing;
        const std::size_t place = run.places[std::min(digit, run.places.size() - 1)];
        if (!first || place < first->offset) first = PictureInside{place, end};
      }
      if (first) return first;
    }
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<PictureInside> find_picture(View bytes, std::size_t from, Signatures signatures) {
  if (from == 0 && begins_as_jpeg_xl(bytes, 8)) return PictureInside{};
  const auto raw = find_raw(bytes, from, signatures);
  const auto coded = find_base64(bytes, from, signatures);
  if (!raw || (coded && coded->offset < raw->offset)) return coded;
  return raw;
}

bool holds_picture(View bytes) {
  return find_picture(bytes, 0, Signatures::all).has_value();
}

}  // namespace mollify::files
