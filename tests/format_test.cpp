#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/rounding.h"
#include "mollify/image.h"

namespace mollify {
namespace {

TEST(Format, RowsAreInTheOrderOfTheEnum) {
  ASSERT_EQ(formats().size(), 28U);
  for (std::size_t i = 0; i < formats().size(); ++i) {
    EXPECT_EQ(formats()[i].format, static_cast<PixelFormat>(i));
    EXPECT_EQ(&info(static_cast<PixelFormat>(i)), &formats()[i]);
  }
}

TEST(Format, NamesRoundTrip) {
  for (const FormatInfo& format : formats()) EXPECT_EQ(parse_format(format.name), format.format) << format.name;
  EXPECT_FALSE(parse_format(""));
  EXPECT_FALSE(parse_format("rgba9"));
  EXPECT_FALSE(parse_format("RGBA8"));
}

TEST(Format, NamesSayWhatTheRowHolds) {
  constexpr std::string_view kChannels = "rgba";
  for (const FormatInfo& format : formats()) {
    std::string expected(kChannels.substr(0, format.channels));
    expected += std::to_string(format.bits);
    expected += std::array{"", "f", "i", "ui"}[static_cast<std::size_t>(format.component_class)];
    EXPECT_EQ(format.name, expected);
    EXPECT_EQ(format.pixel_bytes(), format.channels * format.bits / 8);
    EXPECT_EQ(find_format(format.component_class, format.bits, format.channels), format.format);
  }
}

TEST(Format, UnitIsTheLargestInteger) {
  EXPECT_EQ(info(PixelFormat::rgb8).unit(), 255.0);
  EXPECT_EQ(info(PixelFormat::rg16).unit(), 65535.0);
  EXPECT_EQ(info(PixelFormat::r16f).unit(), 1.0);
  EXPECT_EQ(info(PixelFormat::rgba32f).unit(), 1.0);
  EXPECT_EQ(info(PixelFormat::r32i).unit(), 1.0);
  EXPECT_EQ(info(PixelFormat::rgb64f).unit(), 1.0);
}

TEST(Format, WideOnesAreThoseThatFloatsCannotHold) {
  const auto is_wide = [](PixelFormat format) { return info(format).is_wide(); };
  using enum PixelFormat;
  for (const PixelFormat format : {r8, rgba16, rg16f, rgb32f}) EXPECT_FALSE(is_wide(format)) << info(format).name;
  for (const PixelFormat format : {r32i, rg32ui, rgba64f}) EXPECT_TRUE(is_wide(format)) << info(format).name;
}

TEST(Format, IntegersThatStandForThemselvesAreRoundedAndSaturate) {
  const auto rounded = [](double value, PixelFormat format) { return rounded_to_format(value, info(format)); };
  EXPECT_EQ(rounded(2.5, PixelFormat::r32i), 2.0);
  EXPECT_EQ(rounded(-3e9, PixelFormat::r32i), -0x1p31);
  EXPECT_EQ(rounded(3e9, PixelFormat::r32i), 0x1p31 - 1.0);
  EXPECT_EQ(rounded(-1.0, PixelFormat::r32ui), 0.0);
  EXPECT_EQ(rounded(5e9, PixelFormat::r32ui), 0x1p32 - 1.0);
  EXPECT_EQ(rounded(std::numeric_limits<double>::quiet_NaN(), PixelFormat::r32i), 0.0);
  EXPECT_EQ(rounded(0.1, PixelFormat::r64f), 0.1);
}

TEST(Format, MissingCombinationsAreNotFound) {
  EXPECT_FALSE(find_format(ComponentClass::unorm, 32, 4));
  EXPECT_FALSE(find_format(ComponentClass::floating, 8, 1));
  EXPECT_FALSE(find_format(ComponentClass::unorm, 8, 5));
  EXPECT_FALSE(find_format(ComponentClass::unorm, 8, 0));
}

TEST(Image, RowsStartAtMultiplesOf64Bytes) {
  Result<Image> image = Image::create({13, 5, PixelFormat::rgb16});
  ASSERT_TRUE(image.ok());
  for (int y = 0; y < 5; ++y) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image->view().row(y)) % 64, 0U);
}

TEST(Image, EmptyOnesAreRefused) {
  EXPECT_FALSE(Image::create({0, 5, PixelFormat::r8}).ok());
  EXPECT_FALSE(Image::create({5, -1, PixelFormat::r8}).ok());
  EXPECT_FALSE(Image::create({1 << 30, 1 << 30, PixelFormat::rgba32f}).ok()) << "2^64 bytes are not none";
}

TEST(Image, AnImpossibleSizeIsAnError) {
  EXPECT_FALSE(Image::create({INT32_MAX, INT32_MAX, PixelFormat::rgba32f}).ok());
}

TEST(Image, CropPointsIntoTheImage) {
  std::byte bytes[200] = {};
  const ImageView view{{10, 5, PixelFormat::rg16}, bytes, 40};
  const ImageView part = crop(view, {3, 2, 4, 3});
  EXPECT_EQ(part.data, bytes + 2 * 40 + 3 * 4);
  EXPECT_EQ(part.desc, (ImageDesc{4, 3, PixelFormat::rg16}));
  EXPECT_EQ(part.row_bytes, 40);
}

TEST(Image, PayloadBytesDoNotOverflow) {
  EXPECT_EQ((ImageDesc{50000, 50000, PixelFormat::rgba32f}.payload_bytes()), std::int64_t{40'000'000'000});
}

}  // namespace
}  // namespace mollify
