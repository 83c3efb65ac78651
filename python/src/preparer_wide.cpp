// Numbers that float32 cannot hold: every step is a sum of weights in float64.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "preparer.h"

namespace mollify::python {
namespace {

void check(const KernelSpec& kernel) {
  const ImageDesc any{1, 1, PixelFormat::r32f};
  const Status status = validate({.kernel = kernel}, any, any);
  if (!status) throw std::invalid_argument(status.error().message);
}

WeightWindow normalized(WeightWindow window, Normalization normalization) {
  if (normalization == Normalization::none) return window;
  double sum = 0.0;
  for (const double weight : window.weights) sum += weight;
  if (sum == 0.0) throw std::invalid_argument("weights: they sum to zero");
  for (double& weight : window.weights) weight /= sum;
  return window;
}

/// The matrix has rows along the second axis.
WeightWindow window_of(const Matrix& matrix, std::span<const std::size_t> axes, std::span<const BorderMode> modes, double border_value) {
  const WindowAxis y{axes[0], matrix.height, matrix.anchor.y, modes[0]};
  const WindowAxis x{axes[1], matrix.width, matrix.anchor.x, modes[1]};
  return normalized({{y, x}, matrix.weights, border_value, matrix.weights.size()}, matrix.normalization);
}

WeightWindow window_of(const BlockKernel& block, std::span<const std::size_t> axes, std::span<const BorderMode> modes,
                       double border_value) {
  WeightWindow out{{}, {block.weights.rbegin(), block.weights.rend()}, border_value, block.weights.size()};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = block.extent[i];
    out.axes.push_back({axes[i], extent, extent - 1 - extent / 2, modes[i]});
  }
  return normalized(std::move(out), block.normalization);
}

}  // namespace

/// What is summed in each run. Beyond a constant border is its value, blurred by the runs before.
std::vector<WeightWindow> Preparer::windows(double border_value) const {
  double border = border_value;
  if (const auto* kernel = std::get_if<MatrixKernel>(&task_.request.kernel)) {
    return {window_of(kernel->matrix, axes_, modes_, border)};
  }
  if (const auto* kernel = std::get_if<BlockKernel>(&task_.request.kernel)) return {window_of(*kernel, axes_, modes_, border)};
  std::vector<WeightWindow> out;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    check(combine(&kernels_[i], nullptr));
    if (is_identity(kernels_[i])) continue;
    out.push_back(window_along(axes_[i], task_.src.shape[axes_[i]], all_weights(kernels_[i]), modes_[i], border));
    border *= sum(kernels_[i]);
  }
  return out;
}

/// A run for each window, and copies where the caller's arrays share memory. Returns a bound of the relative error.
double Preparer::add_sums(Place from, const Place& to, double border_value, Prepared& out) const {
  const std::vector<WeightWindow> todo = windows(border_value);
  const Element between = task_.src.element.between();
  const std::vector<std::size_t> order = order_of(to.strides);
  const bool is_direct = from.whose == Place::Whose::source && to.whose == Place::Whose::destination;
  const bool ends_between = is_direct && task_.sharing != Sharing::none && todo.size() < 2;
  double error = 0.0;
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const bool is_last = i + 1 == todo.size() && !ends_between;
    const Place next = is_last ? to : own_place(kBetween + i % 2, between, order);
    DirectSums sums(task_.src.shape, from.strides, next.strides, todo[i]);
    error += sums.error();
    out.steps_.push_back({std::move(from), next, std::move(sums)});
    from = next;
  }
  if (ends_between && todo.empty()) {
    const Place packed = own_place(kPackedSource, from.element, order);
    out.steps_.push_back({std::move(from), packed, Prepared::Copy{}});
    from = packed;
  }
  if (ends_between || todo.empty()) out.steps_.push_back({std::move(from), to, Prepared::Copy{}});
  return error;
}

double Preparer::prepare_wide_sharpening(double amount, Prepared& out) const {
  const Element between = task_.src.element.between();
  const std::vector<std::size_t> order = order_of(task_.dst.strides);
  const Place image = own_place(kSharpened, between, order);
  const Place blurred = own_place(kBlurred, between, order);
  out.steps_.push_back({source(), image, Prepared::Copy{}});
  const double error = add_sums(image, blurred, border_value(), out) + std::ldexp(3.0, -53);
  out.steps_.push_back({blurred, image, Prepared::Sharpen{amount}});
  out.steps_.push_back({image, destination(), Prepared::Copy{}});
  return error;
}

void Preparer::prepare_wide(Prepared& out) const {
  const Element element = task_.src.element;
  const Manner& manner = task_.request.manner;
  if (!manner.device.empty() && manner.device != "cpu") {
    throw std::invalid_argument("device: arrays of " + element.name() + " are summed in float64, which only \"cpu\" does");
  }
  double error = 0.0;
  const auto* gaussian = std::get_if<GaussianKernel>(&task_.request.kernel);
  if (gaussian != nullptr && gaussian->amount) {
    error = prepare_wide_sharpening(*gaussian->amount, out);
  } else if (is_masked()) {
    error = prepare_wide_masked(out);
  } else {
    error = add_sums(source(), destination(), border_value(), out);
  }
  out.error_ = error * unit_of_errors();
  if (manner.max_error.value_or(0.0) > 0.0 && out.error_ > *manner.max_error) {
    throw Unsupported("max_error: sums in float64 promise " + std::to_string(out.error_));
  }
}

}  // namespace mollify::python
