// Every n-th pixel of a blur: the algorithms that take a stride keep to the reference within what they promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stride_support.h"

namespace mollify::test {
namespace {

class AlgorithmWithStride : public testing::TestWithParam<std::string> {};

TEST_P(AlgorithmWithStride, KeepsItsPromise) {
  expect_promise_with_strides(GetParam(), {cpu(1), cpu(3)}, 150);
}

INSTANTIATE_TEST_SUITE_P(Strides, AlgorithmWithStride, testing::Values("sep.fused", "box.any", "gauss.decimate"), [](const auto& tested) {
  std::string name = tested.param;
  std::ranges::replace(name, '.', '_');
  return name;
});

}  // namespace
}  // namespace mollify::test
