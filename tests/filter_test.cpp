#include "cases/filter.h"

#include <gtest/gtest.h>

namespace mollify::cases {
namespace {

TEST(Filter, PlainTextMatchesAnywhere) {
  EXPECT_TRUE(matches("rgba8", "gaussian 3 rgba8 clamp"));
  EXPECT_TRUE(matches("", "anything"));
  EXPECT_FALSE(matches("rgba16", "gaussian 3 rgba8 clamp"));
}

TEST(Filter, WildcardsMatchTheWholeName) {
  EXPECT_TRUE(matches("box*clamp", "box 3 rgba8 clamp"));
  EXPECT_FALSE(matches("box*rgba8", "box 3 rgba8 clamp"));
  EXPECT_FALSE(matches("ox*", "box 3"));
  EXPECT_TRUE(matches("*8", "rgba8 8"));
  EXPECT_TRUE(matches("box ?", "box 3"));
  EXPECT_FALSE(matches("box ?", "box 31"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("?", ""));
}

// The first `*` must give back what it took too early.
TEST(Filter, StarsFallBack) {
  EXPECT_TRUE(matches("*ab*c", "aababc"));
  EXPECT_TRUE(matches("a*b?d", "abcbxbcd"));
  EXPECT_FALSE(matches("*ab*d", "aababc"));
}

}  // namespace
}  // namespace mollify::cases
