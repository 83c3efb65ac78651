// The case list itself: names, coverage, and that a run sees what it should see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#ifdef MOLLIFY_VULKAN
#include "backends/vulkan/pipeline.h"
#endif
#include "cases/axes.h"
#include "cases/canvas.h"
#include "cases/compare.h"
#include "cases/covering_array.h"
#include "cases/random.h"
#include "cases/reached.h"
#include "cases/source.h"
#include "reference/reference.h"
#include "reference/weights.h"
#include "support.h"

namespace mollify::cases {
namespace {

using test::Pixels;

void expect_round_trip(const Case& c) {
  const std::string text = name(c);
  const Result<Case> parsed = parse_case(text);
  ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.error().message;
  EXPECT_EQ(*parsed, c) << text;
  EXPECT_EQ(text.find_first_of(" \t\"'`$&|;<>(){}[]*?!~#\\"), std::string::npos) << text;
}

TEST(CaseName, ReadsAsDocumented) {
  Case c;
  c.spec.kernel = Gaussian{{1.5, 2}, {}, {}};
  c.spec.border.mode = {BorderMode::clamp, BorderMode::wrap};
  c.spec.alpha = AlphaMode::premultiply;
  c.src = {127, 33, PixelFormat::rgba8};
  c.dst = {127, 33, PixelFormat::rgba16f};
  EXPECT_EQ(name(c), "auto/127x33/rgba8-rgba16f/gaussian:sigma=1.5x2/clamp+wrap/premultiply");
  c.spec.stride = {{2, 1}, {3, 0}};
  c.dst = {64, 11, PixelFormat::rgba16f};
  EXPECT_EQ(name(c), "auto/127x33/rgba8-rgba16f/gaussian:sigma=1.5x2/clamp+wrap/stride=2@1x3/premultiply");
}

TEST(CaseName, BenchCasesRoundTrip) {
  for (const Case& c : bench_cases({1920, 1080})) expect_round_trip(c);
}

TEST(CaseName, AnyNumbersRoundTrip) {
  Random random(7);
  const auto number = [&] { return std::ldexp(random.uniform(-1.0, 1.0), random.between(-60, 60)); };
  const auto numbers = [&](std::size_t count) {
    std::vector<double> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(number());
    return result;
  };
  for (int i = 0; i < 2000; ++i) {
    Case c;
    switch (random.below(5)) {
      case 0: {
        Gaussian g{{number(), number()}, {}, {}};
        if (random.one_in(2)) g.radius = {random.between(-9, 9), random.between(0, 1 << 20)};
        if (random.one_in(2)) g.truncate = number();
        c.spec.kernel = g;
        break;
      }
      case 1:
        c.spec.kernel = Box{{{number(), number()}, {number(), number()}}};
        break;
      case 2:
        c.spec.kernel = Tent{{number(), number()}};
        break;
      case 3:
        c.spec.kernel = Taps{{numbers(random.below(4)), random.between(-2, 5)},
                             {numbers(3), random.between(-2, 5)},
                             random.one_in(2) ? Normalization::unit_sum : Normalization::none};
        break;
      default:
        c.spec.kernel = Matrix{2, 3, numbers(6), {random.between(-1, 3), 0}, Normalization::none};
        break;
    }
    for (double& v : c.spec.border.value) v = number();
    c.spec.border.mode = {random.pick(border_modes()).mode, random.pick(border_modes()).mode};
    if (random.one_in(2)) c.spec.accuracy.max_error = number();
    if (random.one_in(2)) c.spec.alpha = AlphaMode::premultiply;
    if (random.one_in(2)) c.spec.transfer = TransferFunction::srgb;
    if (random.one_in(2)) c.spec.roi = Rect{random.between(-9, 9), random.between(-9, 9), random.between(0, 9), 1};
    if (random.one_in(2)) c.spec.stride = {{random.between(1, 20), random.between(-3, 40)}, {random.between(1, 20), random.between(0, 2)}};
    if (random.one_in(2)) c.algorithm = {"box.any", {{"accumulator", "f64"}, {"segment", "3"}}};
    c.src = {random.between(-3, 100000), random.between(0, 100000), random.pick(formats()).format};
    c.dst = {random.between(-3, 10), 5, random.pick(formats()).format};
    if (info(c.src.format).is_floating()) c.content = random.pick(std::array{Content::ordinary, Content::outliers, Content::bad});
    c.layout = random.pick(std::array{Layout::packed, Layout::padded, Layout::in_place});
    c.seed = random.next();
    expect_round_trip(c);
  }
}

TEST(CaseName, MistakesAreNamed) {
  const auto message = [](std::string_view text) {
    const Result<Case> parsed = parse_case(text);
    return parsed.ok() ? std::string("parsed") : parsed.error().message;
  };
  EXPECT_NE(message("auto/8x8/rgba9/box:radius=1/clamp").find("rgba9"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/bax:radius=1/clamp").find("bax"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/box:radius=1,size=3/clamp").find("size"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/gaussian:radius=1/clamp").find("sigma"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/box:radius=1e/clamp").find("1e"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/box:radius=1/clump").find("clump"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/box:radius=1/clamp/fast").find("fast"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/box:radius=1/clamp/outliers").find("outliers"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/box:radius=1/clamp/stride=2@1@1").find("2@1@1"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8/box:radius=1/clamp/stride=0").find("\"0\""), std::string::npos);
  EXPECT_NE(message("auto/8by8/rgba8/box:radius=1/clamp").find("8by8"), std::string::npos);
  EXPECT_NE(message("auto/8x8/rgba8").find("auto/8x8/rgba8"), std::string::npos);
  EXPECT_NE(message("").find("\"\""), std::string::npos);
}

/// Of integers, every third source reaches both ends of what its format holds, in whole pixels and in single channels.
TEST(Sources, OfEveryThirdSeedReachBothEnds) {
  for (const FormatInfo& format : formats()) {
    if (format.is_floating()) continue;
    const double scale = format.is_unorm() ? 1.0 : 0x1p-31;
    const double least = format.component_class == ComponentClass::sint ? -1.0 : 0.0;
    const double largest = format.is_unorm() ? 1.0 : format.component_class == ComponentClass::sint ? 1.0 - 0x1p-31 : 2.0 - 0x1p-31;
    int black = 0, white = 0, mixed = 0, other = 0;
    for (std::uint64_t seed = 3; seed < 30; seed += 3) {
      const test::Pixels source = test::Pixels::random({40, 30, format.format}, seed);
      for (std::int32_t y = 0; y < 30; ++y) {
        for (std::int32_t x = 0; x < 40; ++x) {
          int of_pixel = 0;
          for (int c = 0; c < format.channels; ++c) {
            const double number = source.at(x, y, c) * scale;
            if (number == largest) ++of_pixel;
            if (number != largest && number != least) ++other;
          }
          ++(of_pixel == 0 ? black : of_pixel == format.channels ? white : mixed);
        }
      }
    }
    EXPECT_GT(std::min(black, white), 1000) << format.name;
    EXPECT_EQ(mixed > 0, format.channels > 1) << format.name;
    EXPECT_EQ(other, 0) << format.name;
  }
}

TEST(CoveringArray, EveryPairOfALeadingAxisThatARowCanHoldOccurs) {
  const std::vector<std::size_t> sizes{7, 5, 3, 2, 4, 1};
  constexpr std::size_t kLeading = 2;
  // Rules about three values at once; a row of zeros is always allowed.
  const auto complete_allowed = [](std::span<const std::size_t> r) {
    return (r[0] == 0 || r[1] == 0 || (r[0] + r[1] + r[4]) % 3 != 0) && (r[2] == 0 || r[3] == 0 || r[4] != 2);
  };
  const auto allowed = [&](std::span<const std::size_t> row) {
    std::vector<std::size_t> full(row.begin(), row.end());
    const std::function<bool(std::size_t)> extend = [&](std::size_t axis) {
      if (axis == full.size()) return complete_allowed(full);
      if (row[axis] != kOpen) return extend(axis + 1);
      for (full[axis] = 0; full[axis] < sizes[axis]; ++full[axis]) {
        if (extend(axis + 1)) return true;
      }
      return false;
    };
    return extend(0);
  };
  const auto rows = covering_array(sizes, kLeading, allowed, 3);
  std::set<std::array<std::size_t, 4>> covered;
  for (const auto& row : rows) {
    EXPECT_TRUE(complete_allowed(row));
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      for (std::size_t b = a + 1; b < sizes.size(); ++b) covered.insert({a, row[a], b, row[b]});
    }
  }
  for (std::size_t a = 0; a < kLeading; ++a) {
    for (std::size_t b = a + 1; b < sizes.size(); ++b) {
      for (std::size_t i = 0; i < sizes[a]; ++i) {
        for (std::size_t j = 0; j < sizes[b]; ++j) {
          std::vector<std::size_t> row(sizes.size(), kOpen);
          row[a] = i;
          row[b] = j;
          EXPECT_EQ(covered.contains({a, i, b, j}), allowed(row)) << a << "=" << i << ", " << b << "=" << j;
        }
      }
    }
  }
  EXPECT_LT(rows.size(), 2U * 7U * 5U) << "far from greedy";
}

TEST(CaseList, EveryFormatPairOccursOnTheCpu) {
  std::set<std::pair<PixelFormat, PixelFormat>> pairs;
  for (const Case& c : pairwise_cases(test::cpu().info())) pairs.insert({c.src.format, c.dst.format});
  EXPECT_EQ(pairs.size(), 64U + 93U) << "those of usual formats, and those with a wide one";
}

/// Making the lists of GPUs takes seconds, so one test asks all that is to be asked of them.
TEST(CaseList, OfEveryDevice) {
  std::set<std::string> seen;
  for (const DeviceInfo& device :
       {test::cpu().info(), test::fake_gpu(true), test::fake_gpu(false), test::fake_matrix_gpu(), test::fake_cuda()}) {
    std::set<std::string> names;
    for (const Case& c : pairwise_cases(device)) {
      expect_round_trip(c);
      EXPECT_TRUE(names.insert(name(c)).second) << "twice: " << name(c);
      const Result<Plan> plan = plan_of(c, device);
      ASSERT_TRUE(plan) << device.name << ": " << name(c);
#ifdef MOLLIFY_VULKAN
      if (device.backend == Backend::vulkan) {
        const Status fits = vulkan::check_passes(*plan);
        EXPECT_TRUE(fits) << device.name << ": " << name(c) << ": " << (fits ? "" : fits.error().message);
      }
#endif
      seen.insert(c.algorithm.id);
      for (const auto& [option, value] : c.algorithm.options) seen.insert(c.algorithm.id + ":" + option + "=" + value);
    }
  }
#ifdef MOLLIFY_VULKAN
  // What no device has a plan for, nobody can test.
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const std::string id(algorithm.id);
    EXPECT_TRUE(seen.contains(id)) << id;
    for (const OptionInfo& option : algorithm.options) {
      for (const std::string_view value : option.values) {
        const std::string choice = id + ":" + std::string(option.name) + "=" + std::string(value);
        EXPECT_TRUE(seen.contains(choice)) << choice;
      }
    }
  }
#endif
}

