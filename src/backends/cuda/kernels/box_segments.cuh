// Means of windows of pixels of four channels, by running sums. A block of threads moves down a strip of columns. Its threads keep sums of
// columns of the window in registers, and leave those of a few rows in shared memory. There each thread sums up a segment of a row. Prefix
// sums of the segments tell with what the first window of each segment begins. From there the thread slides along its segment. Means go
// through shared memory, so that threads side by side store what lies side by side. The first window of a chunk of a strip is summed up
// from its pixels or, where windows are high, from sums of blocks of rows: box_blocks.cuh.
//
// Running sums of floats suffer from cancellation: once a number that is large, infinite or not a number has entered and left a sum,
// nothing is left of the other numbers. So numbers are multiplied by a power of two with which such sums overflow. A sum that is not finite
// stays so to the end of its chunk or of its segment, where the block finds out whether it has any. It makes such pixels anew, from sums
// that are only added to.
#pragma once

#include "backends/cuda/kernels/box_blocks.cuh"

namespace mollify::cuda {
namespace {

/// What four sums of a lane `delta` before this one are, of those that share a row.
template <class Number>
__device__ inline FourOf<Number> four_below(const FourOf<Number>& v, int delta) {
  return {{__shfl_up_sync(~0U, v.at[0], delta), __shfl_up_sync(~0U, v.at[1], delta), __shfl_up_sync(~0U, v.at[2], delta),
           __shfl_up_sync(~0U, v.at[3], delta)}};
}
template <int kLanes, class Number>
__device__ inline FourOf<Number> four_above(const FourOf<Number>& v, int delta) {
  return {{__shfl_down_sync(~0U, v.at[0], delta, kLanes), __shfl_down_sync(~0U, v.at[1], delta, kLanes),
           __shfl_down_sync(~0U, v.at[2], delta, kLanes), __shfl_down_sync(~0U, v.at[3], delta, kLanes)}};
}
template <class Number>
__device__ inline void add(FourOf<Number>& sums, const FourOf<Number>& v) {
#pragma unroll
  for (int c = 0; c < 4; ++c) sums.at[c] += v.at[c];
}
template <class Number>
__device__ inline void take(FourOf<Number>& sums, const FourOf<Number>& v) {
#pragma unroll
  for (int c = 0; c < 4; ++c) sums.at[c] -= v.at[c];
}

/// The window that a thread's segment begins with: `whole` segments from its own on, and the beginning of the next one. A thread behind
/// which there are too few gets anything.
template <int kSegments, class Number>
__device__ inline FourOf<Number> first_of_warp(int whole, FourOf<Number> total, const FourOf<Number>& beginning) {
  FourOf<Number> sums = four_above<kSegments>(beginning, whole);
  // Of 1, 2, 4, ... segments from each on.
  for (int count = 1; count <= whole; count *= 2) {
    if ((whole & count) != 0) add(sums, four_above<kSegments>(total, whole & (count - 1)));
    if (2 * count <= whole) add(total, four_above<kSegments>(total, count));
  }
  return sums;
}

/// The same where threads of several warps share a row, by prefix sums of what each warp has of a row. No sum depends on columns behind its
/// window. `totals`: of each thread, and then of each warp.
template <int kThreads, int kSegments, class Number>
__device__ inline FourOf<Number> first_of_warps(int whole, const FourOf<Number>& total, const FourOf<Number>& beginning,
                                                FourOf<Number>* totals) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int lane = min(thread % 32, thread % kSegments);  // of those of the warp that share the row
  FourOf<Number> through = total;                         // from the warp's first segment of the row through the thread's own
#pragma unroll
  for (int count = 1; count < 32; count *= 2) {
    const FourOf<Number> below = four_below(through, count);
    if (lane >= count) add(through, below);
  }
  if (thread % 32 == 31) totals[kThreads + thread / 32] = through;
  FourOf<Number> before = four_below(through, 1);
  if (lane == 0) before = {};
  FourOf<Number> sums = beginning;
  add(sums, before);
  totals[thread] = sums;
  __syncthreads();
  sums = totals[thread + whole];
  take(sums, before);
#pragma unroll 1
  for (int warp = thread / 32; warp < (thread + whole) / 32; ++warp) add(sums, totals[kThreads + warp]);
  return sums;
}

/// Where the rows of a strip lie, and what of them this thread makes.
template <class Kind, BoxSegments kShape>
struct BoxStrip {
  using Pixel = typename Kind::Pixel;
  using Column = typename Kind::Column;
  using Four = FourOf<typename Kind::Number>;
  static constexpr int kSegment = kShape.segment(), kSegments = kShape.segments(), kPitch = kShape.segment_pitch();
  static constexpr int kColumns = kShape.columns, kStep = kShape.column_step(), kParts = kShape.parts();
  static constexpr int kPixelsOfPart = 16 / sizeof(Pixel);
  static_assert(sizeof(Column) == kShape.sums_bytes && sizeof(Pixel) == kShape.pixel_bytes);

