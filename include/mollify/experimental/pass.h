// The launches of compute kernels that a plan consists of. Experimental: it changes with the algorithms and devices, in any version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "mollify/spec.h"

namespace mollify {

/// What a pass reads from or writes to.
struct Binding {
  /// Whether it is an image of the caller or one that passes leave for later ones.
  enum class Kind : std::uint8_t { source, destination, intermediate };
  Kind kind = Kind::source;  ///< Whether it is the source, the destination or an intermediate image.
  std::int32_t index = 0;    ///< The place in Plan::intermediates on a GPU.
  bool operator==(const Binding&) const = default;
};
/// The image that is blurred.
inline constexpr Binding kSource{Binding::Kind::source};
/// The image that the blur writes.
inline constexpr Binding kDestination{Binding::Kind::destination};
/// An image that passes leave for later ones.
[[nodiscard]] constexpr Binding intermediate(std::int32_t index = 0) {
  return {Binding::Kind::intermediate, index};
}

/// One launch of one compute kernel.
struct Pass {
  std::string kernel;                                          ///< The kernel's id, such as "sep_fused".
  std::map<std::string, std::int64_t, std::less<>> constants;  ///< Whole numbers that the kernel is made for, by name.
  std::map<std::string, double, std::less<>> parameters;       ///< Other numbers that the kernel is given, by name.
  PerAxis<AxisTaps> taps;                                      ///< 1-D weights, for kernels that take them.
  Matrix matrix;                                               ///< 2-D weights, for kernels that take them.
  PerAxis<BoxExtent> extent{{0, 0}, {0, 0}};                   ///< The window, for kernels that take one.
  Binding source = kSource;                                    ///< What the pass reads.
  Binding destination = kDestination;                          ///< What the pass writes.
  std::optional<Binding> auxiliary;                            ///< A second buffer that the pass reads, on a GPU.
  PerAxis<std::int32_t> origin;                                ///< Where the first pixel that the pass writes lies in what it reads.
  /// The extent that the pass writes, in pixels, or coarse samples for an intermediate grid. For a region it is rounded up to whole blocks.
  PerAxis<std::int32_t> size;
  PerAxis<std::int32_t> tile;         ///< The part of `size` that one task or work group makes.
  PerAxis<std::int32_t> group{1, 1};  ///< Threads of one work group, on a GPU.
  bool linear = false;                ///< Whether the pass reads through a linear sampler that knows the border, on a GPU.
  double outside_gain = 1.0;          ///< The factor that earlier passes gave the border's constant value, on a GPU.
  bool operator==(const Pass&) const = default;
};

}  // namespace mollify
