// The CPU kernels as the executor sees them: one function a kernel, called for one tile at a time.
// Each has a SIMD version, dispatched to the best instruction set at run time, and a plain scalar twin.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backends/cpu/kernels/source.h"
#include "mollify/image.h"
#include "mollify/spec.h"

namespace mollify::cpu {

enum class Component : std::uint8_t { u8, u16, f16, f32, i32, u32, f64 };

/// How stored pixels become the numbers that are blurred, and back.
struct RowFormat {
  Component component = Component::u8;
  int channels = 4;
  AlphaMode alpha = AlphaMode::ignore;
  TransferFunction transfer = TransferFunction::none;
  double scale = 1.0;  ///< reading: applied to stored numbers; writing: applied to blurred ones, before rounding

  /// Pixels are only blurred: nothing but `scale` and rounding lies between stored numbers and those that kernels sum.
  [[nodiscard]] bool only_scaled() const { return alpha == AlphaMode::ignore && transfer == TransferFunction::none; }
  /// Stored numbers are those that kernels of f32 sum.
  [[nodiscard]] bool is_plain_f32() const { return is_plain<float>(); }
  /// Stored numbers are those that kernels of T sum.
  template <class T>
  [[nodiscard]] bool is_plain() const {
    return component == (std::is_same_v<T, float> ? Component::f32 : Component::f64) && scale == 1.0 && only_scaled();
  }
};

/// Calls body(std::integral_constant<int, channels>).
template <class Body>
void with_channels(int channels, const Body& body) {
  switch (channels) {
    case 1:
      return body(std::integral_constant<int, 1>{});
    case 2:
      return body(std::integral_constant<int, 2>{});
    case 3:
      return body(std::integral_constant<int, 3>{});
    default:
      return body(std::integral_constant<int, 4>{});
  }
}

/// What every kernel needs to know of its source and destination.
struct RowPipeline {
  RowFormat source;
  RowFormat destination;
  Border border;
  std::array<double, 4> outside{};   ///< a pixel beyond a constant border, read and decoded
  PerAxis<std::int64_t> step{1, 1};  ///< source pixels from one destination pixel to the next
};

/// A pixel given in full-scale units, rounded to the source's format, read and decoded as a kernel would.
/// `unit` is the stored number that stands for 1.
[[nodiscard]] std::array<double, 4> decode_pixel(const RowFormat& format, const std::array<double, 4>& value, double unit);

/// The samples of a coarse grid that lie in memory.
struct CoarseSamples {
  float* data = nullptr;
  std::int64_t stride = 0;      ///< floats from row to row
  PerAxis<std::int64_t> first;  ///< sample of the grid that `data` begins with
  std::int64_t rows = 0;        ///< that are stored; kernels ask for some beyond, on which no result depends

  [[nodiscard]] float* at(std::int64_t x, std::int64_t y, int channels) const {
    return data + (y - first.y) * stride + (x - first.x) * channels;
  }
};

/// One tile of one image. `out` is in destination pixels; (origin_x, origin_y) is where destination (0, 0) lies in the source, and
/// RowPipeline::step says how far apart others lie.
struct Tile {
  Source src;
  ImageView dst;
  Rect out;
  std::int64_t origin_x = 0;
  std::int64_t origin_y = 0;
  std::byte* scratch = nullptr;  ///< 64-byte aligned, as large as the kernel's layout says
  CoarseSamples coarse{};        ///< what one pass leaves for the next: the coarse grid of a decimated Gaussian
  bool streams = false;          ///< `dst` is too large to stay in the cache: it is written past it
  /// Set for a part of a column of tiles that are made from top to bottom in the same scratch memory: how many rows lie above this part.
  /// The kernel goes on where it stopped at their end. Nothing else may have used the scratch memory since.
  std::optional<std::int64_t> rows_above{};

