// How each CPU kernel divides its scratch memory. The planner asks for the size, the kernel for the places.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "mollify/spec.h"

namespace mollify::cpu {

inline constexpr std::int64_t kRowGroup = 4;      ///< rows that a vertical filter makes at once, from one load of each input
inline constexpr std::int64_t kPadElements = 64;  ///< after every row, so that whole vectors may be stored at its end

inline constexpr std::int64_t kBoxRows = 4;          ///< rows that a box makes at once
inline constexpr std::int64_t kBoxGroup = 16;        ///< floats of neighbouring rows that windows are summed of together
inline constexpr std::int64_t kBoxChunk = 128;       ///< pixels that floats take from stage to stage
inline constexpr std::int64_t kBoxSteppedRows = 64;  ///< source rows at most between windows of floats, where rows lie a step apart

inline constexpr std::int64_t kDecimateRows = 16;    ///< source rows that are added to the sums at once
inline constexpr std::int64_t kCoarseBlock = 128;    ///< taps of the grid's kernel that are summed by themselves
inline constexpr std::int64_t kSlideFactor = 8;      ///< up to which sums of several coarse rows are kept in registers
inline constexpr std::int64_t kSlideGroups = 4;      ///< coarse rows at once then
inline constexpr std::int64_t kDecimatedAtOnce = 4;  ///< coarse samples that are made at once horizontally, the last of a row too
inline constexpr std::int64_t kMixRows = 16;         ///< at most, that are mixed a piece at a time
inline constexpr std::int64_t kMixElements = 1024;   ///< of such a piece
inline constexpr double kCutPartScale = 0.5;         ///< of what they make: a part may be a little larger than the largest float
inline constexpr std::int64_t kExpandLanes = 16;     ///< the widest vector that the expansion is laid out for
inline constexpr std::int64_t kExpandPattern = 128;  ///< components: shorter patterns are repeated up to here
inline constexpr int kMaxSupport = 8;                ///< coarse samples that one output is expanded from on an axis

/// Hands out 64-byte aligned pieces; with a null base it only measures.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  T* take(std::int64_t count) {
    std::byte* piece = base_ ? base_ + used_ : nullptr;
    used_ += (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
    return reinterpret_cast<T*>(piece);
  }
  [[nodiscard]] std::int64_t used() const { return used_; }

 private:
  std::byte* base_;
  std::int64_t used_ = 0;
};

/// Elements from one row to the next: padded, whole cache lines.
[[nodiscard]] constexpr std::int64_t row_stride(std::int64_t elements) {
  return (elements + 15) / 16 * 16 + kPadElements;
}

/// Taps of an axis, and pixels from one output to the next.
struct TapsShape {
  std::int64_t taps;
  std::int64_t step = 1;
};

template <class T>
struct SepFusedScratch {
  std::int64_t stride;  ///< elements between rows of `ring` and of `out`
  std::int64_t ring_rows;
  std::int64_t part_stride;    ///< elements between the parts of `parts`
  T* decoded;                  ///< one source row with its halo
  T* parts = nullptr;          ///< where there is a step along rows: the same, every step-th pixel together
  const T** inputs = nullptr;  ///< and where each tap begins in them
  T* ring;                     ///< rows that are filtered horizontally
  T* out;                      ///< kRowGroup rows
  const T** rows;              ///< ring_rows pointers, in image order
  std::int64_t bytes;

  SepFusedScratch(std::byte* base, std::int64_t tile_columns, TapsShape x, TapsShape y, int channels) {
    Carver carver(base);
    stride = row_stride(tile_columns * channels + kPadElements);  // a line that is skipped, too
    ring_rows = y.taps + (kRowGroup - 1) * y.step;
    const std::int64_t columns = (tile_columns - 1) * x.step + x.taps;
    decoded = carver.take<T>(row_stride(columns * channels));
    part_stride = row_stride((columns + x.step - 1) / x.step * channels);
    if (x.step > 1) {
      parts = carver.take<T>(part_stride * x.step);
      inputs = carver.take<const T*>(x.taps);
    }
    ring = carver.take<T>(stride * ring_rows);
    out = carver.take<T>(stride * kRowGroup);
    rows = carver.take<const T*>(ring_rows);
    bytes = carver.used();
  }
};

