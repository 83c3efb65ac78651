#include "files/tiff_samples.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace mollify::files::tiff {
namespace {

// The samples of a row without padding, the highest bit first.
class BitReader {
 public:
  BitReader(const std::uint8_t* from, int bits) : from_(from), bits_(bits) {}
  std::uint32_t next() { return next(bits_); }
  std::uint32_t next(int bits) {
    while (held_ < bits) {
      kept_ = kept_ << 8 | *from_++;
      held_ += 8;
    }
    held_ -= bits;
    return static_cast<std::uint32_t>(kept_ >> held_ & ((std::uint64_t{1} << bits) - 1));
  }

 private:
  const std::uint8_t* from_;
  int bits_;
  std::uint64_t kept_ = 0;
  int held_ = 0;
};

class BitWriter {
 public:
  BitWriter(std::uint8_t* to, int bits) : to_(to), bits_(bits) {}
  void put(std::uint32_t value) {
    kept_ = kept_ << bits_ | value;
    held_ += bits_;
    while (held_ >= 8) {
      held_ -= 8;
      *to_++ = static_cast<std::uint8_t>(kept_ >> held_);
    }
  }
  void finish() {
    if (held_ > 0) *to_ = static_cast<std::uint8_t>(kept_ << (8 - held_));
  }

