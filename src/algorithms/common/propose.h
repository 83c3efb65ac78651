// Small pieces that every algorithm's proposal is made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "algorithms/common/options.h"
#include "math/accuracy.h"

namespace mollify {

[[nodiscard]] inline Error refusal(std::string reason) {
  return {ErrorCode::unsupported, std::move(reason), {}};
}

[[nodiscard]] inline Error refusal_without_kernel(const Problem& problem, std::string_view kernel) {
  return refusal("the " + std::string(name(problem.device.backend)) + " backend has no kernel " + std::string(kernel));
}

/// Whether pixels are filtered as they are stored, and the result is of the same format.
[[nodiscard]] inline bool is_only_blurred(const Problem& p) {
  return p.src.format == p.dst.format && p.spec.alpha == AlphaMode::ignore && p.spec.transfer == TransferFunction::none;
}

/// Whether f32 cannot hold the numbers of the source or of the destination.
[[nodiscard]] inline bool has_wide_format(const Problem& p) {
  return info(p.src.format).is_wide() || info(p.dst.format).is_wide();
}

[[nodiscard]] inline Error refusal_of_f32_sums(const Problem& p) {
  const FormatInfo& format = info(info(p.src.format).is_wide() ? p.src.format : p.dst.format);
  return refusal("sums of f32 cannot hold the numbers of " + std::string(format.name));
}

/// Of numbers of the image, on CPUs: refuses all but 8-bit images that are only blurred.
[[nodiscard]] inline Status check_16_bit_sums(const Problem& p) {
  const FormatInfo& source = info(p.src.format);
  if (!source.is_unorm() || source.bits != 8 || p.dst.format != p.src.format) {
    return refusal("16-bit sums need 8-bit images of one format");
  }
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal("16-bit sums cannot handle alpha or transfer functions");
  }
  return {};
}

/// Proposal::reach of passes that reach as far before a pixel as after it.
[[nodiscard]] inline PerAxis<Reach> reach_on_both_sides(std::int64_t x, std::int64_t y) {
  const auto both = [](std::int64_t pixels) { return Reach{static_cast<std::int32_t>(pixels), static_cast<std::int32_t>(pixels)}; };
  return {both(x), both(y)};
}

/// Proposal::reach of taps, however the passes hold them.
[[nodiscard]] inline Reach reach_of_taps(const AxisTaps& taps) {
  return {taps.anchor, static_cast<std::int32_t>(taps.weights.size()) - 1 - taps.anchor};
}

inline constexpr double kUnitsOf16BitSums = 256.0;  ///< in one step of the image

/// How 16-bit sums become steps of the image.
struct RoundingOf16BitSums {
  double given_back = 0.0;  ///< whole units that are added to make up for what sums lose or gain
  double error = 0.0;       ///< of full scale

  /// What is added before the low byte is dropped.
  [[nodiscard]] std::int64_t number() const { return static_cast<std::int64_t>(kUnitsOf16BitSums / 2.0 + given_back); }
};

/// Of sums of 8-bit images that are `least` (negative: they lose) to `most` units too large.
[[nodiscard]] inline Result<RoundingOf16BitSums> rounding_of_16_bit_sums(const Problem& p, double least, double most) {
  const double given_back = std::floor(-(most + least) / 2.0);
  const double units = std::max(most + given_back, -least - given_back);
  // A white pixel's sum, 255 steps, what it has gained and what is added, half a step and more, are below 2^16.
  if (units > kUnitsOf16BitSums / 2.0 - 1.0) return refusal("16-bit sums need fewer taps");
  return RoundingOf16BitSums{given_back, units / (info(p.src.format).unit() * kUnitsOf16BitSums)};
}

/// Source bytes read by tiles with this halo, counted in destination pixels, + destination bytes written.
[[nodiscard]] inline std::int64_t moved_bytes(const Problem& problem, PerAxis<std::int32_t> tile, PerAxis<std::int64_t> halo) {
  // A tile reads no more than there is, however far it reaches beyond the image.
  const auto read_along = [](std::int64_t size, std::int64_t source, std::int64_t tile_size, std::int64_t halo_size, std::int64_t step) {
    const std::int64_t tiles = (size + tile_size - 1) / tile_size;
    return std::min((size + tiles * halo_size) * step, tiles * source);
  };
  const PerAxis<Stride>& stride = problem.spec.stride;
  const std::int64_t read = read_along(problem.dst.width, problem.src.width, tile.x, halo.x, stride.x.step) *
                            read_along(problem.dst.height, problem.src.height, tile.y, halo.y, stride.y.step);
  return read * info(problem.src.format).pixel_bytes() + problem.dst.payload_bytes();
}

}  // namespace mollify
