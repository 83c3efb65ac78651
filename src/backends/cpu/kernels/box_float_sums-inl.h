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
#include "base/half.h"

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

using StoredF32 = hn::Rebind<float, SumTag>;

/// Numbers of sums in f64, and back. Highway's emulation makes infinities finite.
HWY_INLINE VecSum widened(hn::Vec<StoredF32> v) {
  return hn::PromoteTo(SumTag(), v);
}
HWY_INLINE VecSum widened(VecSum v) {
  return v;
}
HWY_INLINE VecSum narrowed(SumTag, VecSum v) {
  return v;
}
HWY_INLINE hn::Vec<StoredF32> narrowed(StoredF32 d, VecSum v) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_ALIGN float lanes[kMaxLanes];
  store_as(SumTag(), v, lanes);
  return hn::Load(d, lanes);
#else
  return hn::DemoteTo(d, v);
#endif
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

/// Can sums of such numbers be inexact? Those of halves are not, nor those of integers.
template <class S>
inline constexpr bool kDrifts = std::is_floating_point_v<S>;

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

/// The means of some of kBoxRows rows: `slots` says which row each becomes, or -1.
template <class Means>
struct KeptMeans {
  Means means;
  std::array<std::int64_t, kBoxRows> slots;

  [[nodiscard]] KeptMeans from(std::int64_t i) const { return {means.from(i), slots}; }
  HWY_INLINE void store(VecSum mean, std::int64_t row, std::int64_t i) const {
    const std::int64_t slot = slots[static_cast<std::size_t>(row)];
    if (slot >= 0) means.store(mean, slot, i);
  }
};

/// The sums of columns, and the largest magnitude that each had since it was last added up from its rows alone.
struct ColumnSums {
  double* sums;
  double* largest;

  [[nodiscard]] ColumnSums from(std::int64_t i) const { return {sums + i, largest + i}; }
};

/// A sum keeps the rounding of what has left it. Where it falls below this part of its largest magnitude, it begins anew.
inline constexpr double kLost = 0x1p-16;

/// kBoxRows steps of as many sums as a vector holds, and the largest magnitudes after them.
struct Steps {
  VecSum sums[kBoxRows];
  VecSum largest;
};

/// Does a sum have to begin anew at one of the steps? `before` are the largest magnitudes before them.
HWY_INLINE bool is_lost(const Steps& steps, VecSum before) {
  const SumTag d;
  const VecSum lost = hn::Set(d, kLost);
  VecSum largest = before;
  bool found = false;
  for (const VecSum sum : steps.sums) {
    const VecSum magnitude = hn::Abs(sum);
    largest = hn::Max(largest, magnitude);
    found |= !hn::AllTrue(d, hn::Ge(magnitude, hn::Mul(largest, lost)));
  }
  return found;
}

/// Takes the steps again, one after the other, for `count` components from `i` on. Sums begin anew where they are lost, or where what
/// left them was no finite number. This depends on the rows of a column alone. `fresh(k, i, count, into)` adds up their rows.
template <class S, class Fresh>
HWY_NOINLINE void begin_anew(const BoxMoves<S>& m, std::int64_t i, std::int64_t count, VecSum before, VecSum largest_before,
                             const Fresh& fresh, Steps& steps) {
  const SumTag d;
  HWY_ALIGN double sums[kBoxRows][kMaxLanes] = {};
  HWY_ALIGN double last[kMaxLanes] = {}, largest[kMaxLanes] = {}, anew[kMaxLanes] = {};
  hn::Store(before, d, last);
  hn::Store(largest_before, d, largest);
  for (std::int64_t k = 0; k < kBoxRows; ++k) {
    bool is_fresh = false;
    for (std::int64_t j = 0; j < count; ++j) {
      const double leaves = number(m.leaves[k] + i + j);
      double sum = last[j] + (number(m.enters[k] + i + j) - leaves);
      if (std::isfinite(sum)) largest[j] = std::max(largest[j], std::abs(sum));
      if (std::isfinite(sum) ? kDrifts<S> && std::abs(sum) < kLost * largest[j] : !std::isfinite(leaves)) {
        if (!is_fresh) fresh(k, i, count, anew);
        is_fresh = true;
        sum = anew[j];
        largest[j] = std::isfinite(sum) ? std::abs(sum) : 0.0;
      }
      sums[k][j] = last[j] = sum;
    }
    steps.sums[k] = hn::Load(d, sums[k]);
  }
  steps.largest = hn::Load(d, largest);
}

