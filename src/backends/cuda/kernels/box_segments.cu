// Means of windows of bytes, four a pixel. A block of threads moves down a strip of columns. Its threads keep sums of columns of the window
// in registers, two components in a word, and leave those of a few rows in shared memory. There each thread sums up a segment of a row;
// what these come to tells with what the first window of each segment begins. From there the thread slides along its segment. Means go
// through shared memory, so that threads side by side store what lies side by side. What chunks of a strip begin with comes from the pixels
// of their first windows or, where these are high, from sums of blocks of rows, which another kernel makes.
#include "backends/cuda/kernels/box_segments_shape.h"
#include "backends/cuda/kernels/pixels.cuh"

namespace mollify::cuda {
namespace {

constexpr int kSeedRows = kBoxSeedRows;

/// Components 1 and 3 of a pixel, in halves of a word. Sums of whole pixels less 256 times sums of these are sums of components 0 and 2.
__device__ inline unsigned odd_of(unsigned pixel) {
  return __byte_perm(pixel, 0, 0x4341);
}

/// Adds the lower or the upper half of a word, or takes it away.
template <bool kUpper, bool kLeaves>
__device__ inline void add_half(int& sum, unsigned word) {
#ifdef MOLLIFY_EMULATION
  const int half = static_cast<int>(kUpper ? word >> 16 : word & 0xFFFFU);
  sum += kLeaves ? -half : half;
#else
  constexpr unsigned kFactor = (kLeaves ? 0xFFU : 1U) << (kUpper ? 8 : 0);
  asm("dp2a.lo.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(kFactor));
#endif
}

/// Sums of a column, or of columns: of components 0 and 2, and of 1 and 3.
template <bool kLeaves>
__device__ inline void add(int (&sums)[4], uint2 column) {
  add_half<false, kLeaves>(sums[0], column.x);
  add_half<false, kLeaves>(sums[1], column.y);
  add_half<true, kLeaves>(sums[2], column.x);
  add_half<true, kLeaves>(sums[3], column.y);
}

template <int kColumns>
struct alignas(4 * kColumns) Loaded {
  unsigned at[kColumns];
};

/// How a block of threads reads and writes pixels: together, where all that it reads is inside the image; as words; or by bytes, where
/// images or rows begin at no multiples of a pixel.
enum class Access : std::uint8_t { together, words, bytes };

__device__ inline unsigned load_by_bytes(const char* pixel) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(pixel);
  return bytes[0] | unsigned{bytes[1]} << 8 | unsigned{bytes[2]} << 16 | unsigned{bytes[3]} << 24;
}
__device__ inline void store_by_bytes(char* to, unsigned pixel) {
  for (int c = 0; c < 4; ++c) reinterpret_cast<unsigned char*>(to)[c] = static_cast<unsigned char>(pixel >> 8 * c);
}

/// The pixels of a thread in rows of the source.
template <int kColumns, Access kAccess>
class Columns {
 public:
  __device__ Columns(const BoxAny& a, const char* data, std::int32_t first, bool are_aligned) {
    // All threads of a warp go the same way: were it left to each, loads of one way would wait for those of the other.
    is_inside_ = kIsPlain || __all_sync(~0U, are_aligned && first >= 0 && first + kColumns <= a.source.width);
    data_ = data + (is_inside_ ? 4 * std::int64_t{first} : 0);
    if constexpr (!kIsPlain) {
      outside_ = 0;
#pragma unroll
      for (int c = 0; c < 4; ++c) outside_ |= __double2uint_rn(a.outside.value[c]) << 8 * c;
#pragma unroll
      for (int p = 0; p < kColumns; ++p) at_[p] = mapped(a.outside.mode_x, first + p, a.source.width);
    }
  }

