// Images that a GPU cannot hold at once: they are blurred window by window.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/window_plans.h"

namespace mollify {

/// A workspace for whole images whose windows it makes one after the other.
class DividedImages final : public WorkspaceImpl {
 public:
  /// Allocates what windows take: `most_bytes` at most, and less where that is enough, or where the device has no room for it.
  [[nodiscard]] static Result<std::unique_ptr<WorkspaceImpl>> create(const ExecutableImpl& whole, std::int64_t most_bytes);
  /// Source and destination may share bytes. Then the source is copied first.
  [[nodiscard]] Status run(const ConstImageView& src, const ImageView& dst);

 private:
  DividedImages(const ExecutableImpl& whole, std::vector<Rect> windows, std::size_t shapes);
  [[nodiscard]] Status reserve();

  WindowPlans plans_;
  std::vector<Rect> windows_;  ///< of the destination
};

}  // namespace mollify
