// What passes tell the kernels of CPUs.
#include <gtest/gtest.h>

#include "pass_arguments_support.h"
#include "support.h"

namespace mollify::test {
namespace {

constexpr ImageDesc kBytes{300, 200, PixelFormat::rgba8};
constexpr ImageDesc kFloats{300, 200, PixelFormat::rgba32f};

KernelSpec cut(double sigma, std::int32_t radius) {
  return Gaussian{.sigma = {sigma, sigma}, .radius = PerAxis<std::int32_t>{radius, radius}};
}

TEST(PassArguments, OfEveryKernelOfCpusAreExactlyWhatItTakes) {
  std::set<std::string> kernels;
  for (const PassCase& c :
       {PassCase{"sep.fused:accumulator=f32", Gaussian{{2.0, 2.0}}, kFloats},
        PassCase{"sep.fused:accumulator=u16", Gaussian{{2.0, 2.0}}, kBytes}, PassCase{"gauss.pyramid", Gaussian{{12.0, 12.0}}, kBytes},
        PassCase{"gauss.cut", cut(20.0, 60), kBytes}, PassCase{"gauss.cut", cut(10.0, 40), kFloats},
        PassCase{"gauss.decimate:passes=1", Gaussian{{9.0, 9.0}}, kFloats},
        PassCase{"gauss.decimate:passes=2", Gaussian{{9.0, 9.0}}, kFloats}, PassCase{"nxn.direct", Gaussian{{1.0, 1.0}}, kBytes},
        PassCase{"box.any", Box::of_radius(9.0, 9.0), kBytes}}) {
    kernels.merge(expect_exact_arguments(cpu(), c.plan(cpu())));
  }
  EXPECT_EQ(kernels, std::set<std::string>(cpu().info().kernels.begin(), cpu().info().kernels.end()));
}

TEST(PassArguments, AreRefusedWhereTheyDoNotFit) {
  struct Row {
    PassCase of;
    std::string name;
    std::int64_t number;
  };
  const PassCase sums{"sep.fused:accumulator=u16", Gaussian{{2.0, 2.0}}, kBytes};
  for (const Row& row : {Row{sums, "rounding", 1 << 16}, Row{sums, "rounding", -1}, Row{sums, "halvings", std::int64_t{1} << 32},
                         Row{{"sep.fused:accumulator=f32", Gaussian{{2.0, 2.0}}, kFloats}, "wide", 2},
                         Row{{"gauss.cut", cut(20.0, 60), kBytes}, "height_y", 1 << 16},
                         Row{{"gauss.cut", cut(10.0, 40), kFloats}, "down_anchor_x", std::int64_t{1} << 31}}) {
    expect_refused(cpu(), row.of.plan(cpu()), 0, row.name, [&](Pass& pass) { pass.constants.at(row.name) = row.number; });
  }
}

}  // namespace
}  // namespace mollify::test