TEST(CaseList, HoldsNoChoiceOfAnotherBackend) {
  const auto holds = [](const DeviceInfo& device, std::string_view algorithm, std::string_view option) {
    return std::ranges::any_of(pairwise_cases(device, algorithm),
                               [&](const Case& c) { return option.empty() || c.algorithm.options.contains(option); });
  };
  EXPECT_TRUE(holds(test::cpu().info(), "nxn.direct", "accumulator"));
  EXPECT_FALSE(holds(test::cpu().info(), "nxn.direct", "storage"));
  EXPECT_FALSE(holds(test::cpu().info(), "sep.shared", ""));
  EXPECT_FALSE(holds(test::fake_gpu(true), "nxn.direct", "accumulator"));
}

TEST(CaseList, IsTheSameEveryTime) {
  EXPECT_EQ(pairwise_cases(test::cpu().info()), pairwise_cases(test::cpu().info()));
}

TEST(Canvas, SeesAByteChangedAnywhereAroundTheImage) {
  Canvas canvas({5, 4, PixelFormat::rgb8}, {1, 2, 1, 1}, std::byte{7});
  const std::vector<std::byte> before = canvas.bytes();
  const ImageView view = canvas.view();
  std::size_t guards = 0;
  for (std::byte& byte : canvas.bytes()) {
    byte = std::byte{8};
    const std::ptrdiff_t from_image = &byte - static_cast<std::byte*>(view.data);
    const bool inside = from_image >= 0 && from_image < 4 * view.row_bytes && from_image % view.row_bytes < 15;
    EXPECT_EQ(changed_outside(before, canvas.bytes(), view).has_value(), !inside) << from_image;
    guards += inside ? 0 : 1;
    byte = std::byte{7};
  }
  EXPECT_EQ(guards, before.size() - 5 * 4 * 3);
}