  /// Rows that were made before in the same scratch memory.
  [[nodiscard]] std::int64_t rows_made() const { return rows_above.value_or(0); }
};

template <class T>
struct TapsOf {
  std::vector<T> weights;
  std::int64_t before = 0;  ///< taps before the output pixel
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(weights.size()); }
};

/// Separable taps: vertical from a ring of rows, then horizontal from the row that came out.
template <class T>
struct SepFused {
  RowPipeline rows;
  TapsOf<T> x, y;
};

/// Symmetric taps in 16 bits, see FixedWeights in math/weights.h.
struct FixedTaps {
  std::vector<std::uint16_t> weights;  ///< from the outermost pair to the middle, or to the innermost pair
  std::vector<std::int64_t> runs;      ///< of pairs: where each ends; the sum is halved in between
  bool is_even = false;                ///< all are pairs; the place is the left or the upper one of the innermost
  /// Of an odd number; of an even one, taps before the place.
  [[nodiscard]] std::int64_t radius() const { return static_cast<std::int64_t>(weights.size()) - 1; }
  [[nodiscard]] std::int64_t after() const { return radius() + (is_even ? 1 : 0); }
  [[nodiscard]] std::int64_t size() const { return radius() + 1 + after(); }
};

/// The same for 8-bit pixels that are only blurred, and symmetric taps without negative ones, in 16-bit integers.
struct SepFusedU8 {
  RowPipeline rows;
  FixedTaps x, y;
  std::uint16_t rounding = 128;  ///< added before the last shift: half a step, and what was lost on average
  /// What was lost, to be added where a sum becomes a float.
  [[nodiscard]] int given() const { return rounding - 128; }
};

/// What stands for 1 in 16 bits: 8-bit numbers are held in steps of 256, premultiplied ones as products of two bytes.
inline constexpr std::int64_t kFixedOne = 255 * 256, kPremultipliedOne = 255 * 255;

/// From sums of such numbers to stored ones.
struct FixedScale {
  float full;     ///< the stored number that stands for 1
  float to_code;  ///< what a sum is multiplied by, but that of a premultiplied colour
  explicit FixedScale(const RowFormat& format)
      : full(format.component == Component::u8 ? 255.0F : 65535.0F),
        to_code(full / static_cast<float>(format.alpha == AlphaMode::premultiply ? kPremultipliedOne : kFixedOne)) {}
};

/// A Gaussian on 8-bit pixels that are only blurred: `levels` times halved, blurred by the taps, as often doubled. Halving
/// and doubling are those of cubic B-splines, so that all halvings are one decimation by 2^levels (math/decimation.h).
struct GaussPyramid {
  RowPipeline rows;
  int levels = 1;
  FixedTaps x, y;
  std::uint16_t rounding = 128;  ///< as in SepFusedU8
};

/// One axis of a Gaussian that ends in a jump: a window of 2 * radius + 1 numbers, each times `height` / 2^24, and beside it
/// the taps on numbers that are `levels` times halved and as often doubled. Where these end, just before the cut, they are
/// followed by a pair that is taken away: the mean of its numbers times `undershoot` / 65536.
struct CutAxis {
  int levels = 1;
  FixedTaps taps;
  std::uint16_t undershoot = 0;
  std::int64_t radius = 1;  ///< at most 128, or sums of bytes exceed 16 bits
  std::uint16_t height = 0;

  [[nodiscard]] std::int64_t reach() const { return taps.radius() + 1; }  ///< in pixels of the last level
  /// What the window's weights sum to.
  [[nodiscard]] double window_share() const { return static_cast<double>(height) * static_cast<double>(2 * radius + 1) / (1 << 24); }
  /// What the taps must sum to, so that all weights sum to one.
  [[nodiscard]] double left_to_taps() const { return 1.0 - window_share() + undershoot / 65536.0; }
};

/// A Gaussian cut at a radius, on 8-bit pixels that are only blurred: first down, then along rows.
struct GaussCut {
  RowPipeline rows;
  CutAxis x, y;
  std::uint16_t rounding = 128;  ///< as in SepFusedU8
};