/// kBoxRows steps of `count` sums, of which whole vectors are made, and their means.
template <bool kFractional, class S, class Means, class Fresh>
HWY_INLINE void step_vectors(const BoxMoves<S>& m, const BoxWeights& weights, std::int64_t count, ColumnSums columns, const Means means,
                             const Fresh& fresh) {
  const SumTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const S *const in0 = m.enters[0], *const in1 = m.enters[1], *const in2 = m.enters[2], *const in3 = m.enters[3];
  const S *const out0 = m.leaves[0], *const out1 = m.leaves[1], *const out2 = m.leaves[2], *const out3 = m.leaves[3];
  const VecSum scale = hn::Set(d, weights.scale), zero = hn::Zero(d), lost = hn::Set(d, kLost);
  const VecSum above = hn::Set(d, weights.above), below = hn::Set(d, weights.below);
  constexpr std::int64_t kLine = 64 / sizeof(S);
  for (std::int64_t i = 0; i + lanes <= count; i += lanes) {
    if (i % kLine == 0) {
      HWY_UNROLL(8)
      for (const S* row : m.ahead) fetch_far(reinterpret_cast<const std::byte*>(row + i));
    }
    const auto moved = [&](const S* in, const S* out) HWY_ATTR { return hn::Sub(load_f64(d, in + i), load_f64(d, out + i)); };
    const VecSum before = hn::LoadU(d, columns.sums + i);
    VecSum sum0 = hn::Add(before, moved(in0, out0));
    VecSum sum1 = hn::Add(sum0, moved(in1, out1));
    VecSum sum2 = hn::Add(sum1, moved(in2, out2));
    VecSum sum3 = hn::Add(sum2, moved(in3, out3));
    // The product is no number where the last sum is not finite, and what left before is still in it.
    if constexpr (!std::is_integral_v<S> && !kDrifts<S>) {
      if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Eq(hn::Mul(sum3, zero), zero)))) {
        Steps steps{{sum0, sum1, sum2, sum3}, zero};
        begin_anew(m, i, lanes, before, zero, fresh, steps);
        sum0 = steps.sums[0], sum1 = steps.sums[1], sum2 = steps.sums[2], sum3 = steps.sums[3];
      }
    }
    if constexpr (kDrifts<S>) {
      const VecSum largest_before = hn::LoadU(d, columns.largest + i);
      const VecSum size0 = hn::Abs(sum0), size1 = hn::Abs(sum1), size2 = hn::Abs(sum2), size3 = hn::Abs(sum3);
      VecSum largest = hn::Max(hn::Max(size0, size1), hn::Max(hn::Max(size2, size3), largest_before));
      const VecSum least = hn::Min(hn::Min(size0, size1), hn::Min(size2, size3));
      const VecSum safe = hn::NegMulAdd(largest, lost, hn::MulAdd(sum3, zero, least));
      if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Ge(safe, zero)))) {
        Steps steps{{sum0, sum1, sum2, sum3}, largest};
        if (is_lost(steps, largest_before)) begin_anew(m, i, lanes, before, largest_before, fresh, steps);
        sum0 = steps.sums[0], sum1 = steps.sums[1], sum2 = steps.sums[2], sum3 = steps.sums[3];
        largest = steps.largest;
      }
      hn::StoreU(largest, d, columns.largest + i);
    }
    hn::StoreU(sum3, d, columns.sums + i);
    const auto put = [&](VecSum sum, std::int64_t k) HWY_ATTR {
      if constexpr (kFractional) {
        sum = hn::MulAdd(above, load_f64(d, m.above[k] + i), sum);
        sum = hn::MulAdd(below, load_f64(d, m.below[k] + i), sum);
      }
      means.store(hn::Mul(sum, scale), k, i);
    };
    put(sum0, 0), put(sum1, 1), put(sum2, 2), put(sum3, 3);
  }
}

/// The same for all of them; nothing is read beyond.
template <bool kFractional, class S, class Means, class Fresh>
void step_down(const BoxMoves<S>& m, const BoxWeights& weights, std::int64_t count, ColumnSums columns, const Means& means,
               const Fresh& fresh) {
  step_vectors<kFractional>(m, weights, count, columns, means, fresh);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(SumTag()));
  const std::int64_t left = count % lanes;
  if (left == 0) return;
  const std::int64_t done = count - left;
  BoxMoves<S> tail = m.from(done);
  S padded[4 * kBoxRows][kMaxLanes] = {};
  auto* row = padded;
  tail.each([&](const S*& p) {
    std::memcpy(static_cast<void*>(*row), p, static_cast<std::size_t>(left) * sizeof(S));
    p = *row++;
  });
  const auto fresh_tail = [&](std::int64_t k, std::int64_t, std::int64_t, double* into) { fresh(k, done, left, into); };
  step_vectors<kFractional>(tail, weights, lanes, columns.from(done), means.from(done), fresh_tail);
}