TEST(Source, HalfAndUnormStoreWhatTheyHold) {
  Pixels half({1, 1, PixelFormat::r16f});
  for (const double value : {0.0, 1.0, -2.5, 65504.0, 0x1p-24, 0x1p-14, 0x1.ff8p-15, 0.333251953125}) {
    half.set(0, 0, 0, value);
    EXPECT_EQ(half.at(0, 0), value);
  }
  half.set(0, 0, 0, 2047.9);  // rounds up into the next power of two
  EXPECT_EQ(half.at(0, 0), 2048.0);
  Pixels unorm({1, 1, PixelFormat::r16});
  unorm.set(0, 0, 0, 1.5);
  EXPECT_EQ(unorm.at(0, 0), 1.0);
  unorm.set(0, 0, 0, 1000.4 / 65535.0);
  EXPECT_EQ(unorm.at(0, 0), 1000.0 / 65535.0);
}

TEST(Source, SameSeedSamePixels) {
  const ImageDesc desc{13, 7, PixelFormat::rgba32f};
  EXPECT_EQ(Pixels::random(desc, 3), Pixels::random(desc, 3));
  EXPECT_NE(Pixels::random(desc, 3), Pixels::random(desc, 4));
}

TEST(Source, PlantsAFewPixelsOfTheirKind) {
  for (const PixelFormat format : {PixelFormat::rg16f, PixelFormat::rg32f}) {
    for (const Content content : {Content::ordinary, Content::outliers, Content::bad}) {
      for (std::uint64_t seed = 1; seed < 20; ++seed) {
        BlurSpec spec;
        if (seed % 2 == 0) spec.alpha = AlphaMode::premultiply;
        Pixels image = Pixels::random({9, 7, format}, seed, spec);
        const Pixels before = image;
        const auto planted = plant(image.view(), spec, content, seed);
        EXPECT_EQ(planted.empty(), content == Content::ordinary);
        for (std::int32_t y = 0; y < 7; ++y) {
          for (std::int32_t x = 0; x < 9; ++x) {
            const bool is_planted = std::ranges::find(planted, PerAxis<std::int32_t>{x, y}) != planted.end();
            if (!is_planted) {
              EXPECT_EQ(image.at(x, y, 0), before.at(x, y, 0));
            } else if (content == Content::bad) {
              EXPECT_FALSE(std::isfinite(image.at(x, y, 0)) || std::isfinite(image.at(x, y, 1)));
            } else {
              EXPECT_GE(std::abs(image.at(x, y, 0)), format == PixelFormat::rg16f ? 59000.0 : 3e38);
              EXPECT_EQ(image.at(x, y, 1) == before.at(x, y, 1), spec.alpha == AlphaMode::premultiply);
            }
          }
        }
      }
    }
  }
}

