// Vertical sums of floats, or of any stored numbers as floats, in f64; included once for each instruction set. A sum takes
// in the row that enters and drops the one that leaves. Their means go to groups, a chunk of pixels at a time, when the
// windows along rows ask for them, so that they are still near when these are done.

#if defined(MOLLIFY_BOX_FLOAT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_BOX_FLOAT_SUMS_INL_H_
#undef MOLLIFY_BOX_FLOAT_SUMS_INL_H_
#else
#define MOLLIFY_BOX_FLOAT_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/box_columns.h"
#include "backends/cpu/kernels/box_groups-inl.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"
#include "core/half.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

using SumTag = hn::CappedTag<double, kVectorBytes / 8>;
using VecSum = hn::Vec<SumTag>;

template <class S>
HWY_INLINE VecSum load_f64(SumTag d, const S* p) {
  if constexpr (std::is_same_v<S, double>) {
    return hn::LoadU(d, p);
  } else if constexpr (std::is_same_v<S, float>) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, SumTag>(), p));
  } else if constexpr (std::is_integral_v<S>) {
    const hn::Rebind<std::int32_t, SumTag> d32;
    return hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(hn::Rebind<S, SumTag>(), p)));
  } else {
#if HWY_TARGET <= HWY_AVX2
    const hn::Rebind<float, SumTag> d32;
    return hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(hn::Rebind<hwy::float16_t, SumTag>(), p)));
#else  // Highway's emulation knows neither infinities nor rounding
    HWY_ALIGN double lanes[kMaxLanes];
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, p + i, sizeof bits);
      lanes[i] = static_cast<double>(half_to_float(bits));
    }
    return hn::Load(d, lanes);
#endif
  }
}

template <class S>
[[nodiscard]] double number(const S* p) {
  if constexpr (std::is_same_v<S, hwy::float16_t>) {
    std::uint16_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return static_cast<double>(half_to_float(bits));
  } else {
    return static_cast<double>(*p);
  }
}

/// What kBoxRows steps down take in and drop, and the rows that fractions of the window's ends weigh.
template <class S>
struct BoxMoves {
  const S* enters[kBoxRows];
  const S* leaves[kBoxRows];
  const S* above[kBoxRows];
  const S* below[kBoxRows];
  const S* ahead[2 * kBoxRows];  ///< what will be taken in and dropped when these rows are done, to be fetched meanwhile

  /// The same for components from `i` on.
  [[nodiscard]] BoxMoves from(std::int64_t i) const {
    BoxMoves moves = *this;
    moves.each([i](const S*& p) { p += i; });
    for (const S*& p : moves.ahead) p += i;
    return moves;
  }

  template <class Body>
  void each(const Body& body) {
    for (auto* rows : {enters, leaves, above, below}) std::for_each(rows, rows + kBoxRows, body);
  }
};

/// Fractions of rows at the ends of the window, and one over its size.
struct BoxWeights {
  double above, below, scale;
};

/// Where means go: to rows, from which groups are made.
template <class T>
struct MeanRows {
  T* first;
  std::int64_t stride;

  [[nodiscard]] T* at(std::int64_t row, std::int64_t i) const { return first + row * stride + i; }
  [[nodiscard]] MeanRows from(std::int64_t i) const { return {first + i, stride}; }
  HWY_INLINE void store(VecSum mean, std::int64_t row, std::int64_t i) const { store_as(SumTag(), mean, at(row, i)); }
};

/// Pixels of four components fill their part of a group: their means go there at once.
template <class T>
struct MeanGroups {
  T* first;

  [[nodiscard]] T* at(std::int64_t row, std::int64_t i) const { return first + i / kQuad * kGroup + row * kQuad + i % kQuad; }
  [[nodiscard]] MeanGroups from(std::int64_t i) const { return {at(0, i)}; }
  HWY_INLINE void store(VecSum mean, std::int64_t row, std::int64_t i) const { store_quads(SumTag(), mean, at(row, i)); }
};

