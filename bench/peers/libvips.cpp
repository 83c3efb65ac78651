// libvips: gaussblur for Gaussians, convsep and conv for other kernels. Lazy: everything is computed when the result is
// written to memory.
#include <vips/vips.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/peers/peer.h"

namespace mollify::bench {
namespace {

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};
using Image = std::unique_ptr<VipsImage, Unref>;

Error refuse(std::string reason) {
  return {ErrorCode::unsupported, std::move(reason), {}};
}

Error broken() {
  std::string message = vips_error_buffer();
  vips_error_clear();
  return {ErrorCode::internal, "libvips: " + message.substr(0, message.find('\n')), {}};
}

std::optional<VipsBandFormat> vips_format(PixelFormat format) {
  const FormatInfo& f = info(format);
  if (f.is_unorm()) return f.bits == 8 ? VIPS_FORMAT_UCHAR : VIPS_FORMAT_USHORT;
  if (f.is_floating() && f.bits == 32) return VIPS_FORMAT_FLOAT;
  return std::nullopt;
}

/// A row of weights, for vips_convsep(), which uses it along both axes.
Image row_of(const std::vector<double>& weights) {
  Image row(vips_image_new_matrix_from_array(static_cast<int>(weights.size()), 1, weights.data(), static_cast<int>(weights.size())));
  return row;
}

/// The same filter along both axes, without a radius of its own.
using Filter = std::function<int(VipsImage* in, VipsImage** out)>;

struct Call {
  std::string function;
  Options options;
  std::string note;
  Filter filter;
};

Result<Call> convsep(const std::vector<double>& weights) {
  std::shared_ptr<VipsImage> row = row_of(weights);
  if (!row) return broken();
  return Call{"convsep", {{"precision", "float"}}, {}, [row](VipsImage* in, VipsImage** out) {
                return vips_convsep(in, out, row.get(), "precision", VIPS_PRECISION_FLOAT, nullptr);
              }};
}

Result<Call> call(const Gaussian& gaussian) {
  if (gaussian.sigma.x != gaussian.sigma.y) return refuse("libvips has one sigma for both axes");
  if (gaussian.truncate) return refuse("libvips cuts the Gaussian by its height");
  const double sigma = gaussian.sigma.x;
  if (gaussian.radius) {
    if (gaussian.radius->x != gaussian.radius->y) return refuse("libvips has one radius for both axes");
    std::vector<double> weights;
    for (std::int32_t i = -gaussian.radius->x; i <= gaussian.radius->x; ++i) {
      weights.push_back(std::exp(-0.5 * i * i / (sigma * sigma)));
    }
    double sum = 0.0;
    for (const double weight : weights) sum += weight;
    for (double& weight : weights) weight /= sum;
    return convsep(weights);
  }
  // The default cuts where a weight falls below a fifth of the centre's, which is hardly a Gaussian.
  constexpr double kLeastWeight = 0.003;
  return Call{"gaussblur",
              {{"min_ampl", "0.003"}, {"precision", "float"}},
              "cut where weights fall below 0.003 of the centre's",
              [sigma](VipsImage* in, VipsImage** out) {
                return vips_gaussblur(in, out, sigma, "min_ampl", kLeastWeight, "precision", VIPS_PRECISION_FLOAT, nullptr);
              }};
}

Result<Call> call(const Box& box) {
  const auto [x, y] = box.extent;
  if (x.before != x.after || !(x == y) || x.before != std::floor(x.before)) {
    return refuse("libvips is asked for boxes of one whole radius only");
  }
  const auto length = static_cast<std::size_t>(2 * x.before) + 1;
  return convsep(std::vector<double>(length, 1.0 / static_cast<double>(length)));
}

template <class Other>
Result<Call> call(const Other&) {
  return refuse("libvips is asked for Gaussians and boxes only");
}

Result<PeerRun> prepare(const cases::Case& c, int threads) {
  if (c.src.format != c.dst.format) return refuse("libvips filters do not convert with our scales");
  if (c.spec.alpha != AlphaMode::ignore || c.spec.transfer != TransferFunction::none) return refuse("libvips is given plain numbers only");
  if (c.spec.roi) return refuse("libvips is given whole images only");
  if (c.spec.border.mode != Border{}.mode) return refuse("libvips repeats the edge pixels");
  const std::optional<VipsBandFormat> format = vips_format(c.src.format);
  if (!format) return refuse("libvips has no half floats");
  Result<Call> made = std::visit([](const auto& kernel) { return call(kernel); }, c.spec.kernel);
  if (!made) return made.error();

  vips_concurrency_set(threads);
  PeerRun run{.function = made->function, .options = made->options, .note = made->note, .run = {}};
  run.run = [filter = made->filter, format = *format](const ConstImageView& src, const ImageView& dst) -> Status {
    const int channels = info(src.desc.format).channels;
    const auto bytes = static_cast<std::size_t>(src.desc.payload_bytes());
    const Image in(vips_image_new_from_memory(src.data, bytes, src.desc.width, src.desc.height, channels, format));
    if (!in) return broken();
    VipsImage* result = nullptr;
    if (filter(in.get(), &result) != 0) return broken();
    const Image blurred(result);
    // A precise filter of whole numbers comes out as floats; rint and cast are lazy, too.
    Image rounded;
    VipsImage* last = blurred.get();
    if (vips_image_get_format(last) != format) {
      VipsImage* whole = nullptr;
      if (vips_rint(last, &whole, nullptr) != 0) return broken();
      const Image keep(whole);
      VipsImage* cast = nullptr;
      if (vips_cast(whole, &cast, format, nullptr) != 0) return broken();
      rounded.reset(cast);
      last = cast;
    }
    const Image out(vips_image_new_from_memory(dst.data, static_cast<std::size_t>(dst.desc.payload_bytes()), dst.desc.width,
                                               dst.desc.height, channels, format));
    if (!out || vips_image_inplace(out.get()) != 0 || vips_image_write(last, out.get()) != 0) return broken();
    return {};
  };
  return run;
}

Peer libvips_peer() {
  static const int failed = vips_init("mollify");
  vips_cache_set_max(0);  // or the second run would find the first one's result
  const std::string name = std::string("libvips ") + std::to_string(vips_version(0)) + "." + std::to_string(vips_version(1)) + "." +
                           std::to_string(vips_version(2));
  if (failed != 0) return {name, [](const cases::Case&, int) -> Result<PeerRun> { return broken(); }};
  return {name, prepare};
}

}  // namespace
}  // namespace mollify::bench

extern "C" void mollify_make_peer(mollify::bench::Peer& peer) {
  peer = mollify::bench::libvips_peer();
}
