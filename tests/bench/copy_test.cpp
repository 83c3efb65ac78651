#include "bench/copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace mollify::bench {
namespace {

constexpr std::byte kPoison{0xEE};

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 131 + i / 251) & 0xFFU);
  return data;
}

// Every alignment of either side and every remainder of the vector loop.
TEST(StreamCopy, CopiesEveryByteAndNoOther) {
  const std::vector<std::byte> src = pattern(700);
  for (std::size_t offset = 0; offset < 65; ++offset) {
    for (const std::size_t bytes : {0, 1, 15, 63, 64, 65, 255, 256, 257, 300, 511, 513}) {
      std::vector<std::byte> dst(700, kPoison);
      stream_copy(src.data() + 7, dst.data() + offset, bytes);
      for (std::size_t i = 0; i < dst.size(); ++i) {
        const bool inside = i >= offset && i < offset + bytes;
        ASSERT_EQ(dst[i], inside ? src[7 + i - offset] : kPoison) << "offset " << offset << ", bytes " << bytes << ", at " << i;
      }
    }
  }
}

TEST(Copier, CopiesTheSameBytesByEveryMethodAndThreadCount) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4095}, std::size_t{4097}, std::size_t{5'000'001}}) {
    const std::vector<std::byte> src = pattern(bytes);
    for (const CopyMethod method : kCopyMethods) {
      for (const int threads : {1, 2, 3}) {
        std::vector<std::byte> dst(bytes + 1, kPoison);
        Copier(threads).run(method, src.data(), dst.data(), bytes);
        EXPECT_TRUE(std::equal(src.begin(), src.end(), dst.begin())) << name(method) << ", " << threads << " threads, " << bytes;
        EXPECT_EQ(dst.back(), kPoison);
      }
    }
  }
}

}  // namespace
}  // namespace mollify::bench