struct SepFusedU8Scratch {
  std::int64_t stride;  ///< elements between rows of `ring`
  std::int64_t ring_rows;
  std::uint16_t* wide;         ///< one source row with its halo
  std::uint16_t* ring;         ///< rows that are filtered horizontally
  std::uint8_t* out;           ///< one row
  const std::uint16_t** rows;  ///< ring_rows pointers, in image order
  std::int64_t bytes;

  SepFusedU8Scratch(std::byte* base, std::int64_t tile_columns, std::int64_t radius_x, std::int64_t radius_y, int channels) {
    constexpr std::int64_t kVectors = 2 * kPadElements;  // four of the widest, of 16 bits, and a line that is skipped
    Carver carver(base);
    stride = row_stride(tile_columns * channels + kVectors);
    ring_rows = 2 * radius_y + kRowGroup;
    wide = carver.take<std::uint16_t>(row_stride((tile_columns + 2 * radius_x) * channels + kVectors));
    ring = carver.take<std::uint16_t>(stride * ring_rows);
    out = carver.take<std::uint8_t>(stride * kRowGroup);
    rows = carver.take<const std::uint16_t*>(ring_rows);
    bytes = carver.used();
  }
};

/// Elements of 16 bits from one row to the next: whole lines, with vectors skipped before a row and read beyond it.
[[nodiscard]] constexpr std::int64_t level_stride(std::int64_t elements) {
  constexpr std::int64_t kVectors = 4 * kPadElements;
  return (elements + kVectors + 31) / 32 * 32;
}

struct SepFusedU8ApartScratch {
  std::int64_t stride;           ///< elements between rows of `ring`
  std::int64_t ring_rows;        ///< that one output row is made from
  std::int64_t part_stride;      ///< elements between the parts of `parts`
  std::uint16_t* ring;           ///< source rows with their halo
  const std::uint16_t** rows;    ///< ring_rows pointers, in image order
  std::uint16_t* sums;           ///< one row, filtered vertically
  std::uint16_t* parts;          ///< the same, every step-th pixel together
  const std::uint16_t** inputs;  ///< where each tap begins in them
  std::uint16_t* filtered;       ///< and horizontally
  std::uint8_t* out;             ///< one row of the destination
  std::int64_t bytes;

  SepFusedU8ApartScratch(std::byte* base, std::int64_t tile_columns, TapsShape x, TapsShape y, int channels) {
    const std::int64_t columns = (tile_columns - 1) * x.step + x.taps;
    Carver carver(base);
    stride = level_stride(columns * channels);
    ring_rows = y.taps;
    part_stride = level_stride((columns + x.step - 1) / x.step * channels);
    ring = carver.take<std::uint16_t>(stride * ring_rows);
    rows = carver.take<const std::uint16_t*>(ring_rows);
    sums = carver.take<std::uint16_t>(stride);
    parts = x.step > 1 ? carver.take<std::uint16_t>(part_stride * x.step) : sums;
    inputs = carver.take<const std::uint16_t*>(x.taps);
    filtered = carver.take<std::uint16_t>(level_stride(tile_columns * channels));
    out = carver.take<std::uint8_t>(2 * level_stride(tile_columns * channels));
    bytes = carver.used();
  }
};

inline constexpr int kMaxPyramidLevels = 4;

/// What a tile needs of each level of a pyramid on one axis. Pixel m of a level is made from pixels 2m - 2 to 2m + 2 of the
/// level below it on the way down, and from pixels around m / 2 of the level above it on the way up.
struct PyramidAxis {
  struct Span {
    std::int64_t first, count;
  };
  std::array<Span, kMaxPyramidLevels + 1> down, up;

