// Deriche's recursive Gaussian of order 4: the sum of two complex exponentials, run forwards and backwards.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "mollify/spec.h"

namespace mollify {

/// h(n) = Re(sum_k amplitude[k] * pole[k]^n), n >= 0; backwards from n = 1 on.
struct Deriche {
  struct Complex {
    float re = 0.0F;
    float im = 0.0F;
  };
  std::array<Complex, 2> pole;
  std::array<Complex, 2> amplitude;
  std::int32_t warm_up = 0;  ///< pixels before a segment from which its recursions start at zero
  double l1_distance = 0.0;  ///< to the kernel that was asked for, what is before the warm-up included
  double growth = 0.0;       ///< of rounding errors, in unit roundoffs of the largest pixel
};

/// For symmetric taps that sum to one, those of a Gaussian of `sigma` > 0.
[[nodiscard]] std::shared_ptr<const Deriche> fit_deriche(double sigma, const AxisTaps& wanted);

}  // namespace mollify
