// What a decimation is to make of one axis: a Gaussian or a tent, or, where these are wider than the image, a narrower kernel that acts
// alike. A border that repeats shows a pixel again a period later, so only the sum of the weights a period apart matters: they are shared
// out anew by a window whose copies a period apart add up to one. Of clamped and constant borders all pixels beyond are alike: the weights
// that lie further out than the image is long become two bumps next to it. Both fall off smoothly, so that coarse samples can follow.
#pragma once

#include <compare>
#include <cstdint>
#include <variant>

#include "math/weights.h"

namespace mollify {

struct AxisTent {
  double end = 1.0;  ///< pixels from the middle to where it is zero
  auto operator<=>(const AxisTent&) const = default;
};

/// What of an image shortens kernels that are wider.
struct Fold {
  std::int64_t period = 0;  ///< pixels after which the border repeats itself; 0: it does not, and
  std::int64_t length = 0;  ///< all pixels so far from any are alike; 0: nothing is shortened
  auto operator<=>(const Fold&) const = default;
};
[[nodiscard]] Fold fold_of(BorderMode mode, std::int64_t length);

struct AxisKernel {
  std::variant<AxisGaussian, AxisTent> shape;
  Fold fold{};
  auto operator<=>(const AxisKernel&) const = default;

  /// Its standard deviation, or that of a tent.
  [[nodiscard]] double sigma() const;
  /// Whether it ends in a jump.
  [[nodiscard]] bool is_cut() const;
};

/// The same kernel without its fold where, by coarse samples of this factor, it is not shorter by that.
[[nodiscard]] AxisKernel folded_where_shorter(AxisKernel kernel, int factor);

/// The most that Decimation::reach() may come to: of Gaussians 6 sigma and two coarse samples, and no more than 7 sigma; of tents their end
/// and two coarse samples; less where a kernel is folded.
[[nodiscard]] std::int64_t most_reach(const AxisKernel& kernel, int factor);
[[nodiscard]] std::int64_t most_reach(double sigma, int factor);

/// The weights that coarse samples are to have, less what the window adds.
class AxisTarget {
 public:
  AxisTarget(const AxisKernel& kernel, int factor);

  [[nodiscard]] double operator()(std::int64_t offset) const;
  void add_beside(double window) { window_ = window; }
  [[nodiscard]] double beside() const { return window_; }
  [[nodiscard]] double left_to_grid() const { return 1.0 - window_ * static_cast<double>(2 * radius_ + 1); }
  /// Pixels up to which there are weights that matter.
  [[nodiscard]] std::int64_t radius() const { return fold_.period > 0 || fold_.length > 0 ? folded_radius_ : radius_; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  /// By which the weights end.
  [[nodiscard]] double jump() const;

 private:
  [[nodiscard]] double density(std::int64_t offset) const;
  [[nodiscard]] double weight(std::int64_t offset) const;    ///< of the kernel as it was asked for
  [[nodiscard]] double repeated(std::int64_t offset) const;  ///< of all weights that lie whole periods away, the sum
  [[nodiscard]] double window(std::int64_t offset) const;    ///< of the fold
  void set_bumps();

  AxisKernel kernel_;
  Fold fold_;
  double end_ = 0.0;  ///< of a tent; 0: it is a Gaussian
  double sigma_ = 1.0;
  std::int64_t radius_ = 0;
  bool is_cut_ = false;
  double sum_ = 0.0;
  double window_ = 0.0;
  double softness_ = 0.0;  ///< of the fold's window: the sigma of its edges
  double half_ = 0.0;      ///< from the middle of the fold's window to that of its edge
  std::int64_t folded_radius_ = 0;
  double bump_ = 0.0;  ///< the weight of either
};

}  // namespace mollify
