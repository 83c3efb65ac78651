#include "backends/cpu/executor.h"

#include <algorithm>
#include <string>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/stream.h"
#include "backends/cpu/tiling.h"
#include "base/places.h"
#include "base/source_region.h"
#include "base/views.h"

namespace mollify::cpu {

namespace {

/// Scratch memory for each worker, coarse samples that one pass leaves for the next, and room for a result that must not lie over its
/// source yet.
class CpuWorkspace final : public WorkspaceImpl {
 public:
  struct Sizes {
    std::int64_t worker_bytes = 0;
    std::int64_t workers = 1;
    std::int64_t coarse_bytes = 0;
    std::int64_t aside_bytes = 0;
    [[nodiscard]] std::int64_t all() const { return workers * worker_bytes + coarse_bytes + aside_bytes; }
  };

  [[nodiscard]] static Result<std::unique_ptr<WorkspaceImpl>> make(const Sizes& sizes) {
    Scratch memory = allocate_scratch(sizes.all());
    if (!memory) {
      return Error{ErrorCode::out_of_memory, "no memory for " + std::to_string(sizes.all()) + " bytes of scratch space", {}};
    }
    return std::unique_ptr<WorkspaceImpl>(std::make_unique<CpuWorkspace>(std::move(memory), sizes));
  }

  CpuWorkspace(Scratch memory, const Sizes& sizes) : memory_(std::move(memory)), sizes_(sizes) {}
  [[nodiscard]] std::byte* of_worker(std::int64_t worker) const { return memory_.get() + worker * sizes_.worker_bytes; }
  [[nodiscard]] float* coarse() const { return reinterpret_cast<float*>(of_worker(sizes_.workers)); }
  [[nodiscard]] std::int64_t coarse_bytes() const { return sizes_.coarse_bytes; }
  [[nodiscard]] std::byte* aside() const { return of_worker(sizes_.workers) + sizes_.coarse_bytes; }
  [[nodiscard]] std::int64_t aside_bytes() const { return sizes_.aside_bytes; }

 private:
  Scratch memory_;
  Sizes sizes_;
};

std::int64_t bytes_of_samples(PerAxis<std::int64_t> coarse, int channels) {
  return row_stride(coarse.x * channels) * coarse.y * static_cast<std::int64_t>(sizeof(float));
}

bool is_stopped(const RunControl& control) {
  return control.stop != nullptr && control.stop->load(std::memory_order_relaxed);
}

class CpuExecutable final : public ExecutableImpl {
 public:
  CpuExecutable(const Plan& plan, std::vector<Pipeline> pipelines, std::shared_ptr<Workers> workers)
      : ExecutableImpl(plan),
        pipelines_(std::move(pipelines)),
        workers_(std::move(workers)),
        channels_(info(plan.src.format).channels),
        places_(places_of(plan.spec)) {
    sizes_.workers = workers_->threads();
    sizes_.coarse_bytes = plan.intermediate_bytes;
    sizes_.aside_bytes = plan.overlap == Overlap::in_place ? plan.dst.payload_bytes() : 0;
    sizes_.worker_bytes = (plan.scratch_bytes - sizes_.coarse_bytes - sizes_.aside_bytes) / sizes_.workers;
  }

  [[nodiscard]] Result<std::unique_ptr<WorkspaceImpl>> make_workspace(Batches /*row groups*/) const override {
    return CpuWorkspace::make(sizes_);
  }

  [[nodiscard]] Result<std::unique_ptr<WorkspaceImpl>> make_window_workspace(PerAxis<std::int32_t> largest) const override {
    CpuWorkspace::Sizes sizes = sizes_;
    sizes.aside_bytes = 0;
    if (const std::optional<CoarseNeeds>& needs = pipelines_.back().coarse_needs) {
      sizes.coarse_bytes =
          bytes_of_samples({needs->x.most(places_.x.length(largest.x)), needs->y.most(places_.y.length(largest.y))}, channels_);
    }
    return CpuWorkspace::make(sizes);
  }

  [[nodiscard]] Status run(std::span<const ConstImageView> src, std::span<const ImageView> dst, WorkspaceImpl& workspace) const override {
    const auto& own = static_cast<CpuWorkspace&>(workspace);
    if (own.coarse_bytes() < sizes_.coarse_bytes || own.aside_bytes() < sizes_.aside_bytes) {
      return Error{ErrorCode::invalid_argument, "the workspace was made for windows of the image", {}};
    }
    if (sizes_.coarse_bytes == 0 && sizes_.aside_bytes == 0) {
      blur(src, dst, own);
      return {};
    }
    for (std::size_t i = 0; i < src.size(); ++i) {  // there is one intermediate, room for one result
      const bool is_in_place = plan().overlap == Overlap::in_place && share_bytes(src[i], dst[i]);
      const ImageView result = is_in_place ? ImageView{plan().dst, own.aside(), plan().dst.row_payload_bytes()} : dst[i];
      blur(src.subspan(i, 1), std::span(&result, 1), own);
      if (is_in_place) workers_->copy(result, dst[i]);
    }
    return {};
  }