/// The vertical sums of one tile's columns, around some rows at once. `P`: decoded pixels, and what means are kept in.
/// Pixels that are only blurred are read as they are stored.
template <class P>
class BoxFloatSums {
 public:
  BoxFloatSums(const BoxAny& box, const Tile& tile)
      : box_(box),
        tile_(tile),
        columns_(box, tile),
        channels_(box.rows.source.channels),
        s_(tile.scratch, box.windows_across(tile.out.width), box.x.size(), box.x.halo(), box.rows.step.y, channels_),
        direct_(std::is_same_v<P, float> && box.rows.source.only_scaled() && columns_.left_repeats && columns_.right_repeats),
        first_(direct_ ? columns_.first : 0),
        last_(direct_ ? columns_.last : columns_.pixels),
        left_end_(direct_ ? columns_.left_end() : 0) {
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

  [[nodiscard]] const BoxFloatScratch<P>& scratch() const { return s_; }
  [[nodiscard]] const BoxColumns& columns() const { return columns_; }

  /// The sums around row y, from scratch.
  void begin(std::int64_t y) {
    const std::int64_t i = first_ * channels_;
    const std::int64_t count = (last_ - first_) * channels_;
    sum_anew(y, i, count, s_.sums + i);
    std::transform(s_.sums + i, s_.sums + i + count, s_.largest + i, [](double sum) { return std::isfinite(sum) ? std::abs(sum) : 0.0; });
  }

  /// From now on groups are those of rows y to y + rows - 1, or where rows lie a step apart, of row y + kept and those that follow it. The
  /// sums come from those around row y - 1, or around y if a segment `begins` there.
  void aim(std::int64_t y, std::int64_t rows, std::int64_t kept, bool begins) {
    y_ = y, rows_ = rows, kept_ = kept, begins_ = begins, made_ = first_;
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
      const bool is_ahead = direct_ && k + j < box_float_rows(channels_);
      m.ahead[2 * j] = is_ahead ? reinterpret_cast<const S*>(ahead_[2 * (k + j)]) : zeros;
      m.ahead[2 * j + 1] = is_ahead ? reinterpret_cast<const S*>(ahead_[2 * (k + j) + 1]) : zeros;
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
    if (box_.rows.step.y > 1) return make_kept_groups<S>(from, to);
    if (channels_ == kQuad) return step<S>(0, from, to, MeanGroups<P>{s_.groups + from * kGroup});
    for (std::int64_t k = 0; k < rows_; k += kBoxRows) {
      step<S>(k, from, to, MeanRows<P>{s_.means, s_.chunk_stride});
      with_channels(channels_, [&](auto channels) HWY_ATTR {
        constexpr int kChannels = decltype(channels)::value;
        if constexpr (kChannels != kQuad) {
          rows_to_groups<kChannels>(s_.means, s_.chunk_stride, to - from, k * kRowLanes<kChannels>, s_.groups + from * kGroup);
        }
      });
    }
  }

  /// The same of rows that lie a step apart.
  template <class S>
  HWY_NOINLINE void make_kept_groups(std::int64_t from, std::int64_t to) {
    const std::int64_t apart = box_.rows.step.y;
    const auto step_all = [&](const auto& means) HWY_ATTR {
      for (std::int64_t k = 0; k < rows_; k += kBoxRows) {
        KeptMeans<std::remove_cvref_t<decltype(means)>> kept{means, {}};
        for (std::int64_t j = 0; j < kBoxRows; ++j) {
          const std::int64_t behind = k + j - kept_;
          kept.slots[static_cast<std::size_t>(j)] = k + j < rows_ && behind >= 0 && behind % apart == 0 ? behind / apart : -1;
        }
        step<S>(k, from, to, kept);
      }
    };
    if (channels_ == kQuad) return step_all(MeanGroups<P>{s_.groups + from * kGroup});
    step_all(MeanRows<P>{s_.means, s_.chunk_stride});
    const std::int64_t rows = kept_ < rows_ ? (rows_ - kept_ + apart - 1) / apart : 0;
    for (std::int64_t k = 0; k < rows; k += kBoxRows) {
      with_channels(channels_, [&](auto channels) HWY_ATTR {
        constexpr int kChannels = decltype(channels)::value;
        if constexpr (kChannels != kQuad) {
          rows_to_groups<kChannels>(s_.means + k * s_.chunk_stride, s_.chunk_stride, to - from, k * kRowLanes<kChannels>,
                                    s_.groups + from * kGroup);
        }
      });
    }
  }

  /// Pixels [from, to) of the sums around row y_ + k and the kBoxRows - 1 below.
  template <class S, class Means>
  HWY_INLINE void step(std::int64_t k, std::int64_t from, std::int64_t to, const Means& means) {
    const BoxWeights weights{box_.y.before_fraction, box_.y.after_fraction, box_.scale};
    const BoxMoves<S> m = moves<S>(k).from(from * channels_);
    const ColumnSums columns = ColumnSums{s_.sums, s_.largest}.from(from * channels_);
    const auto fresh = [&](std::int64_t row, std::int64_t i, std::int64_t count, double* into) {
      sum_anew(y_ + k + row, from * channels_ + i, count, into);
    };
    using Fresh = decltype(fresh);
    const auto down = box_.y.halo() < box_.y.size() ? step_down<false, S, Means, Fresh> : step_down<true, S, Means, Fresh>;
    down(m, weights, (to - from) * channels_, columns, means, fresh);
  }

  /// Adds up the window's whole rows around row y: `count` components from `first` on.
  void sum_anew(std::int64_t y, std::int64_t first, std::int64_t count, double* into) const {
    std::fill_n(into, count, 0.0);
    const BoxFold& fold = box_.fold_y;
    with_stored([&](auto component) HWY_ATTR {
      using S = decltype(component);
      const auto add = [&](std::int64_t r, std::int64_t times) HWY_ATTR {
        if (times > 0) add_row(reinterpret_cast<const S*>(part(r, first, count)), static_cast<double>(times), count, into);
      };
      for (std::int64_t r = 0; fold.periods > 0 && r < fold.period; ++r) add(r, fold.periods);
      add(-1, fold.before);
      add(tile_.src.desc.height, fold.after);
      for (std::int64_t r = y - box_.y.before; r <= y + box_.y.after; ++r) add(r, 1);
    });
  }

  template <class S>
  static HWY_INLINE void add_row(const S* row, double times, std::int64_t count, double* into) {
    const SumTag d;
    const VecSum weight = hn::Set(d, times);
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::MulAdd(weight, load_f64(d, row + i), hn::LoadU(d, into + i)), d, into + i);
    for (; i < count; ++i) into[i] = std::fma(times, number(row + i), into[i]);
  }

