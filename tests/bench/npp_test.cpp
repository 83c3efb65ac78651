// The peer NPP, on a stand-in for the GPU and its libraries: npp_stand_in.cpp.
#include <gtest/gtest.h>

#include "bench/peers/peer.h"

namespace mollify::bench {
namespace {

cases::Case case_of(KernelSpec kernel, PixelFormat format) {
  cases::Case c;
  c.spec.kernel = std::move(kernel);
  c.src = c.dst = {70, 50, format};
  return c;
}

const Gaussian kGaussian{.sigma = {2.0, 2.0}, .radius = PerAxis<std::int32_t>{8, 8}, .truncate = {}};

/// It computes what the case asks for, and its turns have times of blurs and copies.
void expect_blurs(const Peer& peer, const cases::Case& c, const std::string& function, double most_error) {
  const Result<PeerRun> run = peer.prepare(c, 1);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->function, function);
  const Result<PeerCheck> check = check_peer(peer, *run, c, 1);
  ASSERT_TRUE(check.ok()) << check.error().message;
  EXPECT_LE(check->max_error, most_error);
  const Result<PeerTurn> turn = run->turn();
  ASSERT_TRUE(turn.ok()) << turn.error().message;
  ASSERT_FALSE(turn->blur_ns.empty());
  EXPECT_EQ(turn->blur_ns.size(), turn->copy_ns.size());
  EXPECT_GT(turn->blur_ns.front(), turn->copy_ns.front());
}

TEST(Npp, IsFoundAndBlurs) {
  const std::vector<Peer> peers = npp_peers();
  ASSERT_EQ(peers.size(), 2U);
  EXPECT_EQ(peers[0].name, "npp 13.0.7");
  EXPECT_EQ(peers[1].name, "npp 13.0.7 gauss");
  EXPECT_TRUE(peers[0].on_gpu && peers[1].on_gpu);
  expect_blurs(peers[0], case_of(Box::of_radius(3, 3), PixelFormat::rgba8), "FilterBoxBorder", 1e-9);
  // Rows are rounded to 8 bits before columns are filtered, which costs up to half a step.
  expect_blurs(peers[0], case_of(kGaussian, PixelFormat::rgba8), "FilterRowBorder", 0.51 / 255);
  expect_blurs(peers[1], case_of(kGaussian, PixelFormat::r32f), "FilterGaussAdvancedBorder", 1e-6);
}

TEST(Npp, RefusesWhatItCannotDo) {
  const std::vector<Peer> peers = npp_peers();
  ASSERT_EQ(peers.size(), 2U);
  const auto refused = [&](const cases::Case& c) { return !peers[0].prepare(c, 1).ok(); };
  EXPECT_TRUE(refused(case_of(kGaussian, PixelFormat::rgba16f)));
  EXPECT_TRUE(refused(case_of(kGaussian, PixelFormat::r32f))) << "a function that this library lacks";
  EXPECT_TRUE(refused(case_of(Box::of_radius(1.5, 1.5), PixelFormat::rgba8)));
  EXPECT_FALSE(peers[1].prepare(case_of(Box::of_radius(1, 1), PixelFormat::rgba8), 1).ok()) << "it is asked for Gaussians";
  cases::Case mirrored = case_of(kGaussian, PixelFormat::rgba8);
  mirrored.spec.border.mode = {BorderMode::mirror, BorderMode::mirror};
  EXPECT_TRUE(refused(mirrored));
}

}  // namespace
}  // namespace mollify::bench