 private:
  std::uint8_t* to_;
  int bits_;
  std::uint64_t kept_ = 0;
  int held_ = 0;
};

constexpr std::uint64_t full_scale(int bits) {
  return (std::uint64_t{1} << bits) - 1;
}
constexpr std::uint32_t rescaled(std::uint64_t value, std::uint64_t from, std::uint64_t to) {
  return static_cast<std::uint32_t>((value * to + from / 2) / from);
}

template <typename T>
void store(std::uint8_t* to, std::int64_t index, T value) {
  std::memcpy(to + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}
template <typename T>
T load(const std::uint8_t* from, std::int64_t index) {
  T value;
  std::memcpy(&value, from + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Samples of 24 bits are kept by libtiff in host order; other odd numbers of bits are packed, the highest first.
std::uint32_t load_24(const std::uint8_t* from, std::int64_t index) {
  const std::uint8_t* p = from + 3 * index;
  constexpr bool kBig = std::endian::native == std::endian::big;
  return static_cast<std::uint32_t>(p[kBig ? 2 : 0]) | static_cast<std::uint32_t>(p[1]) << 8 |
         static_cast<std::uint32_t>(p[kBig ? 0 : 2]) << 16;
}

void store_24(std::uint8_t* to, std::int64_t index, std::uint32_t value) {
  constexpr bool kBig = std::endian::native == std::endian::big;
  for (int i = 0; i < 3; ++i) to[3 * index + (kBig ? 2 - i : i)] = static_cast<std::uint8_t>(value >> 8 * i);
}

// Adobe's floats of 24 bits: a sign, 7 bits of exponent, 16 of mantissa.
float float_of_24(std::uint32_t bits) {
  const bool negative = (bits >> 23 & 1) != 0;
  const int exponent = static_cast<int>(bits >> 16 & 0x7f);
  const auto mantissa = static_cast<float>(bits & 0xffff) / 65536.0F;
  float value = 0.0F;
  if (exponent == 0) {
    value = std::ldexp(mantissa, -62);
  } else if (exponent == 0x7f) {
    value = mantissa == 0.0F ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else {
    value = std::ldexp(1.0F + mantissa, exponent - 63);
  }
  return negative ? -value : value;
}

constexpr std::uint64_t mask_of(int bits) {
  return ~std::uint64_t{0} >> (64 - bits);
}

void store_bits(int bytes, std::uint64_t bits, std::uint8_t* to) {
  if (bytes == 1) store(to, 0, static_cast<std::uint8_t>(bits));
  if (bytes == 2) store(to, 0, static_cast<std::uint16_t>(bits));
  if (bytes == 4) store(to, 0, static_cast<std::uint32_t>(bits));
  if (bytes == 8) store(to, 0, bits);
}

std::int64_t bits_of(std::span<const MixedSample> samples) {
  return std::accumulate(samples.begin(), samples.end(), std::int64_t{0},
                         [](std::int64_t sum, const MixedSample& each) { return sum + each.stored.bits; });
}

// One sample, as unpack_samples() has it.
void store_code(SampleLayout layout, NumberType type, std::uint64_t code, std::uint8_t* to) {
  const int type_bits = 8 * bytes_of(type);
  switch (layout.kind) {
    case SampleKind::floating:
      if (layout.bits == 24) return store(to, 0, float_of_24(static_cast<std::uint32_t>(code)));
      return store_bits(bytes_of(type), code, to);
    case SampleKind::signed_integer:
      if (layout.bits == 64) return store(to, 0, static_cast<double>(static_cast<std::int64_t>(code)));
      return store_bits(bytes_of(type), code << (type_bits - layout.bits), to);
    case SampleKind::unsigned_integer:
      if (layout.bits == 64) return store(to, 0, static_cast<double>(code));
      return store_bits(bytes_of(type), rescaled(code, full_scale(layout.bits), full_scale(type_bits)), to);
  }
}

template <typename T, typename Next>
void unpack_integers(SampleLayout layout, SampleScale scale, Next next, std::int64_t count, std::uint8_t* to) {
  constexpr int kBits = 8 * sizeof(T);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t value = next(i);
    if (layout.kind == SampleKind::signed_integer) {
      store(to, i, static_cast<T>(value << (kBits - layout.bits)));  // the bits of the signed type are the same
    } else {
      store(to, i, static_cast<T>(scale == SampleScale::none ? value : rescaled(value, full_scale(layout.bits), full_scale(kBits))));
    }
  }
}

template <typename T>
void unpack_odd(SampleLayout layout, SampleScale scale, const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  if (layout.bits == 24)
    return unpack_integers<T>(
        layout, scale, [from](std::int64_t i) { return load_24(from, i); }, count, to);
  BitReader reader(from, layout.bits);
  unpack_integers<T>(
      layout, scale, [&reader](std::int64_t) { return reader.next(); }, count, to);
}

template <typename T>
void pack_odd(SampleLayout layout, const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  constexpr int kBits = 8 * sizeof(T);
  const auto narrowed = [&](std::int64_t i) {
    const T value = load<T>(from, i);
    if (layout.kind == SampleKind::signed_integer)
      return static_cast<std::uint32_t>(value >> (kBits - layout.bits)) & static_cast<std::uint32_t>(full_scale(layout.bits));
    return rescaled(value, full_scale(kBits), full_scale(layout.bits));
  };
  if (layout.bits == 24) {
    for (std::int64_t i = 0; i < count; ++i) store_24(to, i, narrowed(i));
    return;
  }
  BitWriter writer(to, layout.bits);
  for (std::int64_t i = 0; i < count; ++i) writer.put(narrowed(i));
  writer.finish();
}

void unpack_64(bool is_signed, const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = load<std::uint64_t>(from, i);
    store(to, i, is_signed ? static_cast<double>(static_cast<std::int64_t>(value)) : static_cast<double>(value));
  }
}

// Computed in `Real`, which holds all numbers of T.
template <typename T, typename Real>
void convert_ycbcr(const YCbCr& ycbcr, std::uint8_t* row, std::int64_t pixels, int samples) {
  const auto red = static_cast<Real>(ycbcr.luma[0]), green = static_cast<Real>(ycbcr.luma[1]), blue = static_cast<Real>(ycbcr.luma[2]);
  constexpr auto kFull = static_cast<Real>(std::numeric_limits<T>::max());
  const Real unit = kFull / static_cast<Real>(full_scale(ycbcr.bits));
  const Real half = unit * static_cast<Real>(full_scale(ycbcr.bits - 1));
  const auto scaled = [&](T code, std::size_t at, Real range) {
    const Real black = static_cast<Real>(ycbcr.reference[at]) * unit, white = static_cast<Real>(ycbcr.reference[at + 1]) * unit;
    return white == black ? Real{0} : (static_cast<Real>(code) - black) * range / (white - black);
  };
  const auto rounded = [&](Real value) { return static_cast<T>(std::llround(std::clamp(value, Real{0}, kFull))); };
  for (std::int64_t i = 0; i < pixels; ++i) {
    const std::int64_t at = i * samples;
    const Real y = scaled(load<T>(row, at), 0, kFull);
    const Real cb = scaled(load<T>(row, at + 1), 2, half);
    const Real cr = scaled(load<T>(row, at + 2), 4, half);
    const Real r = y + cr * (2 - 2 * red);
    const Real b = y + cb * (2 - 2 * blue);
    store(row, at, rounded(r));
    store(row, at + 1, rounded((y - red * r - blue * b) / green));
    store(row, at + 2, rounded(b));
  }
}

template <typename T>
void arrange_blocks(SampleLayout layout, PerAxis<int> block, const std::uint8_t* from, std::int64_t width, std::int64_t rows,
                    std::uint8_t* to, std::ptrdiff_t row_bytes) {
  const auto [h, v] = block;
  const int size = h * v + 2;
  const std::int64_t count = (width + h - 1) / h * size;  // of samples of a row of blocks
  Bytes samples(static_cast<std::size_t>(count) * sizeof(T));
  for (std::int64_t y = 0; y < rows; ++y, to += row_bytes) {
    if (y % v == 0) unpack_samples(layout, SampleScale::full, from + y / v * layout.row_bytes(count), count, samples.data());
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t place = x / h * size;
      store(to, 3 * x, load<T>(samples.data(), place + y % v * h + x % h));
      store(to, 3 * x + 1, load<T>(samples.data(), place + size - 2));
      store(to, 3 * x + 2, load<T>(samples.data(), place + size - 1));
    }
  }
}

template <typename T>
bool apply_palette(const std::vector<std::uint16_t>& colours, const std::uint8_t* from, int bits, std::int64_t pixels, int samples,
                   bool to_16, std::uint8_t* to) {
  constexpr std::array<std::uint16_t, 3> kBlack{};
  const auto entries = static_cast<std::int64_t>(colours.size() / 3);
  bool has_all = true;
  for (std::int64_t i = 0; i < pixels; ++i) {
    const std::int64_t index = load<T>(from, i * samples);
    has_all &= index < entries;
    const std::uint16_t* colour = index < entries ? colours.data() + 3 * index : kBlack.data();
    const std::int64_t place = i * (samples + 2);
    for (int c = 0; c < samples + 2; ++c) {
      const std::uint32_t value = c < 3 ? colour[c] : rescaled(load<T>(from, i * samples + c - 2), full_scale(bits), to_16 ? 65535 : 255);
      if (to_16) {
        store(to, place + c, static_cast<std::uint16_t>(value));
      } else {
        store(to, place + c, static_cast<std::uint8_t>(value));
      }
    }
  }
  return has_all;
}

template <typename T>
void flip_signs(std::uint8_t* row, std::int64_t pixels, int samples) {
  constexpr auto kSign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  for (std::int64_t i = 0; i < pixels; ++i) {
    for (int c = 1; c < 3; ++c) store(row, i * samples + c, static_cast<T>(load<T>(row, i * samples + c) ^ kSign));
  }
}

}  // namespace

NumberType number_type(SampleLayout layout) {
  if (layout.kind == SampleKind::floating)
    return layout.bits == 16 ? NumberType::f16 : layout.bits <= 32 ? NumberType::f32 : NumberType::f64;
  if (layout.bits > 32) return NumberType::f64;
  const bool is_signed = layout.kind == SampleKind::signed_integer;
  if (layout.bits <= 8) return is_signed ? NumberType::i8 : NumberType::u8;
  if (layout.bits <= 16) return is_signed ? NumberType::i16 : NumberType::u16;
  return is_signed ? NumberType::i32 : NumberType::u32;
}

void unpack_samples(SampleLayout layout, SampleScale scale, const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  if (layout.kind == SampleKind::floating && layout.bits == 24) {
    for (std::int64_t i = 0; i < count; ++i) store(to, i, float_of_24(load_24(from, i)));
    return;
  }
  if (layout.kind != SampleKind::floating && layout.bits == 64)
    return unpack_64(layout.kind == SampleKind::signed_integer, from, count, to);
  const NumberType type = number_type(layout);
  if (layout.bits == 8 * bytes_of(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(count * bytes_of(type)));
    return;
  }
  switch (bytes_of(type)) {
    case 1:
      return unpack_odd<std::uint8_t>(layout, scale, from, count, to);
    case 2:
      return unpack_odd<std::uint16_t>(layout, scale, from, count, to);
    default:
      return unpack_odd<std::uint32_t>(layout, scale, from, count, to);
  }
}

void pack_samples(SampleLayout layout, NumberType type, const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  if (layout.bits == 8 * bytes_of(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(count * bytes_of(type)));
    return;
  }
  switch (type) {
    case NumberType::u8:
      return pack_odd<std::uint8_t>(layout, from, count, to);
    case NumberType::i8:
      return pack_odd<std::int8_t>(layout, from, count, to);
    case NumberType::u16:
      return pack_odd<std::uint16_t>(layout, from, count, to);
    case NumberType::i16:
      return pack_odd<std::int16_t>(layout, from, count, to);
    case NumberType::i32:
      return pack_odd<std::int32_t>(layout, from, count, to);
    default:
      return pack_odd<std::uint32_t>(layout, from, count, to);
  }
}

std::array<double, 6> usual_reference(int bits) {
  const auto white = static_cast<double>(full_scale(bits));
  const auto middle = static_cast<double>(std::uint64_t{1} << (bits - 1));
  return {0, white, middle, white, middle, white};
}

void ycbcr_to_rgb(const YCbCr& ycbcr, std::uint8_t* row, std::int64_t pixels, int samples) {
  if (ycbcr.bits <= 8) return convert_ycbcr<std::uint8_t, float>(ycbcr, row, pixels, samples);
  if (ycbcr.bits <= 16) return convert_ycbcr<std::uint16_t, float>(ycbcr, row, pixels, samples);
  convert_ycbcr<std::uint32_t, double>(ycbcr, row, pixels, samples);
}

void unpack_blocks(SampleLayout layout, PerAxis<int> block, const std::uint8_t* from, std::int64_t width, std::int64_t rows,
                   std::uint8_t* to, std::ptrdiff_t row_bytes) {
  switch (bytes_of(number_type(layout))) {
    case 1:
      return arrange_blocks<std::uint8_t>(layout, block, from, width, rows, to, row_bytes);
    case 2:
      return arrange_blocks<std::uint16_t>(layout, block, from, width, rows, to, row_bytes);
    case 4:
      return arrange_blocks<std::uint32_t>(layout, block, from, width, rows, to, row_bytes);
    default:
      return arrange_blocks<std::uint64_t>(layout, block, from, width, rows, to, row_bytes);
  }
}

std::int64_t row_bytes_of(std::span<const MixedSample> samples, std::int64_t pixels) {
  return (bits_of(samples) * pixels + 7) / 8;
}

void unpack_mixed(std::span<const MixedSample> samples, MixedCoding coding, const std::uint8_t* from, std::int64_t pixels,
                  std::uint8_t* to) {
  const std::int64_t pixel_bits = bits_of(samples);
  const bool are_bytes = std::ranges::all_of(samples, [](const MixedSample& each) { return each.stored.bits % 8 == 0; });
  const bool is_turned = !coding.big_endian && !are_bytes && (pixel_bits == 16 || pixel_bits == 32);
  std::array<std::uint8_t, 4> word{};
  BitReader bits(is_turned ? word.data() : from, 0);
  std::vector<std::uint64_t> sums(samples.size());
  for (std::int64_t x = 0; x < pixels; ++x) {
    if (is_turned) {
      std::reverse_copy(from, from + pixel_bits / 8, word.begin());
      from += pixel_bits / 8;
      bits = BitReader(word.data(), 0);
    }
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto [stored, type] = samples[i];
      std::uint64_t code = 0;
      if (are_bytes) {
        const int count = stored.bits / 8;
        for (int b = 0; b < count; ++b) code = code << 8 | from[coding.big_endian ? b : count - 1 - b];
        from += count;
      } else {
        if (stored.bits > 32) code = std::uint64_t{bits.next(stored.bits - 32)} << 32;
        code |= bits.next(std::min(stored.bits, 32));
      }
      if (coding.has_differences) code = sums[i] = (sums[i] + code) & mask_of(stored.bits);
      store_code(stored, type, code, to);
      to += bytes_of(type);
    }
  }
}

