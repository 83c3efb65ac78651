// Exact box of any radius in modular integers at constant cost a pixel, four rows at a time: a vertical sum per column
// takes in the row that enters and drops the one that leaves, in 16 bits where they suffice; then windows run along the
// rows of sums, each the one before plus the sum that enters minus the one that leaves. While the windows of some rows are
// made, finished ones go to memory and the source rows of the next come from there. Included once for each instruction set.

#if defined(MOLLIFY_BOX_INTEGER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MOLLIFY_BOX_INTEGER_INL_H_
#undef MOLLIFY_BOX_INTEGER_INL_H_
#else
#define MOLLIFY_BOX_INTEGER_INL_H_
#endif

#include <cstring>

#include "backends/cpu/kernels/box_columns.h"
#include "backends/cpu/kernels/box_windows-inl.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/kernels/row_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mollify::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kChunk = 256;  ///< components of each row that are made before they are stored: as many
                                             ///< lines as the processor can have on their way

/// Source rows that are needed next: asked for while others are worked on.
struct Ahead {
  const std::byte* rows[2 * kBoxRows];

  /// To be called for i = 0, kStep, 2 * kStep... : asks for a part of what lies behind component i / kChunk * kChunk. When
  /// a chunk is done, all its components of all rows are on their way.
  template <class S>
  HWY_INLINE void fetch(std::int64_t i) const {
    constexpr std::int64_t kSteps = kChunk / kStep / (2 * kBoxRows);  // that share a row
    constexpr std::int64_t kBytes = kChunk / kSteps * static_cast<std::int64_t>(sizeof(S));
    const std::int64_t step = i % kChunk / kStep;
    const std::byte* p = rows[step / kSteps] + (i / kChunk * kSteps + step % kSteps) * kBytes;
    for (std::int64_t line = 0; line < kBytes; line += 64) fetch_far(p + line);
  }
};

/// The sums of one tile's columns around four rows. `S` is what is stored, `Sum` what a sum takes; sums wrap around, what
/// is left at the end fits.
template <int kChannels, class S, class Sum>
class IntegerSums {
 public:
  static constexpr bool kGrouped = MOLLIFY_HAS_BLOCKS && kChannels == 4;

  /// Where the tile `goes_on`, the scratch memory holds all that never changes.
  IntegerSums(const BoxColumns& columns, const BoxIntegerScratch& s, bool goes_on)
      : columns_(columns),
        stride_(s.stride),
        outside_(reinterpret_cast<S*>(s.outside)),
        rows_(reinterpret_cast<Sum*>(s.sums) + kPadElements),
        groups_(rows_ + stride_) {
    // The image's first component begins a cache line.
    constexpr std::int64_t kLine = 64 / sizeof(Sum);
    rows_ += (kLine - columns.first * kChannels % kLine) % kLine;
    if (kGrouped) groups_ += (kLine - columns.first * kGroup % kLine) % kLine;
    if (goes_on) return;
    for (std::int64_t i = 0; i < columns.pixels * kChannels; ++i) {
      outside_[i] = static_cast<S>(columns.box.rows.outside[static_cast<std::size_t>(i % kChannels)]);
    }
    const auto clear_before = [](Sum* sums) { std::fill_n(sums - kPadElements, kPadElements, Sum{0}); };
    for (std::int64_t k = 0; k < kBoxRows; ++k) clear_before(row(k));
    if (kGrouped) clear_before(groups_);
  }

  [[nodiscard]] SumRows<Sum> rows() const { return {rows_, stride_}; }
  [[nodiscard]] SumGroups<Sum> groups() const { return {groups_}; }

