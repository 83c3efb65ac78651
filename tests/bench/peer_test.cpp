// A peer must blur what mollify blurs, or its time says nothing.
#include "bench/peers/peer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "bench/buffers.h"
#include "reference/reference.h"

namespace mollify::bench {
namespace {

constexpr int kWidth = 45;
constexpr int kHeight = 31;

cases::Case case_of(KernelSpec kernel, BorderMode border = BorderMode::clamp, PixelFormat format = PixelFormat::r32f) {
  cases::Case c;
  c.spec.kernel = std::move(kernel);
  c.spec.border.mode = {border, border};
  c.src = c.dst = {kWidth, kHeight, format};
  return c;
}

// Largest difference to the reference, on r32f noise. Nothing where the peer cannot do the case.
std::optional<double> difference(const Peer& peer, const cases::Case& c) {
  const Result<PeerRun> run = peer.prepare(c, 1);
  if (!run) {
    EXPECT_EQ(run.error().code, ErrorCode::unsupported) << cases::name(c) << ": " << run.error().message;
    return std::nullopt;
  }
  std::vector<float> src(kWidth * kHeight);
  std::vector<float> dst(static_cast<std::size_t>(c.dst.width) * c.dst.height, NAN);
  const ImageView source{c.src, src.data(), kWidth * 4};
  fill_noise(source, 1);
  const Status status = run->run(source, {c.dst, dst.data(), c.dst.width * 4});
  EXPECT_TRUE(status.ok()) << cases::name(c) << ": " << (status.ok() ? "" : status.error().message);

  const std::vector<double> exact = reference_blur(c.spec, source).value();
  double largest = 0.0;
  for (std::size_t i = 0; i < dst.size(); ++i) {
    const double error = std::abs(dst[i] - exact[i]);
    largest = error <= largest ? largest : error;  // keeps a NaN
  }
  return largest;
}

std::vector<KernelSpec> kernels() {
  const Taps taps{.x = {{0.1, 0.2, 0.3, 0.4}, 1}, .y = {{0.5, 0.25, 0.25}, 2}, .normalization = Normalization::none};
  const Matrix matrix{.width = 3, .height = 2, .weights = {1, 2, 3, 4, 5, 7}, .anchor = {2, 0}, .normalization = Normalization::unit_sum};
  return {Gaussian{.sigma = {2.0, 1.5}, .radius = PerAxis<std::int32_t>{5, 4}, .truncate = {}},
          Gaussian{.sigma = {2.0, 0.0}, .radius = {}, .truncate = 3.0},
          Gaussian{.sigma = {2.0, 2.0}, .radius = PerAxis<std::int32_t>{6, 6}, .truncate = {}},
          Box::of_radius(3, 2),
          Box::of_radius(4, 4),
          Box::of_size({4, 3}, {1, 2}),
          Tent{.radius = {2.5, 1.0}},
          taps,
          matrix};
}

TEST(Peer, ComputesTheSameWithEveryKernelAndBorder) {
  if (peers().empty()) GTEST_SKIP() << "no peer is built in";
  for (const Peer& peer : peers()) {
    int compared = 0;
    for (const KernelSpec& kernel : kernels()) {
      for (const BorderMode border : {BorderMode::clamp, BorderMode::mirror, BorderMode::reflect, BorderMode::constant}) {
        const cases::Case c = case_of(kernel, border);
        const std::optional<double> found = difference(peer, c);
        if (!found) continue;
        ++compared;
        EXPECT_LT(*found, 2e-6) << peer.name << ", " << cases::name(c);
      }
    }
    EXPECT_GE(compared, 2) << peer.name;
  }
}

TEST(Peer, ARegionSeesItsNeighbours) {
  if (peers().empty()) GTEST_SKIP() << "no peer is built in";
  cases::Case c = case_of(Box::of_radius(3, 3));
  c.spec.roi = Rect{5, 7, 20, 11};
  c.dst.width = 20;
  c.dst.height = 11;
  for (const Peer& peer : peers()) EXPECT_LT(difference(peer, c).value_or(0.0), 2e-6) << peer.name;
}

TEST(Peer, WhatItComputesIsMeasured) {
  if (peers().empty()) GTEST_SKIP() << "no peer is built in";
  for (const PixelFormat format : {PixelFormat::r32f, PixelFormat::rgba8}) {
    const cases::Case c =
        case_of(Gaussian{.sigma = {2.0, 2.0}, .radius = PerAxis<std::int32_t>{8, 8}, .truncate = {}}, BorderMode::clamp, format);
    for (const Peer& peer : peers()) {
      const Result<PeerRun> run = peer.prepare(c, 1);
      ASSERT_TRUE(run.ok()) << peer.name;
      const Result<PeerCheck> check = check_peer(peer, *run, c, 1);
      ASSERT_TRUE(check.ok()) << peer.name << ": " << check.error().message;
      EXPECT_LT(check->max_error, 0.01) << peer.name;
      ASSERT_TRUE(check->realized_sigma) << peer.name;
      EXPECT_NEAR(*check->realized_sigma, 2.0, 0.03) << peer.name;
    }
  }
}

TEST(Peer, IsCheckedWithTheThreadsThatItIsTimedWith) {
  std::set<int> seen;
  const Peer peer{"counts", [&](const cases::Case&, int threads) -> Result<PeerRun> {
                    seen.insert(threads);
                    PeerRun run;
                    run.run = [](const ConstImageView& src, const ImageView& dst) -> Status {
                      std::memcpy(dst.data, src.data, static_cast<std::size_t>(src.desc.payload_bytes()));
                      return {};
                    };
                    return run;
                  }};
  const cases::Case c = case_of(Gaussian{.sigma = {1.0, 1.0}, .radius = {}, .truncate = {}});
  const Result<PeerRun> run = peer.prepare(c, 3);
  ASSERT_TRUE(check_peer(peer, *run, c, 3).ok());
  EXPECT_EQ(seen, std::set<int>{3}) << "libraries keep the last number for all that they do";
}

TEST(OpenCv, RefusesWhatItCannotDo) {
  if (peers().empty()) GTEST_SKIP() << "no peer is built in";
  const auto refused = [](const cases::Case& c) { return !peers().front().prepare(c, 1).ok(); };
  const KernelSpec box = Box::of_radius(1, 1);
  EXPECT_FALSE(refused(case_of(box)));
  EXPECT_TRUE(refused(case_of(box, BorderMode::wrap)));
  EXPECT_TRUE(refused(case_of(box, BorderMode::clamp, PixelFormat::r16f)));
  EXPECT_TRUE(refused(case_of(Box::of_radius(1.5, 1))));

  cases::Case other = case_of(box, BorderMode::constant);
  other.spec.border.value = {0.5, 0.5, 0.5, 0.5};
  EXPECT_TRUE(refused(other));
  other = case_of(box);
  other.spec.border.mode.y = BorderMode::mirror;
  EXPECT_TRUE(refused(other));
  other = case_of(box);
  other.dst.format = PixelFormat::r8;
  EXPECT_TRUE(refused(other));
  other = case_of(box, BorderMode::clamp, PixelFormat::rgba8);
  other.spec.alpha = AlphaMode::premultiply;
  EXPECT_TRUE(refused(other));
  other = case_of(box);
  other.spec.transfer = TransferFunction::srgb;
  EXPECT_TRUE(refused(other));
}

TEST(OpenCv, SaysWhereItCutsTheGaussianItself) {
  if (peers().empty()) GTEST_SKIP() << "no peer is built in";
  const Gaussian open{.sigma = {2.0, 2.0}, .radius = {}, .truncate = {}};
  EXPECT_FALSE(peers().front().prepare(case_of(open), 1)->note.empty());
  const Gaussian cut{.sigma = {2.0, 2.0}, .radius = PerAxis<std::int32_t>{6, 6}, .truncate = {}};
  EXPECT_TRUE(peers().front().prepare(case_of(cut), 1)->note.empty());
}

}  // namespace
}  // namespace mollify::bench