  PyramidAxis(std::int64_t first, std::int64_t count, int levels, std::int64_t radius) {
    const auto half = [](std::int64_t i) { return (i >= 0 ? i : i - 1) / 2; };
    const auto top = static_cast<std::size_t>(levels);
    std::int64_t begin = first, last = first + count - 1;
    for (int level = 0; level < levels; ++level) begin = half(begin) - 1, last = half(last) + 1;
    up[top] = {begin, last - begin + 1};
    down[top] = {begin - radius, up[top].count + 2 * radius};
    for (std::size_t level = top; level > 0; --level) {
      up[level - 1] = {2 * (up[level].first + 1), 2 * (up[level].count - 2)};
      down[level - 1] = {2 * down[level].first - 2, 2 * down[level].count + 3};
    }
  }
};

inline constexpr std::int64_t kHalvedRows = 2 * kRowGroup + 3;  ///< that a row group of a level is made from
inline constexpr std::int64_t kDownRows = 16;                   ///< of a ring: kHalvedRows, and what is made beyond
inline constexpr std::int64_t kUpRows = 8;  ///< of a ring: kRowGroup that a row group is made from, and as many made beyond

struct GaussPyramidScratch {
  int channels;  ///< of a level's pixels: three take the room of four
  std::int64_t half_stride;
  std::uint16_t* half;    ///< kRowGroup rows, halved vertically
  std::uint16_t* spread;  ///< one row of three channels with the room of four, or the other way round
  std::uint8_t* outside;  ///< a source row of the border's constant
  std::array<std::int64_t, kMaxPyramidLevels + 1> down_stride{}, up_stride{};
  std::array<std::uint16_t*, kMaxPyramidLevels + 1> down{};  ///< rings of rows of a level
  std::array<std::uint16_t*, kMaxPyramidLevels + 1> up{};    ///< rings of rows of a level, doubled horizontally
  std::uint16_t* top;                                        ///< a row of the last level
  std::int64_t ring_stride, ring_rows;
  std::uint16_t* ring;         ///< such rows, filtered horizontally
  const std::uint16_t** rows;  ///< 2 * radius_y + kRowGroup pointers, in order
  std::int64_t group_stride;
  std::uint16_t* group;  ///< kRowGroup rows of a level on the way up
  std::int64_t out_stride;
  std::uint8_t* out;  ///< kRowGroup rows
  std::int64_t bytes;

  GaussPyramidScratch(std::byte* base, std::int64_t tile_columns, int levels, std::int64_t radius_x, std::int64_t radius_y,
                      int image_channels)
      : channels(image_channels == 3 ? 4 : image_channels) {
    const PyramidAxis x(0, tile_columns + (std::int64_t{1} << levels), levels, radius_x);  // wherever the tile begins
    const auto stride_of = [&](std::int64_t pixels) { return level_stride(pixels * channels); };
    Carver carver(base);
    const auto top_level = static_cast<std::size_t>(levels);
    half_stride = stride_of(x.down[0].count);
    half = carver.take<std::uint16_t>(half_stride * kRowGroup);
    spread = carver.take<std::uint16_t>(std::max(half_stride, stride_of(x.up[0].count)));
    outside = carver.take<std::uint8_t>(half_stride);
    for (std::size_t level = 1; level <= top_level; ++level) {
      down_stride[level] = stride_of(x.down[level].count);
      up_stride[level] = stride_of(x.up[level - 1].count);
      if (level < top_level) down[level] = carver.take<std::uint16_t>(down_stride[level] * kDownRows);
      up[level] = carver.take<std::uint16_t>(up_stride[level] * kUpRows);
    }
    top = carver.take<std::uint16_t>(down_stride[top_level]);
    ring_stride = stride_of(x.up[top_level].count);
    ring_rows = 2 * radius_y + 2 * kRowGroup;
    ring = carver.take<std::uint16_t>(ring_stride * ring_rows);
    rows = carver.take<const std::uint16_t*>(2 * radius_y + kRowGroup);
    group_stride = stride_of(x.up[1].count);
    group = carver.take<std::uint16_t>(group_stride * kRowGroup);
    out_stride = row_stride(tile_columns * channels) + 2 * kPadElements;
    out = carver.take<std::uint8_t>(out_stride * kRowGroup);
    bytes = carver.used();
  }
};

