#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "files/codec.h"
#include "fuzz/files/seeds.h"

namespace mollify::fuzz {
namespace {

using files::FileFormat;

constexpr int kWidth = 33, kHeight = 17;

Bytes random_bytes(std::size_t count, Random& random) {
  Bytes bytes(count);
  for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random.next());
  return bytes;
}

// PNG

void put_big(Bytes& bytes, std::uint64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

void put_chunk(Bytes& file, std::string_view type, const Bytes& body) {
  put_big(file, body.size());
  Bytes checked(type.begin(), type.end());
  files::append(checked, body);
  files::append(file, checked);
  put_big(file, crc32(0, checked.data(), static_cast<uInt>(checked.size())));
}

Seed palette_png(int bits, Random& random) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  constexpr std::uint8_t kPalette = 3;
  Bytes file(kSignature.begin(), kSignature.end());
  Bytes header;
  put_big(header, kWidth);
  put_big(header, kHeight);
  files::append(header, Bytes{static_cast<std::uint8_t>(bits), kPalette, 0, 0, 0});
  put_chunk(file, "IHDR", header);
  const std::size_t colours = std::size_t{1} << bits;
  put_chunk(file, "PLTE", random_bytes(3 * colours, random));
  put_chunk(file, "tRNS", random_bytes(colours / 2, random));
  put_chunk(file, "bKGD", {1});
  put_chunk(file, "hIST", random_bytes(2 * colours, random));
  Bytes rows;
  for (int y = 0; y < kHeight; ++y) {
    rows.push_back(static_cast<std::uint8_t>(y % 5));  // the filter
    files::append(rows, random_bytes(static_cast<std::size_t>((kWidth * bits + 7) / 8), random));
  }
  uLongf size = compressBound(rows.size());
  Bytes packed(size);
  compress(packed.data(), &size, rows.data(), rows.size());
  packed.resize(size);
  put_chunk(file, "IDAT", packed);
  put_chunk(file, "IEND", {});
  return {FileFormat::png, std::move(file)};
}

// TIFF

void put_little(Bytes& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

/// How a picture is stored in a TIFF.
struct Strip {
  int bits, samples, photometric, compression, width, height;
};

/// A strip of these bytes.
Seed tiff_of(const Strip& strip, const Bytes& pixels, Random& random) {
  constexpr int kPalette = 3, kYcbcr = 6, kShort = 3, kLong = 4;
  const auto [bits, samples, photometric, compression, width, height] = strip;
  Bytes file = {'I', 'I', 42, 0};
  const Bytes palette = random_bytes(photometric == kPalette ? std::size_t{6} << bits : 0, random);
  constexpr int kHead = 8;
  put_little(file, kHead + pixels.size() + palette.size(), 4);
  files::append(file, pixels);
  files::append(file, palette);
  struct Field {
    int tag, type;
    std::uint64_t count, value;
  };
  std::vector<Field> fields = {{256, kLong, 1, static_cast<std::uint64_t>(width)},
                               {257, kLong, 1, static_cast<std::uint64_t>(height)},
                               {258, kShort, 1, static_cast<std::uint64_t>(bits)},
                               {259, kShort, 1, static_cast<std::uint64_t>(compression)},
                               {262, kShort, 1, static_cast<std::uint64_t>(photometric)},
                               {273, kLong, 1, kHead},
                               {277, kShort, 1, static_cast<std::uint64_t>(samples)},
                               {278, kLong, 1, static_cast<std::uint64_t>(height)},
                               {279, kLong, 1, pixels.size()}};
  if (photometric == kPalette) fields.push_back({320, kShort, std::uint64_t{3} << bits, kHead + pixels.size()});
  if (photometric == kYcbcr) fields.push_back({530, kShort, 2, 0x00010001});
  put_little(file, fields.size(), 2);
  for (const Field& field : fields) {
    put_little(file, static_cast<std::uint64_t>(field.tag), 2);
    put_little(file, static_cast<std::uint64_t>(field.type), 2);
    put_little(file, field.count, 4);
    put_little(file, field.value, 4);
  }
  put_little(file, 0, 4);
  return {FileFormat::tiff, std::move(file)};
}

/// Pixels of few bits, uncompressed, or what readers take for data of a compression.
Seed plain_tiff(int bits, int samples, int photometric, int compression, Random& random) {
  const Bytes pixels = random_bytes(static_cast<std::size_t>((kWidth * bits * samples + 7) / 8 * kHeight), random);
  return tiff_of({bits, samples, photometric, compression, kWidth, kHeight}, pixels, random);
}

Bytes bytes_of_hex(std::string_view digits) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
    bytes.push_back(static_cast<std::uint8_t>(16 * value(digits[i]) + value(digits[i + 1])));
  }
  return bytes;
}