/// kBoxRows steps of `count` sums, of which whole vectors are made, and their means. Whether all sums are finite.
template <bool kFractional, class S, class Means>
HWY_INLINE bool step_vectors(const BoxMoves<S>& m, const BoxWeights& weights, std::int64_t count, double* sums,
                             const Means means) {
  const SumTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const S *const in0 = m.enters[0], *const in1 = m.enters[1], *const in2 = m.enters[2], *const in3 = m.enters[3];
  const S *const out0 = m.leaves[0], *const out1 = m.leaves[1], *const out2 = m.leaves[2], *const out3 = m.leaves[3];
  const VecSum scale = hn::Set(d, weights.scale), zero = hn::Zero(d);
  const VecSum above = hn::Set(d, weights.above), below = hn::Set(d, weights.below);
  VecSum poison = zero;  // NaN where a sum is not finite: no subtraction takes that back
  constexpr std::int64_t kLine = 64 / sizeof(S);
  for (std::int64_t i = 0; i + lanes <= count; i += lanes) {
    if (i % kLine == 0) {
      HWY_UNROLL(8)
      for (const S* row : m.ahead) fetch_far(reinterpret_cast<const std::byte*>(row + i));
    }
    const auto moved = [&](const S* in, const S* out) HWY_ATTR { return hn::Sub(load_f64(d, in + i), load_f64(d, out + i)); };
    const VecSum sum0 = hn::Add(hn::LoadU(d, sums + i), moved(in0, out0));
    const VecSum sum1 = hn::Add(sum0, moved(in1, out1));
    const VecSum sum2 = hn::Add(sum1, moved(in2, out2));
    const VecSum sum3 = hn::Add(sum2, moved(in3, out3));
    hn::StoreU(sum3, d, sums + i);
    const auto put = [&](VecSum sum, std::int64_t k) HWY_ATTR {
      if constexpr (kFractional) {
        sum = hn::MulAdd(above, load_f64(d, m.above[k] + i), sum);
        sum = hn::MulAdd(below, load_f64(d, m.below[k] + i), sum);
      }
      means.store(hn::Mul(sum, scale), k, i);
    };
    put(sum0, 0), put(sum1, 1), put(sum2, 2), put(sum3, 3);
    if constexpr (!std::is_integral_v<S>) {
      poison = hn::MulAdd(sum3, zero, poison);  // as what left before is still in it
    }
  }
  return std::is_integral_v<S> || hn::AllTrue(d, hn::Eq(poison, zero));
}

/// The same for all of them; nothing is read beyond.
template <bool kFractional, class S, class Means>
bool step_down(const BoxMoves<S>& m, const BoxWeights& weights, std::int64_t count, double* sums, const Means& means) {
  const bool finite = step_vectors<kFractional>(m, weights, count, sums, means);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(SumTag()));
  const std::int64_t left = count % lanes;
  if (left == 0) return finite;
  BoxMoves<S> tail = m.from(count - left);
  S padded[4 * kBoxRows][kMaxLanes] = {};
  auto* row = padded;
  tail.each([&](const S*& p) {
    std::memcpy(static_cast<void*>(*row), p, static_cast<std::size_t>(left) * sizeof(S));
    p = *row++;
  });
  return step_vectors<kFractional>(tail, weights, lanes, sums + count - left, means.from(count - left)) && finite;
}

/// The vertical sums of one tile's columns, around some rows at once. `T`: what means are kept in, `P`: decoded pixels.
/// Pixels that are only blurred are read as they are stored.
template <class T, class P>
class BoxFloatSums {
 public:
  BoxFloatSums(const BoxAny& box, const Tile& tile)
      : box_(box),
        tile_(tile),
        columns_(box, tile),
        channels_(box.rows.source.channels),
        s_(tile.scratch, tile.out.width, box.x.size(), box.x.halo(), channels_),
        direct_(std::is_same_v<P, float> && box.rows.source.only_scaled() && columns_.left_repeats && columns_.right_repeats),
        first_(direct_ ? columns_.first : 0),
        last_(direct_ ? columns_.last : columns_.pixels),
        left_end_(direct_ ? columns_.left_end() : 0),
        right_begin_(direct_ ? columns_.right_begin() : last_) {
    with_stored([&](auto component) HWY_ATTR {
      using S = decltype(component);
      auto* outside = reinterpret_cast<S*>(s_.outside);
      for (std::int64_t i = 0; i < columns_.pixels * channels_; ++i) {
        const double value = box.rows.outside[static_cast<std::size_t>(i % channels_)];
        if constexpr (std::is_same_v<S, hwy::float16_t>) {
          const std::uint16_t bits = double_to_half(value);
          std::memcpy(static_cast<void*>(outside + i), &bits, sizeof bits);
        } else {
          outside[i] = static_cast<S>(value);
        }
      }
    });
    std::fill_n(s_.zeros, columns_.pixels * channels_, P{0});
  }

  [[nodiscard]] const BoxFloatScratch<T, P>& scratch() const { return s_; }
  [[nodiscard]] const BoxColumns& columns() const { return columns_; }

  /// The sums around row y, from scratch.
  void begin(std::int64_t y) { sum_anew(y, first_, last_, s_.sums + first_ * channels_); }