/// The columns that a tile of a cut Gaussian needs: what its levels and its window see.
struct CutSpan {
  PyramidAxis levels;
  std::int64_t first, count;

  CutSpan(std::int64_t begin, std::int64_t length, int level_count, std::int64_t reach, std::int64_t radius)
      : levels(begin, length, level_count, reach), first(std::min(levels.down[0].first, begin - radius)) {
    count = std::max(levels.down[0].first + levels.down[0].count, begin + length + radius) - first;
  }
};

/// What GaussCut needs to know of one axis to divide its scratch.
struct CutShape {
  int levels;
  std::int64_t reach, radius;
};

struct GaussCutScratch {
  int channels;           ///< of a level's pixels: three take the room of four
  std::int64_t stride;    ///< between rows of all columns
  std::uint8_t* outside;  ///< a source row of the border's constant
  std::int64_t* mapped;   ///< the image's column that each column stands for
  std::int64_t byte_rows, byte_stride;
  std::uint8_t* bytes_ring;                                  ///< source rows as they go on beyond the image
  std::uint16_t* sums;                                       ///< of the window's rows
  std::array<std::uint16_t*, kMaxPyramidLevels + 1> down{};  ///< rings of rows of a level; that of the last is `ring`
  std::array<std::uint16_t*, kMaxPyramidLevels + 1> up{};    ///< rings of rows of a level on the way up
  std::int64_t ring_rows;
  std::uint16_t* ring;
  const std::uint16_t** rows;                                   ///< 2 * reach + kRowGroup pointers, in order
  std::uint16_t* vertical;                                      ///< kRowGroup rows, blurred vertically
  std::uint16_t* spread;                                        ///< a row of three channels with the room of four
  std::uint16_t* spread_sums;                                   ///< and its sums
  std::array<std::uint16_t*, kMaxPyramidLevels + 1> halved{};   ///< a row of each level on the way down
  std::array<std::uint16_t*, kMaxPyramidLevels + 1> doubled{};  ///< and up
  std::uint16_t* smooth;                                        ///< kRowGroup rows, doubled to all columns
  std::uint16_t* running;                                       ///< kRowGroup rows of sums of all columns before
  std::uint8_t* out;                                            ///< kRowGroup rows
  std::int64_t bytes;

  GaussCutScratch(std::byte* base, std::int64_t tile_columns, CutShape x, CutShape y, int image_channels)
      : channels(image_channels == 3 ? 4 : image_channels) {
    const CutSpan columns(0, tile_columns + (std::int64_t{1} << x.levels), x.levels, x.reach, x.radius);
    Carver carver(base);
    stride = level_stride(columns.count * channels);
    const auto take_rows = [&](std::int64_t count) { return carver.take<std::uint16_t>(stride * count); };
    outside = carver.take<std::uint8_t>(stride);
    mapped = carver.take<std::int64_t>(columns.count);
    // From the row that leaves the window to the last that has entered it, or that a level is made from: each level is at
    // most a row group ahead of what is asked of it.
    byte_rows = std::max(y.radius + kRowGroup, (y.reach + 4 * kRowGroup) << y.levels) + y.radius + 1;
    byte_stride = level_stride(columns.count * image_channels);
    bytes_ring = carver.take<std::uint8_t>(byte_stride * byte_rows);
    sums = take_rows(1);
    for (std::size_t level = 1; level <= static_cast<std::size_t>(y.levels); ++level) {
      up[level] = take_rows(kUpRows);
      if (level < static_cast<std::size_t>(y.levels)) down[level] = take_rows(kDownRows);
    }
    ring_rows = (2 * y.reach + 3 * kRowGroup - 1) / kRowGroup * kRowGroup;  // row groups never wrap
    ring = take_rows(ring_rows);
    rows = carver.take<const std::uint16_t*>(2 * y.reach + kRowGroup);
    vertical = take_rows(kRowGroup);
    spread = take_rows(1);
    spread_sums = take_rows(1);
    for (std::size_t level = 1; level <= static_cast<std::size_t>(x.levels); ++level) {
      const auto take_row = [&](PyramidAxis::Span span) { return carver.take<std::uint16_t>(level_stride(span.count * channels)); };
      halved[level] = take_row(columns.levels.down[level]);
      doubled[level] = take_row(columns.levels.up[level]);
    }
    smooth = take_rows(kRowGroup);
    running = take_rows(kRowGroup);
    out = carver.take<std::uint8_t>(stride * kRowGroup);
    bytes = carver.used();
  }
};

