#include "backends/cuda/executor.h"

#include <vector>

#include "backends/cuda/capture.h"
#include "backends/cuda/stream.h"
#include "backends/gpu_executable.h"

namespace mollify::cuda {
namespace {

/// One image in flight, or one window: its pixels in memory that the device copies by itself, and on the device.
class Slot final : public WindowSlot {
 public:
  static Result<std::unique_ptr<Slot>> create(const std::shared_ptr<const Prepared>& prepared, const std::shared_ptr<Workers>& workers,
                                              std::int32_t kept) {
    std::unique_ptr<Slot> slot(new Slot(prepared, workers, kept));
    if (Status s = slot->allocate(); !s) return s.error();
    return slot;
  }

  [[nodiscard]] Status start(const ConstImageView& src) {
    const Plan& plan = prepared_->plan();
    workers_->copy(src, {plan.src, host_source_.host(), row_bytes(plan.src)});
    return start(nullptr, 0);
  }

  [[nodiscard]] Status finish(const ImageView& dst) {
    if (Status s = stream_.wait(); !s) return s;
    const Plan& plan = prepared_->plan();
    workers_->copy({plan.dst, host_destination_.host(), row_bytes(plan.dst)}, dst);
    return {};
  }

  void put(const ConstImageView& rows, std::int32_t x, std::int32_t y) override {
    const ImageDesc& src = prepared_->plan().src;
    const Rect place{x, y, rows.desc.width, rows.desc.height};
    workers_->copy(rows, crop(ImageView{src, host_source_.host(), row_bytes(src)}, place));
  }

  [[nodiscard]] Status start(const WindowSlot* above, std::int32_t first) override {
    Status status = enqueue(static_cast<const Slot*>(above), first);
    if (!status) (void)stream_.wait();  // for what was enqueued before the failure
    return status;
  }

  [[nodiscard]] Status wait() override { return stream_.wait(); }

  void take(std::int32_t y, const ImageView& rows) const override {
    const ImageDesc& dst = prepared_->plan().dst;
    const ConstImageView all{dst, host_destination_.host(), row_bytes(dst)};
    workers_->copy(crop(all, {0, y, dst.width, rows.desc.height}), rows);
  }

 private:
  Slot(std::shared_ptr<const Prepared> prepared, std::shared_ptr<Workers> workers, std::int32_t kept)
      : prepared_(std::move(prepared)),
        workers_(std::move(workers)),
        kept_(kept),
        source_is_there_(prepared_->context()),
        stream_(prepared_->context()) {}

  [[nodiscard]] Status allocate() {
    if (Status s = stream_.open(); !s) return s;
    if (Status s = source_is_there_.open(); !s) return s;
    const Plan& plan = prepared_->plan();
    const auto bytes = [&](const ImageDesc& desc) { return row_bytes(desc) * desc.height; };
    using Kind = Memory::Kind;
    const std::initializer_list<std::pair<Memory*, std::pair<Kind, std::int64_t>>> wanted = {
        {&host_source_, {Kind::host, bytes(plan.src)}},
        {&host_destination_, {Kind::host, bytes(plan.dst)}},
        {&source_, {Kind::device, bytes(plan.src)}},
        {&destination_, {Kind::device, bytes(plan.dst)}},
        {&scratch_, {Kind::device, prepared_->scratch_bytes(1)}}};
    for (const auto& [memory, what] : wanted) {
      Result<Memory> allocated = Memory::allocate(prepared_->context(), what.first, what.second);
      if (!allocated) return allocated.error();
      *memory = std::move(*allocated);
    }
    return {};
  }

  /// The image to the device, its blur, and the result back.
  [[nodiscard]] Status enqueue(const Slot* above, std::int32_t first) const {
    const Plan& plan = prepared_->plan();
    if (above != nullptr) {
      if (Status s = above->source_is_there_.precede(stream_); !s) return s;
      if (Status s = copy_kept(*above, first); !s) return s;
    }
    const std::int32_t uploaded = plan.src.height - kept_;
    if (uploaded > 0) {
      if (Status s = copy(plan.src, host_source_.host(), source_.device(), {kept_, uploaded}, true); !s) return s;
    }
    if (Status s = source_is_there_.record(stream_); !s) return s;
    const Place from{source_.device(), row_bytes(plan.src), 0};
    const Place to{destination_.device(), row_bytes(plan.dst), 0};
    if (Status s = prepared_->enqueue(from, to, 1, scratch_.device(), stream_.get()); !s) return s;
    return copy(plan.dst, host_destination_.host(), destination_.device(), {0, plan.dst.height}, false);
  }

