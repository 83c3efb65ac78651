// What runs images in host memory on a GPU of any backend: some are on the device while the host copies others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/workers.h"
#include "base/gpu_images.h"

namespace mollify {

/// A Slot has one image in flight, or one window: then it is a WindowSlot whose first `kept` rows need not be put. It has
///   static Result<std::unique_ptr<Slot>> create(const std::shared_ptr<const Prepared>&, const std::shared_ptr<Workers>&, int32_t kept);
///   Status start(const ConstImageView& src);   // after a failure nothing is under way any more
///   Status finish(const ImageView& dst);       // waits
/// and Prepared is a plan that is ready on a device: plan(), context().
template <class Slot, class Prepared>
class GpuExecutable final : public ExecutableImpl {
 public:
  GpuExecutable(std::shared_ptr<const Prepared> prepared, std::shared_ptr<Workers> workers)
      : ExecutableImpl(prepared->plan()), prepared_(std::move(prepared)), workers_(std::move(workers)) {}

  [[nodiscard]] const std::shared_ptr<const Prepared>& prepared() const { return prepared_; }

  [[nodiscard]] Result<std::unique_ptr<WorkspaceImpl>> make_workspace(Batches batches) const override {
    auto workspace = std::make_unique<Slots>();
    const std::int64_t count = batches == Batches::yes ? images_in_flight(plan().min_bytes) : 1;
    for (std::int64_t i = 0; i < count; ++i) {
      Result<std::unique_ptr<Slot>> slot = Slot::create(prepared_, workers_, 0);
      if (!slot) return slot.error();
      workspace->slots.push_back(std::move(*slot));
    }
    return std::unique_ptr<WorkspaceImpl>(std::move(workspace));
  }

  [[nodiscard]] Result<std::shared_ptr<const ExecutableImpl>> prepare_window(const Plan& plan) const override {
    return make_executable(plan, prepared_->context(), workers_);
  }

  [[nodiscard]] Result<std::unique_ptr<WindowSlot>> make_window_slot(std::int32_t kept) const override {
    Result<std::unique_ptr<Slot>> slot = Slot::create(prepared_, workers_, kept);
    if (!slot) return slot.error();
    return std::unique_ptr<WindowSlot>(std::move(*slot));
  }

  [[nodiscard]] Status run(std::span<const ConstImageView> src, std::span<const ImageView> dst, WorkspaceImpl& workspace) const override {
    const auto* own = dynamic_cast<const Slots*>(&workspace);
    if (own == nullptr) return Error{ErrorCode::invalid_argument, "the workspace was made for windows", {}};
    const std::size_t in_flight = own->slots.size();
    Status status;
    std::size_t started = 0;
    std::size_t finished = 0;
    while (finished < started || (status && started < src.size())) {
      // What was started must be waited for, also after a failure.
      if (status && started < src.size() && started - finished < in_flight) {
        status = own->slots[started % in_flight]->start(src[started]);
        if (status) ++started;
        continue;
      }
      const Status done = own->slots[finished % in_flight]->finish(dst[finished]);
      if (status && !done) status = done;
      ++finished;
    }
    return status;
  }

 private:
  struct Slots final : WorkspaceImpl {
    std::vector<std::unique_ptr<Slot>> slots;
  };

  std::shared_ptr<const Prepared> prepared_;
  std::shared_ptr<Workers> workers_;
};

}  // namespace mollify
