#include "weighted_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weighted_sums.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mollify::python::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Eight vectors at a time, so that the multiply-adds of one need not wait for each other.
template <class D>
HWY_INLINE std::size_t sums_of_8_vectors(D d, std::span<const OffsetWeight> weights, const double* in, double* out, std::size_t count) {
  const std::size_t n = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 8 * n <= count; i += 8 * n) {
    auto s0 = hn::Zero(d);
    auto s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (const OffsetWeight& term : weights) {
      const double* p = in + static_cast<std::ptrdiff_t>(i) + term.offset;
      const auto w = hn::Set(d, term.weight);
      s0 = hn::MulAdd(hn::LoadU(d, p), w, s0);
      s1 = hn::MulAdd(hn::LoadU(d, p + n), w, s1);
      s2 = hn::MulAdd(hn::LoadU(d, p + 2 * n), w, s2);
      s3 = hn::MulAdd(hn::LoadU(d, p + 3 * n), w, s3);
      s4 = hn::MulAdd(hn::LoadU(d, p + 4 * n), w, s4);
      s5 = hn::MulAdd(hn::LoadU(d, p + 5 * n), w, s5);
      s6 = hn::MulAdd(hn::LoadU(d, p + 6 * n), w, s6);
      s7 = hn::MulAdd(hn::LoadU(d, p + 7 * n), w, s7);
    }
    hn::StoreU(s0, d, out + i);
    hn::StoreU(s1, d, out + i + n);
    hn::StoreU(s2, d, out + i + 2 * n);
    hn::StoreU(s3, d, out + i + 3 * n);
    hn::StoreU(s4, d, out + i + 4 * n);
    hn::StoreU(s5, d, out + i + 5 * n);
    hn::StoreU(s6, d, out + i + 6 * n);
    hn::StoreU(s7, d, out + i + 7 * n);
  }
  return i;
}

template <class D>
HWY_INLINE std::size_t sums_of_vectors(D d, std::span<const OffsetWeight> weights, const double* in, double* out, std::size_t first,
                                       std::size_t count) {
  const std::size_t n = hn::Lanes(d);
  std::size_t i = first;
  for (; i + n <= count; i += n) {
    auto sum = hn::Zero(d);
    for (const OffsetWeight& term : weights) {
      sum = hn::MulAdd(hn::LoadU(d, in + static_cast<std::ptrdiff_t>(i) + term.offset), hn::Set(d, term.weight), sum);
    }
    hn::StoreU(sum, d, out + i);
  }
  return i;
}

void weighted_sums(std::span<const OffsetWeight> weights, const double* in, double* out, std::size_t count) {
  const hn::ScalableTag<double> d;
  std::size_t done = sums_of_8_vectors(d, weights, in, out, count);
  done = sums_of_vectors(d, weights, in, out, done, count);
  sums_of_vectors(hn::CappedTag<double, 1>(), weights, in, out, done, count);  // the same bits as in a full vector
}

}  // namespace mollify::python::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mollify::python {

HWY_EXPORT(weighted_sums);

void weighted_sums(std::span<const OffsetWeight> weights, const double* in, double* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(weighted_sums)(weights, in, out, count);
}

}  // namespace mollify::python
#endif  // HWY_ONCE