template <class T>
struct NxnDirectScratch {
  std::int64_t stride;
  T* ring;
  T* out;
  const T** rows;
  std::int64_t bytes;

  NxnDirectScratch(std::byte* base, std::int64_t tile_columns, std::int64_t width, std::int64_t height, int channels) {
    Carver carver(base);
    stride = row_stride((tile_columns + width - 1) * channels);
    ring = carver.take<T>(stride * height);
    out = carver.take<T>(stride);
    rows = carver.take<const T*>(height);
    bytes = carver.used();
  }
};

struct BoxIntegerScratch {
  std::int64_t stride;     ///< elements between rows of `sums` and of `out`
  std::uint32_t* sums;     ///< vertical sums of the tile's columns with their halo, of 16 bits where they suffice: kBoxRows
                           ///< rows, or one row and kBoxRows interleaved ones
  std::uint16_t* outside;  ///< a source row of the border's constant
  float* out;              ///< kBoxRows rows, of finished bytes in the end
  std::int64_t bytes;

  BoxIntegerScratch(std::byte* base, std::int64_t tile_columns, std::int64_t window_x, int channels) {
    Carver carver(base);
    stride = row_stride((tile_columns + window_x - 1) * channels) + kPadElements;
    sums = carver.take<std::uint32_t>(kPadElements + stride * (kBoxRows + 1));
    outside = carver.take<std::uint16_t>(stride);
    out = carver.take<float>(stride * kBoxRows);
    bytes = carver.used();
  }
};

/// Rows of floats that a box makes at once: so many that one pixel of each fills a group of kBoxGroup numbers, in which
/// pixels of three channels take the room of four.
[[nodiscard]] constexpr std::int64_t box_float_rows(int channels) {
  return channels == 1 ? kBoxGroup : channels == 2 ? kBoxGroup / 2 : kBoxGroup / 4;
}

/// Source rows that sums step down at most before windows are made of the means of some of them, `step` rows apart.
[[nodiscard]] constexpr std::int64_t box_stepped_rows(int channels, std::int64_t step) {
  return step == 1 ? box_float_rows(channels) : std::min(box_float_rows(channels) * step, kBoxSteppedRows);
}

/// Pairs of pixels that every window along a row covers whole, wherever it begins, see FloatWindows.
[[nodiscard]] constexpr std::int64_t box_pairs(std::int64_t window) {
  return (window - 1) / 2;
}

/// `P`: decoded pixels, and what means and windows are kept in.
template <class P>
struct BoxFloatScratch {
  std::int64_t stride;        ///< elements between rows of `decoded`
  std::int64_t chunk_stride;  ///< between rows of `means` and of `out`
  double* sums;               ///< vertical sums
  double* largest;            ///< magnitudes that they had since they began anew
  P* means;                   ///< kBoxRows rows of a chunk; where rows lie a step apart, all that windows are made of at once
  P* groups;                  ///< one pixel of each row that is made at once, then the next of each; two more may be read before them
  double* rests;              ///< sums from a pair of groups to the end of its block
  P* windows;                 ///< groups of a chunk, with room for one more before them and two behind
  P* out;                     ///< rows of a chunk, of finished bytes in the end
  P* decoded;                 ///< source rows that enter, leave, or are summed anew
  P* outside;                 ///< a source row of the border's constant, as it would be stored
  P* zeros;                   ///< a source row
  std::int64_t bytes;

