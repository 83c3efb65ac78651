#include "stride_support.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "fuzz/random_case.h"
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

/// Draws cases until so many of them could be tried: `try_case` says which. Stops at the first failure.
template <class TryCase>
void for_strided_cases(std::string_view algorithm, int cases, TryCase try_case) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int done = 0;
  for (int drawn = 0; done < cases && !testing::Test::HasFailure() && drawn < 20'000; ++drawn) {
    if (try_case(strided_case(algorithm, random), random)) ++done;
  }
  EXPECT_GE(done, cases) << "too few cases were for " << algorithm;
}

}  // namespace

void expect_promise_with_strides(std::string_view algorithm, const std::vector<Device>& devices, int cases) {
  for_strided_cases(algorithm, cases, [&](const Case& c, Random& random) {
    const Device& device = random.pick(devices);
    // On GPUs only boxes are held to what outliers leave.
    const bool is_held = device.info().backend == Backend::cpu || algorithm.starts_with("box.");
    if (!is_held && c.content == cases::Content::outliers) return false;
    const cases::CaseResult result = cases::run_case(device, c);
    EXPECT_NE(result.outcome, cases::Outcome::failed) << cases::name(c) << "\n" << result.message;
    return result.outcome == cases::Outcome::pass;
  });
}

void expect_same_bits_on_windows_with_strides(std::string_view algorithm, const std::vector<Device>& devices, int cases) {
  for_strided_cases(algorithm, cases,
                    [&](const Case& c, Random& random) { return expect_same_bits(c, c.algorithm, random.pick(devices), random); });
}

}  // namespace mollify::test
