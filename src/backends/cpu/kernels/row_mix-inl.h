// Rows of pixels that are mixed from the same few rows of numbers, for one instruction set.

#if defined(MOLLIFY_ROW_MIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_ROW_MIX_INL_H_
#undef MOLLIFY_ROW_MIX_INL_H_
#else
#define MOLLIFY_ROW_MIX_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

/// `v`, or `least` where that is larger. NaN stays.
HWY_INLINE VecF32 at_least(VecF32 least, VecF32 v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(least, v);  // the second where one is NaN
#else
  return hn::IfThenElse(hn::Lt(v, least), least, v);
#endif
}

/// `v`, or `most` where that is smaller. NaN stays.
HWY_INLINE VecF32 at_most(VecF32 most, VecF32 v) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Min(most, v);
#else
  return hn::IfThenElse(hn::Gt(v, most), most, v);
#endif
}

/// Rows of pixels that are mixed from the same `kSupport` rows: pixel row r is the sum of rows[t] * weights[r * kSupport + t]. Where it
/// has a row of its own, own[r] * own_weight belongs to the sum, which is limited to what lies between `least` and `largest`.
template <int kSupport, bool kHasOwn = false>
struct RowMix {
  const float* rows[kSupport];
  float weights[kMixRows * kSupport];
  const float* own[kHasOwn ? kMixRows : 1];
  float own_weight;
  const float* least;
  const float* largest;

  /// Elements [from, to) of pixel rows [first, last), stored as S from `out` on, the next row `stride` further. All of them
  /// are made from the same vectors, which are loaded once. Touches whole groups of four vectors. Not inlined: each of its many
  /// forms is called from several places.
  template <bool kBounded, bool kStream, class S>
  HWY_NOINLINE void store(std::int64_t first, std::int64_t last, std::int64_t from, std::int64_t to, S* out, std::int64_t stride) const {
    const F32 d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = from; i < to; i += 4 * lanes, out += 4 * lanes) {
      VecF32 in[kSupport][4];
      HWY_UNROLL(8)
      for (int t = 0; t < kSupport; ++t) {
        HWY_UNROLL(4)
        for (int v = 0; v < 4; ++v) in[t][v] = hn::LoadU(d, rows[t] + i + v * lanes);
      }
      S* to_row = out;
      const float* w = weights + first * kSupport;
      for (std::int64_t r = first; r < last; ++r, w += kSupport, to_row += stride) {
        VecF32 sum[4];
        const VecF32 w0 = hn::Set(d, w[0]);
        HWY_UNROLL(4)
        for (int v = 0; v < 4; ++v) {
          if constexpr (kHasOwn) {
            sum[v] = hn::MulAdd(in[0][v], w0, hn::Mul(hn::LoadU(d, own[r] + i + v * lanes), hn::Set(d, own_weight)));
          } else {
            sum[v] = hn::Mul(in[0][v], w0);
          }
        }
        HWY_UNROLL(8)
        for (int t = 1; t < kSupport; ++t) {
          const VecF32 wt = hn::Set(d, w[t]);
          HWY_UNROLL(4)
          for (int v = 0; v < 4; ++v) sum[v] = hn::MulAdd(in[t][v], wt, sum[v]);
        }
        if constexpr (kHasOwn) {
          HWY_UNROLL(4)
          for (int v = 0; v < 4; ++v) {
            sum[v] = at_most(hn::LoadU(d, largest + i + v * lanes), at_least(hn::LoadU(d, least + i + v * lanes), sum[v]));
          }
        }
        store_four<kBounded, kStream>(d, sum[0], sum[1], sum[2], sum[3], to_row);
      }
    }
  }
};

/// Elements [from, to) of mixed rows [first, last) to rows of stored S from `dst` on, `stride` apart, past the cache if the
/// tile says so: whole vectors at once where they fill cache lines, the rest by way of `made`. Where they are to fill lines,
/// lines begin at the same element of all rows.
template <bool kBounded, class Mix, class S>
HWY_INLINE void store_mix(const Mix& mix, std::int64_t first, std::int64_t last, std::int64_t from, std::int64_t to, const Tile& tile,
                          S* made, S* dst, std::int64_t stride) {
  const auto group = 4 * static_cast<std::int64_t>(hn::Lanes(F32()));
  const auto put = [&](std::int64_t begin, std::int64_t end, const auto& copy) HWY_ATTR {
    if (begin == end) return;
    for (std::int64_t r = first; r < last; ++r) {
      mix.template store<kBounded, false>(r, r + 1, begin, end, made, stride);
      copy(made, dst + (r - first) * stride + begin, end - begin);
    }
  };
  const auto plainly = [](const S* src, S* out, std::int64_t n) { std::memcpy(out, src, static_cast<std::size_t>(n) * sizeof(S)); };
  if (!tile.streams) {
    const std::int64_t whole = from + (to - from) / group * group;
    mix.template store<kBounded, false>(first, last, from, whole, dst + from, stride);
    return put(whole, to, plainly);
  }
  const std::int64_t line = from + elements_to_line(dst + from);
  if constexpr (kMakesWholeVectors<kBounded, S>) {
    if (line + group <= to) {
      const std::int64_t whole = line + (to - line) / group * group;
      put(from, line, plainly);
      mix.template store<kBounded, true>(first, last, line, whole, dst + line, stride);
      return put(whole, to, plainly);
    }
  }
  put(from, to, [&](const S* src, S* out, std::int64_t n) {
    store_bytes(tile, reinterpret_cast<const std::byte*>(src), n * static_cast<std::int64_t>(sizeof(S)), reinterpret_cast<std::byte*>(out));
  });
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_ROW_MIX_INL_H_
