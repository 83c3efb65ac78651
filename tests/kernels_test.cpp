// Each SIMD kernel against its scalar twin: the same bits, or as near as the twin's comment promises.
#include "backends/cpu/kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/memory.h"
#include "math/splines.h"
#include "support.h"

namespace mollify::cpu {
namespace {

using test::Pixels;

struct Formats {
  PixelFormat src;
  PixelFormat dst;
};
constexpr Formats kFormatPairs[] = {
    {PixelFormat::r8, PixelFormat::r8},           {PixelFormat::rg8, PixelFormat::rg32f},      {PixelFormat::rgb8, PixelFormat::rgb16},
    {PixelFormat::rgba8, PixelFormat::rgba8},     {PixelFormat::rg8, PixelFormat::rg8},        {PixelFormat::rgb8, PixelFormat::rgb8},
    {PixelFormat::rgb16, PixelFormat::rgb16},     {PixelFormat::rgba16, PixelFormat::rgba16f}, {PixelFormat::rg16f, PixelFormat::rg8},
    {PixelFormat::rgba16f, PixelFormat::rgba16f}, {PixelFormat::r32f, PixelFormat::r32f},      {PixelFormat::rgba32f, PixelFormat::rgba32f},
    {PixelFormat::rgb32f, PixelFormat::rgb16f},
};

/// Those that only kernels of f64 take.
constexpr Formats kWidePairs[] = {
    {PixelFormat::r64f, PixelFormat::r64f},   {PixelFormat::rgb64f, PixelFormat::rgb32f},  {PixelFormat::rgba64f, PixelFormat::rgba16f},
    {PixelFormat::rg32i, PixelFormat::rg32i}, {PixelFormat::rgb32ui, PixelFormat::rgb32i}, {PixelFormat::rgba32ui, PixelFormat::rgba32ui},
    {PixelFormat::rgb8, PixelFormat::rgb64f}, {PixelFormat::r32i, PixelFormat::r64f},      {PixelFormat::rg64f, PixelFormat::rg32ui},
};

Component component_of(PixelFormat format) {
  const FormatInfo& f = info(format);
  if (f.is_integral()) return f.component_class == ComponentClass::sint ? Component::i32 : Component::u32;
  if (f.is_unorm()) return f.bits == 8 ? Component::u8 : Component::u16;
  return f.bits == 16 ? Component::f16 : f.bits == 32 ? Component::f32 : Component::f64;
}

RowPipeline pipeline(const Formats& formats, BorderMode x, BorderMode y) {
  RowPipeline rows;
  const FormatInfo& from = info(formats.src);
  const FormatInfo& to = info(formats.dst);
  rows.source = {component_of(formats.src), from.channels, AlphaMode::ignore, TransferFunction::none, 1.0};
  rows.destination = {component_of(formats.dst), to.channels, AlphaMode::ignore, TransferFunction::none, to.unit() / from.unit()};
  rows.border.mode = {x, y};
  rows.outside = decode_pixel(rows.source, {0.25, 0.5, 0.75, 1.0}, from.unit());
  return rows;
}

/// Fused multiply-adds round once; without them SIMD and twin round differently.
bool fuses() {
  return simd_target().substr(0, 3) == "AVX" || simd_target() == "NEON";
}

/// A source that is new in every run; a failure names its seed.
Pixels fresh_source(const ImageDesc& desc, std::uint64_t& seed) {
  seed = std::random_device{}();
  return Pixels::random(desc, seed);
}

enum class Match { same_bits, last_place };

/// Runs both versions over a tile that begins inside the image, so that every border and no alignment is met.
template <class Kernel>
void expect_twins(const Formats& formats, Match match, std::int64_t scratch_bytes, const Kernel& kernel,
                  void (*simd)(const Kernel&, const Tile&), void (*twin)(const Kernel&, const Tile&), const CoarseSamples& coarse = {},
                  std::int32_t width = 60) {
  std::uint64_t seed = 0;
  const Pixels src = fresh_source({width + 1, 23, formats.src}, seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const ImageDesc out{width, 22, formats.dst};
  Pixels a = Pixels::constant(out, 0.5);
  Pixels b = Pixels::constant(out, 0.25);
  const std::vector<std::byte> memory(static_cast<std::size_t>(scratch_bytes) + 64, std::byte{0x7B});
  auto* scratch = const_cast<std::byte*>(memory.data());
  scratch += (64 - reinterpret_cast<std::uintptr_t>(scratch) % 64) % 64;
  const Tile tile{src.view(), a.view(), {0, 0, out.width, out.height}, 1, 1, scratch, coarse};
  simd(kernel, tile);
  Pixels streamed = Pixels::constant(out, 0.75);
  Tile other = tile;
  other.dst = streamed.view();
  other.streams = true;
  simd(kernel, other);
  other.dst = b.view();
  twin(kernel, other);
  // What lies between two integers may be rounded either way.
  const FormatInfo& to = info(formats.dst);
  const bool is_rounded = to.is_unorm() || to.is_integral();
  const auto slack = [&](double expected) {
    if (match == Match::same_bits) return 0.0;
    return is_rounded ? 1.5 / to.unit() : 2e-3 * std::max(1.0, std::abs(expected));
  };
  for (std::int32_t y = 0; y < out.height; ++y) {
    for (std::int32_t x = 0; x < out.width; ++x) {
      for (int c = 0; c < info(out.format).channels; ++c) {
        const double expected = b.at(x, y, c);
        ASSERT_EQ(a.at(x, y, c), streamed.at(x, y, c)) << "past the cache, " << info(formats.dst).name;
        ASSERT_NEAR(a.at(x, y, c), expected, slack(expected))
            << info(formats.src).name << " to " << info(formats.dst).name << ", pixel " << x << ", " << y << ", channel " << c;
      }
    }
  }
}

template <class Body>
void for_each_setting(Body body, std::span<const Formats> pairs = kFormatPairs) {
  for (const Formats& formats : pairs) {
    body(formats, pipeline(formats, BorderMode::mirror, BorderMode::wrap));
    body(formats, pipeline(formats, BorderMode::constant, BorderMode::clamp));
    body(formats, pipeline(formats, BorderMode::reflect, BorderMode::constant));
  }
}

// What a program allocated before must not decide how fast a kernel is.
TEST(Scratch, BeginsOnAPageWhateverWasAllocatedBefore) {
  std::vector<std::unique_ptr<char[]>> others;
  for (const std::int64_t bytes : {100, 5000, 94848, 400000}) {
    others.push_back(std::make_unique<char[]>(static_cast<std::size_t>(bytes) + 32));
    const Scratch scratch = allocate_scratch(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scratch.get()) % 4096, 0U) << bytes;
  }
}

TEST(Twins, SepFusedMatches) {
  const Match match = fuses() ? Match::same_bits : Match::last_place;
  const auto match_wide_at = [&](const Formats& formats, const RowPipeline& rows) {
    const SepFused<double> wide{rows, {{0.1, 0.4, 0.3, 0.2}, 2}, {{0.5, 0.5}, 0}};
    const SepFusedScratch<double> shape(nullptr, 60, {4, rows.step.x}, {2, rows.step.y}, rows.source.channels);
    expect_twins(formats, match, shape.bytes, wide, sep_fused_f64, scalar::sep_fused_f64);
  };
  const auto match_at = [&](const Formats& formats, const RowPipeline& rows) {
    const SepFused<float> narrow{rows, {{0.1F, 0.4F, 0.3F, 0.2F}, 2}, {{0.25F, 0.5F, 0.25F, 0.125F, -0.125F}, 1}};
    const int channels = rows.source.channels;
    for (const std::int32_t width : {60, 192}) {  // rows of whole lines may be streamed from registers
      const SepFusedScratch<float> shape(nullptr, width, {4, rows.step.x}, {5, rows.step.y}, channels);
      expect_twins(formats, match, shape.bytes, narrow, sep_fused_f32, scalar::sep_fused_f32, {}, width);
    }
    match_wide_at(formats, rows);
  };
  const auto at_each_step = [](const auto& match_formats) {
    return [&](const Formats& formats, RowPipeline rows) {
      for (const PerAxis<std::int64_t>& step : {PerAxis<std::int64_t>{1, 1}, {2, 3}, {5, 1}, {1, 7}}) {
        rows.step = step;
        match_formats(formats, rows);
      }
    };
  };
  for_each_setting(at_each_step(match_at));
  for_each_setting(at_each_step(match_wide_at), kWidePairs);
}

TEST(Twins, SepFusedU8Matches) {
  for_each_setting([](const Formats& formats, const RowPipeline& rows) {
    if (formats.src != formats.dst || rows.source.component != Component::u8) return;
    const SepFusedU8 kernels[] = {
        // taps, halved once for each run after theirs, sum to 65536 at most
        {rows, {{25536, 40000}, {1}}, {{5536, 10000, 30000, 20000}, {3}}, 130},
        {rows, {{5536, 20000, 40000}, {2}}, {{25536, 40000}, {1}}, 129},
        {rows, {{8192, 16384, 12288, 8192, 16384}, {2, 4}}, {{5537, 20000, 39999}, {2}}, 128},
        {rows, {{65535}, {0}}, {{10000, 9000, 9999, 10001, 8000, 7000, 12000, 6000, 5000, 11000, 13036}, {1, 7, 10}}, 137}};
    for (const SepFusedU8& kernel : kernels) {
      for (const std::int32_t width : {60, 192}) {  // rows of whole lines may be streamed from registers
        const SepFusedU8Scratch shape(nullptr, width, kernel.x.radius(), kernel.y.radius(), rows.source.channels);
        expect_twins(formats, Match::same_bits, shape.bytes, kernel, sep_fused_u8, scalar::sep_fused_u8, {}, width);
      }
    }
  });
}

TEST(Twins, SepFusedU8ApartMatches) {
  const auto match = [](const Formats& formats, RowPipeline rows) {
    const FixedTaps odd{{5536, 20000, 40000}, {2}}, even{{25536, 40000}, {2}, true}, pair{{65535}, {1}, true}, one{{65535}, {0}};
    const FixedTaps halved{{8192, 16384, 12288, 8192, 16384}, {2, 4}}, even_halved{{8192, 16384, 12288, 24576}, {2, 4}, true};
    for (const PerAxis<std::int64_t>& step : {PerAxis<std::int64_t>{2, 2}, {4, 1}, {1, 3}, {5, 7}}) {
      rows.step = step;
      for (const auto& [x, y] : {std::pair{&even, &odd}, {&halved, &pair}, {&one, &even_halved}}) {
        const SepFusedU8 kernel{rows, *x, *y, 131};
        for (const std::int32_t width : {3, 60, 192}) {
          const SepFusedU8ApartScratch shape(nullptr, width, {x->size(), step.x}, {y->size(), step.y}, rows.source.channels);
          expect_twins(formats, Match::same_bits, shape.bytes, kernel, sep_fused_u8_apart, scalar::sep_fused_u8_apart, {}, width);
        }
      }
    }
  };
  for_each_setting([&](const Formats& formats, RowPipeline rows) {
    const FormatInfo& to = info(formats.dst);
    if (rows.source.component != Component::u8 || !to.is_unorm()) return;
    match(formats, rows);
    if (rows.source.channels % 2 != 0) return;
    rows.source = {rows.source.component, rows.source.channels, AlphaMode::premultiply, TransferFunction::none, 1.0 / 255.0};
    rows.destination = {rows.destination.component, rows.source.channels, AlphaMode::premultiply, TransferFunction::none, to.unit()};
    rows.outside = decode_pixel(rows.source, {0.25, 0.5, 0.75, 1.0}, 255.0);
    match(formats, rows);
    match({formats.src, formats.dst == PixelFormat::rg8 ? PixelFormat::rg16 : PixelFormat::rgba16}, [&] {
      RowPipeline wide = rows;
      wide.destination.component = Component::u16;
      wide.destination.scale = 65535.0;
      return wide;
    }());
  });
}

TEST(Twins, GaussPyramidMatches) {
  for_each_setting([](const Formats& formats, const RowPipeline& rows) {
    if (formats.src != formats.dst || rows.source.component != Component::u8) return;
    const GaussPyramid kernels[] = {// as there: taps sum to 65536 at most
                                    {rows, 1, {{5536, 10000, 30000, 20000}, {3}}, {{25536, 40000}, {1}}, 130},
                                    {rows, 2, {{8192, 16384, 12288, 8192, 16384}, {2, 4}}, {{5536, 10000, 30000, 20000}, {3}}, 124},
                                    {rows, 3, {{25536, 40000}, {1}}, {{65535}, {0}}, 120}};
    for (const GaussPyramid& kernel : kernels) {
      for (const std::int32_t width : {60, 192}) {  // rows of whole lines may be streamed from registers
        const GaussPyramidScratch shape(nullptr, width, kernel.levels, kernel.x.radius(), kernel.y.radius(), rows.source.channels);
        expect_twins(formats, Match::same_bits, shape.bytes, kernel, gauss_pyramid, scalar::gauss_pyramid, {}, width);
      }
    }
  });
}

TEST(Twins, GaussCutMatches) {
  for_each_setting([](const Formats& formats, const RowPipeline& rows) {
    if (formats.src != formats.dst || rows.source.component != Component::u8) return;
    // As there, but windows have their share: 2 * radius + 1 times their height, of 2^24.
    const GaussCut kernels[] = {
        {rows, {1, {{5536, 10000, 28000, 20000}, {3}}, 15, 5, 45000}, {1, {{25536, 38000}, {1}}, 200, 9, 30000}, 130},
        {rows, {2, {{8192, 16384, 12288, 8192, 14384}, {2, 4}}, 90, 20, 12000}, {1, {{5536, 10000, 28000, 20000}, {3}}, 0, 7, 10}, 124},
        {rows, {1, {{25536, 38000}, {1}}, 0, 1, 65535}, {3, {{62000}, {0}}, 60, 40, 9000}, 120}};
    for (const GaussCut& kernel : kernels) {
      const auto shape = [](const CutAxis& axis) { return CutShape{axis.levels, axis.reach(), axis.radius}; };
      for (const std::int32_t width : {60, 192}) {  // rows of whole lines may be streamed from registers
        const GaussCutScratch s(nullptr, width, shape(kernel.x), shape(kernel.y), rows.source.channels);
        expect_twins(formats, Match::same_bits, s.bytes, kernel, gauss_cut, scalar::gauss_cut, {}, width);
      }
    }
  });
}

TEST(Twins, NxnDirectMatches) {
  const Match match = fuses() ? Match::same_bits : Match::last_place;
  for_each_setting([&](const Formats& formats, const RowPipeline& rows) {
    const NxnDirect<float> narrow{rows, 3, 2, 1, 0, {0.1F, -0.2F, 0.3F, 0.4F, 0.5F, -0.1F}};
    const NxnDirect<double> wide{rows, 2, 3, 1, 2, {0.1, -0.2, 0.3, 0.4, 0.5, -0.1}};
    const int channels = rows.source.channels;
    expect_twins(formats, match, NxnDirectScratch<float>(nullptr, 60, 3, 2, channels).bytes, narrow, nxn_direct_f32,
                 scalar::nxn_direct_f32);
    expect_twins(formats, match, NxnDirectScratch<double>(nullptr, 60, 2, 3, channels).bytes, wide, nxn_direct_f64, scalar::nxn_direct_f64);
  });
}

template <class P>
void expect_box_twins(const Formats& formats, const BoxAny& box, void (*simd)(const BoxAny&, const Tile&),
                      void (*twin)(const BoxAny&, const Tile&)) {
  for (const std::int32_t width : {60, 191, 192}) {  // less than a chunk, three of them, and without the last pixel
    const BoxFloatScratch<P> shape(nullptr, box.windows_across(width), box.x.size(), box.x.halo(), box.rows.step.y,
                                   box.rows.source.channels);
    expect_twins(formats, Match::last_place, shape.bytes, box, simd, twin, {}, width);
  }
}

TEST(Twins, BoxAnyMatches) {
  const auto match_at = [](const Formats& formats, const RowPipeline& rows) {
    const int channels = rows.source.channels;
    BoxAny box{rows, box_window({2, 3}), box_window({4, 1}), {}, {}, 1.0 / 36.0, 8};
    if (info(formats.src).is_unorm()) {
      BoxAny integer = box;
      integer.rows.destination.scale *= box.scale;
      const BoxIntegerScratch shape(nullptr, box.windows_across(60), 6, channels);
      expect_twins(formats, Match::same_bits, shape.bytes, integer, box_any_i32, scalar::box_any_i32);
    }
    const BoxExtent ends[][2] = {{{2, 3}, {4, 1}}, {{1.5, 2.25}, {0.5, 3.0}}, {{0, 70}, {1, 1.75}}};
    for (const auto& [x, y] : ends) {
      box.x = box_window(x);
      box.y = box_window(y);
      box.scale = 1.0 / ((x.before + 1.0 + x.after) * (y.before + 1.0 + y.after));
      expect_box_twins<float>(formats, box, box_any_f64, scalar::box_any_f64);
      expect_box_twins<double>(formats, box, box_any_wide, scalar::box_any_wide);
    }
  };
  for_each_setting([&](const Formats& formats, RowPipeline rows) {
    for (const PerAxis<std::int64_t>& step : {PerAxis<std::int64_t>{1, 1}, {2, 3}, {5, 8}}) {
      rows.step = step;
      match_at(formats, rows);
    }
  });
}

DecimatedAxis decimated_axis(int factor, int order) {
  const std::vector<double> spline = box_spline(factor, order);
  DecimatedAxis axis{factor, spline_centre(spline.size()), spline_support(spline.size(), factor), {spline.begin(), spline.end()}};
  axis.spline.resize(static_cast<std::size_t>(axis.support * factor), 0.0F);
  return axis;
}

/// A small and a large factor: rows are summed in different ways.
std::array<PerAxis<DecimatedAxis>, 2> decimated_axes() {
  return {PerAxis<DecimatedAxis>{decimated_axis(3, 4), decimated_axis(10, 3)},
          PerAxis<DecimatedAxis>{decimated_axis(10, 3), decimated_axis(3, 4)}};
}

/// Coarse samples that the 61x23 pixels of a source reach along an axis, and some beyond.
CoarseGrid grid_around(const PerAxis<DecimatedAxis>& axis) {
  return {{-4, -2}, {61 / axis.x.factor + 7, 23 / axis.y.factor + 5}};
}

/// Room for all coarse samples of a grid.
class CoarseImage {
 public:
  CoarseImage(const CoarseGrid& grid, int channels)
      : stride_(row_stride(grid.size.x * channels)), rows_(grid.size.y), numbers_(static_cast<std::size_t>(stride_ * rows_)) {}
  [[nodiscard]] CoarseSamples stored() { return {numbers_.data(), stride_, {}, rows_}; }

