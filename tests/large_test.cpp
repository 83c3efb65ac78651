// Images beyond 2^31 bytes, in memory that is mapped but mostly never touched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>

#include "cases/random.h"
#include "reference/reference.h"
#include "support.h"

namespace mollify::test {
namespace {

/// Zeros until written to; pages cost nothing before that.
class SparseImage {
 public:
  explicit SparseImage(const ImageDesc& desc) : desc_(desc), bytes_(static_cast<std::size_t>(desc.payload_bytes())) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : memory;
  }
  SparseImage(const SparseImage&) = delete;
  SparseImage& operator=(const SparseImage&) = delete;
  ~SparseImage() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  [[nodiscard]] bool ok() const { return data_ != nullptr; }
  [[nodiscard]] ImageView view() const { return {desc_, data_, static_cast<std::ptrdiff_t>(desc_.row_payload_bytes())}; }

 private:
  ImageDesc desc_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

/// Blurs `region` of `desc` with random bytes on and around it, as far as `margin` pixels.
void expect_exact(const ImageDesc& desc, const Rect& region, const KernelSpec& kernel, BorderMode mode, std::int32_t margin) {
  const SparseImage src(desc);
  if (!src.ok()) GTEST_SKIP() << "no address space for " << desc.payload_bytes() << " bytes";
  cases::Random random(5);
  const std::int32_t last_x = std::min(desc.width, region.x + region.width + margin);
  const std::int32_t last_y = std::min(desc.height, region.y + region.height + margin);
  const std::int64_t pixel_bytes = info(desc.format).pixel_bytes();
  for (std::int32_t y = std::max(0, region.y - margin); y < last_y; ++y) {
    std::byte* row = src.view().row(y);
    for (std::int64_t i = std::max(0, region.x - margin) * pixel_bytes; i < last_x * pixel_bytes; ++i) {
      row[i] = static_cast<std::byte>(random.next());
    }
  }

  BlurSpec spec = spec_of(kernel, mode);
  spec.roi = region;
  const Pixels result = blurred(spec, src.view(), {desc.format, {}, 2});
  const FormatInfo& format = info(desc.format);
  const double tolerance = default_max_error(desc.format) + 0.5 / format.unit();
  for (std::int32_t y = 0; y < region.height; y += 3) {
    for (std::int32_t x = 0; x < region.width; x += 5) {
      const auto exact = reference_at(spec, src.view(), x, y);
      ASSERT_TRUE(exact.ok());
      for (int c = 0; c < format.channels; ++c) ASSERT_NEAR(result.at(x, y, c), (*exact)[c], tolerance) << x << ", " << y;
    }
  }
}

TEST(Large, TheEndOfAnImageBeyond2To31Bytes) {
  const ImageDesc desc{50'000, 50'000, PixelFormat::r8};
  const Rect end{49'900, 49'950, 100, 50};
  expect_exact(desc, end, Gaussian{{2, 2}, {}, {}}, BorderMode::clamp, 30);
  expect_exact(desc, end, Box::of_radius(4, 9), BorderMode::mirror, 30);
  expect_exact(desc, end, Box::of_radius(2.5, 1.5), BorderMode::reflect, 30);
  expect_exact(desc, end, Matrix{2, 2, {1, 2, 3, 5}, {0, 0}, Normalization::unit_sum}, BorderMode::constant, 30);
}

TEST(Large, WrapReachesTheOtherEnd) {
  expect_exact({50'000, 50'000, PixelFormat::r8}, {0, 0, 60, 40}, Box::of_radius(3, 3), BorderMode::wrap, 10);
}

TEST(Large, ARowBeyond2To31Bytes) {
  expect_exact({300'000'000, 2, PixelFormat::rgba16}, {299'999'900, 0, 100, 2}, Box::of_radius(0, 0), BorderMode::clamp, 0);
  expect_exact({600'000'000, 2, PixelFormat::rgba8}, {599'999'900, 0, 100, 2}, Gaussian{{1.5, 0.5}, {}, {}}, BorderMode::clamp, 20);
}

}  // namespace
}  // namespace mollify::test
