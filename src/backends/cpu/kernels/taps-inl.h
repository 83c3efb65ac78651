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

/// a[j] and b[j] += weights[-j] * two vectors of `row`, for the outputs j from kFirst to kLast.
template <int kFirst, int kLast, class T, class V>
HWY_INLINE void add_row(const T* row, const T* weights, V& a0, V& a1, V& a2, V& a3, V& b0, V& b1, V& b2, V& b3) {
  const Tag<T> d;
  const V a = hn::LoadU(d, row);
  const V b = hn::LoadU(d, row + hn::Lanes(d));
  const auto add = [&](int j, V& sum_a, V& sum_b) HWY_ATTR {
    const V w = hn::Set(d, weights[-j]);
    sum_a = hn::MulAdd(a, w, sum_a);
    sum_b = hn::MulAdd(b, w, sum_b);
  };
  if constexpr (kFirst <= 0 && kLast >= 0) add(0, a0, b0);
  if constexpr (kFirst <= 1 && kLast >= 1) add(1, a1, b1);
  if constexpr (kFirst <= 2 && kLast >= 2) add(2, a2, b2);
  if constexpr (kFirst <= 3 && kLast >= 3) add(3, a3, b3);
}

/// store(j, i, v): v = sum_k w[k] * (rows[j + k] + i), for the kRowBatch rows j and vectors i from `first` up to `last`, and
/// up to one vector more.
template <class T, class Store>
HWY_INLINE void for_filtered_rows(const TapsOf<T>& taps, const T* const* rows, std::int64_t first, std::int64_t last,
                                  const Store& store) {
  static_assert(kRowBatch == 4);
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  if (n < 3) {  // outputs share too few rows
    for (std::int64_t i = first; i < last; i += lanes) {
      for (std::int64_t j = 0; j < kRowBatch; ++j) {
        V sum = hn::Zero(d);
        for (std::int64_t k = 0; k < n; ++k) sum = hn::MulAdd(hn::LoadU(d, rows[j + k] + i), hn::Set(d, w[k]), sum);
        store(j, i, sum);
      }
    }
    return;
  }
  for (std::int64_t i = first; i < last; i += 2 * lanes) {
    V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    // Row k feeds output j with tap k - j; the first and last rows do not reach all four outputs.
    add_row<0, 0>(rows[0] + i, w, a0, a1, a2, a3, b0, b1, b2, b3);
    add_row<0, 1>(rows[1] + i, w + 1, a0, a1, a2, a3, b0, b1, b2, b3);
    add_row<0, 2>(rows[2] + i, w + 2, a0, a1, a2, a3, b0, b1, b2, b3);
    for (std::int64_t k = 3; k < n; ++k) add_row<0, 3>(rows[k] + i, w + k, a0, a1, a2, a3, b0, b1, b2, b3);
    add_row<1, 3>(rows[n] + i, w + n, a0, a1, a2, a3, b0, b1, b2, b3);
    add_row<2, 3>(rows[n + 1] + i, w + n + 1, a0, a1, a2, a3, b0, b1, b2, b3);
    add_row<3, 3>(rows[n + 2] + i, w + n + 2, a0, a1, a2, a3, b0, b1, b2, b3);
    store(0, i, a0), store(0, i + lanes, b0);
    store(1, i, a1), store(1, i + lanes, b1);
    store(2, i, a2), store(2, i + lanes, b2);
    store(3, i, a3), store(3, i + lanes, b3);
  }
}

/// out[j][i] = sum_k w[k] * rows[j + k][i] for the kRowBatch rows j.
template <class T>
HWY_INLINE void filter_rows(const TapsOf<T>& taps, const T* const* rows, std::int64_t count, T* out, std::int64_t stride) {
  const Tag<T> d;
  for_filtered_rows(taps, rows, 0, count, [&](std::int64_t j, std::int64_t i, hn::Vec<Tag<T>> v) HWY_ATTR {
    hn::StoreU(v, d, out + j * stride + i);
  });
}

/// out[i] = sum_k w[k] * row[i + k * channels]. Calls fetch(i, i + n) for each piece of a row, so that what is needed next
/// arrives meanwhile.
template <class T, class Fetch>
HWY_INLINE void filter_columns(const TapsOf<T>& taps, int channels, const T* row, std::int64_t count, T* out,
                               const Fetch& fetch) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  std::int64_t i = 0;
  for (; i + 8 * lanes <= count; i += 8 * lanes) {  // sums enough to hide the latency of a multiply-add
    fetch(i, i + 8 * lanes);
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    const T* p = row + i;
    for (std::int64_t k = 0; k < n; ++k, p += channels) {
      const V weight = hn::Set(d, w[k]);
      const auto at = [&](std::int64_t v) HWY_ATTR { return hn::LoadU(d, p + v * lanes); };
      s0 = hn::MulAdd(at(0), weight, s0), s1 = hn::MulAdd(at(1), weight, s1);
      s2 = hn::MulAdd(at(2), weight, s2), s3 = hn::MulAdd(at(3), weight, s3);
      s4 = hn::MulAdd(at(4), weight, s4), s5 = hn::MulAdd(at(5), weight, s5);
      s6 = hn::MulAdd(at(6), weight, s6), s7 = hn::MulAdd(at(7), weight, s7);
    }
    T* o = out + i;
    hn::StoreU(s0, d, o), hn::StoreU(s1, d, o + lanes), hn::StoreU(s2, d, o + 2 * lanes), hn::StoreU(s3, d, o + 3 * lanes);
    o += 4 * lanes;
    hn::StoreU(s4, d, o), hn::StoreU(s5, d, o + lanes), hn::StoreU(s6, d, o + 2 * lanes), hn::StoreU(s7, d, o + 3 * lanes);
  }
  if (i < count) fetch(i, count);
  for (; i < count; i += lanes) {
    V a = hn::Zero(d);
    const T* p = row + i;
    for (std::int64_t k = 0; k < n; ++k, p += channels) a = hn::MulAdd(hn::LoadU(d, p), hn::Set(d, w[k]), a);
    hn::StoreU(a, d, out + i);
  }
}

template <class T>
HWY_INLINE void filter_columns(const TapsOf<T>& taps, int channels, const T* row, std::int64_t count, T* out) {
  filter_columns(taps, channels, row, count, out, [](std::int64_t, std::int64_t) {});
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_TAPS_INL_H_
