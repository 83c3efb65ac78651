#include "model/decimation_costs.h"

#include <algorithm>

namespace mollify {
namespace {

/// A grid's blur has little to share.
DecimationCosts costs_of_cpus() {
  return {.pixel = 2.0, .sample = 3.0, .tap = 7.0};
}

constexpr std::int32_t kMostRowsAhead = 8;

/// As hundreds of timings on an H200 ask for: it is the grid that takes time, down the image what walks begin with and how few rows they
/// fetch at once, and across it what strips share, which counts for more at 8 bits.
PerAxis<DecimationCosts> costs_of_gpus(const DeviceInfo& device, int bits) {
  DecimationCosts x{.sample = 6.0, .tap = 1.5, .shared = bits == 8 ? 0.04 : 0.01};
  if (bits == 16) x.growing_from = 16.0;
  DecimationCosts y{.sample = 6.0, .tap = 1.5, .shared = 0.10, .step = 7.0, .rows_ahead = most_rows_ahead(device)};
  // Measured as well: beyond eight rows of small pixels, factors that are no multiples of eight are slower than their steps say.
  if (bits <= 16) y.uneven_steps = 0.4;
  return {x, y};
}

/// By products on CUDA, as fifty timings on an H200 ask for: a block makes 16 coarse samples and as many rows, and reads what neighbours
/// read for each coarse sample more that a pixel is made of. The grid's kernel takes most, and large factors leave few blocks.
DecimationCosts costs_of_products() {
  return {.pixel = 1.25, .tap = 27.0, .shared = 0.1, .growing_from = 12.0};
}

/// Bytes, halves and floats of four channels on CUDA, as 189 timings on an H200 ask for: what strips share counts for more than on Vulkan,
/// floats take long where few rows are summed at once, and bytes where a row belongs to many coarse samples.
PerAxis<DecimationCosts> costs_of_spans(int bits) {
  DecimationCosts x{.sample = 6.5, .tap = 3.6}, y{.sample = 6.5, .tap = 3.6, .step = 9.0, .rows_ahead = kMostRowsAhead};
  switch (bits) {
    case 8:
      x.pixel = 0.28, x.shared = 0.06;
      y.pixel = 1.2, y.shared = 0.11, y.uneven_steps = 1.4;
      break;
    case 16:
      x.pixel = 0.4, x.shared = 0.055;
      y.pixel = 0.4, y.shared = 0.045, y.uneven_steps = 1.1;
      break;
    default:
      x.pixel = 0.1, x.shared = 0.07, x.tap = 3.0;
      y.pixel = 0.1, y.shared = 0.028, y.tap = 3.0, y.uneven_steps = 1.25, y.step = 32.0;
  }
  return {x, y};
}

}  // namespace

PerAxis<DecimationCosts> decimation_costs(const DeviceInfo& device, PixelFormat source, DecimationKernels kernels) {
  const int bits = info(source).bits;
  if (device.backend == Backend::cpu) return {costs_of_cpus(), costs_of_cpus()};
  if (kernels == DecimationKernels::products && bits <= 16) return {costs_of_products(), costs_of_products()};
  if (kernels == DecimationKernels::spans) return costs_of_spans(bits);
  return costs_of_gpus(device, bits);
}

double cost_of(const DecimationCosts& costs, int factor, double support, double taps) {
  const double d = factor;
  const double grid = costs.pixel * support + costs.sample * support / d + costs.tap * taps / (d * d);
  const double shared = costs.growing_from > 0.0 ? costs.shared * std::max(1.0, d / costs.growing_from) : costs.shared;
  const bool is_uneven = factor > kMostRowsAhead && factor % kMostRowsAhead != 0;
  const double cost =
      grid + shared * support * d + costs.step / rows_ahead(costs.rows_ahead, factor) + (is_uneven ? costs.uneven_steps : 0.0);
  constexpr double kSlowness = 2.0;  // of kernels for any number of coarse samples, about
  return support < costs.least_support || support > costs.most_support ? kSlowness * cost : cost;
}

std::int32_t rows_ahead(std::int32_t most, int factor) {
  for (std::int32_t rows = most; rows > 1; --rows) {
    if (factor % rows == 0) return rows;
  }
  return 1;
}

std::int32_t most_rows_ahead(const DeviceInfo& device) {
  // A driver that runs on the processor takes seconds to compile what more unrolls to.
  return device.gpu.is_software ? 1 : kMostRowsAhead;
}

}  // namespace mollify