  /// Windows of `size_x` whole pixels, of which those of a row need `halo_x` pixels more than they are.
  BoxFloatScratch(std::byte* base, std::int64_t tile_columns, std::int64_t size_x, std::int64_t halo_x, std::int64_t step_y, int channels) {
    Carver carver(base);
    const std::int64_t rows = box_float_rows(channels);
    stride = row_stride((tile_columns + halo_x) * channels);
    chunk_stride = row_stride(kBoxChunk * channels);
    sums = carver.take<double>(stride);
    largest = carver.take<double>(stride);
    means = carver.take<P>(chunk_stride * (step_y > 1 ? rows : kBoxRows));
    groups = carver.take<P>((2 + tile_columns + halo_x + kPadElements) * kBoxGroup) + 2 * kBoxGroup;
    rests = carver.take<double>(std::max<std::int64_t>(box_pairs(size_x), 1) * kBoxGroup);
    windows = carver.take<P>((1 + kBoxChunk + 2) * kBoxGroup) + kBoxGroup;
    out = carver.take<P>(chunk_stride * rows);
    decoded = carver.take<P>(stride * box_decoded_rows(box_stepped_rows(channels, step_y)));
    outside = carver.take<P>(stride);
    zeros = carver.take<P>(stride);
    bytes = carver.used();
  }

  /// Those that enter, with one more for a fraction, those that leave, and one to be summed anew.
  [[nodiscard]] static constexpr std::int64_t box_decoded_rows(std::int64_t rows) { return 2 * rows + 2; }
};

/// The axis of a decimated Gaussian along which rows follow each other.
struct CoarseRowShape {
  std::int64_t factor, support;
};

struct GaussDecimateScratch {
  bool slides;          ///< the factor is so small that the source rows of several coarse rows are added at once:
  std::int64_t groups;  ///< of so many
  std::int64_t stride;
  float* rows;      ///< kDecimateRows decoded source rows
  float* sums;      ///< `support` rows, one for each coarse row that the current source rows reach
  float* finished;  ///< `groups` rows that are summed, where the factor is small; otherwise they are one of `sums`
  float* weights;   ///< horizontal ones, for each component, and zeros
  std::int64_t bytes;

  GaussDecimateScratch(std::byte* base, std::int64_t tile_samples, std::int64_t factor_x, std::int64_t taps_x, CoarseRowShape y,
                       int channels)
      : slides(y.factor <= kSlideFactor), groups(slides ? std::min(kSlideGroups, kDecimateRows / y.factor) : 1) {
    Carver carver(base);
    const std::int64_t whole = (tile_samples + kDecimatedAtOnce - 1) / kDecimatedAtOnce * kDecimatedAtOnce;
    stride = row_stride(((whole - 1) * factor_x + taps_x) * channels);
    rows = carver.take<float>(stride * kDecimateRows);
    sums = carver.take<float>(stride * y.support);
    finished = carver.take<float>(slides ? stride * groups : 0);
    weights = carver.take<float>(taps_x * channels + kPadElements);
    bytes = carver.used();
  }
};

/// What GaussExpand needs to know of one axis to divide its scratch.
struct ExpandShape {
  std::int64_t factor, support, coarse_taps;
  std::int64_t step = 1;  ///< pixels from one output to the next
  bool has_gap = false;   ///< see has_gap()
};

/// Whether taps have so many zeros in a row that the taps on either side are summed by themselves.
inline constexpr std::int64_t kLeastGap = 16;
template <class T>
[[nodiscard]] bool has_gap(const std::vector<T>& taps) {
  return std::search_n(taps.begin(), taps.end(), kLeastGap, T{0}) != taps.end();
}

