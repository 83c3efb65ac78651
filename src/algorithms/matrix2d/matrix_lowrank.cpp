// matrix.lowrank: a matrix as the sum of a few separable kernels, its largest singular parts; the terms that are left
// out are the declared error. terms * (width + height) multiply-adds a pixel and component instead of width * height,
// so it wins for large smooth matrices, whose singular values fall fast, and loses where terms times the mean side come
// near the matrix's side, as they do for noise and sharp outlines. Source: singular value decomposition of filters is
// textbook; one-sided Jacobi after Hestenes 1958.
#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/common/gpu.h"
#include "base/text.h"
#include "math/lowrank.h"
#include "math/weights.h"
#include "matrix_lowrank_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::MatrixLowrank::kKernel;
constexpr std::int32_t kLargest = 128;
constexpr NumberOption kRank("rank", {"2", "3"}, kLargest, "the least within the error", "separable terms, 1 to 128",
                             {.tuned = Tuned::never});
constexpr GroupOption kGroup({"16x16", "8x8", "32x8"});
constexpr std::array kOptions = {kRank.info(), kStorage.info(),
                                 kCache.info_as("the narrowest within the error", "filtered rows in shared memory", 0, 2), kGroup.info()};

/// What so many terms of a matrix cost; full-scale units.
class Errors {
 public:
  Errors(const Problem& p, const Matrix& matrix) : p_(p), is_unorm_(info(p.src.format).is_unorm()), rest_(matrix.weights) {
    total_ = magnitude(rest_);
  }

  void add(const OuterProduct& term) {
    for (std::size_t i = 0; i < term.y.size(); ++i) {
      for (std::size_t j = 0; j < term.x.size(); ++j) rest_[i * term.x.size() + j] -= term.y[i] * term.x[j];
    }
    const double reach = magnitude(term.x) * magnitude(term.y);
    reach_ += reach;
    partial_ += reach_;
    growth_ += reach * (summation_growth(term.x) + summation_growth(term.y));
  }

  /// Nothing is left out but what rounding to f32 loses anyway.
  [[nodiscard]] bool is_complete() const { return magnitude(rest_) <= total_ * unit_roundoff(Accumulator::f32); }

  [[nodiscard]] double operator()(Cache cache) const {
    double up = 0.0;
    double down = 0.0;
    for (const double r : rest_) (r > 0.0 ? up : down) += std::abs(r);
    const double rounding = (growth_ + partial_) * unit_roundoff(Accumulator::f32) + reach_ * rounding_step(cache, PixelFormat::rgba16f);
    // Pixels of 0 to 1 meet either sign of what is left out alone; others both.
    const double left_out = is_unorm_ ? std::max(up, down) : up + down;
    const double full_scale = is_unorm_ ? 1.0 : std::max(total_, 1e-300);
    return (colour_gain(p_.spec) * (left_out + rounding)) / full_scale +
           (is_unorm_ ? total_ : 1.0) * colour_error(p_.spec, Accumulator::f32);
  }

 private:
  const Problem& p_;
  bool is_unorm_;
  std::vector<double> rest_;
  double total_ = 0.0;
  double reach_ = 0.0;    ///< sum of |x| * |y|
  double partial_ = 0.0;  ///< of the sums over the terms
  double growth_ = 0.0;
};

