// One-dimensional taps over rows in memory, for one instruction set. Included once for each by the kernels that filter.

#if defined(MOLLIFY_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_TAPS_INL_H_
#undef MOLLIFY_TAPS_INL_H_
#else
#define MOLLIFY_TAPS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// a[j] and b[j] += wj * the vectors at `row_a` and `row_b`, for the outputs j from kFirst to kLast.
template <int kFirst, int kLast, class T, class V>
HWY_INLINE void add_row(const T* row_a, const T* row_b, V w0, V w1, V w2, V w3, V& a0, V& a1, V& a2, V& a3, V& b0, V& b1, V& b2, V& b3) {
  const Tag<T> d;
  const V a = hn::LoadU(d, row_a);
  const V b = hn::LoadU(d, row_b);
  if constexpr (kFirst <= 0 && kLast >= 0) a0 = hn::MulAdd(a, w0, a0), b0 = hn::MulAdd(b, w0, b0);
  if constexpr (kFirst <= 1 && kLast >= 1) a1 = hn::MulAdd(a, w1, a1), b1 = hn::MulAdd(b, w1, b1);
  if constexpr (kFirst <= 2 && kLast >= 2) a2 = hn::MulAdd(a, w2, a2), b2 = hn::MulAdd(b, w2, b2);
  if constexpr (kFirst <= 3 && kLast >= 3) a3 = hn::MulAdd(a, w3, a3), b3 = hn::MulAdd(b, w3, b3);
}

template <int kIndex>
inline constexpr std::integral_constant<int, kIndex> kOutput{};

/// for_filtered_rows() where outputs lie `step` rows apart, and so share few inputs: output j begins with rows[j * step]. A function of
/// its own, because in one function with the usual loop it would take registers from that one.
template <class T, class Store>
HWY_NOINLINE void for_rows_apart(const TapsOf<T>& taps, std::int64_t step, const T* const* rows, std::int64_t first, std::int64_t last,
                                 const Store& store) {
  static_assert(kRowGroup == 4);
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  for (std::int64_t i = first; i < last; i += 2 * lanes) {
    V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (std::int64_t k = 0; k < n; ++k) {
      const V weight = hn::Set(d, w[k]);
      const auto at = [&](std::int64_t j, std::int64_t v) HWY_ATTR { return hn::LoadU(d, rows[j * step + k] + i + v); };
      a0 = hn::MulAdd(at(0, 0), weight, a0), b0 = hn::MulAdd(at(0, lanes), weight, b0);
      a1 = hn::MulAdd(at(1, 0), weight, a1), b1 = hn::MulAdd(at(1, lanes), weight, b1);
      a2 = hn::MulAdd(at(2, 0), weight, a2), b2 = hn::MulAdd(at(2, lanes), weight, b2);
      a3 = hn::MulAdd(at(3, 0), weight, a3), b3 = hn::MulAdd(at(3, lanes), weight, b3);
    }
    store(0, i, a0), store(0, i + lanes, b0);
    store(1, i, a1), store(1, i + lanes, b1);
    store(2, i, a2), store(2, i + lanes, b2);
    store(3, i, a3), store(3, i + lanes, b3);
  }
}