  /// From now on groups are those of rows y to y + rows - 1. The sums come from those around row y - 1, or around y if a
  /// segment `begins` there.
  void aim(std::int64_t y, std::int64_t rows, bool begins) {
    y_ = y, rows_ = rows, begins_ = begins, made_ = first_;
    left_repeated_ = right_repeated_ = !direct_;
    for (std::int64_t k = 0; k <= rows; ++k) {
      const bool needed = k < rows || box_.y.after_fraction > 0.0;
      enters_[k] = needed ? row(y + k + box_.y.after, 2 * k) : nullptr;
      leaves_[k] = k < rows ? row(y + k - 1 - box_.y.before, 2 * k + 1) : nullptr;
    }
    for (std::int64_t k = 0; direct_ && k < box_float_rows(channels_); ++k) {
      const auto fetched = [&](std::int64_t row) {
        return stored_row(box_.rows, tile_.src, row, columns_.x) - first_ * info(tile_.src.desc.format).pixel_bytes();
      };
      ahead_[2 * k] = fetched(y + rows + k + box_.y.after);
      ahead_[2 * k + 1] = fetched(y + rows + k - 1 - box_.y.before);
    }
  }

  /// Groups before this pixel may be changed from now on.
  void release(std::int64_t pixel) {
    if (pixel > right_begin_) need(columns_.pixels);
  }

  /// Makes the groups of all pixels before this one, if they are not made yet.
  void need(std::int64_t pixel) {
    if (!left_repeated_) pixel = std::max(pixel, left_end_);
    while (made_ < std::min(pixel, last_)) make_chunk();
    if (!left_repeated_) columns_.template repeat_left<kGroup>(outside_group().data(), s_.groups);
    left_repeated_ = true;
    if (pixel <= last_ || right_repeated_) return;
    columns_.template repeat_right<kGroup>(outside_group().data(), s_.groups);
    right_repeated_ = true;
  }

 private:
  /// Calls body(component type) for what rows are read as.
  template <class Body>
  HWY_INLINE void with_stored(const Body& body) const {
    if (!direct_) return body(P{});
    if constexpr (std::is_same_v<P, float>) with_component(box_.rows.source.component, body);
  }

  /// Row y from component 0 on; where it has to be decoded, in the given row of scratch.
  [[nodiscard]] const std::byte* row(std::int64_t y, std::int64_t slot) const {
    if (direct_) {
      const auto* stored = columns_.row<std::byte>(y);
      const std::ptrdiff_t before = columns_.x * info(tile_.src.desc.format).pixel_bytes();
      return stored ? stored + before : reinterpret_cast<const std::byte*>(s_.outside);
    }
    P* decoded = s_.decoded + slot * s_.stride;
    load_row(box_.rows, tile_.src, y, columns_.x, columns_.pixels, decoded);
    return reinterpret_cast<const std::byte*>(decoded);
  }

  /// The steps of rows k to k + kBoxRows - 1 of those that are aimed at. Zeros move nothing.
  template <class S>
  [[nodiscard]] BoxMoves<S> moves(std::int64_t k) const {
    BoxMoves<S> m;
    const auto* zeros = reinterpret_cast<const S*>(s_.zeros);
    const auto either = [&](bool moves, const std::byte* row) { return moves ? reinterpret_cast<const S*>(row) : zeros; };
    for (std::int64_t j = 0; j < kBoxRows; ++j) {
      const bool made = k + j < rows_;
      const bool steps = made && !(begins_ && k + j == 0);
      m.enters[j] = either(steps, enters_[k + j]);
      m.leaves[j] = either(steps, leaves_[k + j]);
      m.above[j] = either(made && box_.y.before_fraction > 0.0, leaves_[k + j]);
      m.below[j] = either(made && box_.y.after_fraction > 0.0, enters_[k + j + 1]);
      m.ahead[2 * j] = either(direct_, ahead_[2 * (k + j)]);
      m.ahead[2 * j + 1] = either(direct_, ahead_[2 * (k + j) + 1]);
    }
    return m;
  }

  void make_chunk() {
    const std::int64_t from = made_;
    made_ = std::min(from + kBoxChunk, last_);
    with_stored([&](auto component) HWY_ATTR { make_groups<decltype(component)>(from, made_); });
  }

  template <class S>
  HWY_INLINE void make_groups(std::int64_t from, std::int64_t to) {
    if (channels_ == kQuad) return step<S>(0, from, to, MeanGroups<T>{s_.groups + from * kGroup});
    for (std::int64_t k = 0; k < rows_; k += kBoxRows) {
      step<S>(k, from, to, MeanRows<T>{s_.means, s_.chunk_stride});
      with_channels(channels_, [&](auto channels) HWY_ATTR {
        constexpr int kChannels = decltype(channels)::value;
        if constexpr (kChannels != kQuad) {
          rows_to_groups<kChannels>(s_.means, s_.chunk_stride, to - from, k * kRowLanes<kChannels>, s_.groups + from * kGroup);
        }
      });
    }
  }

