// How other libraries say a blur, and what they mean by it: their default borders, and where they end a Gaussian.
// `mollify blur --like` and pymollify.compat both read it from here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mollify/result.h"
#include "mollify/spec.h"

namespace mollify::conventions {

enum class Peer : std::uint8_t { scipy, opencv, pillow, skimage };

/// What holds in a library where its caller says nothing else.
struct Convention {
  Peer peer;
  std::string_view name;
  BorderMode border;
  double truncate;           ///< Where a Gaussian ends, in sigmas.
  double truncate_of_bytes;  ///< The same for unsigned integers of 8 bits.
  int gaussian_boxes;        ///< How many boxes along each axis stand for a Gaussian, each rounded; 0 where it has its own weights.
  bool has_boxes;            ///< Whether there is a mean of a window.
  bool has_exact_boxes;      ///< Whether means are rounded to the nearest number, with no error before.
};

[[nodiscard]] std::span<const Convention> all();
[[nodiscard]] const Convention& convention(Peer peer);
[[nodiscard]] std::optional<Peer> parse_peer(std::string_view name);

/// SciPy's and scikit-image's radius of a Gaussian that ends at `truncate` sigmas. At most 2^30.
[[nodiscard]] std::int32_t truncated_radius(double sigma, double truncate);

/// The radius of Pillow's box, whose outermost pixels on both sides count by the fraction: so many of them have the variance of a Gaussian.
[[nodiscard]] double box_radius(double sigma, int boxes);

/// A Gaussian as OpenCV understands its arguments.
struct OpencvGaussian {
  PerAxis<double> sigma{};
  PerAxis<std::int32_t> radius{};
  std::optional<PerAxis<std::vector<double>>> weights{};  ///< Where OpenCV takes weights of small kernels from a table.
};
/// Of this `ksize`, where 0 means that it follows from sigma, and these sigmas, where 0 along x means that it follows from the size and 0
/// along y that it is the one along x.
[[nodiscard]] Result<OpencvGaussian> opencv_gaussian(PerAxis<std::int32_t> size, PerAxis<double> sigma, bool are_bytes);
/// The sigma that belongs to a size in OpenCV and torchvision.
[[nodiscard]] double sigma_of_size(std::int32_t size);

/// The kernels whose runs, one after the other and each with a rounded result, are what the library makes of this Gaussian or box.
[[nodiscard]] Result<std::vector<KernelSpec>> kernels_like(Peer peer, const KernelSpec& asked, bool are_bytes);

}  // namespace mollify::conventions