/// 16x16 grey pixels, x * 9 + y * 5, in the two codings that libtiff does not know: by OpenJPEG and by libjxl.
std::vector<Seed> codestream_tiffs(Random& random) {
  constexpr std::string_view kJpeg2000 =
      "ff4fff510029000000000010000000100000000000000000000000100000001000000000000000000001070101ff52000e010200010001040400008888ff5c000b"
      "42482457d357d35762ff90000a0000000000180001ff93c9c0115011d7fcd73c80ffd9";
  constexpr std::string_view kJpegXl =
      "ff0a434050dc080804010044014b12c5820552e00c3a2236362ac618a3e7ff5600e0ff5ff5ff5f75ef5f55fe5f2581c659f46d40f83d36b8f3446c6c0411e51fb3"
      "db04805def4eed693ff603971761de50f4710461e6d2f067845c07a807";
  constexpr int kSide = 16;
  std::vector<Seed> seeds;
  for (const int compression : {33003, 33005, 34712})
    seeds.push_back(tiff_of({8, 1, 1, compression, kSide, kSide}, bytes_of_hex(kJpeg2000), random));
  for (const int compression : {50002, 52546})
    seeds.push_back(tiff_of({8, 1, 1, compression, kSide, kSide}, bytes_of_hex(kJpegXl), random));
  return seeds;
}

}  // namespace

std::vector<Seed> seeds_by_hand(Random& random) {
  std::vector<Seed> seeds;
  for (const int bits : {1, 2, 4, 8}) {
    seeds.push_back(palette_png(bits, random));
    seeds.push_back(plain_tiff(bits, 1, 3, 1, random));
    seeds.push_back(plain_tiff(bits, 1, 0, 1, random));
  }
  for (const int bits : {1, 6, 12, 14, 24, 32, 64}) seeds.push_back(plain_tiff(bits, 1, 1, 1, random));
  for (const int photometric : {2, 6, 8, 9, 10, 32803, 32844, 32845}) {
    for (const int bits : {8, 16, 64}) seeds.push_back(plain_tiff(bits, 3, photometric, 1, random));
  }
  for (const int compression : {2, 3, 4, 5, 7, 8, 32773, 32908, 34661, 34676, 34677, 34887, 34925, 50000, 50001})
    seeds.push_back(plain_tiff(compression < 5 || compression == 34661 ? 1 : 8, 1, 1, compression, random));
  for (Seed& seed : codestream_tiffs(random)) seeds.push_back(std::move(seed));
  return seeds;
}

std::vector<Seed> seeds_of_files(const std::vector<std::string>& paths) {
  constexpr std::int64_t kMostBytes = 1 << 16;
  std::vector<Seed> seeds;
  const auto add = [&](const std::filesystem::path& path) {
    try {
      const auto source = files::open_source(path.string(), kMostBytes);
      if (source->size() > kMostBytes) return;
      const FileFormat format = files::format_of_bytes(*source);
      if (static_cast<int>(format) >= files::kWrittenFormats) return;
      seeds.push_back({format, files::read_exactly(*source, 0, source->size())});
    } catch (const files::FileError&) {  // a file of the tests that is none of an image
    }
  };
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      add(path);
      continue;
    }
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const auto& file : files) add(file);
  }
  return seeds;
}

}  // namespace mollify::fuzz