  [[nodiscard]] std::int64_t row_bytes(const ImageDesc& desc) const {
    return buffer_row_bytes(desc, prepared_->plan().device.gpu.max_buffer_bytes);
  }

  struct RowRange {
    std::int32_t first = 0;
    std::int32_t count = 0;
  };

  /// Of these rows, from one place to another. What lies between rows is left alone.
  [[nodiscard]] CUDA_MEMCPY2D rows_to_copy(const ImageDesc& desc, std::int32_t count) const {
    CUDA_MEMCPY2D copy{};
    copy.WidthInBytes = static_cast<std::size_t>(desc.row_payload_bytes());
    copy.Height = static_cast<std::size_t>(count);
    copy.srcPitch = copy.dstPitch = static_cast<std::size_t>(row_bytes(desc));
    return copy;
  }

  [[nodiscard]] Status enqueue(const CUDA_MEMCPY2D& copy) const {
    const Current current(*prepared_->context());
    const Functions& cu = prepared_->context()->cu();
    const CUresult r = cu.Memcpy2DAsync(&copy, stream_.get());
    return r == CUDA_SUCCESS ? Status() : Status(to_error(cu, r, "copying an image"));
  }

  /// Rows lie alike on both sides.
  [[nodiscard]] Status copy(const ImageDesc& desc, std::byte* host, CUdeviceptr device, const RowRange& rows, bool to_device) const {
    const std::int64_t skipped = rows.first * row_bytes(desc);
    CUDA_MEMCPY2D copy = rows_to_copy(desc, rows.count);
    copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = host + skipped;
    copy.srcDevice = copy.dstDevice = device + static_cast<CUdeviceptr>(skipped);
    return enqueue(copy);
  }

  /// The first rows of the source, from the device's own copy of the window above.
  [[nodiscard]] Status copy_kept(const Slot& above, std::int32_t first) const {
    const ImageDesc& theirs = above.prepared_->plan().src;
    CUDA_MEMCPY2D copy = rows_to_copy(prepared_->plan().src, kept_);
    copy.srcPitch = static_cast<std::size_t>(above.row_bytes(theirs));
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = above.source_.device() + static_cast<CUdeviceptr>(first * above.row_bytes(theirs));
    copy.dstDevice = source_.device();
    return enqueue(copy);
  }

  std::shared_ptr<const Prepared> prepared_;
  std::shared_ptr<Workers> workers_;
  Memory host_source_;
  Memory host_destination_;
  Memory source_;
  Memory destination_;
  Memory scratch_;
  std::int32_t kept_;  ///< rows of the source that come from the window above
  StreamEvent source_is_there_;
  OwnStream stream_;  ///< last: what is under way is waited for before what it works on goes
};

using CudaExecutable = GpuExecutable<Slot, Prepared>;

}  // namespace

Result<std::shared_ptr<const ExecutableImpl>> make_executable(const Plan& plan, std::shared_ptr<Context> context,
                                                              std::shared_ptr<Workers> workers) {
  free_of_graphs();
  Result<std::shared_ptr<const Prepared>> prepared = Prepared::create(plan, std::move(context));
  if (!prepared) return prepared.error();
  return std::shared_ptr<const ExecutableImpl>(std::make_shared<CudaExecutable>(std::move(*prepared), std::move(workers)));
}

std::shared_ptr<const Prepared> prepared_of(const ExecutableImpl& executable) {
  const auto* cuda = dynamic_cast<const CudaExecutable*>(&executable);
  return cuda != nullptr ? cuda->prepared() : nullptr;
}

}  // namespace mollify::cuda
