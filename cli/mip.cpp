#include "mip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "failure.h"

namespace mollify::cli {
namespace {

// A window reaches half a pixel beyond the centre of its outermost pixel.
double scaled_extent(double pixels, double scale) {
  return std::max(0.0, (pixels + 0.5) * scale - 0.5);
}

struct Scale {
  PerAxis<double> scale;
  const std::string& path;

  KernelSpec operator()(const Gaussian& k) const {
    Gaussian result = k;
    result.sigma = {k.sigma.x * scale.x, k.sigma.y * scale.y};
    if (k.radius) {
      result.radius = PerAxis<std::int32_t>{static_cast<std::int32_t>(std::lround(k.radius->x * scale.x)),
                                            static_cast<std::int32_t>(std::lround(k.radius->y * scale.y))};
    }
    return result;
  }
  KernelSpec operator()(const Box& k) const {
    return Box{{{scaled_extent(k.extent.x.before, scale.x), scaled_extent(k.extent.x.after, scale.x)},
                {scaled_extent(k.extent.y.before, scale.y), scaled_extent(k.extent.y.after, scale.y)}}};
  }
  KernelSpec operator()(const Tent& k) const {
    return Tent{{std::max(0.0, (k.radius.x + 1.0) * scale.x - 1.0), std::max(0.0, (k.radius.y + 1.0) * scale.y - 1.0)}};
  }
  KernelSpec operator()(const Taps&) const { refuse(); }
  KernelSpec operator()(const Matrix&) const { refuse(); }

  [[noreturn]] void refuse() const {
    fail(fmt::format("{}: has mip levels, to which the weights of --kernel cannot be scaled", path));
  }
};

}  // namespace

KernelSpec scaled_kernel(const KernelSpec& kernel, PerAxis<double> scale, const std::string& path) {
  return std::visit(Scale{scale, path}, kernel);
}

}  // namespace mollify::cli
