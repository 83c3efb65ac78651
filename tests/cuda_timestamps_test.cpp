// The clock of the CUDA backend, on a stand-in for its driver that counts time: cuda_stand_in.cpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/timestamps.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

constexpr ImageDesc kImage{70, 50, PixelFormat::rgba8};
constexpr double kLaunchNs = 2000.0;
constexpr double kCopyNs = 70 * 50 * 4 / 1e3;  // beside the launch; a blur moves twice as much

struct Ready {
  Device device = Device::open("cuda").value();
  Executable executable;
  std::vector<std::byte> pixels;
  std::unique_ptr<cuda::DeviceNoise> noise;

  explicit Ready(std::int32_t radius) : executable(prepare(radius)), pixels(70 * 51 * 4) {
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::byte>(i * 37 % 251);
    ImageDesc more = kImage;
    more.height = 51;  // for images of a batch that begin later
    noise = cuda::DeviceNoise::create(prepared()->context(), {more, pixels.data(), more.row_payload_bytes()}).value();
  }
  [[nodiscard]] std::shared_ptr<const cuda::Prepared> prepared() const { return cuda::prepared_of(Access::impl(executable)); }
  [[nodiscard]] Executable prepare(std::int32_t radius) const {
    BlurSpec spec;
    spec.kernel = Box::of_radius(radius, radius);
    const PlanOptions options{.algorithm = *parse_algorithm("sep.fused:passes=1")};
    return *device.prepare(*make_plan(spec, kImage, kImage, device.info(), options));
  }
};

TEST(CudaTimestamps, EachKindIsTimedByItself) {
  const Ready ready(2);
  const auto timer = cuda::DeviceTimer::create(ready.prepared(), *ready.noise, 1).value();
  constexpr std::size_t kRuns = 21;  // more than are enqueued in one go
  const DeviceSamples samples = timer->measure(kRuns).value();
  for (const auto& [times, wanted] : {std::pair{samples.blur, kLaunchNs + 2 * kCopyNs},
                                      {samples.driver_copy, kLaunchNs + kCopyNs},
                                      {samples.kernel_copy, kLaunchNs + kCopyNs},
                                      {samples.dispatch, kLaunchNs},
                                      {samples.nothing, 0.0}}) {
    EXPECT_EQ(times.size(), kRuns);
    for (const double time : times) EXPECT_NEAR(time, wanted, 1.0);
  }
  EXPECT_EQ(timer->measure_submissions(3)->size(), 3U);
}

TEST(CudaTimestamps, ABatchIsWhatItsImagesBecomeAlone) {
  const Ready ready(2);
  const auto timer = cuda::DeviceTimer::create(ready.prepared(), *ready.noise, 3).value();
  const std::vector<std::byte> together = timer->blurred().value();
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<std::byte> alone(70 * 50 * 4);
    Workspace own = ready.executable.make_workspace().value();
    ASSERT_TRUE(ready.executable.run(ConstImageView{kImage, ready.pixels.data() + 4 * i, 280}, ImageView{kImage, alone.data(), 280}, own));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(i * alone.size()))) << i;
  }
}

TEST(CudaTimestamps, ContestsTimeEachOfTheirs) {
  const Ready ready(2);
  const auto contest = cuda::DeviceContest::create(ready.prepared(), *ready.noise).value();
  const Executable other = ready.prepare(5);
  const std::vector<std::shared_ptr<const cuda::Prepared>> two = {ready.prepared(), cuda::prepared_of(Access::impl(other))};
  ASSERT_TRUE(contest->enter(two));
  const std::vector<double> times = contest->round().value();
  ASSERT_EQ(times.size(), 2U);
  for (const double time : times) EXPECT_NEAR(time, kLaunchNs + 2 * kCopyNs, 1.0);
}

}  // namespace
}  // namespace mollify
