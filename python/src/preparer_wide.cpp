// Numbers that float32 cannot hold: the library sums them in float64, but for weights of more than two axes at once.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "devices.h"
#include "preparer.h"

namespace mollify::python {
namespace {

WeightWindow window_of(const BlockKernel& block, std::span<const std::size_t> axes, std::span<const BorderMode> modes,
                       double border_value) {
  WeightWindow out{{}, {block.weights.rbegin(), block.weights.rend()}, border_value};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = block.extent[i];
    out.axes.push_back({axes[i], extent, extent - 1 - extent / 2, modes[i]});
  }
  if (block.normalization == Normalization::none) return out;
  double sum = 0.0;
  for (const double weight : out.weights) sum += weight;
  if (sum == 0.0) throw std::invalid_argument("weights: they sum to zero");
  for (double& weight : out.weights) weight /= sum;
  return out;
}

}  // namespace

void Preparer::check_wide() const {
  const std::string& device = task_.request.manner.device;
  if (device.empty() || open_device(device, task_.request.manner.threads).info().backend != Backend::vulkan) return;
  throw std::invalid_argument("device: arrays of " + task_.src.element.name() +
                              " are summed in float64, which \"cpu\" and \"cuda\" do, and Vulkan does not");
}

/// What is allowed by default: the library's default, or what sums of as many numbers as there are along the axes round where that is more.
double Preparer::error_of_wide() const {
  double numbers = 0.0;
  for (const std::size_t axis : axes_) numbers += 2.0 * static_cast<double>(task_.src.shape[axis]);  // reflections are numbers, too
  const double runs = std::max(1.0, static_cast<double>(axes_.size()));
  return std::max(default_max_error(between().format(1)) * runs, numbers * std::ldexp(1.0, -52));
}

/// Copies where the caller's arrays share memory.
double Preparer::prepare_block(const BlockKernel& block, Prepared& out) const {
  const std::string& device = task_.request.manner.device;
  if (!device.empty() && device != "cpu") {
    throw std::invalid_argument("weights: those of three axes or more are summed on \"cpu\" only, not on " + device);
  }
  Place from = source();
  if (task_.sharing != Sharing::none) {
    const Place packed = own_place(kPackedSource, from.element, order_of(task_.dst.strides));
    out.steps_.push_back({from, packed, Prepared::Copy{}});
    from = packed;
  }
  const Place to = destination();
  DirectSums sums(task_.src.shape, from.strides, to.strides, window_of(block, axes_, modes_, border_value()));
  const double error = sums.error();
  out.steps_.push_back({from, to, std::move(sums)});
  return error;
}

}  // namespace mollify::python
