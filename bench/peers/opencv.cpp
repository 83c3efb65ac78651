// OpenCV: GaussianBlur, boxFilter, sepFilter2D and filter2D, each for the kernel that it is made for.
#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "bench/peers/peer.h"

namespace mollify::bench {
namespace {

Error refuse(std::string reason) {
  return {ErrorCode::unsupported, std::move(reason), {}};
}

std::optional<int> cv_type(PixelFormat format) {
  const FormatInfo& f = info(format);
  if (f.is_unorm()) return CV_MAKETYPE(f.bits == 8 ? CV_8U : CV_16U, f.channels);
  if (f.is_floating() && f.bits == 32) return CV_MAKETYPE(CV_32F, f.channels);
  return std::nullopt;
}

Result<int> cv_border(const Border& border) {
  if (border.mode.x != border.mode.y) return refuse("OpenCV has one border mode for both axes");
  switch (border.mode.x) {
    case BorderMode::clamp:
      return int{cv::BORDER_REPLICATE};
    case BorderMode::mirror:
      return int{cv::BORDER_REFLECT_101};
    case BorderMode::reflect:
      return int{cv::BORDER_REFLECT};
    case BorderMode::wrap:
      return refuse("OpenCV's filters have no wrapping border");
    case BorderMode::constant:
      break;
  }
  if (std::ranges::any_of(border.value, [](double value) { return value != 0.0; })) {
    return refuse("OpenCV's filters have no constant border but 0");
  }
  return int{cv::BORDER_CONSTANT};
}

using Filter = std::function<void(const cv::Mat& src, cv::Mat& dst, int border)>;

struct Call {
  std::string function;
  Options options;
  std::string note;
  Filter filter;
};

Result<Call> call(const Gaussian& gaussian) {
  std::optional<PerAxis<std::int32_t>> radius = gaussian.radius;
  if (!radius && gaussian.truncate) {
    const auto cut = [&](double sigma) { return static_cast<std::int32_t>(std::floor(*gaussian.truncate * sigma + 0.5)); };
    radius = {cut(gaussian.sigma.x), cut(gaussian.sigma.y)};
  }
  // A size of 1 is OpenCV's way to leave an axis alone, 0 leaves the choice to it.
  const auto size = [&](double sigma, std::int32_t r) { return sigma == 0.0 ? 1 : (radius ? 2 * r + 1 : 0); };
  const cv::Size ksize(size(gaussian.sigma.x, radius ? radius->x : 0), size(gaussian.sigma.y, radius ? radius->y : 0));
  const PerAxis<double> sigma = gaussian.sigma;
  Call result{.function = "GaussianBlur", .options = {}, .note = {}, .filter = {}};
  if (!radius) {
    result.options["ksize"] = "auto";
    result.note = "OpenCV cuts the Gaussian itself: about 3 sigma for 8 bits, 4 sigma for others";
  }
  result.filter = [=](const cv::Mat& src, cv::Mat& dst, int border) { cv::GaussianBlur(src, dst, ksize, sigma.x, sigma.y, border); };
  return result;
}

Result<Call> call(const Box& box) {
  for (const double length : {box.extent.x.before, box.extent.x.after, box.extent.y.before, box.extent.y.after}) {
    if (length != std::floor(length)) return refuse("OpenCV has no fractional box");
  }
  const auto size = [](const BoxExtent& e) { return static_cast<int>(e.before + e.after) + 1; };
  const cv::Size ksize(size(box.extent.x), size(box.extent.y));
  const cv::Point anchor(static_cast<int>(box.extent.x.before), static_cast<int>(box.extent.y.before));
  return Call{"blur", {}, {}, [=](const cv::Mat& src, cv::Mat& dst, int border) { cv::blur(src, dst, ksize, anchor, border); }};
}

cv::Mat row_of(const std::vector<double>& weights, double scale) {
  cv::Mat row(1, static_cast<int>(weights.size()), CV_32F);
  for (std::size_t i = 0; i < weights.size(); ++i) row.at<float>(0, static_cast<int>(i)) = static_cast<float>(weights[i] * scale);
  return row;
}

double scale_of(const std::vector<double>& weights, Normalization normalization) {
  if (normalization == Normalization::none) return 1.0;
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  return 1.0 / sum;
}

Result<Call> call(const Taps& taps) {
  const cv::Mat x = row_of(taps.x.weights, scale_of(taps.x.weights, taps.normalization));
  const cv::Mat y = row_of(taps.y.weights, scale_of(taps.y.weights, taps.normalization));
  const cv::Point anchor(taps.x.anchor, taps.y.anchor);
  return Call{"sepFilter2D", {}, {}, [=](const cv::Mat& src, cv::Mat& dst, int border) {
                cv::sepFilter2D(src, dst, -1, x, y, anchor, 0.0, border);
              }};
}

AxisTaps tent_taps(double radius) {
  const auto reach = static_cast<std::int32_t>(std::ceil(radius));
  AxisTaps taps{.weights = {}, .anchor = reach};
  for (std::int32_t i = -reach; i <= reach; ++i) taps.weights.push_back(radius + 1.0 - std::abs(i));
  return taps;
}

Result<Call> call(const Tent& tent) {
  return call(Taps{tent_taps(tent.radius.x), tent_taps(tent.radius.y), Normalization::unit_sum});
}

Result<Call> call(const Matrix& matrix) {
  const cv::Mat row = row_of(matrix.weights, scale_of(matrix.weights, matrix.normalization));
  const cv::Mat kernel = row.reshape(1, matrix.height);
  const cv::Point anchor(matrix.anchor.x, matrix.anchor.y);
  return Call{
      "filter2D", {}, {}, [=](const cv::Mat& src, cv::Mat& dst, int border) { cv::filter2D(src, dst, -1, kernel, anchor, 0.0, border); }};
}

// OpenCV wants a mutable pointer even for what it only reads.
cv::Mat mat_of(const ConstImageView& view, int type) {
  return {view.desc.height, view.desc.width, type, const_cast<void*>(view.data), static_cast<std::size_t>(view.row_bytes)};
}

Result<PeerRun> prepare(const cases::Case& c, int threads) {
  if (c.src.format != c.dst.format) return refuse("OpenCV's filters do not convert between formats with their scales");
  if (c.spec.alpha != AlphaMode::ignore) return refuse("OpenCV does not premultiply by alpha");
  if (c.spec.transfer != TransferFunction::none) return refuse("OpenCV does not decode transfer functions");
  const std::optional<int> type = cv_type(c.src.format);
  if (!type) return refuse("OpenCV does not filter half floats");
  const Result<int> border = cv_border(c.spec.border);
  if (!border) return border.error();
  Result<Call> made = std::visit([](const auto& kernel) { return call(kernel); }, c.spec.kernel);
  if (!made) return made.error();

  cv::setNumThreads(threads);
  PeerRun run{.function = made->function, .options = made->options, .note = made->note, .run = {}};
  const Rect roi = c.spec.roi.value_or(Rect{0, 0, c.src.width, c.src.height});
  run.run = [filter = made->filter, type = *type, border = *border, roi](const ConstImageView& src, const ImageView& dst) -> Status {
    try {
      // A part of a cv::Mat sees its neighbours in the whole, as a region of interest does.
      const cv::Mat source = mat_of(src, type)(cv::Rect(roi.x, roi.y, roi.width, roi.height));
      cv::Mat destination = mat_of(dst, type);
      filter(source, destination, border);
      if (destination.data != dst.data) return Error{ErrorCode::internal, "OpenCV wrote somewhere else", {}};
      return {};
    } catch (const cv::Exception& exception) {
      return Error{ErrorCode::internal, "OpenCV: " + exception.err, {}};
    }
  };
  return run;
}

}  // namespace
}  // namespace mollify::bench

extern "C" void mollify_make_peer(mollify::bench::Peer& peer) {
  peer = {"opencv " CV_VERSION, mollify::bench::prepare};
}