  /// Row y from component `first` on, `count` of them at least.
  [[nodiscard]] const std::byte* part(std::int64_t y, std::int64_t first, std::int64_t count) const {
    if (direct_) return row(y, 0) + first * info(tile_.src.desc.format).component_bytes();
    P* decoded = s_.decoded + (2 * box_stepped_rows(channels_, box_.rows.step.y) + 1) * s_.stride;
    const std::int64_t from = first / channels_;
    load_row(box_.rows, tile_.src, y, columns_.x + from, (first + count + channels_ - 1) / channels_ - from, decoded);
    return reinterpret_cast<const std::byte*>(decoded + (first - from * channels_));
  }

  /// What the sums of columns beyond a constant border become.
  [[nodiscard]] std::array<P, kGroup> outside_group() const {
    std::array<P, kGroup> group{};
    const double size = static_cast<double>(box_.y.size() + box_.fold_y.size()) + box_.y.before_fraction + box_.y.after_fraction;
    const std::int64_t row_lanes = kGroup / box_float_rows(channels_);
    for (std::int64_t i = 0; i < kGroup; ++i) {
      const std::int64_t channel = std::min<std::int64_t>(i % row_lanes, channels_ - 1);
      group[static_cast<std::size_t>(i)] = static_cast<P>(box_.rows.outside[static_cast<std::size_t>(channel)] * size * box_.scale);
    }
    return group;
  }

  const BoxAny& box_;
  const Tile& tile_;
  BoxColumns columns_;
  int channels_;
  BoxFloatScratch<P> s_;
  bool direct_;                ///< rows are read where they are stored
  std::int64_t first_, last_;  ///< pixels that have sums of their own
  std::int64_t left_end_;      ///< of the pixels that those left of the image repeat

  std::int64_t y_ = 0, rows_ = 0, kept_ = 0;
  bool begins_ = false;
  const std::byte* enters_[kBoxSteppedRows + kBoxRows + 1] = {};
  const std::byte* leaves_[kBoxSteppedRows + kBoxRows + 1] = {};
  const std::byte* ahead_[2 * kBoxGroup] = {};  ///< source rows of the next steps, from component 0 on
  std::int64_t made_ = 0;                       ///< groups of pixels before this one
  bool left_repeated_ = false, right_repeated_ = false;
};

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_BOX_FLOAT_SUMS_INL_H_