  /// Of kRows rows, which lie so many bytes from the first of the image.
  template <int kRows>
  __device__ void load(const std::int64_t* places, Loaded<kColumns> (&v)[kRows]) const {
    if (kIsPlain || (kAccess == Access::words && is_inside_)) {
#pragma unroll
      for (int n = 0; n < kRows; ++n) v[n] = *reinterpret_cast<const Loaded<kColumns>*>(data_ + places[n]);
    } else {
#pragma unroll
      for (int n = 0; n < kRows; ++n) {
#pragma unroll
        for (int p = 0; p < kColumns; ++p) v[n].at[p] = load_one(data_ + places[n] + 4 * std::int64_t{max(at_[p], 0)});
      }
    }
  }

  /// Puts the constant of a border where it stands.
  __device__ void settle(bool is_outside, Loaded<kColumns>& v) const {
#pragma unroll
    for (int p = 0; p < kColumns; ++p) {
      if (is_outside || at_[p] < 0) v.at[p] = outside_;
    }
  }

 private:
  static constexpr bool kIsPlain = kAccess == Access::together;

  static __device__ unsigned load_one(const char* pixel) {
    return kAccess == Access::bytes ? load_by_bytes(pixel) : *reinterpret_cast<const unsigned*>(pixel);
  }

  const char* data_;
  int at_[kIsPlain ? 1 : kColumns];
  unsigned outside_;
  bool is_inside_;
};

/// Means of four sums, as the bytes of a pixel.
template <bool kByFloats>
__device__ inline unsigned mean_of(const BoxAny& a, const int (&sums)[4]) {
  unsigned means[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if constexpr (kByFloats) {
      // Sums are the lower bits of floats of 2^23 and more, and so are means in the end.
      constexpr float kWhole = 8388608.0F;
      means[c] = __float_as_uint(fmaf(__int_as_float(sums[c]) - kWhole, a.scale, kWhole));
    } else {
      means[c] = __umulhi(static_cast<unsigned>(sums[c]), a.factor);
    }
  }
  const unsigned pair = kByFloats ? 0x40U : 0x40U + 0x11U * (a.shift / 8);
  return __byte_perm(__byte_perm(means[0], means[1], pair), __byte_perm(means[2], means[3], pair), 0x5410);
}

/// Sums of rows from `first` to before `last`, so many of which are loaded together: of whole pixels, and of components 1 and 3.
template <int kAtOnce, int kColumns, Access kAccess, class IsOutside>
__device__ inline void sum_rows(const Columns<kColumns, kAccess>& columns, const std::int64_t* places, std::int32_t first,
                                std::int32_t last, bool settles, const IsOutside& is_outside, unsigned (&words)[kColumns],
                                unsigned (&odd)[kColumns]) {
  for (std::int32_t y = first; y < last; y += kAtOnce) {
    Loaded<kColumns> some[kAtOnce];
    columns.load(places + y, some);
#pragma unroll
    for (int n = 0; n < kAtOnce; ++n) {
      if (y + n >= last) break;
      if (settles) columns.settle(is_outside(y + n), some[n]);
#pragma unroll
      for (int p = 0; p < kColumns; ++p) {
        words[p] += some[n].at[p];
        odd[p] += odd_of(some[n].at[p]);
      }
    }
  }
}

__device__ inline bool has_blocks(const BoxSlide& a) {
  return a.whole > 0 || a.part > 0;
}

/// The same of a chunk's first window, of blocks: those from the chunk's own on. Rows of block sums are pairs: of whole blocks, and of
/// their beginnings.
template <int kColumns>
__device__ inline void add_blocks(const BoxSlide& a, const BlockPlace& block, std::int32_t column, unsigned (&words)[kColumns],
                                  unsigned (&odd)[kColumns]) {
  const auto add_row = [&](std::int32_t row) {
    const auto* const sums = reinterpret_cast<const uint2*>(row_of(a.blocks, block.image, row)) + column;
#pragma unroll
    for (int p = 0; p < kColumns; ++p) {
      const uint2 v = sums[p];
      words[p] += v.x;
      odd[p] += v.y;
    }
  };
#pragma unroll 2
  for (int i = 0; i < a.whole; ++i) add_row(2 * (block.down + i));
  if (a.part > 0) add_row(2 * (block.down + a.whole) + 1);
}

/// The window that a thread's segment begins with: `whole` segments from its own on, and the beginning of the next one. `total`: of its
/// own segment's beginning; `complete()` makes it that of the whole segment. A thread behind which there are too few gets anything.
template <int kSegments, class Complete>
__device__ inline void first_of_warp(int whole, int (&total)[4], const Complete& complete, int (&sums)[4]) {
#pragma unroll
  for (int c = 0; c < 4; ++c) sums[c] = __shfl_down_sync(~0U, total[c], whole, kSegments);
  complete();
  // Of 1, 2, 4, ... segments from each on.
  for (int count = 1; count <= whole; count *= 2) {
    if ((whole & count) != 0) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sums[c] += __shfl_down_sync(~0U, total[c], whole & (count - 1), kSegments);
    }
    if (2 * count <= whole) {
#pragma unroll
      for (int c = 0; c < 4; ++c) total[c] += __shfl_down_sync(~0U, total[c], count, kSegments);
    }
  }
}

template <int kForm, bool kByFloats, Access kAccess>
__device__ void make_strip(const BoxSlide& a, const BlockPlace& block, bool are_aligned, const std::int64_t* places) {
  constexpr BoxSegments kShape = kBoxSegments[kForm];
  constexpr int kColumns = kShape.columns, kStepRows = kShape.step_rows;
  constexpr int kSegment = kShape.segment(), kSegments = kShape.segments(), kPitch = kShape.segment_pitch();
  extern __shared__ int4 memory[];
  auto* const sums_of_columns = reinterpret_cast<uint2*>(memory);
  int4* const totals = memory + kShape.totals_at() / 16;
  constexpr bool kIsOfWarp = kShape.is_of_warp();
  const auto wait = [] { kIsOfWarp ? __syncwarp() : __syncthreads(); };

  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t x0 = block.across * a.made;
  const std::int32_t y0 = block.down * a.rows;
  const std::int32_t rows = min(a.rows, a.destination.height - y0);
  const std::int32_t made = min(a.made, a.destination.width - x0);
  const std::int32_t lead = a.first_x - floor_of(a.first_x, kColumns) * kColumns;  // columns before the first that a window needs
  const Columns<kColumns, kAccess> columns(a, row_of(a.source, block.image, 0), x0 + a.first_x - lead + thread * kColumns, are_aligned);
  const auto is_outside = [&](std::int32_t i) {
    const std::int32_t row = y0 + a.first_y - 1 + i;
    return a.outside.mode_y == kConstant && (row < 0 || row >= a.source.height);
  };
  const bool settles = kAccess != Access::together && (a.outside.mode_x == kConstant || a.outside.mode_y == kConstant);

  // The window of the row before the chunk, from block sums or its pixels.
  unsigned words[kColumns] = {}, odd[kColumns] = {};
  if (has_blocks(a)) {
    add_blocks(a, block, a.first_block + x0 + thread * kColumns, words, odd);
  } else {
    sum_rows<kSeedRows>(columns, places, 0, a.window_y, settles, is_outside, words, odd);
  }
  // Where the sums of the thread's columns lie in a row: the first `lead` of a strip in the segment before the first.
  uint2* place[kColumns];
#pragma unroll
  for (int p = 0; p < kColumns; ++p) {
    const int i = thread * kColumns + p - lead + kSegment;
    place[p] = sums_of_columns + i / kSegment * kPitch + i % kSegment;
  }
  const int own_row = thread / kSegments;
  const int segment = thread % kSegments;
  uint2* const row = sums_of_columns + own_row * kShape.row_pitch();
  const uint2* const own = row + (segment + 1) * kPitch;
  const int whole = a.window_x / kSegment;  // segments of a window
  const int rest = a.window_x % kSegment;   // and columns of the next one
  const bool is_needed = segment * kSegment < made;
  const uint2* const entering = own + (is_needed ? whole * kPitch : 0) + rest;
  const bool stores_pairs = a.destination.data % 8 == 0 && a.destination.row_bytes % 8 == 0 && a.destination.image_bytes % 8 == 0;
  char* out = row_of(a.destination, block.image, y0 + own_row) + 4 * std::int64_t{x0};

  Loaded<kColumns> leaving[kStepRows], coming[kStepRows];
  columns.load(places, leaving);
  columns.load(places + a.window_y, coming);
  for (std::int32_t y = 0; y < rows; y += kStepRows) {
#pragma unroll
    for (int n = 0; n < kStepRows; ++n) {
      if (settles) {
        columns.settle(is_outside(y + n), leaving[n]);
        columns.settle(is_outside(y + n + a.window_y), coming[n]);
      }
#pragma unroll
      for (int p = 0; p < kColumns; ++p) {
        words[p] += coming[n].at[p] - leaving[n].at[p];
        odd[p] += odd_of(coming[n].at[p]) - odd_of(leaving[n].at[p]);
        place[p][n * kShape.row_pitch()] = make_uint2(words[p] - 256U * odd[p], odd[p]);
      }
    }
    // On their way while these are summed. After the last step, of rows that nobody needs.
    columns.load(places + y + kStepRows, leaving);
    columns.load(places + y + kStepRows + a.window_y, coming);
    __syncthreads();

    int total[4] = {}, sums[4];
#pragma unroll 4
    for (int i = 0; i < rest; ++i) add<false>(total, own[i]);
    if constexpr (kIsOfWarp) {
      first_of_warp<kSegments>(
          whole, total,
          [&] {
#pragma unroll 4
            for (int i = rest; i < kSegment; ++i) add<false>(total, own[i]);
          },
          sums);
    } else {
      const int4 beginning = make_int4(total[0], total[1], total[2], total[3]);
#pragma unroll 4
      for (int i = rest; i < kSegment; ++i) add<false>(total, own[i]);
      totals[2 * thread] = make_int4(total[0], total[1], total[2], total[3]);
      totals[2 * thread + 1] = beginning;
      __syncthreads();
      const int4* from = totals + 2 * thread;
      const int there = is_needed ? whole : 0;
      int4 sum = from[2 * there + 1];
#pragma unroll 4
      for (int i = 0; i < there; ++i) {
        const int4 v = from[2 * i];
        sum = make_int4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
      }
      sums[0] = sum.x, sums[1] = sum.y, sums[2] = sum.z, sums[3] = sum.w;
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) sums[c] += kByFloats ? 0x4B000000 : static_cast<int>(a.half);

    unsigned means[kSegment];
#pragma unroll
    for (int i = 0; i < kSegment; ++i) {
      means[i] = mean_of<kByFloats>(a, sums);
      add<false>(sums, entering[i + (rest + i >= kSegment ? 1 : 0)]);
      add<true>(sums, own[i]);
    }
    wait();  // nobody needs the row's sums any more
    constexpr int kPairs = kSegment / 2;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) row[segment * (kPairs + 1) + i] = make_uint2(means[2 * i], means[2 * i + 1]);
    wait();
    if (y + own_row < rows) {
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const int n = i * kSegments + segment;
        const uint2 pair = row[n / kPairs * (kPairs + 1) + n % kPairs];
        auto* const to = reinterpret_cast<unsigned*>(out) + 2 * n;
        if constexpr (kAccess == Access::bytes) {
          if (2 * n < made) store_by_bytes(out + 8 * n, pair.x);
          if (2 * n + 1 < made) store_by_bytes(out + 8 * n + 4, pair.y);
        } else if (stores_pairs && 2 * n + 1 < made) {
          *reinterpret_cast<uint2*>(to) = pair;
        } else {
          if (2 * n < made) to[0] = pair.x;
          if (2 * n + 1 < made) to[1] = pair.y;
        }
      }
    }
    out += kStepRows * a.destination.row_bytes;
    __syncthreads();
  }
}