/// Any matrix, directly.
template <class T>
struct NxnDirect {
  RowPipeline rows;
  std::int64_t width = 1, height = 1;
  std::int64_t before_x = 0, before_y = 0;
  std::vector<T> weights;  ///< row-major
};

/// A window's whole pixels on one axis and the weights of the fractional ones at its ends (0: none).
struct BoxWindow {
  std::int64_t before = 0, after = 0;
  double before_fraction = 0.0, after_fraction = 0.0;
  [[nodiscard]] std::int64_t size() const { return before + 1 + after; }
  [[nodiscard]] std::int64_t reach_before() const { return before + (before_fraction > 0.0 ? 1 : 0); }
  [[nodiscard]] std::int64_t reach_after() const { return after + (after_fraction > 0.0 ? 1 : 0); }
  [[nodiscard]] std::int64_t halo() const { return reach_before() + reach_after(); }
};
[[nodiscard]] BoxWindow box_window(const BoxExtent& extent);

/// What a window covers beyond a shorter one, wherever in the image both are: copies of the pixels next to the image's ends, or
/// whole periods of a border that repeats.
struct BoxFold {
  std::int64_t before = 0, after = 0;  ///< copies of the pixel before the first and of the one after the last
  std::int64_t periods = 0;
  std::int64_t period = 0;  ///< pixels
  [[nodiscard]] bool is_empty() const { return before == 0 && after == 0 && periods == 0; }
  [[nodiscard]] std::int64_t size() const { return before + after + periods * period; }
};

/// A window whose cost is that of the image where it is much wider, and what it lacks.
struct FoldedWindow {
  BoxWindow window;
  BoxFold fold;
  [[nodiscard]] std::int64_t size() const { return window.size() + fold.size(); }
};
[[nodiscard]] FoldedWindow fold_window(const BoxWindow& window, BorderMode mode, std::int64_t length);

struct BoxAny {
  RowPipeline rows;
  BoxWindow x, y;
  BoxFold fold_x, fold_y;
  double scale = 1.0;              ///< one over the window's size; the i32 kernel has it in rows.destination.scale
  std::int64_t segment_rows = 64;  ///< sums start anew at multiples of this many source rows

  /// From the window of the first of so many destination pixels to that of the last. All of them are made.
  [[nodiscard]] std::int64_t windows_across(std::int64_t columns) const { return (columns - 1) * rows.step.x + 1; }
};

/// One axis of a decimated Gaussian, see math/decimation.h.
struct DecimatedAxis {
  std::int64_t factor = 1;
  std::int64_t centre = 0;    ///< spline tap on pixel m * factor
  std::int64_t support = 1;   ///< coarse samples that one output is expanded from
  std::vector<float> spline;  ///< support * factor taps
  std::int64_t added =
      0;  ///< 1 where pixels are expanded by the mean of two splines, a pixel apart: so many more are `centre` and `support`

  /// Of the t-th of the `support` coarse samples that reach an output `phase` pixels into its own, which is the last.
  [[nodiscard]] float expand_weight(std::int64_t phase, std::int64_t t) const {
    return static_cast<float>(factor) * spline[static_cast<std::size_t>(phase + (support - 1 - t) * factor)];
  }
};

/// Where the coarse grid lies: samples [first, first + size). Beyond it the outermost samples repeat.
struct CoarseGrid {
  PerAxis<std::int64_t> first;
  PerAxis<std::int64_t> size;
};

/// First pass: source to coarse grid. Tile::out is in coarse samples.
struct GaussDecimate {
  RowPipeline rows;
  PerAxis<DecimatedAxis> axis;
  CoarseGrid grid;
  double scale = 1.0;  ///< what the spline of y sums to: coarse samples are so many times as large as pixels
};

/// Taps that are summed by themselves.
struct TapBlock {
  TapsOf<float> taps;
  std::int64_t first = 0;  ///< among all taps
};