  std::int32_t x0, y0;   ///< of the first pixel, counted from the first that the pass makes
  std::int32_t rows;     ///< that are made
  std::int32_t made;     ///< columns that are made
  std::int32_t from_x;   ///< the first column that the destination has
  std::int32_t from_y;   ///< and the first row
  std::int32_t lead;     ///< columns that are read before the first that a window needs
  std::int32_t first;    ///< the thread's first column in the source
  std::int32_t above;    ///< the first row that the chunk reads there: it leaves when row y0 is made
  std::int32_t own_row;  ///< of a step: the row that the thread slides along
  std::int32_t segment;  ///< and its segment of it
  bool is_needed;        ///< whether any pixel of the segment is made
  Column* sums;          ///< of columns, in shared memory: of all rows of a step
  uint4* means;          ///< of the thread's row
  Four* totals;
  char* out;           ///< where the first row that this thread makes begins in the destination
  bool stores_parts;   ///< 16 bytes at a time
  bool by_components;  ///< pixels of the destination begin at no multiples of their length

  __device__ BoxStrip(const BoxSlide& a, const BlockPlace& block, int4* memory, bool is_of_pixels) : by_components(!is_of_pixels) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    x0 = block.across * a.made;
    y0 = block.down * a.rows;
    rows = min(a.rows, a.destination.height + a.skip_y - y0);
    made = min(a.made, a.destination.width + a.skip_x - x0);
    from_x = max(a.skip_x - x0, 0);
    from_y = max(a.skip_y - y0, 0);
    constexpr int kAlignment = kShape.alignment();
    lead = a.first_x - floor_of(a.first_x, kAlignment) * kAlignment;
    first = x0 + a.first_x - lead + thread * kAlignment;
    above = y0 + a.first_y - 1;
    own_row = thread / kSegments;
    segment = thread % kSegments;
    is_needed = segment * kSegment < made;
    sums = reinterpret_cast<Column*>(memory);
    means = reinterpret_cast<uint4*>(memory) + kShape.means_at() / 16 + own_row * kShape.means_pitch();
    totals = reinterpret_cast<Four*>(memory) + kShape.totals_at() / 16;
    out = row_of(a.destination, block.image, y0 - a.skip_y + own_row) + std::int64_t{x0 - a.skip_x} * kShape.pixel_bytes;
    const std::uint64_t bits = reinterpret_cast<std::uint64_t>(out) | static_cast<std::uint64_t>(a.destination.row_bytes);
    stores_parts = bits % 16 == 0 && (from_x | made) % kPixelsOfPart == 0;
  }

  /// Where the sums of column p of the thread lie in a row: the first `lead` of a strip in the segment before the first.
  [[nodiscard]] __device__ Column* place(int p) const {
    const int i = static_cast<int>(threadIdx.x) * kShape.alignment() + p * kStep - lead + kSegment;
    return sums + i / kSegment * kPitch + i % kSegment;
  }
  /// The columns of the thread's segment.
  [[nodiscard]] __device__ const Column* own() const { return sums + own_row * kShape.row_pitch() + (segment + 1) * kPitch; }

  __device__ void keep(int i, Pixel mean, Pixel (&some)[kPixelsOfPart]) const {
    some[i % kPixelsOfPart] = mean;
    if (i % kPixelsOfPart != kPixelsOfPart - 1) return;
    uint4 part;
    memcpy(&part, some, sizeof(part));
    means[segment * kShape.parts_pitch() + i / kPixelsOfPart] = part;
  }
  /// Pixel `i` of the row of means.
  [[nodiscard]] __device__ Pixel kept(std::int32_t i) const {
    const std::int32_t part = i / kPixelsOfPart;
    return reinterpret_cast<const Pixel*>(means + part / kParts * kShape.parts_pitch() + part % kParts)[i % kPixelsOfPart];
  }
  [[nodiscard]] __device__ bool is_made(std::int32_t y) const { return y + own_row >= from_y && y + own_row < rows; }