struct GaussExpandScratch {
  std::int64_t columns;          ///< coarse columns that the tile is expanded from, at most
  std::int64_t stride;           ///< between rows of them, with and without the halo of the coarse kernel
  std::int64_t ring_rows;        ///< of `ring`
  std::int64_t expanded_stride;  ///< between rows of `expanded`
  std::int64_t pattern_lanes;    ///< output components after which the expansion repeats itself
  float* loaded;                 ///< one coarse row with its halo
  float* ring;                   ///< coarse rows, blurred horizontally
  const float** rows;            ///< ring_rows pointers, in order
  float* group;                  ///< kRowGroup rows, blurred both ways
  float* partial = nullptr;      ///< as many, of some of the taps; where these are summed in blocks
  float* expanded;               ///< a ring of such rows, `support` of them, expanded horizontally
  float* out;                    ///< one output row, stored pixels in the end
  std::int64_t* bases;           ///< of the expansion: the first coarse component that each vector of outputs reads
  std::int32_t* indices;         ///< which from there on each output component reads
  float* weights;                ///< `support` for each output component
  std::int64_t bytes;

  GaussExpandScratch(std::byte* base, std::int64_t tile_columns, ExpandShape x, ExpandShape y, int channels) {
    Carver carver(base);
    columns = ((tile_columns - 1) * x.step + x.factor - 1) / x.factor + 1 + x.support;
    stride = row_stride((columns + x.coarse_taps - 1) * channels);
    ring_rows = y.coarse_taps + kRowGroup - 1;
    pattern_lanes = std::lcm(x.factor / std::gcd(x.factor, x.step) * channels, kExpandLanes);
    if (pattern_lanes < kExpandPattern) pattern_lanes *= kExpandPattern / pattern_lanes;
    loaded = carver.take<float>(stride);
    ring = carver.take<float>(stride * ring_rows);
    rows = carver.take<const float*>(ring_rows);
    group = carver.take<float>(stride * kRowGroup);
    if (std::max(x.coarse_taps, y.coarse_taps) > kCoarseBlock || x.has_gap || y.has_gap) partial = carver.take<float>(stride * kRowGroup);
    expanded_stride = row_stride((tile_columns + x.factor) * channels + kPadElements);
    expanded = carver.take<float>(expanded_stride * y.support);
    out = carver.take<float>(row_stride(tile_columns * channels));
    bases = carver.take<std::int64_t>(pattern_lanes);
    indices = carver.take<std::int32_t>(pattern_lanes);
    weights = carver.take<float>(pattern_lanes * x.support);
    bytes = carver.used();
  }
};

/// Of both passes at once.
struct GaussOnePassScratch {
  GaussExpandScratch expand;
  float* coarse_row;    ///< the newest coarse row
  std::byte* decimate;  ///< GaussDecimateScratch
  std::int64_t bytes;

  GaussOnePassScratch(std::byte* base, std::int64_t tile_columns, ExpandShape x, ExpandShape y, int channels)
      : expand(base, tile_columns, x, y, channels) {
    const std::int64_t columns = expand.columns + x.coarse_taps - 1;
    const GaussDecimateScratch in(nullptr, columns, x.factor, x.factor * x.support, {y.factor, y.support}, channels);
    Carver carver(base);
    carver.take<std::byte>(expand.bytes);
    coarse_row = carver.take<float>(row_stride(columns * channels));
    decimate = carver.take<std::byte>(in.bytes);
    bytes = carver.used();
  }
};

/// The parts of a cut Gaussian.
struct CutTailsShape {
  struct Part {
    ExpandShape x, y;
  };
  struct Across {
    std::int64_t taps_x, taps_y;
    std::int64_t first_y;  ///< of the whole's taps, which the first of these lies at
  };
  Part whole;
  PerAxis<std::int64_t> cells{};  ///< on either side, whose range a pixel is limited to
  std::optional<Across> across{};
  std::optional<Part> down{};
};