/// Second pass: blurs the coarse grid and expands it.
struct GaussExpand {
  RowPipeline rows;
  PerAxis<DecimatedAxis> axis;
  CoarseGrid grid;
  TapsOf<float> x, y;                            ///< the coarse kernel
  std::vector<TapBlock> blocks_x{}, blocks_y{};  ///< these taps again, where they are so many, or zeros are, that parts are summed alone
};

/// Both at once: a tile makes the coarse samples that it needs by itself.
struct GaussOnePass {
  GaussDecimate decimate;
  GaussExpand expand;
};

/// Tails along rows: of each row of sums of a decimated Gaussian, and of these as of its coarse rows.
struct TailsAcross {
  TapsOf<float> x, y;
  std::vector<TapBlock> blocks_x{};
};

/// A Gaussian that is cut at a radius as the sum of decimated kernels, each kCutPartScale times as large: the endless Gaussian, and
/// what is beyond the cut, negative. The sum may miss the cut Gaussian by its error, so a pixel is limited to the range of the source
/// within `cells` cells of its own. A cell is as many pixels as the endless Gaussian's coarse samples lie apart.
struct GaussCutTails {
  GaussOnePass whole;
  PerAxis<std::int64_t> cells{};
  std::optional<TailsAcross> across{};
  std::optional<GaussOnePass> down{};
};

void sep_fused_f32(const SepFused<float>&, const Tile&);
void sep_fused_f64(const SepFused<double>&, const Tile&);
void sep_fused_u8(const SepFusedU8&, const Tile&);
void sep_fused_u8_apart(const SepFusedU8&, const Tile&);  ///< with a step, even numbers of taps and alpha; to 8 or 16 bits
void gauss_pyramid(const GaussPyramid&, const Tile&);
void gauss_cut(const GaussCut&, const Tile&);
void gauss_decimate(const GaussDecimate&, const Tile&);
void gauss_upsample(const GaussExpand&, const Tile&);
void gauss_one_pass(const GaussOnePass&, const Tile&);  ///< the same bits as the two one after the other
void gauss_cut_tails(const GaussCutTails&, const Tile&);
void nxn_direct_f32(const NxnDirect<float>&, const Tile&);
void nxn_direct_f64(const NxnDirect<double>&, const Tile&);
void box_any_i32(const BoxAny&, const Tile&);   ///< unorm without colour handling, whole pixels, sums below 2^31
void box_any_f64(const BoxAny&, const Tile&);   ///< f32 pixels, f64 sums
void box_any_wide(const BoxAny&, const Tile&);  ///< f64 pixels, f64 sums

/// The same in plain C++, one pixel at a time, in the same order of operations: integers come out bit for bit the same,
/// floats too where the processor fuses multiply-adds and no transfer function is involved. Not in the same order, and so
/// equal to within rounding: f64 sums of boxes, decimated Gaussians.
namespace scalar {
void sep_fused_f32(const SepFused<float>&, const Tile&);
void sep_fused_f64(const SepFused<double>&, const Tile&);
void sep_fused_u8(const SepFusedU8&, const Tile&);
void sep_fused_u8_apart(const SepFusedU8&, const Tile&);
void gauss_pyramid(const GaussPyramid&, const Tile&);
void gauss_cut(const GaussCut&, const Tile&);
void nxn_direct_f32(const NxnDirect<float>&, const Tile&);
void nxn_direct_f64(const NxnDirect<double>&, const Tile&);
void box_any_i32(const BoxAny&, const Tile&);
void box_any_f64(const BoxAny&, const Tile&);
void box_any_wide(const BoxAny&, const Tile&);
void gauss_decimate(const GaussDecimate&, const Tile&);
void gauss_upsample(const GaussExpand&, const Tile&);
}  // namespace scalar

/// The instruction set that the SIMD versions run on here: "AVX3".
[[nodiscard]] std::string_view simd_target();

/// Uses this instruction set, and none better, from now on in the whole process. There is no way back.
[[nodiscard]] Status use_simd_target(std::string_view name);

}  // namespace mollify::cpu
