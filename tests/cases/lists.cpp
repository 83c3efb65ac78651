// The lists of cases that the axes give.
#include "cases/axes.h"
#include "cases/cases.h"
#include "cases/covering_array.h"
#include "cases/random.h"

namespace mollify::cases {
namespace {

constexpr std::uint64_t kSeed = 20240229;

/// Three values that do not go together may still meet in a row: the planner's choice then takes the algorithm's place,
/// so that every case of a list runs.
void ensure_plan(Case& c) {
  if (!c.algorithm.id.empty() && !has_plan(c)) c.algorithm = {};
}

}  // namespace

std::vector<Case> pairwise_cases() {
  const Axes& a = axes();
  const auto allowed = [&](std::size_t axis_a, std::size_t value_a, std::size_t axis_b, std::size_t value_b) {
    return compatible(a, static_cast<Axis>(axis_a), value_a, static_cast<Axis>(axis_b), value_b);
  };
  std::vector<Case> cases;
  for (const std::vector<std::size_t>& row : covering_array(a.counts(), allowed, kSeed)) {
    Choice choice{};
    std::copy(row.begin(), row.end(), choice.begin());
    cases.push_back(a.at(choice, cases.size() + 1));
    ensure_plan(cases.back());
  }
  return cases;
}

std::vector<Case> all_cases() {
  const Axes& a = axes();
  const Choice counts = a.counts();
  Random random(kSeed);
  std::vector<Case> cases;
  Choice choice{};
  for (choice[kAlgorithm] = 0; choice[kAlgorithm] < counts[kAlgorithm]; ++choice[kAlgorithm]) {
    for (choice[kKernel] = 0; choice[kKernel] < counts[kKernel]; ++choice[kKernel]) {
      if (!compatible(a, kAlgorithm, choice[kAlgorithm], kKernel, choice[kKernel])) continue;
      for (choice[kSize] = 0; choice[kSize] < counts[kSize]; ++choice[kSize]) {
        if (!compatible(a, kKernel, choice[kKernel], kSize, choice[kSize])) continue;
        for (choice[kSource] = 0; choice[kSource] < counts[kSource]; ++choice[kSource]) {
          for (std::size_t axis = kSource + 1; axis < kAxisCount; ++axis) choice[axis] = random.below(counts[axis]);
          for (const Axis axis : {kColour, kBorderValue}) {
            if (!compatible(a, kSource, choice[kSource], axis, choice[axis])) choice[axis] = 0;
          }
          cases.push_back(a.at(choice, cases.size() + 1));
        }
      }
    }
  }
  return cases;
}

std::vector<Case> bench_cases(PerAxis<std::int32_t> size) {
  std::vector<KernelSpec> kernels;
  for (const std::int32_t radius : {1, 4, 9, 15, 32}) {
    kernels.emplace_back(Gaussian{{radius / 3.0, radius / 3.0}, {{radius, radius}}, {}});
  }
  for (const double sigma : {5.0, 20.0}) kernels.emplace_back(Gaussian{{sigma, sigma}, {}, {}});
  for (const double radius : {1, 4, 9, 32, 128}) kernels.emplace_back(Box::of_radius(radius, radius));
  Matrix matrix{7, 7, {}, {3, 3}, Normalization::unit_sum};  // a disc: no separable kernel
  for (int y = -3; y <= 3; ++y) {
    for (int x = -3; x <= 3; ++x) matrix.weights.push_back(x * x + y * y <= 10 ? 1.0 : 0.0);
  }
  kernels.emplace_back(matrix);

  std::vector<Case> cases;
  using enum PixelFormat;
  for (const PixelFormat format : {rgba8, rgba32f, rgba16f, r8, rgb8, r32f}) {
    for (const KernelSpec& kernel : kernels) {
      Case c;
      c.spec.kernel = kernel;
      c.src = c.dst = {size.x, size.y, format};
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

}  // namespace mollify::cases
