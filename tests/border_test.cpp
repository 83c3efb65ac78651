// Names of borders, and what each puts around an image.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reference/weights.h"
#include "support.h"

namespace mollify::test {
namespace {

TEST(Border, NamesRoundTrip) {
  for (const BorderModeInfo& row : border_modes()) {
    EXPECT_EQ(parse_border_mode(row.name), row.mode);
    EXPECT_EQ(name(row.mode), row.name);
  }
  EXPECT_FALSE(parse_border_mode("clamped"));
  EXPECT_FALSE(parse_border_mode(""));
}

/// The image abcd with three pixels on either side, as the table of modes draws it.
std::string drawn(BorderMode mode, auto index) {
  std::string result;
  for (int p = -3; p < 7; ++p) {
    if (p == 0 || p == 4) result += '|';
    const std::int64_t i = index(mode, p);
    result += i < 0 ? 'v' : static_cast<char>('a' + i);
  }
  return result;
}

TEST(Border, TheReferenceReadsWhatTheTableDraws) {
  for (const BorderModeInfo& row : border_modes()) {
    const auto index = [](BorderMode mode, std::int64_t p) { return reference::source_index(mode, p, 4); };
    EXPECT_EQ(drawn(row.mode, index), row.pattern);
  }
}

TEST(Border, TheLibraryReadsWhatTheTableDraws) {
  Pixels image({4, 1, PixelFormat::r32f});
  for (int x = 0; x < 4; ++x) image.set(x, 0, 0, x);
  for (const BorderModeInfo& row : border_modes()) {
    const auto index = [&](BorderMode mode, std::int64_t p) {
      // One tap of weight 1, `p` pixels away from pixel 0.
      Taps shift;
      shift.x.weights.assign(8, 0.0);
      shift.x.anchor = 3;
      shift.x.weights[static_cast<std::size_t>(p < 4 ? p + 3 : p)] = 1.0;
      BlurSpec spec = spec_of(shift, mode);
      spec.border.value = {-1, -1, -1, -1};
      const Pixels result = blurred(spec, image.view(), {PixelFormat::r32f, {}, 1});
      return static_cast<std::int64_t>(std::lround(result.at(p < 4 ? 0 : 3, 0)));
    };
    EXPECT_EQ(drawn(row.mode, index), row.pattern);
  }
}

TEST(Border, MirrorOnOnePixelIsClamp) {
  for (std::int64_t p = -5; p <= 5; ++p) EXPECT_EQ(reference::source_index(BorderMode::mirror, p, 1), 0);
}

TEST(Border, EveryModeRepeatsForEver) {
  for (const BorderModeInfo& row : border_modes()) {
    if (row.mode == BorderMode::clamp || row.mode == BorderMode::constant) continue;
    const std::int64_t period = row.mode == BorderMode::mirror ? 8 : row.mode == BorderMode::reflect ? 10 : 5;
    for (std::int64_t p = -7; p < 12; ++p) {
      EXPECT_EQ(reference::source_index(row.mode, p, 5), reference::source_index(row.mode, p + 1000 * period, 5));
      EXPECT_EQ(reference::source_index(row.mode, p, 5), reference::source_index(row.mode, p - 1000 * period, 5));
    }
  }
}

}  // namespace
}  // namespace mollify::test
