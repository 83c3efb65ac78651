// What separable filters on GPUs share, in one pass or two.
#pragma once

#include "algorithms/common/gpu.h"

namespace mollify::gpu {

/// The request, understood: where, which taps, and what they cost so far.
struct Separable {
  Storage storage = Storage::buffer;
  SeparableTaps taps;
  Rect region;
  double error = 0.0;       ///< cut and rounded to f32; reduced caches and intermediates come on top
  bool unorm_rows = false;  ///< what horizontal taps make of the source lies between 0 and 1
  [[nodiscard]] std::int32_t nx() const { return static_cast<std::int32_t>(taps.taps.x.weights.size()); }
  [[nodiscard]] std::int32_t ny() const { return static_cast<std::int32_t>(taps.taps.y.weights.size()); }
};
[[nodiscard]] Result<Separable> separable(const Problem& p, std::string_view kernel, Storage preferred = Storage::image,
                                          double cut_share = 0.5);

/// The error of keeping pixels of this format in a cache; `rows` where they have been filtered horizontally.
[[nodiscard]] double cache_error(const Problem& p, const Separable& s, Cache cache, PixelFormat format, bool rows);
[[nodiscard]] Status check_cache(const Problem& p, const Separable& s, Cache cache, bool rows);
/// Set where f16 takes numbers that may not fit.
[[nodiscard]] Assumption half_assumption(const Problem& p, bool uses_half);

}  // namespace mollify::gpu
