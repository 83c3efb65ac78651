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
  /// Allocates what the largest window takes: `bytes` at most, and less where the device has no room for that.
  [[nodiscard]] static Result<std::unique_ptr<WorkspaceImpl>> create(const ExecutableImpl& whole, std::int64_t bytes);
  /// Source and destination may share bytes. Then the source is copied first.
  [[nodiscard]] Status run(const ConstImageView& src, const ImageView& dst);

 private:
  DividedImages(const ExecutableImpl& whole, std::vector<Rect> windows) : plans_(whole), windows_(std::move(windows)) {}

  WindowPlans plans_;
  std::vector<Rect> windows_;  ///< of the destination
};

}  // namespace mollify