/// The place of each row that a block of threads reads, counted from the first of the image.
__device__ inline std::int64_t* find_rows(const BoxAny& a, std::int32_t first, std::int32_t count, int4* memory) {
  auto* const places = reinterpret_cast<std::int64_t*>(memory);
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < count; i += static_cast<std::int32_t>(blockDim.x)) {
    places[i] = max(mapped(a.outside.mode_y, first + i, a.source.height), 0) * a.source.row_bytes;
  }
  __syncthreads();
  return places;
}

/// Whether a block of threads reads nothing beyond the edges, and pixels may be loaded together.
__device__ inline bool is_plain(const BoxAny& a, bool are_aligned, std::int32_t first_column, std::int32_t columns, std::int32_t first_row,
                                std::int32_t rows) {
  const bool are_columns_inside = first_column >= 0 && first_column + columns <= a.source.width;
  const bool are_rows_inside = a.outside.mode_y != kConstant || (first_row >= 0 && first_row + rows <= a.source.height);
  return are_aligned && are_columns_inside && are_rows_inside;
}

/// Whether rows of all images begin at multiples of so many pixels.
template <int kColumns>
__device__ inline bool are_columns_aligned(const Pixels& images) {
  const std::uint64_t bits = images.data | static_cast<std::uint64_t>(images.row_bytes) | static_cast<std::uint64_t>(images.image_bytes);
  return bits % sizeof(Loaded<kColumns>) == 0;
}

