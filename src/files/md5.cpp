#include "files/md5.h"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace mollify::files {
namespace {

using State = std::array<std::uint32_t, 4>;

void add_block(State& state, const std::uint8_t* block) {
  constexpr std::array<std::array<int, 4>, 4> kShifts = {{{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
  auto [a, b, c, d] = state;
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t round = i / 16;
    const std::uint32_t mixed = round == 0 ? (b & c) | (~b & d) : round == 1 ? (d & b) | (~d & c) : round == 2 ? b ^ c ^ d : c ^ (b | ~d);
    const std::uint32_t word = round == 0 ? i : round == 1 ? (5 * i + 1) % 16 : round == 2 ? (3 * i + 5) % 16 : 7 * i % 16;
    const std::uint8_t* p = block + 4 * word;
    const std::uint32_t value =
        p[0] | static_cast<std::uint32_t>(p[1]) << 8 | static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
    const auto sine = static_cast<std::uint32_t>(std::floor(std::fabs(std::sin(i + 1.0)) * 4294967296.0));
    const std::uint32_t turned = b + std::rotl(a + mixed + sine + value, kShifts[round][i % 4]);
    a = d;
    d = c;
    c = b;
    b = turned;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::string md5_hex(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> padded(bytes.begin(), bytes.end());
  padded.push_back(0x80);
  while (padded.size() % 64 != 56) padded.push_back(0);
  for (int i = 0; i < 8; ++i) padded.push_back(static_cast<std::uint8_t>(std::uint64_t{bytes.size()} * 8 >> 8 * i));
  State state = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
  for (std::size_t at = 0; at < padded.size(); at += 64) add_block(state, &padded[at]);
  std::string hex;
  for (const std::uint32_t word : state) {
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t byte = word >> 8 * i & 255;
      hex += "0123456789ABCDEF"[byte >> 4];
      hex += "0123456789ABCDEF"[byte & 15];
    }
  }
  return hex;
}

}  // namespace mollify::files
