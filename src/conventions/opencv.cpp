// Gaussians of OpenCV: sizes that follow from sigmas, sigmas that follow from sizes, and the weights of small kernels.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "conventions/conventions.h"

namespace mollify::conventions {
namespace {

/// Weights of a kernel whose sigma is not given, up to and including the middle one, in 256ths.
struct SmallKernel {
  std::int32_t size;
  std::array<int, 5> half;
};
constexpr std::array<SmallKernel, 5> kSmallKernels{
    {{1, {256}}, {3, {64, 128}}, {5, {16, 64, 96}}, {7, {8, 28, 56, 72}}, {9, {4, 13, 30, 51, 60}}}};

const SmallKernel* small_kernel(std::int32_t size, double sigma) {
  if (sigma > 0.0) return nullptr;
  for (const SmallKernel& each : kSmallKernels) {
    if (each.size == size) return &each;
  }
  return nullptr;
}

Result<std::int32_t> size_of(std::int32_t size, double sigma, bool are_bytes) {
  const Convention& opencv = convention(Peer::opencv);
  if (size <= 0 && sigma > 0.0) {
    constexpr double kMost = 1 << 21;
    const double radius = sigma * (are_bytes ? opencv.truncate_of_bytes : opencv.truncate);
    if (!(2.0 * radius < kMost)) return Error{ErrorCode::invalid_argument, "ksize: this sigma asks for too large a kernel", {}};
    return static_cast<std::int32_t>(std::nearbyint(2.0 * radius + 1.0)) | 1;
  }
  if (size > 0 && size % 2 == 1) return size;
  return Error{ErrorCode::invalid_argument, "ksize: odd numbers are needed, or 0 and a sigma", {}};
}

double sigma_or_that_of_size(std::int32_t size, double sigma) {
  return sigma > 0.0 ? sigma : sigma_of_size(size);
}

std::vector<double> weights_of(std::int32_t size, double sigma) {
  const std::int32_t middle = size / 2;
  std::vector<double> weights(static_cast<std::size_t>(size));
  const SmallKernel* small = small_kernel(size, sigma);
  const double width = sigma_or_that_of_size(size, sigma);
  double sum = 0.0;
  for (std::int32_t i = 0; i < size; ++i) {
    const double distance = i - middle;
    const std::int32_t from_edge = middle - std::abs(i - middle);
    const double weight = small ? small->half[static_cast<std::size_t>(from_edge)] : std::exp(-distance * distance / (2.0 * width * width));
    weights[static_cast<std::size_t>(i)] = weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

double sigma_of_size(std::int32_t size) {
  return 0.3 * ((size - 1) * 0.5 - 1.0) + 0.8;
}

Result<OpencvGaussian> opencv_gaussian(PerAxis<std::int32_t> size, PerAxis<double> sigma, bool are_bytes) {
  if (!(sigma.y > 0.0)) sigma.y = sigma.x;
  const Result<std::int32_t> x = size_of(size.x, sigma.x, are_bytes);
  const Result<std::int32_t> y = size_of(size.y, sigma.y, are_bytes);
  if (!x) return x.error();
  if (!y) return y.error();
  OpencvGaussian out{.sigma = {sigma_or_that_of_size(*x, sigma.x), sigma_or_that_of_size(*y, sigma.y)}, .radius = {*x / 2, *y / 2}};
  const bool is_from_table = small_kernel(*x, sigma.x) != nullptr || small_kernel(*y, sigma.y) != nullptr;
  if (is_from_table) out.weights = {weights_of(*x, sigma.x), weights_of(*y, sigma.y)};
  return out;
}

}  // namespace mollify::conventions