/// Rare, so it is code of its own, which leaves the registers of the others alone.
template <int kForm, bool kByFloats>
__device__ __noinline__ void make_strip_by_bytes(const BoxSlide& a, BlockPlace block, const std::int64_t* places) {
  make_strip<kForm, kByFloats, Access::bytes>(a, block, false, places);
}

template <int kForm, bool kByFloats>
__device__ void box_segments(const BoxSlide& a) {
  constexpr BoxSegments kShape = kBoxSegments[kForm];
  constexpr std::int32_t kColumns = kShape.columns;
  extern __shared__ int4 memory[];
  const BlockPlace block = block_place(a);
  const std::int32_t first_row = block.down * a.rows + a.first_y - 1;  // it leaves when the first row of the chunk is made
  const std::int32_t source_rows = kShape.source_rows(a.rows, a.window_y);
  const std::int64_t* const places = find_rows(a, first_row, source_rows, memory + kShape.places_at() / 16);
  const bool are_aligned = are_columns_aligned<kColumns>(a.source);
  const std::int32_t first = block.across * a.made + floor_of(a.first_x, kColumns) * kColumns;
  if (!are_columns_aligned<1>(a.source) || !are_columns_aligned<1>(a.destination)) {
    make_strip_by_bytes<kForm, kByFloats>(a, block, places);
  } else if (is_plain(a, are_aligned, first, kShape.reach(), first_row, source_rows)) {
    make_strip<kForm, kByFloats, Access::together>(a, block, are_aligned, places);
  } else {
    make_strip<kForm, kByFloats, Access::words>(a, block, are_aligned, places);
  }
}