/// store(j, i, v): v = sum_k w[k] * (rows[j + k] + i), for the kRowGroup rows j and vectors i from `first` up to `last`, and
/// up to one vector more.
template <class T, class Store>
HWY_INLINE void for_filtered_rows(const TapsOf<T>& taps, const T* const* rows, std::int64_t first, std::int64_t last, const Store& store) {
  static_assert(kRowGroup == 4);
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  if (n < 3) {  // outputs share too few rows
    for (std::int64_t i = first; i < last; i += lanes) {
      for (std::int64_t j = 0; j < kRowGroup; ++j) {
        V sum = hn::Zero(d);
        for (std::int64_t k = 0; k < n; ++k) sum = hn::MulAdd(hn::LoadU(d, rows[j + k] + i), hn::Set(d, w[k]), sum);
        store(j, i, sum);
      }
    }
    return;
  }
  for (std::int64_t i = first; i < last; i += 2 * lanes) {
    V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    // Row k feeds output j with tap k - j; the first and last rows do not reach all four outputs. A tap is loaded once and
    // serves four rows; after as many it is another one's register again.
    const auto add = [&](std::int64_t k, auto first_output, auto last_output, V v0, V v1, V v2, V v3) HWY_ATTR {
      const T* row = rows[k] + i;
      add_row<decltype(first_output)::value, decltype(last_output)::value>(row, row + lanes, v0, v1, v2, v3, a0, a1, a2, a3, b0, b1, b2,
                                                                           b3);
    };
    const auto tap = [&](std::int64_t k) HWY_ATTR { return hn::Set(d, w[k]); };
    V w0 = tap(0), w1 = tap(1), w2 = tap(2), w3 = w0;
    add(0, kOutput<0>, kOutput<0>, w0, w0, w0, w0), add(1, kOutput<0>, kOutput<1>, w1, w0, w0, w0);
    add(2, kOutput<0>, kOutput<2>, w2, w1, w0, w0);
    std::int64_t k = 3;
    for (; k + 4 <= n; k += 4) {
      w3 = tap(k), add(k, kOutput<0>, kOutput<3>, w3, w2, w1, w0);
      w0 = tap(k + 1), add(k + 1, kOutput<0>, kOutput<3>, w0, w3, w2, w1);
      w1 = tap(k + 2), add(k + 2, kOutput<0>, kOutput<3>, w1, w0, w3, w2);
      w2 = tap(k + 3), add(k + 3, kOutput<0>, kOutput<3>, w2, w1, w0, w3);
    }
    for (; k < n; ++k) {
      w3 = tap(k), add(k, kOutput<0>, kOutput<3>, w3, w2, w1, w0);
      w0 = w1, w1 = w2, w2 = w3;
    }
    add(n, kOutput<1>, kOutput<3>, w2, w2, w1, w0), add(n + 1, kOutput<2>, kOutput<3>, w2, w2, w2, w1);
    add(n + 2, kOutput<3>, kOutput<3>, w2, w2, w2, w2);
    store(0, i, a0), store(0, i + lanes, b0);
    store(1, i, a1), store(1, i + lanes, b1);
    store(2, i, a2), store(2, i + lanes, b2);
    store(3, i, a3), store(3, i + lanes, b3);
  }
}

/// out[j][i] = sum_k w[k] * rows[j + k][i] for the kRowGroup rows j.
template <class T>
HWY_INLINE void filter_rows(const TapsOf<T>& taps, const T* const* rows, std::int64_t count, T* out, std::int64_t stride) {
  const Tag<T> d;
  for_filtered_rows(taps, rows, 0, count,
                    [&](std::int64_t j, std::int64_t i, hn::Vec<Tag<T>> v) HWY_ATTR { hn::StoreU(v, d, out + j * stride + i); });
}

/// Eight vectors of out[i] = sum_k w[k] * row[i + k * channels], from inputs that each serve four of them: what is one tap's
/// input to a vector is that of the tap `spacing` before to the next one. There are at least 3 * spacing taps.
template <class T>
HWY_INLINE void filter_eight_by_fours(const TapsOf<T>& taps, int channels, std::int64_t spacing, const T* row, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t n = taps.size();
  V a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  const T* p = row;
  const T* w = taps.weights.data();
  const auto add = [&](std::int64_t inputs, auto first, auto last) HWY_ATTR {
    for (; inputs > 0; --inputs, p += channels, ++w) {
      const auto tap = [&](int j) HWY_ATTR { return hn::Set(d, w[-j * spacing]); };
      constexpr int kFirst = decltype(first)::value, kLast = decltype(last)::value;
      const V none = hn::Zero(d);
      add_row<kFirst, kLast>(p, p + 4 * lanes, kFirst <= 0 ? tap(0) : none, kFirst <= 1 && kLast >= 1 ? tap(1) : none,
                             kFirst <= 2 && kLast >= 2 ? tap(2) : none, kLast >= 3 ? tap(3) : none, a0, a1, a2, a3, b0, b1, b2, b3);
    }
  };
  add(spacing, kOutput<0>, kOutput<0>), add(spacing, kOutput<0>, kOutput<1>), add(spacing, kOutput<0>, kOutput<2>);
  add(n - 3 * spacing, kOutput<0>, kOutput<3>);
  add(spacing, kOutput<1>, kOutput<3>), add(spacing, kOutput<2>, kOutput<3>), add(spacing, kOutput<3>, kOutput<3>);
  hn::StoreU(a0, d, out), hn::StoreU(a1, d, out + lanes), hn::StoreU(a2, d, out + 2 * lanes), hn::StoreU(a3, d, out + 3 * lanes);
  out += 4 * lanes;
  hn::StoreU(b0, d, out), hn::StoreU(b1, d, out + lanes), hn::StoreU(b2, d, out + 2 * lanes), hn::StoreU(b3, d, out + 3 * lanes);
}

