// Every n-th pixel of a blur: the algorithms that take a stride keep to the reference within what they promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "fuzz/random_case.h"
#include "support.h"
#include "windows_support.h"

namespace mollify::test {
namespace {

using cases::Case;
using cases::Random;

KernelSpec kernel_for(std::string_view algorithm, Random& random) {
  if (algorithm == "box.any") {
    const auto reach = [&] { return random.one_in(2) ? random.between(0, 30) : random.uniform(0.0, 20.0); };
    const auto extent = [&] { return BoxExtent{reach(), reach()}; };
    return Box{{extent(), extent()}};
  }
  const double most = algorithm == "gauss.decimate" ? 30.0 : 6.0;
  const auto sigma = [&] { return random.one_in(10) ? 0.0 : std::exp2(random.uniform(-2.0, std::log2(most))); };
  Gaussian gaussian{{sigma(), sigma()}, {}, {}};
  if (random.one_in(3)) gaussian.truncate = random.uniform(1.0, 4.0);
  return gaussian;
}

/// A case with a stride, which the algorithm may refuse.
Case strided_case(std::string_view algorithm, Random& random) {
  Case c = windowed_case(random);
  if (algorithm != "sep.fused" || std::holds_alternative<Matrix>(c.spec.kernel)) c.spec.kernel = kernel_for(algorithm, random);
  c.algorithm = {std::string(algorithm), {}};
  do c.spec.stride = cases::random_stride(random, c.spec.kernel);
  while (c.spec.stride == PerAxis<Stride>{});
  const PixelFormat made = c.dst.format;
  c.dst = destination_desc(c.spec, c.src, made);
  return c;
}

class AlgorithmWithStride : public testing::TestWithParam<std::string> {};

TEST_P(AlgorithmWithStride, KeepsItsPromise) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int passed = 0;
  for (int tried = 0; passed < 150 && !HasFailure() && tried < 20'000; ++tried) {
    const Case c = strided_case(GetParam(), random);
    const cases::CaseResult result = cases::run_case(cpu(random.one_in(2) ? 1 : 3), c);
    EXPECT_NE(result.outcome, cases::Outcome::failed) << cases::name(c) << "\n" << result.message;
    if (result.outcome == cases::Outcome::pass) ++passed;
  }
  EXPECT_GE(passed, 150) << "too few cases were for " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Strides, AlgorithmWithStride, testing::Values("sep.fused", "box.any", "gauss.decimate"), [](const auto& tested) {
  std::string name = tested.param;
  std::ranges::replace(name, '.', '_');
  return name;
});

}  // namespace
}  // namespace mollify::test