Result<Proposal> propose(const Problem& p) {
  const auto* given = std::get_if<Matrix>(&p.spec.kernel);
  if (!given) return refusal("the kernel is no matrix");
  const Result<Storage> where = storage(p, kKernel);
  if (!where) return where.error();
  if (axis_weights(p.spec.kernel, Axis::x, 0.0)) return refusal("the matrix has rank 1: two 1-D passes do it");
  if (given->width > kLargest || given->height > kLargest) return refusal("the matrix is larger than 128x128");
  const Result<PerAxis<std::int32_t>> shape = kGroup.of(p);
  if (!shape) return shape.error();
  const Result<std::int32_t> forced = kRank.of(p, 0);
  if (!forced) return forced.error();

  const Matrix matrix = normalized(*given);
  const std::shared_ptr<const std::vector<OuterProduct>> products = singular_products(matrix);
  const std::vector<OuterProduct>& all = *products;
  const auto most = static_cast<std::int32_t>(all.size());
  if (*forced > most) return refusal("the matrix has no rank above " + std::to_string(most));
  Errors errors(p, matrix);
  std::int32_t rank = 0;
  const auto fits = [&] { return errors(Cache::f32) <= p.allowed_error && (!divides_unbounded(p) || errors.is_complete()); };
  do {
    errors.add(all[static_cast<std::size_t>(rank++)]);
  } while (rank < most && (*forced != 0 ? rank < *forced : !fits()));
  if (divides_unbounded(p) && !errors.is_complete()) {
    return refusal("dividing float colours by their alpha would magnify what is left out");
  }
  const std::int64_t weights = std::int64_t{rank} * (matrix.width + matrix.height);
  if (weights > kMostWeights) {
    return refusal("rank " + std::to_string(rank) + " is " + std::to_string(weights) + " weights, more than " +
                   std::to_string(kMostWeights));
  }
  // Nor may terms that cancel be rounded to f16 then.
  const bool keeps_f32 = divides_unbounded(p);
  if (keeps_f32 && kCache.of(p, Cache::f32) != Cache::f32) {
    return refusal("dividing float colours by their alpha would magnify the rounding of rows to f16");
  }
  const Cache cache = keeps_f32 ? Cache::f32 : choose_cache(p, errors);
  const std::int32_t cache_size = rounded_size(std::int64_t{shape->x} * (shape->y + matrix.height - 1));
  if (Status s = check_shared(p, cache_size * cache_bytes(cache)); !s) return s.error();

  Proposal out;
  out.error = errors(cache);
  out.assumption = cache == Cache::f16 && !info(p.src.format).is_unorm() ? kHalfRange : finite_sums(p);
  Pass pass = make_pass(glsl::MatrixLowrank{.before = {matrix.anchor.x, matrix.anchor.y},
                                            .cache = cache,
                                            .cache_size = cache_size,
                                            .taps = {matrix.width, matrix.height},
                                            .terms = rank},
                        {p.dst.width, p.dst.height}, *shape, *shape, *where);
  const Rect r = region(p);
  pass.origin = {r.x, r.y};
  pass.taps = {{{}, 0}, {{}, 0}};
  for (std::int32_t k = 0; k < rank; ++k) {
    OuterProduct term = all[static_cast<std::size_t>(k)];
    // Rows that are at most as large as the source fit where it fits.
    const double row_magnitude = magnitude(term.x);
    if (row_magnitude > 0.0) {  // beyond the matrix's rank there is nothing
      for (double& w : term.x) w /= row_magnitude;
      for (double& w : term.y) w *= row_magnitude;
    }
    // Rounded here, each term for itself.
    for (const float w : rounded<float>(term.x)) pass.taps.x.weights.push_back(static_cast<double>(w));
    for (const float w : rounded<float>(term.y)) pass.taps.y.weights.push_back(static_cast<double>(w));
  }
  out.reach = PerAxis<Reach>{{matrix.anchor.x, matrix.width - 1 - matrix.anchor.x}, {matrix.anchor.y, matrix.height - 1 - matrix.anchor.y}};
  out.passes.push_back(std::move(pass));
  out.options = {kRank.as(rank), kStorage.as(*where), kCache.as(cache), kGroup.as(*shape)};
  out.window_blocks = {1, 1};
  out.moved_bytes = moved_bytes(p, {});
  const double apron = (shape->y + matrix.height - 1.0) / shape->y;
  const double rows = rank * apron * matrix.width;
  const double columns = static_cast<double>(rank) * matrix.height;
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(p.dst.width) * p.dst.height,
                         .loads = rows,
                         .shared_loads = columns + rank * apron,
                         .operations = rows + columns,
                         .barriers = 2.0 * rank,
                         .bytes = static_cast<double>(out.moved_bytes)});
  return out;
}

}  // namespace

constinit const Algorithm kMatrixLowrank = {
    {"matrix.lowrank", "a matrix as the sum of its largest separable parts", "textbook; Hestenes 1958", kOptions}, propose};

}  // namespace mollify