TEST(Reached, IsWhatSomePlaceWithinReachStandsFor) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    Plan plan;
    plan.src = {random.between(1, 12), random.between(1, 12), PixelFormat::r32f};
    plan.spec.border.mode = {random.pick(border_modes()).mode, random.pick(border_modes()).mode};
    const Rect region{random.between(0, plan.src.width - 1), random.between(0, plan.src.height - 1), 1, 1};
    if (i % 2 == 0) plan.spec.roi = region;
    plan.reach = {{random.between(0, plan.src.width), random.between(0, plan.src.width)},
                  {random.between(0, plan.src.height), random.between(0, plan.src.height)}};
    const PerAxis<std::int32_t> planted{random.between(0, plan.src.width - 1), random.between(0, plan.src.height - 1)};
    bool expected = false;
    const std::int32_t step = random.between(1, 3);
    plan.spec.stride = {{step, random.between(0, 2 * step - 1)}, {1, 0}};
    plan.dst = destination_desc(plan.spec, plan.src, PixelFormat::r32f);
    PerAxis<std::int32_t> at = i % 2 == 0 ? PerAxis<std::int32_t>{region.x, region.y} : PerAxis<std::int32_t>{0, 0};
    at.x += plan.spec.stride.x.phase_halves / 2;
    for (std::int32_t y = at.y - plan.reach.y.before; y <= at.y + plan.reach.y.after; ++y) {
      for (std::int32_t x = at.x - plan.reach.x.before; x <= at.x + plan.reach.x.after; ++x) {
        expected |= reference::source_index(plan.spec.border.mode.x, x, plan.src.width) == planted.x &&
                    reference::source_index(plan.spec.border.mode.y, y, plan.src.height) == planted.y;
      }
    }
    EXPECT_EQ(Reached(plan, {planted})(0, 0), expected) << i;
  }
}