  /// The sums around row y alone, for step() to start from.
  HWY_INLINE void begin(std::int64_t y) const {
    Sum* const sums = last_row();
    std::fill_n(sums, columns_.pixels * kChannels, Sum{0});
    const std::int64_t end = y + columns_.box.y.after + 1;
    std::int64_t from = y - columns_.box.y.before;
    for (; from + 4 <= end; from += 4) {
      const S* const a = components(from);
      const S* const b = components(from + 1);
      const S* const c = components(from + 2);
      const S* const e = components(from + 3);
      for_inside([&](auto d, std::int64_t i) HWY_ATTR {
        const auto two = hn::Add(load(d, a + i), load(d, b + i));
        hn::StoreU(hn::Add(hn::LoadU(d, sums + i), hn::Add(two, hn::Add(load(d, c + i), load(d, e + i)))), d, sums + i);
      });
    }
    for (; from < end; ++from) {
      const S* const a = components(from);
      for_inside([&](auto d, std::int64_t i) HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d, sums + i), load(d, a + i)), d, sums + i); });
    }
    columns_.for_strays([&](std::int64_t i, std::int64_t column) {
      for (std::int64_t r = y - columns_.box.y.before; r < end; ++r) {
        for (std::int64_t c = 0; c < kChannels; ++c) {
          sums[i * kChannels + c] = static_cast<Sum>(sums[i * kChannels + c] + component(r, column, c));
        }
      }
    });
  }

  /// After step(): goes back to the sums around the last of so many rows, for step() to start from.
  void go_back(std::int64_t rows) const {
    if (rows == kBoxRows) return;
    for (std::int64_t i = 0; i < columns_.pixels; ++i) {
      for (std::int64_t c = 0; c < kChannels; ++c) last_row()[i * kChannels + c] = at(rows - 1, i, c);
    }
  }

  /// The sums around kBoxRows rows from y on, which lie a step apart, from those around the row a step above.
  HWY_INLINE void step(std::int64_t y) const {
    if (columns_.box.rows.step.y > 1) return step_apart(y, columns_.box.rows.step.y);
    const std::int64_t enters = y + columns_.box.y.after;
    const std::int64_t leaves = y - 1 - columns_.box.y.before;
    const Moves moves{components(enters), components(enters + 1), components(enters + 2), components(enters + 3),
                      components(leaves), components(leaves + 1), components(leaves + 2), components(leaves + 3)};
    Sum* const last = last_row();
    const std::int64_t end = columns_.last * kChannels;
    std::int64_t i = columns_.first * kChannels;
    i = step_vectors(hn::ScalableTag<Sum>(), moves, i, end);
    i = step_vectors(hn::CappedTag<Sum, kQuad>(), moves, i, end);
    if constexpr (!kGrouped) step_vectors(hn::CappedTag<Sum, 1>(), moves, i, end);
    columns_.for_strays([&](std::int64_t pixel, std::int64_t column) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        Sum sum = last[pixel * kChannels + c];
        for (std::int64_t k = 0; k < kBoxRows; ++k) {
          sum = static_cast<Sum>(sum + component(enters + k, column, c) - component(leaves + k, column, c));
          at(k, pixel, c) = sum;
        }
        last[pixel * kChannels + c] = sum;
      }
    });
    repeat_border();
  }

 private:
  HWY_NOINLINE void step_apart(std::int64_t y, std::int64_t apart) const {
    const std::int64_t enters = y - apart + 1 + columns_.box.y.after;
    const std::int64_t leaves = y - apart - columns_.box.y.before;
    const S* in[kBoxRows * Stride::kMaxStep];
    const S* out[kBoxRows * Stride::kMaxStep];
    for (std::int64_t r = 0; r < kBoxRows * apart; ++r) {
      in[r] = components(enters + r);
      out[r] = components(leaves + r);
    }
    Sum* const last = last_row();
    for_inside([&](auto d, std::int64_t i) HWY_ATTR {
      auto sum = hn::LoadU(d, last + i);
      decltype(sum) sums[kBoxRows];
      for (std::int64_t k = 0; k < kBoxRows; ++k) {
        for (std::int64_t r = k * apart; r < (k + 1) * apart; ++r) sum = hn::Add(sum, hn::Sub(load(d, in[r] + i), load(d, out[r] + i)));
        sums[k] = sum;
      }
      hn::StoreU(sum, d, last + i);
      if constexpr (kGrouped) {
        store_groups(d, sums[0], sums[1], sums[2], sums[3], groups_ + i * kBoxRows);
      } else {
        for (std::int64_t k = 0; k < kBoxRows; ++k) hn::StoreU(sums[k], d, row(k) + i);
      }
    });
    columns_.for_strays([&](std::int64_t pixel, std::int64_t column) {
      for (std::int64_t c = 0; c < kChannels; ++c) {
        Sum sum = last[pixel * kChannels + c];
        for (std::int64_t r = 0; r < kBoxRows * apart; ++r) {
          sum = static_cast<Sum>(sum + component(enters + r, column, c) - component(leaves + r, column, c));
          if (r % apart == apart - 1) at(r / apart, pixel, c) = sum;
        }
        last[pixel * kChannels + c] = sum;
      }
    });
    repeat_border();
  }

  [[nodiscard]] Sum* row(std::int64_t k) const { return rows_ + k * stride_; }
  [[nodiscard]] Sum* last_row() const { return kGrouped ? row(0) : row(kBoxRows - 1); }
  [[nodiscard]] Sum& at(std::int64_t k, std::int64_t pixel, std::int64_t c) const {
    return kGrouped ? groups_[pixel * kGroup + k * kQuad + c] : row(k)[pixel * kChannels + c];
  }

  /// Where component 0 of row y would be read from, if all of it were inside the image.
  [[nodiscard]] const S* components(std::int64_t y) const {
    const S* stored = columns_.row<S>(y);
    return stored ? stored + columns_.x * kChannels : outside_;
  }

  /// One component of row y in a column inside the image.
  [[nodiscard]] Sum component(std::int64_t y, std::int64_t column, std::int64_t c) const {
    const S* stored = columns_.row<S>(y, column);
    return static_cast<Sum>(stored ? stored[column * kChannels + c] : outside_[c]);
  }

  /// The rows that four steps take in and drop.
  struct Moves {
    const S *in0, *in1, *in2, *in3;
    const S *out0, *out1, *out2, *out3;
  };

  /// step() for components i, i + 1, ... as long as they fill vectors; returns the first that does not.
  template <class D>
  HWY_INLINE std::int64_t step_vectors(D d, Moves m, std::int64_t i, std::int64_t end) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    Sum* const last = last_row();
    Sum *const row0 = row(0), *const row1 = row(1), *const row2 = row(2), *const groups = groups_;
    for (; i + lanes <= end; i += lanes) {
      const auto sum0 = hn::Add(hn::LoadU(d, last + i), hn::Sub(load(d, m.in0 + i), load(d, m.out0 + i)));
      const auto sum1 = hn::Add(sum0, hn::Sub(load(d, m.in1 + i), load(d, m.out1 + i)));
      const auto sum2 = hn::Add(sum1, hn::Sub(load(d, m.in2 + i), load(d, m.out2 + i)));
      const auto sum3 = hn::Add(sum2, hn::Sub(load(d, m.in3 + i), load(d, m.out3 + i)));
      hn::StoreU(sum3, d, last + i);
      if constexpr (kGrouped) {
        store_groups(d, sum0, sum1, sum2, sum3, groups + i * kBoxRows);
      } else {
        hn::StoreU(sum0, d, row0 + i), hn::StoreU(sum1, d, row1 + i), hn::StoreU(sum2, d, row2 + i);
      }
    }
    return i;
  }

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const S* p) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<S, D>(), p));
  }

  /// Calls body(tag, index) for vectors of the components inside the image, smaller ones towards the end.
  template <class Body>
  HWY_INLINE void for_inside(const Body& body) const {
    const std::int64_t end = columns_.last * kChannels;
    std::int64_t i = columns_.first * kChannels;
    const auto run = [&](auto d) HWY_ATTR {
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
      for (; i + lanes <= end; i += lanes) body(d, i);
    };
    run(hn::ScalableTag<Sum>());
    run(hn::CappedTag<Sum, kQuad>());
    if constexpr (!kGrouped) run(hn::CappedTag<Sum, 1>());
  }

  void repeat_border() const {
    Sum outside[kGroup];
    for (std::size_t i = 0; i < kGroup; ++i) {
      outside[i] = static_cast<Sum>(columns_.box.rows.outside[i % 4] * static_cast<double>(columns_.box.y.size()));
    }
    if constexpr (kGrouped) {
      columns_.repeat<kGroup>(outside, groups_);
    } else {
      for (std::int64_t k = 0; k < kBoxRows; ++k) columns_.repeat<kChannels>(outside, row(k));
    }
  }

  const BoxColumns& columns_;
  std::int64_t stride_;
  S* outside_;   ///< a source row of the border's constant
  Sum* rows_;    ///< as RowWindows wants them; of groups, only the last
  Sum* groups_;  ///< as GroupWindows wants them
};