/// The least and the largest number of each cell of a tile's source rows: rows of cells in a ring, and what limits pixels.
struct CellRangesScratch {
  struct Rows {
    float* columns = nullptr;  ///< of the row of cells that is being read, for each column
    float* ring = nullptr;     ///< `ring_rows` rows of cells
    float* across = nullptr;   ///< a row of cells: the range down columns, with as many beyond as are looked at
    float* pixels = nullptr;   ///< for each pixel of a row
  };
  std::int64_t cells;  ///< in a row
  std::int64_t stride;
  std::int64_t ring_rows;
  Rows least, largest;
  std::int64_t bytes;

  CellRangesScratch(std::byte* base, std::int64_t tile_columns, const CutTailsShape& shape, int channels) {
    const GaussExpandScratch expand(nullptr, tile_columns, shape.whole.x, shape.whole.y, channels);
    const std::int64_t samples = expand.columns + shape.whole.x.coarse_taps - 1;
    const GaussDecimateScratch decimate(nullptr, samples, shape.whole.x.factor, shape.whole.x.factor * shape.whole.x.support,
                                        {shape.whole.y.factor, shape.whole.y.support}, channels);
    cells = samples + shape.whole.x.support - 1;
    stride = row_stride(cells * channels);
    // From the first that the oldest row of pixels is limited by to the last that the newest coarse row is made of.
    ring_rows = shape.cells.y + shape.whole.y.coarse_taps + 2 * shape.whole.y.support + kRowGroup + decimate.groups;
    Carver carver(base);
    for (Rows* rows : {&least, &largest}) {
      rows->columns = carver.take<float>(decimate.stride);
      rows->ring = carver.take<float>(stride * ring_rows);
      rows->across = carver.take<float>(stride + 2 * shape.cells.x * channels);
      rows->pixels = carver.take<float>(row_stride(tile_columns * channels));
    }
    bytes = carver.used();
  }
};

struct GaussCutTailsScratch {
  std::byte* whole;           ///< GaussOnePassScratch
  std::byte* ranges;          ///< CellRangesScratch
  float* zeros;               ///< a row, where there are no tails down columns
  std::byte* down = nullptr;  ///< GaussOnePassScratch
  std::int64_t down_stride = 0;
  float* down_rows = nullptr;  ///< kMixRows expanded rows
  std::int64_t stride = 0;     ///< between those of tails along rows:
  std::int64_t ring_rows = 0;
  float* ring = nullptr;         ///< of sums of source rows, what the tails make of them
  const float** rows = nullptr;  ///< in order
  float* group = nullptr;        ///< kRowGroup rows, blurred both ways
  float* partial = nullptr;      ///< a row of some of the taps
  float* sums = nullptr;         ///< a row of sums with what lies beyond those that there are
  std::int64_t bytes;

  GaussCutTailsScratch(std::byte* base, std::int64_t tile_columns, const CutTailsShape& shape, int channels) {
    Carver carver(base);
    whole = carver.take<std::byte>(GaussOnePassScratch(nullptr, tile_columns, shape.whole.x, shape.whole.y, channels).bytes);
    ranges = carver.take<std::byte>(CellRangesScratch(nullptr, tile_columns, shape, channels).bytes);
    zeros = carver.take<float>(shape.down ? 0 : row_stride(tile_columns * channels));
    if (shape.across) {
      stride = row_stride(tile_columns * channels);
      ring_rows = kRowGroup + shape.whole.y.coarse_taps - 1 - shape.across->first_y;
      ring = carver.take<float>(stride * ring_rows);
      rows = carver.take<const float*>(shape.across->taps_y + kRowGroup - 1);
      group = carver.take<float>(stride * kRowGroup);
      partial = carver.take<float>(stride);
      sums = carver.take<float>(row_stride((tile_columns + shape.across->taps_x - 1) * channels));
    }
    if (shape.down) {
      const GaussOnePassScratch part(nullptr, tile_columns, shape.down->x, shape.down->y, channels);
      down = carver.take<std::byte>(part.bytes);
      down_stride = part.expand.expanded_stride;
      down_rows = carver.take<float>(down_stride * kMixRows);
    }
    bytes = carver.used();
  }
};

}  // namespace mollify::cpu