/// Sums of columns of a block of rows, and of its first a.window_y rows. The warps of a block of threads share out the rows.
template <Access kAccess>
__device__ void sum_block(const BoxAny& a, const BlockPlace& block, bool are_aligned, const std::int64_t* places, uint4* sums) {
  constexpr int kColumns = kBoxBlockColumns, kWarps = kBoxBlockThreads / 32;
  constexpr int kPairs = kBoxBlockReach / 2;  // of columns: the first threads add up one each
  static_assert(kColumns == 4 && kPairs <= kBoxBlockThreads);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t lane = thread % 32, warp = thread / 32;
  const std::int32_t first_column = block.across * kBoxBlockReach;
  const Columns<kColumns, kAccess> columns(a, row_of(a.source, block.image, 0), a.first_x + first_column + lane * kColumns, are_aligned);
  const auto is_outside = [&](std::int32_t i) {
    const std::int32_t row = block.down * a.rows + a.first_y + i;
    return a.outside.mode_y == kConstant && (row < 0 || row >= a.source.height);
  };
  const bool settles = kAccess != Access::together && (a.outside.mode_x == kConstant || a.outside.mode_y == kConstant);
  uint4 all{};
  const auto add_rows = [&](std::int32_t first, std::int32_t last, int kind) {
    const std::int32_t share = (last - first + kWarps - 1) / kWarps;
    const std::int32_t begin = min(first + warp * share, last);
    unsigned words[kColumns] = {}, odd[kColumns] = {};
    sum_rows<kBoxBlockRows>(columns, places, begin, min(begin + share, last), settles, is_outside, words, odd);
    __syncthreads();  // those of before have been read
    sums[warp * kPairs + 2 * lane] = make_uint4(words[0], odd[0], words[1], odd[1]);
    sums[warp * kPairs + 2 * lane + 1] = make_uint4(words[2], odd[2], words[3], odd[3]);
    __syncthreads();
    if (thread >= kPairs) return;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const uint4 v = sums[w * kPairs + thread];
      all = make_uint4(all.x + v.x, all.y + v.y, all.z + v.z, all.w + v.w);
    }
    const std::int32_t column = first_column + 2 * thread;
    if (column >= a.destination.width) return;
    *reinterpret_cast<uint4*>(row_of(a.destination, block.image, 2 * block.down + kind) + 8 * std::int64_t{column}) = all;
  };
  add_rows(0, a.window_y, 1);
  add_rows(a.window_y, a.rows, 0);
}

