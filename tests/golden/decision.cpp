#include "golden/decision.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace mollify::golden {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

template <class X, class Y>
std::string by(X x, Y y) {
  return std::to_string(x) + "x" + std::to_string(y);
}

std::string text_of(const Binding& binding) {
  switch (binding.kind) {
    case Binding::Kind::source:
      return "source";
    case Binding::Kind::destination:
      return "destination";
    case Binding::Kind::intermediate:
      break;
  }
  return "image" + std::to_string(binding.index);
}

std::string text_of(const Reach& reach) {
  return std::to_string(reach.before) + "+" + std::to_string(reach.after);
}

std::int32_t groups(std::int32_t size, std::int32_t tile) {
  return tile > 0 ? (size + tile - 1) / tile : 0;
}

/// The weights that a pass is given, unless they are a single 1: how many, where their origin is, and a sum that changes with each of them.
std::string weights_of(const Pass& pass) {
  const auto sum_of = [](const std::vector<double>& weights) {
    double sum = 0.0;
    double magnitudes = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum += weights[i] * std::cos(static_cast<double>(i));
      magnitudes += std::abs(weights[i]);
    }
    // Where terms cancel, only rounding errors are left, which differ between machines.
    return std::abs(sum) <= 1e-9 * magnitudes ? std::string("0") : number(sum);
  };
  const auto are_given = [](const std::vector<double>& weights) { return !weights.empty() && weights != std::vector{1.0}; };
  std::string text;
  const AxisTaps& x = pass.taps.x;
  const AxisTaps& y = pass.taps.y;
  if (are_given(x.weights) || are_given(y.weights)) {
    text += " taps=" + by(x.weights.size(), y.weights.size()) + ":" + by(x.anchor, y.anchor) + ":" + sum_of(x.weights) + "," +
            sum_of(y.weights);
  }
  if (are_given(pass.matrix.weights)) {
    const Matrix& m = pass.matrix;
    text += " matrix=" + by(m.width, m.height) + ":" + by(m.anchor.x, m.anchor.y) + ":" + sum_of(m.weights);
  }
  const auto is_window = [](const BoxExtent& e) { return e.before != 0.0 || e.after != 0.0; };
  if (is_window(pass.extent.x) || is_window(pass.extent.y)) {
    const auto extent = [](const BoxExtent& e) { return number(e.before) + "+" + number(e.after); };
    text += " window=" + extent(pass.extent.x) + "x" + extent(pass.extent.y);
  }
  return text;
}

std::string text_of(const Pass& pass) {
  std::string text = pass.kernel + " size=" + by(pass.size.x, pass.size.y) + " tile=" + by(pass.tile.x, pass.tile.y) +
                     " groups=" + by(groups(pass.size.x, pass.tile.x), groups(pass.size.y, pass.tile.y)) +
                     " threads=" + by(pass.group.x, pass.group.y) + weights_of(pass) + " from=" + text_of(pass.source) +
                     " to=" + text_of(pass.destination);
  if (pass.auxiliary) text += " and=" + text_of(*pass.auxiliary);
  if (pass.origin.x != 0 || pass.origin.y != 0) text += " origin=" + by(pass.origin.x, pass.origin.y);
  if (pass.linear) text += " linear";
  if (const std::string gain = number(pass.outside_gain); gain != "1") text += " outside_gain=" + gain;
  std::string_view mark = " constants:";
  for (const auto& [name, value] : pass.constants) text += std::string(std::exchange(mark, ",")) + name + "=" + std::to_string(value);
  mark = " parameters:";
  for (const auto& [name, value] : pass.parameters) text += std::string(std::exchange(mark, ",")) + name + "=" + number(value);
  return text;
}

std::string text_of(const Plan& plan) {
  std::string text = to_string(plan.algorithm) + " moved=" + std::to_string(plan.moved_bytes) +
                     " scratch=" + std::to_string(plan.scratch_bytes) + " between=" + std::to_string(plan.intermediate_bytes) +
                     " error=" + number(plan.predicted_error) + " reach=" + text_of(plan.reach.x) + "x" + text_of(plan.reach.y);
  for (const ImageDesc& image : plan.intermediates) {
    text += " image=" + by(image.width, image.height) + ":" + std::string(info(image.format).name);
  }
  for (const Pass& pass : plan.passes) text += " | " + text_of(pass);
  return text;
}

}  // namespace

std::string decision(const Request& request, const DeviceInfo& device) {
  const cases::Case& blur = request.blur;
  PlanOptions options;
  if (!blur.algorithm.id.empty()) options.algorithm = blur.algorithm;
  options.overlap = blur.layout == cases::Layout::in_place ? Overlap::in_place : Overlap::none;
  options.tuning = request.tuning;
  options.batch = request.batch;
  const Result<Plan> plan = make_plan(blur.spec, blur.src, blur.dst, device, options);
  if (plan) return text_of(*plan);
  return plan.error().code == ErrorCode::unsupported ? "refused" : "refused as code " + std::to_string(static_cast<int>(plan.error().code));
}

}  // namespace mollify::golden
