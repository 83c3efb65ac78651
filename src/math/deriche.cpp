#include "math/deriche.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

#include "math/remembered.h"

namespace mollify {
namespace {

// exp(-x^2 / 2) ~ sum_k (cosine * cos(turn * x) + sine * sin(turn * x)) * exp(-fall * x), Deriche 1993.
struct Term {
  double cosine;
  double sine;
  double fall;
  double turn;
};
constexpr std::array<Term, 2> kTerms = {{{1.6800, 3.7350, 1.7830, 0.6318}, {-0.6803, -0.2598, 1.7230, 1.9970}}};

std::complex<double> exact(const Deriche::Complex& c) {
  return {static_cast<double>(c.re), static_cast<double>(c.im)};
}
Deriche::Complex rounded(const std::complex<double>& c) {
  return {static_cast<float>(c.real()), static_cast<float>(c.imag())};
}

Deriche fit(double sigma, const AxisTaps& wanted) {
  constexpr double kReach = 9.0;  // sigmas; what is beyond it is below the distance by orders
  const auto reach = std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(kReach * sigma)), wanted.anchor) + 1;
  std::array<std::complex<double>, 2> amplitude;
  Deriche out;
  for (std::size_t k = 0; k < kTerms.size(); ++k) {
    const Term& t = kTerms[k];
    out.pole[k] = rounded(std::polar(std::exp(-t.fall / sigma), t.turn / sigma));
    amplitude[k] = {t.cosine, -t.sine};
  }
  const auto response = [&] {
    std::vector<double> h(static_cast<std::size_t>(reach) + 1, 0.0);
    for (std::size_t k = 0; k < kTerms.size(); ++k) {
      std::complex<double> power = amplitude[k];
      for (double& v : h) {
        v += power.real();
        power *= exact(out.pole[k]);
      }
    }
    return h;
  };
  std::vector<double> h = response();
  double sum = h[0];
  for (std::size_t i = 1; i < h.size(); ++i) sum += 2.0 * h[i];
  for (std::size_t k = 0; k < kTerms.size(); ++k) {
    out.amplitude[k] = rounded(amplitude[k] / sum);
    amplitude[k] = exact(out.amplitude[k]);
  }
  h = response();

  double distance = 0.0;
  for (std::int64_t i = 0; i <= reach; ++i) {
    const double g = i <= wanted.anchor ? wanted.weights[static_cast<std::size_t>(wanted.anchor + i)] : 0.0;
    distance += (i == 0 ? 1.0 : 2.0) * std::abs(h[static_cast<std::size_t>(i)] - g);
  }
  // The warm-up may leave out a small share of the distance.
  constexpr double kLeftOutShare = 0.05;
  double left_out = 0.0;
  std::int64_t last = reach;
  while (last > 1 && left_out + 2.0 * std::abs(h[static_cast<std::size_t>(last)]) <= kLeftOutShare * distance) {
    left_out += 2.0 * std::abs(h[static_cast<std::size_t>(last)]);
    --last;
  }
  out.warm_up = static_cast<std::int32_t>(last);
  // Weights that miss a sum of one by so much count twice, so that the rest of the distance is one of equal sums.
  double realised = h[0];
  for (std::int64_t i = 1; i <= last; ++i) realised += 2.0 * h[static_cast<std::size_t>(i)];
  out.l1_distance = distance + left_out + left_out + std::abs(realised - 1.0);
  // A state is at most the largest pixel over 1 - |pole|; a step rounds it a few times, and forgets that as slowly.
  constexpr double kStep = 6.0;
  for (std::size_t k = 0; k < kTerms.size(); ++k) {
    const double memory = 1.0 / (1.0 - std::abs(exact(out.pole[k])));
    out.growth += 2.0 * std::abs(amplitude[k]) * memory * (kStep * memory + kStep);
  }
  return out;
}

}  // namespace

std::shared_ptr<const Deriche> fit_deriche(double sigma, const AxisTaps& wanted) {
  static auto& fits = *new Remembered<std::pair<double, std::int32_t>, std::shared_ptr<const Deriche>>(512);
  return fits.get({sigma, wanted.anchor}, [&] { return std::make_shared<const Deriche>(fit(sigma, wanted)); });
}

}  // namespace mollify
