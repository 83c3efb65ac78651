// Every algorithm, on every kind of case: the measured error stays below the one that the plan promises.
#include <gtest/gtest.h>

#include "support.h"

namespace mollify::test {
namespace {

class Conformance : public testing::TestWithParam<cases::Case> {};

TEST_P(Conformance, ErrorStaysBelowThePromise) {
  expect_pass(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Pairwise, Conformance, testing::ValuesIn(cases::pairwise_cases()));

}  // namespace
}  // namespace mollify::test