__device__ __noinline__ void sum_block_by_bytes(const BoxAny& a, BlockPlace block, const std::int64_t* places, uint4* sums) {
  sum_block<Access::bytes>(a, block, false, places, sums);
}

__device__ inline void box_blocks(const BoxAny& a) {
  extern __shared__ int4 memory[];
  const BlockPlace block = block_place(a);
  const std::int32_t first_row = block.down * a.rows + a.first_y;
  auto* const sums = reinterpret_cast<uint4*>(memory);
  const std::int64_t* const places = find_rows(a, first_row, a.rows + kBoxBlockRows, memory + kBoxBlockSumsBytes / 16);
  const bool are_aligned = are_columns_aligned<kBoxBlockColumns>(a.source) && a.first_x % kBoxBlockColumns == 0;
  if (!are_columns_aligned<1>(a.source)) {
    sum_block_by_bytes(a, block, places, sums);
  } else if (is_plain(a, are_aligned, a.first_x + block.across * kBoxBlockReach, kBoxBlockReach, first_row, a.rows)) {
    sum_block<Access::together>(a, block, are_aligned, places, sums);
  } else {
    sum_block<Access::words>(a, block, are_aligned, places, sums);
  }
}

}  // namespace

// A form of kBoxSegments, and how means are made.
#define MOLLIFY_OF_BOX_SEGMENTS(add) add(0, floats) add(0, integers) add(1, floats) add(1, integers) add(2, floats) add(2, integers)

constexpr bool floats = true, integers = false;
#define MOLLIFY_BOX_SEGMENTS(form, means)                                                   \
  __global__ void __launch_bounds__(kBoxSegments[form].threads, kBoxSegments[form].at_once) \
      box_segments_4_u8_##form##_##means(const __grid_constant__ BoxSlide a) {              \
    box_segments<form, means>(a);                                                           \
  }

extern "C" {
MOLLIFY_OF_BOX_SEGMENTS(MOLLIFY_BOX_SEGMENTS)

__global__ void __launch_bounds__(kBoxBlockThreads, kBoxBlocksAtOnce) box_blocks_4_u8(const __grid_constant__ BoxAny a) {
  box_blocks(a);
}
}

}  // namespace mollify::cuda
