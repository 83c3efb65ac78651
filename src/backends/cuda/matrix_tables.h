// Tables that kernels of tensor cores read.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/cuda/kernels/arguments.h"
#include "base/half.h"
#include "math/weights.h"
#include "mollify/image.h"

namespace mollify::cuda {

/// Numbers of matrices of taps as lanes hold them, `words` for each lane of each of so many products: of the halves next to the taps, and
/// where `split` is 2, of those next to what these lack. `tap_of`: which tap a number is.
template <class TapOf>
[[nodiscard]] std::vector<std::uint32_t> matrices_of_taps(const AxisTaps& taps, std::int32_t split, int products, int words, TapOf tap_of) {
  constexpr int kLanes = 32;
  const auto half_of = [&](std::int32_t tap, std::int32_t taken) -> std::uint32_t {
    if (tap < 0 || tap >= std::ssize(taps.weights)) return 0;
    double rest = taps.weights[static_cast<std::size_t>(tap)];
    for (std::int32_t i = 0; i < taken; ++i) rest -= static_cast<double>(half_to_float(double_to_half(rest)));
    return double_to_half(rest);
  };
  std::vector<std::uint32_t> out;
  for (std::int32_t taken = 0; taken < split; ++taken) {
    for (int product = 0; product < products; ++product) {
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int word = 0; word < words; ++word) {
          out.push_back(half_of(tap_of(product, lane, word, 0), taken) | half_of(tap_of(product, lane, word, 1), taken) << 16);
        }
      }
    }
  }
  return out;
}

/// A pixel of a constant border as images of bytes, halves or floats store it.
[[nodiscard]] inline std::vector<std::uint32_t> outside_pixel(PixelFormat format, const Outside& outside) {
  std::vector<std::uint32_t> words(4);
  for (std::size_t c = 0; c < 4; ++c) {
    const double value = outside.value[c];
    if (info(format).is_unorm()) {
      words[0] |= static_cast<std::uint32_t>(std::lround(value)) << 8 * c;
    } else if (info(format).bits == 32) {
      words[c] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    } else {
      words[c / 2] |= std::uint32_t{double_to_half(value)} << 16 * (c % 2);
    }
  }
  return words;
}

}  // namespace mollify::cuda
