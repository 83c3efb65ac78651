// What it costs to decimate an axis, blur its coarse samples and expand them: by which the ways to do so are ordered.
#pragma once

#include <cstdint>
#include <limits>

#include "mollify/plan.h"

namespace mollify {

/// Of one axis, in multiply-adds a component or in what takes as long.
struct DecimationCosts {
  double pixel = 0.0;           ///< of each coarse sample that a pixel is made of
  double sample = 0.0;          ///< the same, once for each coarse sample
  double tap = 0.0;             ///< of each tap of the grid's kernel, shared by all pixels of a coarse sample
  double shared = 0.0;          ///< of each pixel that a spline is long, as groups beside each other read it, too
  double growing_from = 0.0;    ///< the factor from which on that grows with the factor; 0: never
  double step = 0.0;            ///< of a step, shared by the rows that it fetches
  std::int32_t rows_ahead = 1;  ///< that a step fetches at most
  double uneven_steps = 0.0;    ///< of factors beyond eight that are no multiples of eight
  double least_support = 0.0;   ///< coarse samples that a pixel is made of by fast kernels
  double most_support = std::numeric_limits<double>::infinity();  ///< the most of these
};

/// What may decimate an image: sums; on CUDA products of matrices, in all steps, or sums of spans of 16 bytes.
enum class DecimationKernels : std::uint8_t { sums, products, spans };

/// Of images of this format.
[[nodiscard]] PerAxis<DecimationCosts> decimation_costs(const DeviceInfo& device, PixelFormat source, DecimationKernels kernels);

/// By this factor, where a pixel is made of `support` coarse samples and the grid's kernel has so many taps.
[[nodiscard]] double cost_of(const DecimationCosts& costs, int factor, double support, double taps);

/// Rows that a GPU fetches together and sums up by themselves: as many as divide a coarse sample's, up to so many.
[[nodiscard]] std::int32_t rows_ahead(std::int32_t most, int factor);
/// The most on this device.
[[nodiscard]] std::int32_t most_rows_ahead(const DeviceInfo& device);

}  // namespace mollify
