// IEEE 754 half precision by integer arithmetic, for where the processor has no instruction for it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace mollify {

[[nodiscard]] inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  if (magnitude >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (magnitude & 0x3FFU) << 13);
  if (magnitude >= 0x0400U) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
}

/// Rounds to nearest, ties to even; beyond the largest half it is infinite.
[[nodiscard]] inline std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000U) {
    half = 0x7E00U;
  } else if (magnitude >= 0x477FF000U) {  // 65520, the first to round to 65536
    half = 0x7C00U;
  } else if (magnitude >= 0x38800000U) {  // 2^-14, the smallest normal half
    const std::uint32_t odd = magnitude >> 13 & 1U;
    half = (magnitude - 0x38000000U + 0xFFFU + odd) >> 13;
  } else {
    // Adding 0.5 puts the subnormal's unit at the last place of the sum, so the hardware rounds it.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(aligned) - 0x3F000000U;
  }
  return static_cast<std::uint16_t>(sign | half);
}

/// Rounds once: through f32, but with what that cuts off kept as an odd last bit, far below half precision.
[[nodiscard]] inline std::uint16_t double_to_half(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const auto back = static_cast<double>(std::bit_cast<float>(bits));
  if (back != value && value == value) {
    const bool rounded_away = std::abs(back) > std::abs(value);
    bits = (rounded_away ? bits - 1 : bits) | 1U;
  }
  return float_to_half(std::bit_cast<float>(bits));
}

}  // namespace mollify