/// The same from inputs that each serve two. There are at least `spacing` taps.
template <class T>
HWY_INLINE void filter_eight_by_twos(const TapsOf<T>& taps, int channels, std::int64_t spacing, const T* row, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, e0 = a0, e1 = a0;
  const T* p = row;
  const T* w = taps.weights.data();
  const auto add = [&](std::int64_t inputs, auto is_first, auto is_second) HWY_ATTR {
    for (; inputs > 0; --inputs, p += channels, ++w) {
      const V a = hn::LoadU(d, p), b = hn::LoadU(d, p + 2 * lanes);
      const V c = hn::LoadU(d, p + 4 * lanes), e = hn::LoadU(d, p + 6 * lanes);
      if constexpr (decltype(is_first)::value) {
        const V weight = hn::Set(d, w[0]);
        a0 = hn::MulAdd(a, weight, a0), b0 = hn::MulAdd(b, weight, b0);
        c0 = hn::MulAdd(c, weight, c0), e0 = hn::MulAdd(e, weight, e0);
      }
      if constexpr (decltype(is_second)::value) {
        const V weight = hn::Set(d, w[-spacing]);
        a1 = hn::MulAdd(a, weight, a1), b1 = hn::MulAdd(b, weight, b1);
        c1 = hn::MulAdd(c, weight, c1), e1 = hn::MulAdd(e, weight, e1);
      }
    }
  };
  constexpr std::true_type kYes;
  constexpr std::false_type kNo;
  add(spacing, kYes, kNo), add(taps.size() - spacing, kYes, kYes), add(spacing, kNo, kYes);
  hn::StoreU(a0, d, out), hn::StoreU(a1, d, out + lanes), hn::StoreU(b0, d, out + 2 * lanes), hn::StoreU(b1, d, out + 3 * lanes);
  out += 4 * lanes;
  hn::StoreU(c0, d, out), hn::StoreU(c1, d, out + lanes), hn::StoreU(e0, d, out + 2 * lanes), hn::StoreU(e1, d, out + 3 * lanes);
}

/// out[i] = sum_k w[k] * row[i + k * channels]. Calls fetch(i, i + n) for each piece of a row, so that what is needed next
/// arrives meanwhile.
template <class T, class Fetch>
HWY_INLINE void filter_columns(const TapsOf<T>& taps, int channels, const T* row, std::int64_t count, T* out, const Fetch& fetch) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  const std::int64_t spacing = lanes % channels == 0 ? lanes / channels : n + 1;  // taps from one vector to the next
  std::int64_t i = 0;
  for (; i + 8 * lanes <= count; i += 8 * lanes) {  // sums enough to hide the latency of a multiply-add
    fetch(i, i + 8 * lanes);
    if (n >= 3 * spacing) {
      filter_eight_by_fours(taps, channels, spacing, row + i, out + i);
      continue;
    }
    if (n >= 2 * spacing) {
      filter_eight_by_twos(taps, channels, spacing, row + i, out + i);
      continue;
    }
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

/// out[i] = sum_k w[k] * inputs[k][i]. Touches whole vectors.
template <class T>
HWY_INLINE void filter_inputs(const TapsOf<T>& taps, const T* const* inputs, std::int64_t count, T* out) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* w = taps.weights.data();
  const std::int64_t n = taps.size();
  std::int64_t i = 0;
  for (; i + 8 * lanes <= count; i += 8 * lanes) {  // sums enough to hide the latency of a multiply-add
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (std::int64_t k = 0; k < n; ++k) {
      const V weight = hn::Set(d, w[k]);
      const T* p = inputs[k] + i;
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
  for (; i < count; i += lanes) {  // what is left
    V sum = hn::Zero(d);
    for (std::int64_t k = 0; k < n; ++k) sum = hn::MulAdd(hn::LoadU(d, inputs[k] + i), hn::Set(d, w[k]), sum);
    hn::StoreU(sum, d, out + i);
  }
}

/// Pixels of a row, every `step`-th one together: pixel i is the (i / step)-th of part i % step. Parts lie `stride` numbers apart.
template <int kChannels, class T>
HWY_INLINE void split_row(const T* row, std::int64_t pixels, std::int64_t step, T* parts, std::int64_t stride) {
  std::int64_t done = 0;
  if constexpr (kChannels == 1 && HWY_TARGET != HWY_SCALAR) {
    const Tag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; step == 2 && done + 2 * lanes <= pixels; done += 2 * lanes) {
      hn::Vec<Tag<T>> even, odd;
      hn::LoadInterleaved2(d, row + done, even, odd);
      hn::StoreU(even, d, parts + done / 2), hn::StoreU(odd, d, parts + stride + done / 2);
    }
  }
  for (std::int64_t part = 0; part < step; ++part) {
    T* out = parts + part * stride + done / step * kChannels;
    for (std::int64_t i = done + part; i < pixels; i += step, out += kChannels)
      std::memcpy(out, row + i * kChannels, kChannels * sizeof(T));
  }
}

template <class T>
HWY_INLINE void filter_columns(const TapsOf<T>& taps, int channels, const T* row, std::int64_t count, T* out) {
  filter_columns(taps, channels, row, count, out, [](std::int64_t, std::int64_t) {});
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_TAPS_INL_H_