 private:
  std::int64_t stride_, rows_;
  std::vector<float> numbers_;
};

TEST(Twins, GaussDecimateMatches) {
  for_each_setting([](const Formats& formats, const RowPipeline& rows) {
    for (const PerAxis<DecimatedAxis>& axis : decimated_axes()) {
      const int channels = rows.source.channels;
      const CoarseGrid grid = grid_around(axis);
      const GaussDecimate in{rows, axis, grid};
      const GaussExpand out{rows, axis, grid, {{0.25F, 0.5F, 0.25F}, 1}, {{0.2F, 0.2F, 0.2F, 0.2F, 0.2F}, 2}};

      std::uint64_t seed = 0;
      const Pixels src = fresh_source({61, 23, formats.src}, seed);
      SCOPED_TRACE("seed " + std::to_string(seed));
      Pixels unused = Pixels::constant({1, 1, formats.dst}, 0.0);
      const GaussDecimateScratch shape(nullptr, grid.size.x, axis.x.factor, axis.x.support * axis.x.factor, {axis.y.factor, axis.y.support},
                                       channels);
      std::vector<float> scratch(static_cast<std::size_t>(shape.bytes) / 4 + 16);
      auto* aligned = reinterpret_cast<std::byte*>(scratch.data());
      aligned += (64 - reinterpret_cast<std::uintptr_t>(aligned) % 64) % 64;
      CoarseImage coarse(grid, channels), expected(grid, channels);
      const Rect whole{0, 0, static_cast<std::int32_t>(grid.size.x), static_cast<std::int32_t>(grid.size.y)};
      Tile tile{src.view(), unused.view(), whole, 0, 0, aligned, coarse.stored()};
      gauss_decimate(in, tile);
      tile.coarse = expected.stored();
      scalar::gauss_decimate(in, tile);
      for (std::int64_t y = 0; y < grid.size.y; ++y) {
        for (std::int64_t i = 0; i < grid.size.x * channels; ++i) {
          const float wanted = expected.stored().at(0, y, channels)[i];
          ASSERT_NEAR(coarse.stored().at(0, y, channels)[i], wanted, 2e-3F * std::max(1.0F, std::abs(wanted)))
              << "sample " << i << ", " << y;
        }
      }

      const GaussExpandScratch back(nullptr, 60, {axis.x.factor, axis.x.support, 3}, {axis.y.factor, axis.y.support, 5}, channels);
      expect_twins(formats, Match::last_place, back.bytes, out, gauss_upsample, scalar::gauss_upsample, coarse.stored());
    }
  });
}

void in_two_passes(const GaussOnePass& k, const Tile& tile) {
  const CoarseGrid& grid = k.expand.grid;
  Tile in = tile;
  in.out = {0, 0, static_cast<std::int32_t>(grid.size.x), static_cast<std::int32_t>(grid.size.y)};
  gauss_decimate(k.decimate, in);
  gauss_upsample(k.expand, tile);
}

TEST(Twins, OnePassOfADecimatedGaussianMatchesTwo) {
  for_each_setting([](const Formats& formats, const RowPipeline& rows) {
    for (const PerAxis<DecimatedAxis>& axis : decimated_axes()) {
      const int channels = rows.source.channels;
      const CoarseGrid grid = grid_around(axis);
      const GaussOnePass both{{rows, axis, grid}, {rows, axis, grid, {{0.25F, 0.5F, 0.25F}, 1}, {{0.2F, 0.2F, 0.2F, 0.2F, 0.2F}, 2}}};
      CoarseImage coarse(grid, channels);
      const GaussOnePassScratch one(nullptr, 60, {axis.x.factor, axis.x.support, 3}, {axis.y.factor, axis.y.support, 5}, channels);
      const GaussDecimateScratch two(nullptr, grid.size.x, axis.x.factor, axis.x.support * axis.x.factor, {axis.y.factor, axis.y.support},
                                     channels);
      expect_twins(formats, Match::same_bits, std::max(one.bytes, two.bytes), both, gauss_one_pass, in_two_passes, coarse.stored());
    }
  });
}

}  // namespace
}  // namespace mollify::cpu
