#include "bench/buffers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>

namespace mollify::bench {
namespace {

constexpr ImageDesc kSrc{100, 50, PixelFormat::rgba8};
constexpr ImageDesc kDst{100, 50, PixelFormat::rgba32f};

TEST(BufferRing, ExceedsTheCacheWithDistinctMemory) {
  constexpr std::int64_t kCache = 1 << 20;
  const auto ring = BufferRing::create(kSrc, kDst, Sharing::separate, kCache);
  ASSERT_TRUE(ring.ok());
  std::set<const void*> starts;
  for (std::size_t i = 0; i < ring->size(); ++i) {
    const BufferPair& pair = (*ring)[i];
    EXPECT_EQ(pair.src.desc, kSrc);
    EXPECT_EQ(pair.dst.desc, kDst);
    EXPECT_EQ(pair.src.row_bytes, 400);
    EXPECT_EQ(pair.dst.row_bytes, 1600);
    starts.insert({pair.src.data, pair.dst.data});
  }
  EXPECT_EQ(starts.size(), 2 * ring->size());
  EXPECT_GT(static_cast<std::int64_t>(ring->size()) * 2 * kDst.payload_bytes(), kCache);
}

TEST(BufferRing, PlacesImagesAlikeModuloAPage) {
  const auto ring = BufferRing::create(kSrc, kDst, Sharing::separate, 1 << 20);
  ASSERT_TRUE(ring.ok());
  constexpr std::uintptr_t kPage = 4096;
  for (std::size_t i = 0; i < ring->size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*ring)[i].src.data) % kPage, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*ring)[i].dst.data) % kPage, 0U);
  }
}

TEST(BufferRing, InPlaceSharesTheMemory) {
  const auto ring = BufferRing::create(kSrc, kSrc, Sharing::in_place, 1);
  ASSERT_TRUE(ring.ok());
  EXPECT_EQ(ring->size(), 1U);
  EXPECT_EQ((*ring)[0].src.data, (*ring)[0].dst.data);
  EXPECT_NE((*ring)[0].first, (*ring)[0].second);
}

TEST(Noise, FloatsAndHalvesLieBetweenZeroAndOne) {
  std::vector<float> floats(1000);
  fill_noise({{1000, 1, PixelFormat::r32f}, floats.data(), 4000}, 3);
  for (const float value : floats) {
    EXPECT_GE(value, 0.0F);
    EXPECT_LT(value, 1.0F);
  }
  std::vector<std::uint16_t> halves(1000);
  fill_noise({{1000, 1, PixelFormat::r16f}, halves.data(), 2000}, 3);
  for (const std::uint16_t value : halves) {
    EXPECT_GE(value, 0x2C00U);  // 1/16
    EXPECT_LT(value, 0x3C00U);  // 1
  }
  EXPECT_GT(std::set<std::uint16_t>(halves.begin(), halves.end()).size(), 500U);
}

TEST(Noise, UnormTakesAllCodesUpToTheLastByte) {
  std::vector<std::uint8_t> bytes(4099, 0xAA);
  fill_noise({{4099, 1, PixelFormat::r8}, bytes.data(), 4099}, 5);
  EXPECT_EQ(std::set<std::uint8_t>(bytes.begin(), bytes.end()).size(), 256U);
  std::vector<std::uint8_t> other(4099, 0xAA);
  fill_noise({{4099, 1, PixelFormat::r8}, other.data(), 4099}, 6U << 20U);
  EXPECT_NE(bytes, other);
}

}  // namespace
}  // namespace mollify::bench