  /// Pixels [from, to) of the sums around row y_ + k and the kBoxRows - 1 below.
  template <class S, class Means>
  HWY_INLINE void step(std::int64_t k, std::int64_t from, std::int64_t to, const Means& means) {
    const BoxWeights weights{box_.y.before_fraction, box_.y.after_fraction, box_.scale};
    const BoxMoves<S> m = moves<S>(k).from(from * channels_);
    const auto down = box_.y.halo() < box_.y.size() ? step_down<false, S, Means> : step_down<true, S, Means>;
    if (!down(m, weights, (to - from) * channels_, s_.sums + from * channels_, means)) mend(m, weights, y_ + k, from, to, means);
  }

  /// Adds up the window's whole rows around row y: pixels [from, to).
  void sum_anew(std::int64_t y, std::int64_t from, std::int64_t to, double* into) const {
    std::fill_n(into, (to - from) * channels_, 0.0);
    with_stored([&](auto component) HWY_ATTR {
      using S = decltype(component);
      for (std::int64_t r = y - box_.y.before; r <= y + box_.y.after; ++r) {
        add_row(reinterpret_cast<const S*>(part(r, from, to)), (to - from) * channels_, into);
      }
    });
  }

  template <class S>
  static HWY_INLINE void add_row(const S* row, std::int64_t count, double* into) {
    const SumTag d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Add(hn::LoadU(d, into + i), load_f64(d, row + i)), d, into + i);
    for (; i < count; ++i) into[i] += number(row + i);
  }

  /// Pixels [from, to) of row y.
  [[nodiscard]] const std::byte* part(std::int64_t y, std::int64_t from, std::int64_t to) const {
    if (direct_) return row(y, 0) + from * info(tile_.src.desc.format).pixel_bytes();
    P* decoded = s_.decoded + (2 * box_float_rows(channels_) + 1) * s_.stride;
    load_row(box_.rows, tile_.src, y, columns_.x + from, to - from, decoded);
    return reinterpret_cast<const std::byte*>(decoded);
  }

  /// Sums pixels [from, to) anew where something left that is not finite, from that row of the step on; row 0 is y.
  template <class S, class Means>
  void mend(const BoxMoves<S>& m, const BoxWeights& weights, std::int64_t y, std::int64_t from, std::int64_t to,
            const Means& means) const {
    double* const sums = s_.sums + from * channels_;
    for (std::int64_t k = 0; k < kBoxRows; ++k) {
      bool summed = false;
      for (std::int64_t i = 0; i < (to - from) * channels_; ++i) {
        if (std::isfinite(number(m.leaves[k] + i))) continue;
        if (!summed) sum_anew(y + k, from, to, s_.fresh);
        summed = true;
        double sum = s_.fresh[i];
        for (std::int64_t j = k; j < kBoxRows; ++j) {
          if (j > k) sum += number(m.enters[j] + i) - number(m.leaves[j] + i);
          double whole = sum;
          if (weights.above > 0.0) whole = std::fma(weights.above, number(m.above[j] + i), whole);
          if (weights.below > 0.0) whole = std::fma(weights.below, number(m.below[j] + i), whole);
          *means.at(j, i) = static_cast<T>(whole * weights.scale);
        }
        sums[i] = sum;
      }
    }
  }

  /// What the sums of columns beyond a constant border become.
  [[nodiscard]] std::array<T, kGroup> outside_group() const {
    std::array<T, kGroup> group{};
    const double size = static_cast<double>(box_.y.size()) + box_.y.before_fraction + box_.y.after_fraction;
    const std::int64_t row_lanes = kGroup / box_float_rows(channels_);
    for (std::int64_t i = 0; i < kGroup; ++i) {
      const std::int64_t channel = std::min<std::int64_t>(i % row_lanes, channels_ - 1);
      group[static_cast<std::size_t>(i)] =
          static_cast<T>(box_.rows.outside[static_cast<std::size_t>(channel)] * size * box_.scale);
    }
    return group;
  }

  const BoxAny& box_;
  const Tile& tile_;
  BoxColumns columns_;
  int channels_;
  BoxFloatScratch<T, P> s_;
  bool direct_;                ///< rows are read where they are stored
  std::int64_t first_, last_;  ///< pixels that have sums of their own
  std::int64_t left_end_;      ///< of the pixels that those left of the image repeat
  std::int64_t right_begin_;   ///< of those that the ones right of it repeat

  std::int64_t y_ = 0, rows_ = 0;
  bool begins_ = false;
  const std::byte* enters_[kBoxGroup + kBoxRows + 1] = {};
  const std::byte* leaves_[kBoxGroup + kBoxRows + 1] = {};
  const std::byte* ahead_[2 * kBoxGroup] = {};  ///< source rows of the next steps, from component 0 on
  std::int64_t made_ = 0;                       ///< groups of pixels before this one
  bool left_repeated_ = false, right_repeated_ = false;
};

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_BOX_FLOAT_SUMS_INL_H_
