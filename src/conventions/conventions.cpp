#include "conventions/conventions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "math/extended_box.h"

namespace mollify::conventions {
namespace {

constexpr std::array<Convention, 4> kConventions{{
    {Peer::scipy, "scipy", BorderMode::reflect, 4.0, 4.0, 0, true, false},
    {Peer::opencv, "opencv", BorderMode::mirror, 4.0, 3.0, 0, true, true},
    {Peer::pillow, "pillow", BorderMode::clamp, 0.0, 0.0, 3, true, true},
    {Peer::skimage, "skimage", BorderMode::clamp, 4.0, 4.0, 0, false, false},
}};

using Kernels = Result<std::vector<KernelSpec>>;

Error refusal(const Convention& peer, const std::string& what) {
  return {ErrorCode::invalid_argument, std::string(peer.name) + " has no " + what, {}};
}

/// So many boxes along x, then so many along y.
std::vector<KernelSpec> boxes(PerAxis<BoxExtent> extent, int count) {
  constexpr BoxExtent kNone{0.0, 0.0};
  std::vector<KernelSpec> out;
  for (int i = 0; i < count && !(extent.x == kNone); ++i) out.emplace_back(Box{{extent.x, kNone}});
  for (int i = 0; i < count && !(extent.y == kNone); ++i) out.emplace_back(Box{{kNone, extent.y}});
  if (out.empty()) out.emplace_back(Box{{kNone, kNone}});
  return out;
}

Kernels row_of_boxes(const Convention& peer, const Gaussian& asked) {
  if (asked.radius || asked.truncate) return refusal(peer, "Gaussian that is cut");
  const auto extent = [&](double sigma) {
    const double radius = sigma > 0.0 ? box_radius(sigma, peer.gaussian_boxes) : 0.0;
    return BoxExtent{radius, radius};
  };
  return boxes({extent(asked.sigma.x), extent(asked.sigma.y)}, peer.gaussian_boxes);
}

Kernels gaussian_of_opencv(const Convention& peer, const Gaussian& asked, bool are_bytes) {
  if (asked.truncate) return refusal(peer, "Gaussian that is cut at some sigmas; it is cut at a radius");
  PerAxis<std::int32_t> size{0, 0};
  if (asked.radius) size = {2 * asked.radius->x + 1, 2 * asked.radius->y + 1};
  Result<OpencvGaussian> meant = opencv_gaussian(size, asked.sigma, are_bytes);
  if (!meant) return meant.error();
  if (!meant->weights) return std::vector<KernelSpec>{Gaussian{.sigma = meant->sigma, .radius = meant->radius, .truncate = {}}};
  auto& [x, y] = *meant->weights;
  return std::vector<KernelSpec>{Taps{{std::move(x), meant->radius.x}, {std::move(y), meant->radius.y}}};
}

Kernels gaussian_like(const Convention& peer, const Gaussian& asked, bool are_bytes) {
  if (peer.gaussian_boxes > 0) return row_of_boxes(peer, asked);
  if (peer.peer == Peer::opencv) return gaussian_of_opencv(peer, asked, are_bytes);
  Gaussian cut = asked;
  if (!cut.radius && !cut.truncate) cut.truncate = peer.truncate;
  return std::vector<KernelSpec>{cut};
}

}  // namespace

std::span<const Convention> all() {
  return kConventions;
}

const Convention& convention(Peer peer) {
  return *std::ranges::find(kConventions, peer, &Convention::peer);
}

std::optional<Peer> parse_peer(std::string_view name) {
  const auto* const found = std::ranges::find(kConventions, name, &Convention::name);
  if (found == kConventions.end()) return std::nullopt;
  return found->peer;
}

std::int32_t truncated_radius(double sigma, double truncate) {
  constexpr double kMost = 1 << 30;
  return static_cast<std::int32_t>(std::clamp(truncate * sigma + 0.5, 0.0, kMost));
}

double box_radius(double sigma, int boxes) {
  const ExtendedBox box = extended_box(sigma, boxes);
  return static_cast<double>(box.radius) + box.outer / box.inner;
}

Kernels kernels_like(Peer peer, const KernelSpec& asked, bool are_bytes) {
  const Convention& meant = convention(peer);
  if (const auto* gaussian = std::get_if<Gaussian>(&asked)) return gaussian_like(meant, *gaussian, are_bytes);
  const auto* box = std::get_if<Box>(&asked);
  if (box == nullptr) return refusal(meant, "such kernel");
  if (!meant.has_boxes) return refusal(meant, "box");
  // What rounds after each box of a Gaussian rounds after each axis of a box.
  return meant.gaussian_boxes > 0 ? boxes(box->extent, 1) : std::vector<KernelSpec>{*box};
}

}  // namespace mollify::conventions
