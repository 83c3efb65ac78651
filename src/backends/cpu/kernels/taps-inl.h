// One-dimensional taps over rows in memory, for one instruction set. Included once for each by the kernels that filter.

#if defined(MOLLIFY_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_TAPS_INL_H_
#undef MOLLIFY_TAPS_INL_H_
#else
#define MOLLIFY_TAPS_INL_H_
#endif

#include <algorithm>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// out[j][i] = sum_k w[k] * rows[j + k][i] for the kRowBatch rows j.
template <class T>
HWY_INLINE void filter_rows(const TapsOf<T>& taps, const T* const* rows, std::int64_t count, T* out, std::int64_t stride) {
  static_assert(kRowBatch == 4);
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  const auto weight = [&](std::int64_t k) HWY_ATTR { return hn::Set(d, w[k]); };
  for (std::int64_t i = 0; i < count; i += 2 * lanes) {
    V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    // Row k feeds output j with tap k - j; the first and last rows do not reach all four outputs.
    const auto edge = [&](std::int64_t k) HWY_ATTR {
      const V a = hn::LoadU(d, rows[k] + i);
      const V b = hn::LoadU(d, rows[k] + i + lanes);
      if (k < n) a0 = hn::MulAdd(a, weight(k), a0), b0 = hn::MulAdd(b, weight(k), b0);
      if (k >= 1 && k - 1 < n) a1 = hn::MulAdd(a, weight(k - 1), a1), b1 = hn::MulAdd(b, weight(k - 1), b1);
      if (k >= 2 && k - 2 < n) a2 = hn::MulAdd(a, weight(k - 2), a2), b2 = hn::MulAdd(b, weight(k - 2), b2);
      if (k >= 3) a3 = hn::MulAdd(a, weight(k - 3), a3), b3 = hn::MulAdd(b, weight(k - 3), b3);
    };
    std::int64_t k = 0;
    for (; k < std::min<std::int64_t>(3, n); ++k) edge(k);
    for (; k < n; ++k) {
      const V a = hn::LoadU(d, rows[k] + i);
      const V b = hn::LoadU(d, rows[k] + i + lanes);
      const V w0 = weight(k), w1 = weight(k - 1), w2 = weight(k - 2), w3 = weight(k - 3);
      a0 = hn::MulAdd(a, w0, a0), b0 = hn::MulAdd(b, w0, b0);
      a1 = hn::MulAdd(a, w1, a1), b1 = hn::MulAdd(b, w1, b1);
      a2 = hn::MulAdd(a, w2, a2), b2 = hn::MulAdd(b, w2, b2);
      a3 = hn::MulAdd(a, w3, a3), b3 = hn::MulAdd(b, w3, b3);
    }
    for (; k < n + 3; ++k) edge(k);
    T* o = out + i;
    hn::StoreU(a0, d, o), hn::StoreU(b0, d, o + lanes), o += stride;
    hn::StoreU(a1, d, o), hn::StoreU(b1, d, o + lanes), o += stride;
    hn::StoreU(a2, d, o), hn::StoreU(b2, d, o + lanes), o += stride;
    hn::StoreU(a3, d, o), hn::StoreU(b3, d, o + lanes);
  }
}

/// out[i] = sum_k w[k] * row[i + k * channels]
template <class T>
HWY_INLINE void filter_columns(const TapsOf<T>& taps, int channels, const T* row, std::int64_t count, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    V a = hn::Zero(d), b = a, c = a, e = a;
    const T* p = row + i;
    for (std::int64_t k = 0; k < n; ++k, p += channels) {
      const V weight = hn::Set(d, w[k]);
      a = hn::MulAdd(hn::LoadU(d, p), weight, a);
      b = hn::MulAdd(hn::LoadU(d, p + lanes), weight, b);
      c = hn::MulAdd(hn::LoadU(d, p + 2 * lanes), weight, c);
      e = hn::MulAdd(hn::LoadU(d, p + 3 * lanes), weight, e);
    }
    hn::StoreU(a, d, out + i), hn::StoreU(b, d, out + i + lanes);
    hn::StoreU(c, d, out + i + 2 * lanes), hn::StoreU(e, d, out + i + 3 * lanes);
  }
  for (; i < count; i += lanes) {
    V a = hn::Zero(d);
    const T* p = row + i;
    for (std::int64_t k = 0; k < n; ++k, p += channels) a = hn::MulAdd(hn::LoadU(d, p), hn::Set(d, w[k]), a);
    hn::StoreU(a, d, out + i);
  }
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_TAPS_INL_H_
