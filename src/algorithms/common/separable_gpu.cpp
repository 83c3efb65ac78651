#include "algorithms/common/separable_gpu.h"

#include <algorithm>
#include <numeric>

#include "math/weights.h"

namespace mollify::gpu {

Result<Separable> separable(const Problem& p, std::string_view kernel, Storage preferred, double cut_share) {
  const Result<Storage> where = preferred == Storage::image ? storage(p, kernel) : buffer_or_image(p, kernel);
  if (!where) return where.error();
  std::optional<SeparableTaps> taps = separable_taps(p, cut_share);
  if (!taps) return refusal("the matrix is no product of a column and a row");
  if (Status s = check_taps(taps->taps); !s) return s.error();
  Separable s;
  s.storage = *where;
  s.region = region(p);
  s.error = taps->cut_error + rounding_error(p, *taps, Accumulator::f32);
  const std::vector<double>& x = taps->taps.x.weights;
  s.unorm_rows = info(p.src.format).is_unorm() && std::ranges::all_of(x, [](double w) { return w >= 0.0; }) &&
                 std::accumulate(x.begin(), x.end(), 0.0) <= 1.0 + 1e-9;
  s.taps = std::move(*taps);
  return s;
}

double cache_error(const Problem& p, const Separable& s, Cache cache, PixelFormat format, bool rows) {
  const bool as_stored = !rows && p.spec.alpha == AlphaMode::ignore && p.spec.transfer == TransferFunction::none;
  const FormatInfo& f = info(format);
  if (as_stored && cache == Cache::unorm8 && f.is_unorm() && f.bits == 8) return 0.0;
  if (as_stored && cache == Cache::f16 && !f.is_unorm() && f.bits == 16) return 0.0;
  const bool at_most_one = rows ? s.unorm_rows : info(p.src.format).is_unorm();
  const double step = rounding_step(cache, at_most_one ? p.src.format : PixelFormat::rgba16f);
  return rounding_between(p, s.taps, step * s.taps.magnitude);
}

Status check_cache(const Problem& p, const Separable& s, Cache cache, bool rows) {
  if (cache != Cache::unorm8) return {};
  if (!info(p.src.format).is_unorm()) return refusal("float pixels do not lie between 0 and 1, as a unorm8 cache needs");
  if (rows && !s.unorm_rows) return refusal("filtered rows can leave 0 to 1, which a unorm8 cache cannot hold");
  return {};
}

Assumption half_assumption(const Problem& p, bool uses_half) {
  // Rows are at most as large as the source: see separable().
  const bool may_overflow = !info(p.src.format).is_unorm() && info(p.src.format).bits == 32;
  return uses_half && may_overflow ? kHalfRange : Assumption();
}

}  // namespace mollify::gpu