/// The reference's own result, rounded to the destination's format.
Pixels exact(const BlurSpec& spec, const Pixels& src, PixelFormat format) {
  const Result<std::vector<double>> values = reference_blur(spec, src.view());
  Pixels result(destination_desc(spec, src.desc(), format));
  std::size_t i = 0;
  for (std::int32_t y = 0; y < result.desc().height; ++y) {
    for (std::int32_t x = 0; x < result.desc().width; ++x) {
      for (int c = 0; c < info(format).channels; ++c) result.set(x, y, c, (*values)[i++]);
    }
  }
  return result;
}

double measured(const BlurSpec& spec, const Pixels& src, const Pixels& dst) {
  return compare_with_reference(spec, src.view(), dst.view())->max_error;
}

TEST(Compare, CorrectlyRoundedResultsHaveNoError) {
  BlurSpec spec = test::spec_of(Gaussian{{1.2, 0.7}, {}, {}}, BorderMode::mirror);
  for (const FormatInfo& format : formats()) {
    for (const AlphaMode alpha : {AlphaMode::ignore, AlphaMode::premultiply}) {
      if (alpha == AlphaMode::premultiply && format.channels % 2 != 0) continue;
      spec.alpha = alpha;
      const Pixels src = Pixels::random({9, 8, format.format}, 4, spec);
      EXPECT_LE(measured(spec, src, exact(spec, src, format.format)), 1e-15) << format.name;
    }
  }
}

TEST(Compare, ErrorIsWhatExceedsHalfAStepOverFullScale) {
  const BlurSpec identity = test::spec_of(Box::of_radius(0, 0));
  Pixels src({3, 2, PixelFormat::r8});
  src.set(1, 1, 0, 100.0 / 255.0);
  Pixels dst = src;
  dst.set(1, 1, 0, 102.0 / 255.0);
  EXPECT_NEAR(measured(identity, src, dst), 1.5 / 255.0, 1e-12);

  Pixels bright({3, 2, PixelFormat::r32f});
  bright.set(0, 0, 0, 1000.0);
  Pixels off = bright;
  off.set(2, 1, 0, 1.0);
  EXPECT_NEAR(measured(identity, bright, off), 1e-3, 1e-9);
}