  [[nodiscard]] Status run_window(std::span<const ConstWindow> src, const SourceNeeds& needs, const Window& dst, WorkspaceImpl& workspace,
                                  const RunControl& control) const override {
    const auto& own = static_cast<CpuWorkspace&>(workspace);
    const PerAxis<std::int64_t> origin{places_.x.at(dst.x), places_.y.at(dst.y)};  // of the window, in the source
    const PerAxis<std::int32_t> size{dst.pixels.desc.width, dst.pixels.desc.height};
    const Source source(plan().src, src, needs);
    Rect coarse;
    if (const std::optional<CoarseNeeds>& reads = pipelines_.back().coarse_needs) {
      coarse = reads->of(places_.x.of({dst.x, std::int64_t{dst.x} + size.x}), places_.y.of({dst.y, std::int64_t{dst.y} + size.y}));
    }
    if (bytes_of_samples({coarse.width, coarse.height}, channels_) > own.coarse_bytes()) {
      return Error{ErrorCode::invalid_argument,
                   "the workspace was made for smaller windows than " + std::to_string(size.x) + "x" + std::to_string(size.y),
                   {}};
    }
    const CoarseSamples stored{own.coarse(), row_stride(std::int64_t{coarse.width} * channels_), {coarse.x, coarse.y}, coarse.height};
    const bool streams = dst.pixels.desc.payload_bytes() > plan().cached_bytes;
    for (const Pipeline& pipeline : pipelines_) {
      const bool is_last = &pipeline == &pipelines_.back();
      const Tiling tiling = shared_among(workers_->threads(), {is_last ? Rect{0, 0, size.x, size.y} : coarse, pipeline.tile});
      workers_->for_each(tiling.count(), [&](std::int64_t index, std::int64_t worker) {
        if (is_stopped(control)) return;
        Tile tile{source, dst.pixels, tiling.at(index), origin.x, origin.y, own.of_worker(worker), stored, streams};
        pipeline.run(tile);
        if (is_last && control.finished_pixels != nullptr) {
          control.finished_pixels->fetch_add(std::int64_t{tile.out.width} * tile.out.height, std::memory_order_relaxed);
        }
      });
      if (is_stopped(control)) return Error{ErrorCode::stopped, "the run was stopped", {}};
    }
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<StreamImpl>> make_stream() const override {
    return cpu::make_stream(plan(), pipelines_, *workers_, sizes_.worker_bytes);
  }

 private:
  void blur(std::span<const ConstImageView> src, std::span<const ImageView> dst, const CpuWorkspace& workspace) const {
    const bool streams = plan().dst.payload_bytes() > plan().cached_bytes;
    for (const Pipeline& pipeline : pipelines_) {
      const Tiling tiling =
          of_batch(workers_->threads(), static_cast<std::int64_t>(src.size()), {{0, 0, pipeline.size.x, pipeline.size.y}, pipeline.tile});
      const std::int64_t each = tiling.count();
      workers_->for_each(each * static_cast<std::int64_t>(src.size()), [&](std::int64_t index, std::int64_t worker) {
        const auto image = static_cast<std::size_t>(index / each);
        const PerAxis<std::int32_t>& coarse = pipelines_.front().size;  // where there is a grid
        const CoarseSamples stored{workspace.coarse(), row_stride(std::int64_t{coarse.x} * channels_), {}, coarse.y};
        pipeline.run({src[image], dst[image], tiling.at(index % each), places_.x.first, places_.y.first, workspace.of_worker(worker),
                      stored, streams});
      });
    }
  }

  std::vector<Pipeline> pipelines_;
  std::shared_ptr<Workers> workers_;
  CpuWorkspace::Sizes sizes_;
  int channels_;
  PerAxis<AxisPlaces> places_;  ///< of the destination, in the source
};

}  // namespace

Result<std::shared_ptr<const ExecutableImpl>> make_executable(const Plan& plan, std::vector<Pipeline> pipelines,
                                                              std::shared_ptr<Workers> workers) {
  return std::shared_ptr<const ExecutableImpl>(std::make_shared<CpuExecutable>(plan, std::move(pipelines), std::move(workers)));
}

}  // namespace mollify::cpu
