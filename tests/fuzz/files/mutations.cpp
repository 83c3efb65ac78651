#include "fuzz/files/mutations.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace mollify::fuzz {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

/// A place among the bytes, mostly near the beginning, where headers are.
std::size_t place(const Bytes& data, Random& random) {
  const std::size_t within = random.one_in(2) ? data.size() : std::min<std::size_t>(data.size(), 256);
  return random.below(std::max<std::size_t>(within, 1));
}

void flip_bits(Bytes& data, Random& random) {
  for (int i = random.between(1, 4); i > 0; --i) data[place(data, random)] ^= static_cast<std::uint8_t>(1U << random.below(8));
}

void set_bytes(Bytes& data, Random& random) {
  const std::array<std::uint8_t, 4> values = {0, 255, 128, static_cast<std::uint8_t>(random.next())};
  for (int i = random.between(1, 4); i > 0; --i) data[place(data, random)] = random.pick(values);
}

/// A number of 1 to 8 bytes in either byte order becomes one at which counts and sizes overflow, or a neighbour of itself.
void set_number(Bytes& data, Random& random) {
  constexpr std::array<std::uint64_t, 20> kExtremes = {0,
                                                       1,
                                                       2,
                                                       3,
                                                       0x7f,
                                                       0x80,
                                                       0xff,
                                                       0x7fff,
                                                       0x8000,
                                                       0xffff,
                                                       0xffdc,
                                                       0xffffff,
                                                       0x3fffffff,
                                                       0x7fffffff,
                                                       0x80000000,
                                                       0xfffffff0,
                                                       0xffffffff,
                                                       0x100000000,
                                                       0x7fffffffffffffff,
                                                       0xffffffffffffffff};
  constexpr std::array<std::size_t, 4> kSizes = {1, 2, 4, 8};
  const std::size_t size = random.pick(kSizes);
  if (data.size() < size) return;
  std::size_t at = std::min(place(data, random), data.size() - size);
  if (random.one_in(2)) at -= at % size;
  const bool is_big_endian = random.one_in(2);
  const auto byte = [&](std::size_t i) -> std::uint8_t& { return data[at + (is_big_endian ? size - 1 - i : i)]; };
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{byte(i)} << (8 * i);
  switch (random.below(4)) {
    case 0:
      value += static_cast<std::uint64_t>(random.between(-2, 2));
      break;
    case 1:
      value *= random.one_in(2) ? 2 : 256;
      break;
    default:
      value = random.pick(kExtremes);
  }
  for (std::size_t i = 0; i < size; ++i) byte(i) = static_cast<std::uint8_t>(value >> (8 * i));
}

void truncate(Bytes& data, Random& random) {
  data.resize(random.one_in(2) ? place(data, random) : random.below(data.size()));
}

void insert_bytes(Bytes& data, Random& random) {
  Bytes fresh(random.one_in(8) ? random.below(5000) : random.below(16) + 1);
  const bool is_one_value = random.one_in(2);
  const auto value = static_cast<std::uint8_t>(random.next());
  for (std::uint8_t& byte : fresh) byte = is_one_value ? value : static_cast<std::uint8_t>(random.next());
  data.insert(data.begin() + static_cast<std::ptrdiff_t>(place(data, random)), fresh.begin(), fresh.end());
}

/// A range is left out, repeated, or laid over another place.
void move_range(Bytes& data, Random& random) {
  const std::size_t begin = place(data, random);
  const std::size_t count = random.below(std::min<std::size_t>(data.size() - begin, random.one_in(4) ? 4096 : 32)) + 1;
  const auto first = data.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = first + static_cast<std::ptrdiff_t>(count);
  if (random.one_in(3)) {
    data.erase(first, last);
    return;
  }
  const Bytes range(first, last);
  const std::size_t to = place(data, random);
  const auto target = data.begin() + static_cast<std::ptrdiff_t>(to);
  if (random.one_in(2)) {
    data.insert(target, range.begin(), range.end());
  } else {
    std::copy_n(range.begin(), std::min(count, data.size() - to), target);
  }
}

/// The beginning of one file and the end of another.
void splice(Bytes& data, const Bytes& other, Random& random) {
  if (data.empty() || other.empty()) return;
  data.resize(random.below(data.size()));
  data.insert(data.end(), other.begin() + static_cast<std::ptrdiff_t>(random.below(other.size())), other.end());
}

}  // namespace

void change_bytes(Bytes& data, Random& random) {
  if (data.empty()) return insert_bytes(data, random);
  switch (random.below(12)) {
    case 0:
    case 1:
      return flip_bits(data, random);
    case 2:
    case 3:
      return set_bytes(data, random);
    case 4:
    case 5:
    case 6:
    case 7:
      return set_number(data, random);
    case 8:
      return truncate(data, random);
    case 9:
      return insert_bytes(data, random);
    default:
      return move_range(data, random);
  }
}

Bytes mutant(std::span<const Seed> seeds, Random& random) {
  const Seed& seed = seeds[random.below(seeds.size())];
  const Bytes& other = seeds[random.below(seeds.size())].data;
  Bytes data = seed.data;
  do {
    const bool is_structural = !random.one_in(4) && change_structure(seed.format, data, other, random);
    if (!is_structural && random.one_in(12)) {
      splice(data, other, random);
    } else if (!is_structural) {
      change_bytes(data, random);
    }
  } while (random.one_in(2));
  data.resize(std::min(data.size(), kMostBytes));
  return data;
}

}  // namespace mollify::fuzz