/// Four rows of results on their way to the destination.
struct FinishedRows {
  const Tile& tile;
  const BoxIntegerScratch& s;
  std::int64_t y;     ///< of the first, in the destination
  std::int64_t rows;  ///< that the tile has
  std::int64_t pixel_bytes;
  std::int64_t step = 1;    ///< of the pixels that are made, every so many is one of the destination
  std::int64_t done = 0;    ///< bytes of each row
  std::int64_t picked = 0;  ///< pixels of each row, which lie next to each other

  /// Stores what is made of each row so far, `bytes`; whole cache lines but at the end, and where there is a step.
  HWY_INLINE void store(std::int64_t bytes) {
    if (step > 1) bytes = pick(bytes);
    for (std::int64_t k = 0; k < rows; ++k) {
      std::byte* to = tile.dst.row(y + k) + tile.out.x * pixel_bytes;
      store_bytes(tile, reinterpret_cast<const std::byte*>(s.out + k * s.stride) + done, bytes - done, to + done);
    }
    done = bytes;
  }

 private:
  /// Moves the destination's pixels to the beginning of the rows: how many bytes of them there are now.
  std::int64_t pick(std::int64_t bytes) {
    const std::int64_t end = (bytes / pixel_bytes + step - 1) / step;
    if (pixel_bytes == 1) {
      move<1>(end);
    } else if (pixel_bytes == 3) {
      move<3>(end);
    } else if (pixel_bytes == 4) {
      move<4>(end);
    } else {
      move<0>(end);
    }
    picked = end;
    return end * pixel_bytes;
  }

