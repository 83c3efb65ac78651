// Windows for backends whose kernels know only images: each window is an image with a plan of its own.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>

#include "backends/backend.h"
#include "base/source_needs.h"

namespace mollify {

/// A window of the destination as a blur of a part of the source. The part begins where blocks of the whole begin, so that its coarse
/// grids, blocks and segments are those of the whole.
struct WindowImage {
  PerAxis<Span> source;      ///< The part, in pixels of the whole source. Where a border wraps, it may lie beyond the edges.
  Rect region;               ///< Of the part, in its pixels: what the window is made of.
  PerAxis<Stride> stride{};  ///< The step of the whole, with the phase that the window has in its region.
};

/// The destination's rectangle lies in the plan's destination, and the plan has a halo.
[[nodiscard]] WindowImage window_image(const Plan& whole, const Rect& destination);

/// The plan that makes this window. Of the whole it has the algorithm, its options and its weights.
[[nodiscard]] Result<Plan> window_plan_of(const Plan& whole, const WindowImage& image);

/// Makes windows one after the other. What was prepared for one serves later ones of the same shape. Strips have three: the first, those in
/// the middle, and the last.
class WindowPlans final : public WorkspaceImpl {
 public:
  /// Keeps what was prepared for so many shapes.
  explicit WindowPlans(const ExecutableImpl& whole, std::size_t most_shapes = 1) : whole_(whole), most_shapes_(most_shapes) {}
  /// Prepares what a run that makes this window would prepare.
  [[nodiscard]] Status reserve(const Rect& destination);
  [[nodiscard]] Status run(std::span<const ConstWindow> src, const Window& dst, const RunControl& control);

 private:
  struct Prepared {
    WindowImage image;
    std::shared_ptr<const ExecutableImpl> executable;
    std::unique_ptr<WorkspaceImpl> workspace;
  };
  [[nodiscard]] Result<Prepared> prepare(const WindowImage& image) const;
  [[nodiscard]] Result<const Prepared*> prepared_for(const WindowImage& image);
  /// The source of a window as one image: a view of the window that holds it, or a copy.
  [[nodiscard]] Result<ConstImageView> gathered(std::span<const ConstWindow> src, const WindowImage& image);

  const ExecutableImpl& whole_;
  std::size_t most_shapes_;
  std::deque<Prepared> prepared_;  ///< The last one is the newest.
  Image copy_;                     ///< a source that lies in several windows
};

}  // namespace mollify
