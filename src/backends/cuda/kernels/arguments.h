// What kernels are given: plain structs that the host fills and the device reads, so that neither can misread the other.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/sep_scatter_shape.h"

namespace mollify::cuda {

/// How a component of a pixel is stored.
enum class Component : std::int32_t { u8, u16, f16, f32, i32, u32, f64 };

/// Images of one shape at equal distances in device memory.
struct Pixels {
  std::uint64_t data = 0;        ///< address of the first pixel of the first image
  std::int64_t row_bytes = 0;    ///< from a row to the next
  std::int64_t image_bytes = 0;  ///< from an image to the next
  std::int32_t width = 0;
  std::int32_t height = 0;
  /// Rows of all images begin at multiples of four components, so that four may be loaded or stored at once.
  bool is_aligned = false;
};

/// From stored components to the numbers that are summed up, or back.
struct Coding {
  Component component = Component::u8;
  double scale = 1.0;  ///< number = stored component * scale, or the other way round
  bool premultiplied = false;
  bool is_srgb = false;
};

/// BorderMode, by the same numbers.
enum Border : std::int32_t { kClamp, kMirror, kReflect, kWrap, kConstant };

/// A Border for each axis, and the number that stands for each channel outside a constant border.
struct Outside {
  std::int32_t mode_x = 0;
  std::int32_t mode_y = 0;
  double value[4] = {};
};

/// What every kernel is given. A launch is one-dimensional: blocks of all images, one image after the other.
struct Shared {
  Pixels source;
  Pixels destination;
  Coding from;
  Coding to;
  Outside outside;
  std::int32_t blocks_across = 1;  ///< of an image
  std::int32_t blocks_down = 1;
};

/// The weights of one image along both axes, and which image it is.
struct TapsOfImage {
  /// Where taps_x and then taps_y weights lie, f32: bytes behind SepFused::taps; or behind SepSumsEach::taps as many as the kernel has.
  std::uint64_t taps = 0;
  std::int32_t taps_x = 1;
  std::int32_t taps_y = 1;
  std::int32_t first_x = 0;  ///< source column of the first tap of destination column 0
  std::int32_t first_y = 0;  ///< the same of rows
  std::int32_t image = 0;
};

/// Both axes in one pass. A block of threads makes a strip of columns from top to bottom; see sep_fused.cu.
struct SepFused : Shared {
  std::uint64_t taps = 0;  ///< address of taps_x and then taps_y weights, f32
  std::int32_t taps_x = 1;
  std::int32_t taps_y = 1;
  std::int32_t first_x = 0;  ///< source column of the first tap of destination column 0
  std::int32_t first_y = 0;  ///< the same of rows
  std::uint64_t each = 0;    ///< sep_fused.cu: address of a TapsOfImage for each image that a launch makes; 0: the five above hold for all
  std::int32_t rows = 0;     ///< of a chunk of a strip
};

/// Both axes in one pass, with sums in registers; see sep_scatter.cu and sep_warps.cu. Weights are as many as the kernel is compiled for.
struct SepSums : Shared {
  std::int32_t first_x = 0;  ///< source column of the first weight of destination column 0
  std::int32_t first_y = 0;  ///< the same of rows
  std::int32_t rows = 0;     ///< of a chunk of a strip
  std::int32_t strip = 0;    ///< sep_warps.cu: pixels of a row that a warp makes
  float weights_x[kSepScatterTaps] = {};
  float weights_y[kSepScatterTaps] = {};
};

/// The same with weights of each image's own, of whole images. Those of an image are as many as the kernel is compiled for, on either
/// axis, and the middle one is of the pixel itself.
struct SepSumsEach : Shared {
  std::uint64_t taps = 0;  ///< address that places of weights are counted from
  std::uint64_t each = 0;  ///< address of a TapsOfImage for each image that a launch makes
  std::int32_t rows = 0;   ///< of a chunk of a strip
  std::int32_t strip = 0;  ///< sep_warps.cu: pixels of a row that a warp makes
};

/// Both axes in one pass, on tensor cores. A warp makes a strip of columns; see sep_matrix.cu.
struct SepMatrix : Shared {
  std::uint64_t taps_x = 0;  ///< address of a lane's numbers of matrices: see sep_matrix_shape.h
  std::uint64_t taps_y = 0;
  std::int32_t first_x = 0;  ///< source column that the strip is read from on that begins with destination column 0
  std::int32_t first_y = 0;  ///< source row of the first tap of destination row 0
  std::int32_t skip_x = 0;   ///< pixels that lie between the first strip's beginning and destination column 0
  std::int32_t skip_y = 0;
  std::int32_t rows = 0;    ///< of a chunk of a strip
  std::int32_t strips = 0;  ///< of an image, from left to right
  // Strips at the left and at the right edge take more time than others. So one warp makes so many rows of a chunk there, and another the
  // rest.
  std::int32_t left_strips = 0;
  std::int32_t right_strips = 0;
  std::int32_t edge_rows = 0;
  std::int32_t chunks = 0;    ///< of a strip
  std::int32_t clamps = 0;    ///< whether sums can leave the range of codes
  std::int32_t splits_x = 0;  ///< of floats: whether a tap is the sum of two halves
  std::int32_t splits_y = 0;
  /// Address of what four sums along x begin with, and then those along y: from memory, as compilers copy a number that they see is the
  /// same.
  std::uint64_t starts = 0;
  std::uint64_t outside_pixel = 0;  ///< address of a stored pixel of a constant border
  float gain = 1.0F;                ///< that sums of floats are multiplied by
};

/// Taps along one axis, from one image to another. Along x the source is decoded and the destination holds numbers of the type of the sums;
/// along y the source holds them and the destination is encoded.
struct SepPass : Shared {
  std::uint64_t taps = 0;      ///< address of the weights, of the type of the sums
  std::int32_t count = 1;      ///< of taps
  std::int32_t first = 0;      ///< source pixel of the first tap of destination pixel 0, along the axis
  std::int32_t step = 1;       ///< source pixels from one destination pixel to the next, along the axis
  std::int32_t across = 0;     ///< along x: the source row of destination row 0; along y: the image row that the source's row 0 is
  std::int32_t length = 0;     ///< along y: rows of the image
  double outside_row[4] = {};  ///< along y: what rows of a constant border have become along x
};

/// How gauss.decimate's coarse samples lie among pixels.
struct CoarseGrid : Shared {
  std::uint64_t splines = 0;  ///< address of factor_x * support_x weights and then factor_y * support_y, f32
  std::int32_t factor_x = 1;  ///< pixels from a coarse sample to the next
  std::int32_t factor_y = 1;
  std::int32_t support_x = 1;  ///< coarse samples that a pixel belongs to
  std::int32_t support_y = 1;
};

/// The first step: coarse samples, in f32. A block of threads makes a chunk of a strip; see gauss_downsample.cu.
struct GaussDecimate : CoarseGrid {
  std::int32_t first_x = 0;  ///< source pixel of the first weight of coarse sample (0, 0)
  std::int32_t first_y = 0;
  std::int32_t step_rows = 1;  ///< that are loaded together; divides factor_y
  std::int32_t rows = 0;       ///< of coarse samples, of a chunk
};

/// The same on tensor cores. A block makes coarse samples of a few rows; see gauss_matrix.cu.
struct GaussMatrix : CoarseGrid {
  std::uint64_t outside_pixel = 0;  ///< address of a stored pixel of a constant border
  std::int32_t centre_x = 0;        ///< pixels that its weights begin before a coarse sample
  std::int32_t first_x = 0;         ///< source pixel of the first weight of coarse sample (0, 0)
  std::int32_t first_y = 0;
  std::int32_t skip_x = 0;  ///< coarse samples that lie between the first block's beginning and sample (0, 0)
  std::int32_t skip_y = 0;
};

/// The last step: pixels from blurred coarse samples, which begin before any that a pixel needs.
struct GaussUpsample : CoarseGrid {
  std::int32_t first_x = 0;  ///< the place of destination pixel (0, 0) from the first weight of coarse sample (0, 0) on
  std::int32_t first_y = 0;
  std::int32_t step_x = 1;  ///< source pixels from one destination pixel to the next
  std::int32_t step_y = 1;
  std::int32_t rows = 0;  ///< of the destination, of a chunk
};

/// The blur of the grid and the last step at once; see gauss_strips.cu.
struct GaussStrips : CoarseGrid {
  std::uint64_t taps = 0;  ///< address of taps_x and then taps_y weights of the blur, f32
  std::int32_t taps_x = 1;
  std::int32_t taps_y = 1;
  std::int32_t blur_x = 0;   ///< column of the source that the first tap of blurred sample (0, 0) is of
  std::int32_t blur_y = 0;   ///< the same of rows
  std::int32_t first_x = 0;  ///< the place of destination pixel (0, 0) from the first weight of blurred sample (0, 0) on
  std::int32_t first_y = 0;
  std::int32_t step_rows = 4;  ///< of blurred samples that are made at once
  std::int32_t rows = 0;       ///< of blurred samples that a block makes pixels of
};

/// The same on tensor cores; see gauss_upsample_matrix.cu.
struct GaussUpsampleMatrix : CoarseGrid {
  std::uint64_t starts = 0;  ///< address of what four sums begin with: from memory, as compilers copy a number that they see is the same
  std::int32_t first_x = 0;  ///< the place of destination pixel (0, 0) from the first weight of coarse sample (0, 0) on
  std::int32_t first_y = 0;
  std::int32_t skip_x = 0;     ///< pixels that lie between the first segment's beginning and destination column 0
  std::int32_t skip_y = 0;     ///< the same of rows, from the beginning of the first band
  std::int32_t segment = 0;    ///< columns that a block makes
  std::int32_t bands = 0;      ///< of rows, of a chunk
  std::int32_t all_bands = 0;  ///< of an image
};

/// The blur of the grid in between, along both axes at once; see gauss_grid_matrix.cu and gauss_grid.cu.
struct GaussGrid : Shared {
  std::uint64_t taps = 0;  ///< address of taps_x and then taps_y weights, f32
  std::int32_t taps_x = 1;
  std::int32_t taps_y = 1;
  std::int32_t first_x = 0;  ///< source column of the first tap of destination column 0
  std::int32_t first_y = 0;  ///< the same of rows
  std::int32_t skip_x = 0;   ///< by products: coarse samples that lie between the first block's beginning and sample (0, 0)
  std::int32_t skip_y = 0;
};

/// Every weight of a matrix.
struct NxnDirect : Shared {
  std::uint64_t weights = 0;  ///< address of width * height weights, of the type of the sums
  std::int32_t width = 1;
  std::int32_t height = 1;
  std::int32_t first_x = 0;  ///< source pixel of the first weight of destination pixel (0, 0)
  std::int32_t first_y = 0;
  std::int32_t step_x = 1;
  std::int32_t step_y = 1;
};

/// Means of windows. A block of threads makes a chunk of a strip of columns; see box_any.cu and box_wide.cu.
struct BoxAny : Shared {
  std::int32_t first_x = 0;  ///< source pixel that the window of the first pixel of a strip begins with, of the first strip
  std::int32_t first_y = 0;
  std::int32_t window_x = 1;  ///< whole pixels
  std::int32_t window_y = 1;
  std::int32_t skip_x = 0;  ///< pixels that are made before the first of the destination
  std::int32_t skip_y = 0;
  std::int32_t first_run = 0;  ///< runs of rows of the whole image that lie before the first row that is made
  std::int32_t size_x = 0;     ///< pixels of the source from the place of the destination's first pixel to that of its last
  std::int32_t size_y = 0;
  std::int32_t step_x = 1;  ///< of these pixels, from one that the destination holds to the next
  std::int32_t step_y = 1;
  std::int32_t rows = 0;    ///< of a chunk
  std::int32_t made = 0;    ///< pixels of a row of a strip
  std::int32_t across = 0;  ///< column of the image that column 0 of an image of sums is
  std::int32_t length = 0;  ///< columns of the image, where the source is one of sums
  float before_x = 0.0F;    ///< what the pixel before the whole ones counts for, and the one behind them
  float after_x = 0.0F;
  float before_y = 0.0F;
  float after_y = 0.0F;
  float lift = 1.0F;   ///< that numbers are multiplied with, so that sums are finite
  float scale = 1.0F;  ///< number of the result = sum * scale
  // Of integers: see box_division.h.
  std::uint32_t half = 0;
  std::uint32_t factor = 0;
  std::uint32_t shift = 0;
};

/// The same by segments; see box_segments.cuh.
struct BoxSlide : BoxAny {
  Pixels blocks;                 ///< block sums, if `whole` or `part` is not 0: a pixel holds the sums of a column
  std::int32_t first_block = 0;  ///< pixels of a row of these before the first that the first strip reads
  std::int32_t whole = 0;        ///< whole blocks of a window,
  std::int32_t part = 0;         ///< and rows of the next one
};

/// Means of windows along one axis, from one image to another. Along x the source is decoded and the destination holds numbers of the
/// type of the kernel; along y the source holds them and the destination is encoded. See box_passes.cu.
struct BoxPass : Shared {
  std::int32_t first = 0;        ///< source pixel of destination pixel 0, along the axis
  std::int32_t step = 1;         ///< source pixels from one destination pixel to the next, along the axis
  std::int32_t window = 1;       ///< whole pixels of a window and of a block
  std::int32_t before = 0;       ///< of these, those before the place of the destination's pixel
  std::int32_t first_block = 0;  ///< the block that begins so many blocks from the place of pixel 0 of the whole axis on
  std::int32_t across = 0;       ///< along x: the source row of destination row 0; along y: the image row that the source's row 0 is
  std::int32_t length = 0;       ///< along y: rows of the image
  std::int32_t kept_row = 0;     ///< along y: the row of the source from which on ends of blocks are kept
  std::int32_t edge = 0;         ///< a pixel behind the last one, along the axis
  std::int32_t period = 0;       ///< pixels after which the axis repeats itself
  std::int32_t fraction_before_at = 0;
  std::int32_t fraction_after_at = 0;
  double periods = 0.0;          ///< that windows have besides
  double far_before = 0.0;       ///< pixels before the first that windows have besides, all alike
  double far_after = 0.0;        ///< and behind the last
  double fraction_before = 0.0;  ///< what the pixel before the whole window counts for, which lies so far before the place
  double fraction_after = 0.0;
  double scale = 1.0;          ///< mean = sum * scale
  double divisor = 0.0;        ///< if above 0, sums are of integers, and their means are rounded to the nearest one, halves up
  double outside_row[4] = {};  ///< along y: what rows of a constant border have become along x
};

}  // namespace mollify::cuda