  __device__ void store_pixel(std::int32_t i, char* row) const {
    char* const to = row + std::int64_t{i} * kShape.pixel_bytes;
    by_components ? Kind::store(to, kept(i)) : void(*reinterpret_cast<Pixel*>(to) = kept(i));
  }
  /// What the threads of the row have kept. `row`: where the row begins in the destination.
  __device__ void store(char* row) const {
    if (stores_parts) {
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const std::int32_t n = i * kSegments + segment;
        if (n * kPixelsOfPart < from_x || n * kPixelsOfPart >= made) continue;
        reinterpret_cast<uint4*>(row)[n] = means[n / kParts * kShape.parts_pitch() + n % kParts];
      }
    } else {
#pragma unroll 1
      for (std::int32_t i = segment; i < made; i += kSegments) {
        if (i >= from_x) store_pixel(i, row);
      }
    }
  }
};

template <class Kind, BoxSegments kShape, Access kAccess>
using ColumnsOf = Columns<Kind, kShape.columns, kShape.column_step(), kAccess>;

/// What pixels add to means.
template <class Kind>
struct SharesOf : Kind {
  static __device__ void enter(const BoxAny& a, typename Kind::Sums& sums, const typename Kind::Pixel& pixel) {
    Kind::add(sums, Kind::share(a, pixel));
  }
};