void xyz_to_rgb(float* row, std::int64_t pixels) {
  // Primaries of ITU-R BT.709 and a white of equal energies, which is that of LogLuv.
  constexpr float kMatrix[3][3] = {{2.690F, -1.276F, -0.414F}, {-1.022F, 1.978F, 0.044F}, {0.061F, -0.224F, 1.163F}};
  for (std::int64_t i = 0; i < pixels; ++i, row += 3) {
    const std::array xyz = {row[0], row[1], row[2]};
    for (int c = 0; c < 3; ++c) row[c] = kMatrix[c][0] * xyz[0] + kMatrix[c][1] * xyz[1] + kMatrix[c][2] * xyz[2];
  }
}

void swap_lab_signs(NumberType type, std::uint8_t* row, std::int64_t pixels, int samples) {
  if (type == NumberType::u8) flip_signs<std::uint8_t>(row, pixels, samples);
  if (type == NumberType::u16) flip_signs<std::uint16_t>(row, pixels, samples);
}

Palette::Palette(const std::vector<std::uint64_t>& map, int bits) {
  const std::size_t entries = std::min(map.size() / 3, static_cast<std::size_t>(full_scale(bits) + 1));
  // Some writers fill the map with numbers of 8 bits. Of 16 bits, multiples of 257 or of 256 are numbers of 8.
  const bool is_small = std::all_of(map.begin(), map.end(), [](std::uint64_t v) { return v < 256; });
  const bool repeats = std::all_of(map.begin(), map.end(), [](std::uint64_t v) { return v >> 8 == (v & 255); });
  const bool is_shifted = std::all_of(map.begin(), map.end(), [](std::uint64_t v) { return (v & 255) == 0; });
  type_ = is_small || repeats || is_shifted ? NumberType::u8 : NumberType::u16;
  const int shift = type_ == NumberType::u8 && !is_small ? 8 : 0;
  for (std::size_t i = 0; i < entries; ++i) {
    for (std::size_t c = 0; c < 3; ++c) colours_.push_back(static_cast<std::uint16_t>(map[c * (map.size() / 3) + i] >> shift));
  }
}

bool Palette::apply(const std::uint8_t* from, int bits, std::int64_t pixels, int samples, std::uint8_t* to) const {
  const bool to_16 = type_ == NumberType::u16;
  if (bits <= 8) return apply_palette<std::uint8_t>(colours_, from, bits, pixels, samples, to_16, to);
  return apply_palette<std::uint16_t>(colours_, from, bits, pixels, samples, to_16, to);
}

}  // namespace mollify::files::tiff