TEST(Compare, StepsAreThoseOfTheResultTowardsTheExactNumber) {
  const BlurSpec identity = test::spec_of(Box::of_radius(0, 0));
  const auto error = [&](double exact, double got) {
    Pixels src({1, 1, PixelFormat::r32f});
    src.set(0, 0, 0, exact);
    Pixels dst({1, 1, PixelFormat::r16f});
    dst.set(0, 0, 0, got);
    return measured(identity, src, dst) * exact;
  };
  const double below = 0.5 - 0x1p-14;  // where steps are 2^-12; above a half 2^-11
  EXPECT_NEAR(error(below, 0.5), 0.0, 1e-9);
  EXPECT_NEAR(error(below, 0.5 + 0x1p-11), 0x1p-11 + 0x1p-14 - 0x1p-12, 1e-9);
  EXPECT_NEAR(error(0.5 + 0x1p-12, 0.5), 0.0, 1e-9);
  EXPECT_NEAR(error(0.5 + 0x1p-13, 0.5 - 0x1p-12), 0x1p-13 + 0x1p-12 - 0x1p-13, 1e-9);
}

TEST(Compare, NotANumberIsAnInfiniteError) {
  const BlurSpec identity = test::spec_of(Box::of_radius(0, 0));
  const Pixels src = Pixels::constant({2, 2, PixelFormat::r32f}, 0.5);
  Pixels dst = src;
  dst.set(0, 1, 0, std::nan(""));
  EXPECT_EQ(measured(identity, src, dst), HUGE_VAL);
}

TEST(Compare, PixelsThatDoNotCountMayBeAnything) {
  const BlurSpec identity = test::spec_of(Box::of_radius(0, 0));
  const Pixels src = Pixels::constant({2, 2, PixelFormat::r32f}, 0.5);
  Pixels dst = src;
  dst.set(0, 1, 0, 7.0);
  const Result<ExactAnswer> answer = ExactAnswer::create(identity, src.view(), dst.desc());
  EXPECT_EQ(answer->compare(dst.view(), [](std::int32_t x, std::int32_t y) { return x != 0 || y != 1; }).max_error, 0.0);
  EXPECT_NEAR(answer->compare(dst.view(), [](std::int32_t x, std::int32_t) { return x == 0; }).max_error, 13.0, 1e-6);
}

TEST(Compare, ColourIsWeightedByTheExactAlpha) {
  BlurSpec identity = test::spec_of(Box::of_radius(0, 0));
  identity.alpha = AlphaMode::premultiply;
  Pixels src({1, 1, PixelFormat::rg32f});
  src.set(0, 0, 0, 1.0);
  src.set(0, 0, 1, 0.25);
  Pixels dst = src;
  dst.set(0, 0, 0, 0.5);
  EXPECT_NEAR(measured(identity, src, dst), 0.125, 1e-6);
}

TEST(Compare, LargeImagesAreSampledAtEveryCorner) {
  const BlurSpec identity = test::spec_of(Box::of_radius(0, 0));
  const ImageDesc desc{1100, 1000, PixelFormat::r8};
  const Pixels src = Pixels::random(desc);
  EXPECT_EQ(measured(identity, src, src), 0.0);
  for (const std::int32_t x : {0, 1099}) {
    for (const std::int32_t y : {0, 999}) {
      Pixels dst = src;
      dst.set(x, y, 0, src.at(x, y) > 0.5 ? 0.0 : 1.0);
      EXPECT_GT(measured(identity, src, dst), 0.4);
    }
  }
}

TEST(RunCase, RefusalsSayWhy) {
  Case c;
  c.algorithm.id = "box.any";
  c.spec.kernel = Gaussian{{2, 2}, {}, {}};
  c.src = c.dst = {8, 8, PixelFormat::r8};
  const CaseResult result = run_case(test::cpu(), c);
  EXPECT_EQ(result.outcome, Outcome::refused);
  EXPECT_NE(result.message.find("box.any"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace mollify::cases