/// Makes the pixels of a chunk that are not finite from sums that are only added to. Windows of some rows have all but a few rows in
/// common, and those of a segment's pixels have columns in common.
template <class Kind, BoxSegments kShape>
__device__ __noinline__ void mend_strip(const BoxSlide& a, BlockPlace block, const std::int64_t* places) {
  using Own = BoxStrip<Kind, kShape>;
  using Pixel = typename Kind::Pixel;
  constexpr int kColumns = Own::kColumns, kSegment = Own::kSegment, kSegments = Own::kSegments, kStepRows = kShape.step_rows;
  extern __shared__ int4 memory[];
  const Own strip(a, block, memory, are_multiples(a.destination, kShape.pixel_bytes));
  constexpr int kAtOnce = kShape.mended_rows();
  const ColumnsOf<SharesOf<Kind>, kShape, Access::any> columns(a, row_of(a.source, block.image, 0), strip.first, false);
  const int whole = a.window_x / kSegment, rest = a.window_x % kSegment;
  // Rows whose windows share all but one row for each of them.
  const std::int32_t group = a.window_y > 64 ? 16 : 8;
  Four common[kColumns];
  std::int32_t first_of_common = -1;
  for (std::int32_t y = 0; y < strip.rows; y += kStepRows) {
    char* const out = strip.out + y * a.destination.row_bytes;
    unsigned spoiled = 0;  // bit i: pixel i * kSegments + strip.segment of the row
    Pixel made[kSegment];
#pragma unroll
    for (int i = 0; i < kSegment; ++i) {
      const std::int32_t x = i * kSegments + strip.segment;
      const char* const pixel = out + std::int64_t{x} * kShape.pixel_bytes;
      made[i] = {};
      if (!strip.is_made(y) || x < strip.from_x || x >= strip.made) continue;
      made[i] = strip.by_components ? load_components<Kind>(pixel) : *reinterpret_cast<const Pixel*>(pixel);
    }
#pragma unroll
    for (int i = 0; i < kSegment; ++i) spoiled |= Kind::is_finite(made[i]) ? 0U : 1U << i;
    if (!__syncthreads_or(spoiled != 0)) continue;

    // Down columns. Row 0 of `places` lies before the window of row 0.
    const std::int32_t begin = y / group * group;
    if (begin != first_of_common) {
      for (int p = 0; p < kColumns; ++p) common[p] = {};
      sum_rows<SharesOf<Kind>, kAtOnce, kAtOnce>(a, columns, places, begin + group, begin + a.window_y + 1, strip.above, common);
      first_of_common = begin;
    }
    Four sums[kStepRows][kColumns] = {};
    const std::int32_t end = y + kStepRows + a.window_y;
#pragma unroll 1
    for (const bool is_below : {false, true}) {  // rows above and below those that all windows of the group have
      const std::int32_t from = is_below ? begin + max(a.window_y + 1, group) : y + 1, to = is_below ? end : min(begin + group, end);
#pragma unroll 1
      for (std::int32_t i = from; i < to; i += kAtOnce) {
        typename decltype(columns)::Row rows[kAtOnce];
        columns.load(places + i, rows);
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n) {
          columns.settle(a, strip.above + i + n, rows[n]);
#pragma unroll
          for (int p = 0; p < kColumns; ++p) {
            const Four share = Kind::share(a, rows[n].at[p]);
#pragma unroll
            for (int r = 0; r < kStepRows; ++r) {
              const bool is_in = i + n < to && i + n > y + r && i + n <= y + r + a.window_y;
              if (is_in) add(sums[r][p], share);
            }
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kStepRows; ++r) {
#pragma unroll
      for (int p = 0; p < kColumns; ++p) {
        add(sums[r][p], common[p]);
        strip.place(p)[r * kShape.row_pitch()] = sums[r][p];
      }
    }
    __syncthreads();

    // Along a row.
    const Four* const own = strip.own();
    Four all = {};
#pragma unroll
    for (int i = 0; i < kSegment; ++i) add(all, own[i]);
    strip.totals[threadIdx.x] = all;
    __syncthreads();
    if (strip.is_needed) {
      // Windows are the rest of the segment that they begin in, what all of the thread's have in common, and what enters. Those that are
      // shorter than a segment are added up one by one.
      const bool is_short = whole == 0;
      Four middle = {};
      for (int i = 1; i < whole; ++i) add(middle, strip.totals[threadIdx.x + i]);
      const Four* const last = own + whole * Own::kPitch;
      for (int i = 0; i < rest && !is_short; ++i) add(middle, last[i]);
      Four entering = {};
      Pixel some[Own::kPixelsOfPart];
      const auto beyond = [](int column) { return column + (column >= kSegment ? Own::kPitch - kSegment : 0); };
#pragma unroll
      for (int i = 0; i < kSegment; ++i) {
        Four sum = {};
        if (is_short) {
#pragma unroll 1
          for (int n = i; n < i + rest; ++n) add(sum, own[beyond(n)]);
        } else {
#pragma unroll
          for (int n = i; n < kSegment; ++n) add(sum, own[n]);
          add(sum, middle);
          add(sum, entering);
          add(entering, last[beyond(rest + i)]);
        }
        strip.keep(i, Kind::stored(sum), some);
      }
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < kSegment; ++i) {
      if ((spoiled >> i & 1U) != 0) strip.store_pixel(i * kSegments + strip.segment, out);
    }
    __syncthreads();
  }
}

template <class Kind, BoxSegments kShape, Access kAccess>
__device__ void make_strip(const BoxSlide& a, const BlockPlace& block, bool are_aligned, const std::int64_t* places) {
  using Own = BoxStrip<Kind, kShape>;
  using Column = typename Kind::Column;
  using Four = typename Own::Four;
  constexpr int kColumns = Own::kColumns, kStepRows = kShape.step_rows, kSegment = Own::kSegment, kSegments = Own::kSegments;
  constexpr int kPitch = Own::kPitch;
  constexpr bool kIsOfWarp = kShape.is_of_warp();
  extern __shared__ int4 memory[];
  const Own strip(a, block, memory, kAccess != Access::any || are_multiples(a.destination, kShape.pixel_bytes));
  const ColumnsOf<Kind, kShape, kAccess> columns(a, row_of(a.source, block.image, 0), strip.first, are_aligned);
  if constexpr (Kind::can_spoil) {
    // What pixels behind the last that is made are summed of: anything but numbers that are not finite.
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    static_assert(kStepRows * 2 * kPitch <= kShape.threads);
    if (thread < kStepRows * 2 * kPitch) {
      strip.sums[thread / (2 * kPitch) * kShape.row_pitch() + kSegments * kPitch + thread % (2 * kPitch)] = {};
    }
    __syncthreads();
  }

  // The window of the row before the chunk, from block sums or its pixels.
  typename Kind::Sums down[kColumns] = {};
  if (has_blocks(a)) {
    const std::int32_t column = a.first_block + strip.x0 + static_cast<std::int32_t>(threadIdx.x) * kShape.alignment();
    add_blocks<Kind, kColumns, Own::kStep>(a, block, column, down);
  } else {
    sum_rows<Kind, kAccess == Access::any ? kRareRows : kShape.seed_rows(), kShape.seed_rows()>(a, columns, places, 0, a.window_y,
                                                                                                strip.above, down);
  }
  Column* place[kColumns];
#pragma unroll
  for (int p = 0; p < kColumns; ++p) place[p] = strip.place(p);
  const Column* const own = strip.own();
  const int whole = a.window_x / kSegment;  // segments of a window
  const int rest = a.window_x % kSegment;   // and columns of the next one
  const Column* const entering = own + (strip.is_needed ? whole * kPitch : 0) + rest;
  char* out = strip.out;
  bool is_spoiled = false;

  typename ColumnsOf<Kind, kShape, kAccess>::Row leaving[kStepRows], coming[kStepRows];
  columns.load(places, leaving);
  columns.load(places + a.window_y, coming);
  for (std::int32_t y = 0; y < strip.rows; y += kStepRows) {
#pragma unroll
    for (int n = 0; n < kStepRows; ++n) {
      columns.settle(a, strip.above + y + n, leaving[n]);
      columns.settle(a, strip.above + y + n + a.window_y, coming[n]);
#pragma unroll
      for (int p = 0; p < kColumns; ++p) {
        Kind::slide(a, down[p], coming[n].at[p], leaving[n].at[p]);
        place[p][n * kShape.row_pitch()] = Kind::column(down[p]);
      }
    }
    // On their way while these are summed. After the last step, of rows that nobody needs.
    columns.load(places + y + kStepRows, leaving);
    columns.load(places + y + kStepRows + a.window_y, coming);
    __syncthreads();

    Four total = {}, beginning = {};
    Column stay[kSegment];  // from here to the end of the step
    const auto add_up = [&](auto rest_of) {
#pragma unroll
      for (int i = 0; i < kSegment; ++i) {
        if (i == rest_of()) beginning = total;
        stay[i] = own[i];
        Kind::add(total, stay[i]);
      }
    };
    // Most windows are an odd number of half segments wide, and a pixel. That their beginnings are the first column takes no selection.
    if (rest == 1) {
      add_up([] { return 1; });
    } else {
      add_up([&] { return rest; });
    }
    Four sums;
    if constexpr (kIsOfWarp) {
      sums = first_of_warp<kSegments>(whole, total, beginning);
    } else {
      sums = first_of_warps<kShape.threads, kSegments>(strip.is_needed ? whole : 0, total, beginning, strip.totals);
    }
    Kind::begin(a, sums);

    typename Kind::Pixel some[Own::kPixelsOfPart];
#pragma unroll
    for (int i = 0; i < kSegment; ++i) {
      strip.keep(i, Kind::mean(a, sums), some);
      Kind::add(sums, entering[i + (rest + i >= kSegment ? kPitch - kSegment : 0)]);
      Kind::take(sums, stay[i]);
    }
    if constexpr (Kind::can_spoil) is_spoiled = is_spoiled || (strip.is_needed && !Kind::is_finite(sums));
    kIsOfWarp ? __syncwarp() : __syncthreads();
    if (strip.is_made(y)) strip.store(out);
    out += kStepRows * a.destination.row_bytes;
    if constexpr (kIsOfWarp) __syncthreads();  // nobody needs sums of columns any more
  }
  if constexpr (Kind::can_spoil) {
    if (!__syncthreads_or(is_spoiled)) return;
    mend_strip<Kind, kShape>(a, block, places);
  }
}

/// Rare, so it is code of its own, which leaves the registers of the others alone.
template <class Kind, BoxSegments kShape>
__device__ __noinline__ void make_any_strip(const BoxSlide& a, BlockPlace block, const std::int64_t* places) {
  make_strip<Kind, kShape, Access::any>(a, block, false, places);
}

template <class Kind, BoxSegments kShape>
__device__ void box_segments(const BoxSlide& a) {
  extern __shared__ int4 memory[];
  const BlockPlace block = block_place(a);
  const std::int32_t first_row = block.down * a.rows + a.first_y - 1;  // it leaves when the first row of the chunk is made
  const std::int32_t source_rows = kShape.source_rows(a.rows, a.window_y);
  const std::int64_t* const places = find_rows(a, first_row, source_rows, memory + kShape.places_at() / 16);
  constexpr unsigned kPixel = sizeof(typename Kind::Pixel);
  const bool are_aligned = are_multiples(a.source, kPixel * kShape.alignment());
  const std::int32_t first = block.across * a.made + floor_of(a.first_x, kShape.alignment()) * kShape.alignment();
  const Access access = access_to(a, kPixel, are_aligned, first, kShape.reach(), first_row, source_rows);
  if (access == Access::any || !are_multiples(a.destination, kPixel)) {
    make_any_strip<Kind, kShape>(a, block, places);
  } else if (access == Access::together) {
    make_strip<Kind, kShape, Access::together>(a, block, are_aligned, places);
  } else {
    make_strip<Kind, kShape, Access::single>(a, block, are_aligned, places);
  }
}

}  // namespace
}  // namespace mollify::cuda

/// A kernel of shape `form` of an array, by name.
#define MOLLIFY_BOX_SEGMENTS(name, kind, shapes, form)                                                                     \
  __global__ void __launch_bounds__(shapes[form].threads, shapes[form].at_once) name(const __grid_constant__ BoxSlide a) { \
    take_turn();                                                                                                           \
    box_segments<kind, shapes[form]>(a);                                                                                   \
  }