  /// Pixels up to this one. Moves of a known number of bytes, unless it is 0, are no calls.
  template <std::int64_t kBytes>
  void move(std::int64_t end) const {
    const std::int64_t size = kBytes > 0 ? kBytes : pixel_bytes;
    for (std::int64_t k = 0; k < rows; ++k) {
      auto* row = reinterpret_cast<std::byte*>(s.out + k * s.stride);
      for (std::int64_t i = picked; i < end; ++i) {
        std::memmove(row + i * size, row + i * step * size, static_cast<std::size_t>(kBytes > 0 ? kBytes : size));
      }
    }
  }
};

/// Makes the windows along the sums and stores them.
template <int kChannels, class S, class Sum>
HWY_INLINE void finish_rows(const BoxAny& box, const BoxIntegerScratch& s, const IntegerSums<kChannels, S, Sum>& sums, const Ahead& ahead,
                            FinishedRows rows) {
  const std::int64_t pixels = box.windows_across(rows.tile.out.width);
  const std::int64_t count = pixels * kChannels;
#if MOLLIFY_HAS_BLOCKS
  auto windows = [&] {
    if constexpr (IntegerSums<kChannels, S, Sum>::kGrouped) {
      return GroupWindows<Sum>(sums.groups(), box.x.size());
    } else {
      return RowWindows<kChannels, Sum>(sums.rows(), box.x.size());
    }
  }();
  const auto fetch = [&](std::int64_t i) HWY_ATTR { ahead.fetch<S>(i); };
  if (box.rows.destination.component == box.rows.source.component) {
    const StoreMeans<S> store{hn::Set(F32(), static_cast<float>(box.rows.destination.scale)), reinterpret_cast<S*>(s.out),
                              s.stride * static_cast<std::int64_t>(sizeof(float) / sizeof(S))};
    for (std::int64_t from = 0; from < count; from += kChunk) {
      const std::int64_t to = std::min(from + kChunk, count);
      windows.make(from, to, fetch, store);
      rows.store(to * static_cast<std::int64_t>(sizeof(S)));
    }
    return;
  }
  windows.make(0, count, fetch, StoreSums{s.out, s.stride});
#else
  static_cast<void>(ahead);
  for (std::int64_t k = 0; k < kBoxRows; ++k) {
    plain_windows<kChannels>(sums.rows().sums + k * s.stride, box.x.size(), count, s.out + k * s.stride);
  }
#endif
  for (std::int64_t k = 0; k < kBoxRows; ++k) {
    float* row = s.out + k * s.stride;
    encode_pixels(box.rows.destination, row, pixels, reinterpret_cast<std::byte*>(row));
  }
  rows.store(pixels * rows.pixel_bytes);
}

template <int kChannels, class S, class Sum>
HWY_INLINE void box_integer(const BoxAny& box, const Tile& tile) {
  const BoxColumns columns(box, tile);
  const BoxIntegerScratch s(tile.scratch, box.windows_across(tile.out.width), box.x.size(), kChannels);
  const IntegerSums<kChannels, S, Sum> sums(columns, s, tile.rows_made() > 0);
  const std::int64_t pixel_bytes = info(tile.dst.desc.format).pixel_bytes();
  const PerAxis<std::int64_t> apart = box.rows.step;
  const std::int64_t top = tile.origin_y + tile.out.y * apart.y;
  if (tile.rows_made() == 0) sums.begin(top - apart.y);
  for (std::int64_t row = 0; row < tile.out.height; row += kBoxRows) {
    sums.step(top + row * apart.y);
    Ahead ahead{};
    for (std::int64_t k = 0; k < kBoxRows; ++k) {
      const std::int64_t next = top + (row + kBoxRows - 1) * apart.y + 1 + k;
      ahead.rows[k] = stored_row(box.rows, tile.src, next + box.y.after, columns.x);
      ahead.rows[kBoxRows + k] = stored_row(box.rows, tile.src, next - 1 - box.y.before, columns.x);
    }
    const std::int64_t rows = std::min<std::int64_t>(kBoxRows, tile.out.height - row);
    finish_rows(box, s, sums, ahead, FinishedRows{tile, s, tile.out.y + row, rows, pixel_bytes, apart.x});
    sums.go_back(rows);
  }
  finish_stores(tile);
}

template <class S, class Sum>
HWY_INLINE void box_integer(const BoxAny& box, const Tile& tile) {
  with_channels(box.rows.source.channels, [&](auto channels) HWY_ATTR { box_integer<decltype(channels)::value, S, Sum>(box, tile); });
}

}  // namespace mollify::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MOLLIFY_BOX_INTEGER_INL_H_
