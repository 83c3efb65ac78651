#include <tbb/info.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "bench/peers/peer.h"
#include "cases/compare.h"
#include "cases/source.h"
#include "reference/pixel.h"

namespace mollify::bench {
namespace {

/// Packed rows, as peers are given them.
struct Packed {
  explicit Packed(const ImageDesc& shape) : desc(shape), bytes(static_cast<std::size_t>(shape.payload_bytes())) {}
  [[nodiscard]] ImageView view() { return {desc, bytes.data(), static_cast<std::ptrdiff_t>(desc.row_payload_bytes())}; }
  ImageDesc desc;
  std::vector<std::byte> bytes;
};

/// The case on no more pixels than it takes to be sure. A little more than a megapixel, of which the reference takes a sample.
cases::Case reduced(cases::Case c) {
  constexpr std::int32_t kSide = 1056;
  c.src.width = std::min(c.src.width, kSide);
  c.src.height = std::min(c.src.height, kSide);
  c.dst = {c.src.width, c.src.height, c.dst.format};
  return c;
}

struct Checked {
  double max_error = 0.0;
  double seconds = 0.0;
};

Result<Checked> checked(const PeerRun& run, const cases::Case& c) {
  Packed src(c.src);
  Packed dst(c.dst);
  cases::fill_random(src.view(), c.spec, c.seed);
  const auto begin = std::chrono::steady_clock::now();
  if (Status s = run.run(src.view(), dst.view()); !s) return s.error();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  BlurSpec spec = c.spec;
  if (run.border) spec.border = *run.border;
  const Result<cases::ExactAnswer> answer = cases::ExactAnswer::create(spec, src.view(), c.dst, tbb::info::default_concurrency());
  if (!answer) return answer.error();
  return Checked{answer->compare(dst.view()).max_error, seconds.count()};
}

/// The slope of what a blur makes of a step is its kernel, whose second moment is sigma squared. A step, unlike a point,
/// leaves enough of itself in 8 bits.
Result<double> realized_sigma(const Peer& peer, const cases::Case& original, double sigma, int threads) {
  constexpr double kReach = 12.0;  // sigmas on each side: more than any peer's kernel, so that borders do not matter
  cases::Case c = original;
  c.src.width = 2 * static_cast<std::int32_t>(std::ceil(kReach * sigma) + 32);
  c.src.height = 2 * static_cast<std::int32_t>(std::ceil(4 * sigma)) + 33;  // some refuse kernels larger than the image
  c.dst = {c.src.width, c.src.height, c.dst.format};
  c.spec.roi.reset();
  c.spec.border = {};
  const Result<PeerRun> run = peer.prepare(c, threads);
  if (!run) return run.error();
  Packed src(c.src);
  Packed dst(c.dst);
  const int channels = info(c.src.format).channels;
  for (std::int32_t y = 0; y < c.src.height; ++y) {
    for (std::int32_t x = c.src.width / 2; x < c.src.width; ++x) {
      for (int channel = 0; channel < channels; ++channel) cases::store(src.view(), x, y, channel, 1.0);
    }
  }
  if (Status s = run->run(src.view(), dst.view()); !s) return s.error();

  const FormatInfo& format = info(c.dst.format);
  const std::byte* row = dst.view().row(c.dst.height / 2);
  const auto at = [&](std::int32_t x) { return reference::load_pixel(format, row + std::ptrdiff_t{x} * format.pixel_bytes())[0]; };
  double sum = 0.0;
  double first = 0.0;
  double second = 0.0;
  for (std::int32_t x = 0; x + 1 < c.dst.width; ++x) {
    const double weight = at(x + 1) - at(x);
    const double offset = x - c.dst.width / 2;
    sum += weight;
    first += weight * offset;
    second += weight * offset * offset;
  }
  if (!(sum > 0.0)) return Error{ErrorCode::internal, "the peer made nothing of a step", {}};
  const double mean = first / sum;
  return std::sqrt(std::max(0.0, second / sum - mean * mean));
}

}  // namespace

Result<PeerCheck> check_peer(const Peer& peer, const PeerRun& run, const cases::Case& c, int threads) {
  PeerCheck check;
  const cases::Case small = c.spec.roi ? c : reduced(c);
  const Result<PeerRun> small_run = small == c ? run : peer.prepare(small, threads);
  if (!small_run) return small_run.error();
  const Result<Checked> result = checked(*small_run, small);
  if (!result) return result.error();
  const auto pixels = [](const cases::Case& of) { return static_cast<double>(of.dst.width) * of.dst.height; };
  check.max_error = result->max_error;
  check.seconds = result->seconds * pixels(c) / pixels(small);
  const auto* gaussian = std::get_if<Gaussian>(&c.spec.kernel);
  if (gaussian == nullptr || gaussian->sigma.x == 0.0) return check;
  const Result<double> sigma = realized_sigma(peer, c, gaussian->sigma.x, threads);
  if (!sigma) return sigma.error();
  check.realized_sigma = *sigma;
  return check;
}

}  // namespace mollify::bench
