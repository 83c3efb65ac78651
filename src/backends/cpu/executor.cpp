#include "backends/cpu/executor.h"

#include <algorithm>

#include "backends/cpu/memory.h"
#include "base/views.h"

namespace mollify::cpu {

namespace {

class CpuWorkspace final : public WorkspaceImpl {
 public:
  CpuWorkspace(Scratch memory, std::int64_t worker_bytes) : memory_(std::move(memory)), worker_bytes_(worker_bytes) {}
  [[nodiscard]] std::byte* of_worker(std::int64_t worker) const { return memory_.get() + worker * worker_bytes_; }

 private:
  Scratch memory_;
  std::int64_t worker_bytes_;
};

class CpuExecutable final : public ExecutableImpl {
 public:
  CpuExecutable(const Plan& plan, std::vector<Pipeline> pipelines, std::shared_ptr<Workers> workers)
      : ExecutableImpl(plan), pipelines_(std::move(pipelines)), workers_(std::move(workers)) {
    const std::int64_t aside = plan.overlap == Overlap::in_place ? plan.dst.payload_bytes() : 0;
    worker_bytes_ = (plan.scratch_bytes - plan.intermediate_bytes - aside) / workers_->threads();
  }

  [[nodiscard]] Result<std::unique_ptr<WorkspaceImpl>> make_workspace(Batches /*batches*/) const override {
    Scratch memory = allocate_scratch(plan().scratch_bytes);
    if (!memory) {
      return Error{ErrorCode::out_of_memory, "no memory for " + std::to_string(plan().scratch_bytes) + " bytes of scratch space", {}};
    }
    return std::unique_ptr<WorkspaceImpl>(std::make_unique<CpuWorkspace>(std::move(memory), worker_bytes_));
  }

  [[nodiscard]] Status run(std::span<const ConstImageView> src, std::span<const ImageView> dst, WorkspaceImpl& workspace) const override {
    const auto& own = static_cast<CpuWorkspace&>(workspace);
    if (plan().scratch_bytes == worker_bytes_ * workers_->threads()) {
      blur(src, dst, own);
      return {};
    }
    for (std::size_t i = 0; i < src.size(); ++i) {  // there is one intermediate, room for one result
      const bool is_in_place = plan().overlap == Overlap::in_place && share_bytes(src[i], dst[i]);
      const ImageView result = is_in_place ? aside(own) : dst[i];
      blur(src.subspan(i, 1), std::span(&result, 1), own);
      if (is_in_place) workers_->copy(result, dst[i]);
    }
    return {};
  }

 private:
  void blur(std::span<const ConstImageView> src, std::span<const ImageView> dst, const CpuWorkspace& workspace) const {
    for (const Pipeline& pipeline : pipelines_) {
      const std::int64_t across = (pipeline.size.x + pipeline.tile.x - 1) / pipeline.tile.x;
      const std::int64_t down = (pipeline.size.y + pipeline.tile.y - 1) / pipeline.tile.y;
      const std::int64_t each = across * down;
      workers_->for_each(each * static_cast<std::int64_t>(src.size()), [&](std::int64_t index, std::int64_t worker) {
        const auto image = static_cast<std::size_t>(index / each);
        const auto x = static_cast<std::int32_t>(index % each % across) * pipeline.tile.x;
        const auto y = static_cast<std::int32_t>(index % each / across) * pipeline.tile.y;
        Tile tile{src[image], dst[image], {}};
        tile.out = {x, y, std::min(pipeline.tile.x, pipeline.size.x - x), std::min(pipeline.tile.y, pipeline.size.y - y)};
        if (plan().spec.roi) {
          tile.origin_x = plan().spec.roi->x;
          tile.origin_y = plan().spec.roi->y;
        }
        tile.scratch = workspace.of_worker(worker);
        tile.grid = reinterpret_cast<float*>(workspace.of_worker(workers_->threads()));
        tile.streams = plan().dst.payload_bytes() > plan().cached_bytes;
        pipeline.run(tile);
      });
    }
  }

  /// Room for a result that must not lie over its source yet, behind the workers' scratch and the intermediate.
  [[nodiscard]] ImageView aside(const CpuWorkspace& workspace) const {
    return {plan().dst, workspace.of_worker(workers_->threads()) + plan().intermediate_bytes, plan().dst.row_payload_bytes()};
  }

  std::vector<Pipeline> pipelines_;
  std::shared_ptr<Workers> workers_;
  std::int64_t worker_bytes_ = 0;
};

}  // namespace

Result<std::shared_ptr<const ExecutableImpl>> make_executable(const Plan& plan, std::vector<Pipeline> pipelines,
                                                              std::shared_ptr<Workers> workers) {
  return std::shared_ptr<const ExecutableImpl>(std::make_shared<CpuExecutable>(plan, std::move(pipelines), std::move(workers)));
}

}  // namespace mollify::cpu
