// CPU kernels keep to the scratch memory that their plan takes for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/pipeline.h"
#include "base/places.h"
#include "support.h"
#include "windows_support.h"

namespace mollify::test {
namespace {

using cases::Case;
using cases::Random;

/// Memory of so many bytes, and what must not be touched behind it.
class Fenced {
 public:
  explicit Fenced(std::int64_t bytes) : bytes_(bytes), memory_(cpu::allocate_scratch(bytes + kFence)) {
    std::fill_n(memory_.get() + bytes_, kFence, kUntouched);
  }
  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  [[nodiscard]] bool is_kept() const {
    return std::all_of(memory_.get() + bytes_, memory_.get() + bytes_ + kFence, [](std::byte b) { return b == kUntouched; });
  }

 private:
  static constexpr std::int64_t kFence = 1 << 18;
  static constexpr std::byte kUntouched{0xA5};
  std::int64_t bytes_;
  cpu::Scratch memory_;
};

/// Whether the algorithm can run the case, and then that its tiles keep to their scratch memory. The plan is for one thread.
bool expect_kept_scratch(const Case& c, const AlgorithmChoice& algorithm) {
  const Result<Plan> plan = make_plan(c.spec, c.src, c.dst, test::cpu(1).info(), {algorithm, Overlap::none});
  if (!plan) return false;
  const Result<std::vector<cpu::Pipeline>> pipelines = cpu::make_pipelines(*plan);
  if (!pipelines) throw std::runtime_error(pipelines.error().message);
  const Pixels src = Pixels::random(c.src, c.seed, c.spec);
  Pixels made(c.dst);
  const PerAxis<AxisPlaces> places = places_of(c.spec);
  const Fenced coarse(plan->intermediate_bytes);
  for (const cpu::Pipeline& pipeline : *pipelines) {
    const Fenced scratch(plan->scratch_bytes - plan->intermediate_bytes);
    const PerAxis<std::int32_t>& grid = pipelines->front().size;
    const cpu::CoarseSamples samples{
        reinterpret_cast<float*>(coarse.data()), cpu::row_stride(std::int64_t{grid.x} * info(c.src.format).channels), {}, grid.y};
    for (std::int32_t y = 0; y < pipeline.size.y; y += pipeline.tile.y) {
      for (std::int32_t x = 0; x < pipeline.size.x; x += pipeline.tile.x) {
        const Rect out{x, y, std::min(pipeline.tile.x, pipeline.size.x - x), std::min(pipeline.tile.y, pipeline.size.y - y)};
        pipeline.run({src.view(), made.view(), out, places.x.first, places.y.first, scratch.data(), samples});
      }
    }
    EXPECT_TRUE(scratch.is_kept() && coarse.is_kept()) << cases::name(c) << " by " << to_string(plan->algorithm);
  }
  return true;
}

TEST(Scratch, OfEveryAlgorithmIsWhatWasPlanned) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  int done = 0;
  for (int drawn = 0; drawn < 100 && !HasFailure(); ++drawn) {
    const Case c = windowed_case(random);
    for (const AlgorithmChoice& choice : random_choices(random)) done += expect_kept_scratch(c, choice) ? 1 : 0;
  }
  EXPECT_GT(done, 100);
}

/// Weights so small that they are zeros as floats, and lie beside each other.
TEST(Scratch, IsThatOfTapsThatVanishAsFloats) {
  for (const char* way : {"gauss.decimate:passes=1", "gauss.decimate:passes=2"}) {
    for (const Gaussian& gaussian : {Gaussian{{1.5, 10.0}, {{50, 60}}, {}}, Gaussian{{10.0, 1.5}, {{60, 50}}, {}}}) {
      Case c{.algorithm = {}, .spec = spec_of(gaussian), .src = {300, 200, PixelFormat::r32f}, .dst = {300, 200, PixelFormat::r32f}};
      c.spec.accuracy.max_error = 0.01;
      EXPECT_TRUE(expect_kept_scratch(c, parse_algorithm(way).value())) << way;
    }
  }
}

}  // namespace
}  // namespace mollify::test
