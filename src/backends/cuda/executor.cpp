#include "backends/cuda/executor.h"

#include <vector>

#include "backends/cuda/capture.h"
#include "backends/cuda/stream.h"
#include "backends/gpu_executable.h"

namespace mollify::cuda {
namespace {

/// One image in flight: its pixels in memory that the device copies by itself, and on the device.
class Slot {
 public:
  static Result<std::unique_ptr<Slot>> create(const std::shared_ptr<const Prepared>& prepared, const std::shared_ptr<Workers>& workers) {
    std::unique_ptr<Slot> slot(new Slot(prepared, workers));
    if (Status s = slot->allocate(); !s) return s.error();
    return slot;
  }

  [[nodiscard]] Status start(const ConstImageView& src) {
    const Plan& plan = prepared_->plan();
    workers_->copy(src, {plan.src, host_source_.host(), row_bytes(plan.src)});
    Status status = enqueue();
    if (!status) (void)stream_.wait();  // for what was enqueued before the failure
    return status;
  }

  [[nodiscard]] Status finish(const ImageView& dst) {
    if (Status s = stream_.wait(); !s) return s;
    const Plan& plan = prepared_->plan();
    workers_->copy({plan.dst, host_destination_.host(), row_bytes(plan.dst)}, dst);
    return {};
  }

 private:
  Slot(std::shared_ptr<const Prepared> prepared, std::shared_ptr<Workers> workers)
      : prepared_(std::move(prepared)), workers_(std::move(workers)), stream_(prepared_->context()) {}

  [[nodiscard]] Status allocate() {
    if (Status s = stream_.open(); !s) return s;
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
  [[nodiscard]] Status enqueue() const {
    const Plan& plan = prepared_->plan();
    if (Status s = copy(plan.src, host_source_.host(), source_.device(), true); !s) return s;
    const Place from{source_.device(), row_bytes(plan.src), 0};
    const Place to{destination_.device(), row_bytes(plan.dst), 0};
    if (Status s = prepared_->enqueue(from, to, 1, scratch_.device(), stream_.get()); !s) return s;
    return copy(plan.dst, host_destination_.host(), destination_.device(), false);
  }

  [[nodiscard]] std::int64_t row_bytes(const ImageDesc& desc) const {
    return buffer_row_bytes(desc, prepared_->plan().device.gpu.max_buffer_bytes);
  }

  /// Rows lie alike on both sides. What lies between them is left alone.
  [[nodiscard]] Status copy(const ImageDesc& desc, void* host, CUdeviceptr device, bool to_device) const {
    const Current current(*prepared_->context());
    CUDA_MEMCPY2D copy{};
    copy.WidthInBytes = static_cast<std::size_t>(desc.row_payload_bytes());
    copy.Height = static_cast<std::size_t>(desc.height);
    copy.srcPitch = copy.dstPitch = static_cast<std::size_t>(row_bytes(desc));
    copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = host;
    copy.srcDevice = copy.dstDevice = device;
    const Functions& cu = prepared_->context()->cu();
    const CUresult r = cu.Memcpy2DAsync(&copy, stream_.get());
    return r == CUDA_SUCCESS ? Status() : Status(to_error(cu, r, "copying an image"));
  }

  std::shared_ptr<const Prepared> prepared_;
  std::shared_ptr<Workers> workers_;
  Memory host_source_;
  Memory host_destination_;
  Memory source_;
  Memory destination_;
  Memory scratch_;
  Stream stream_;  ///< last: what is under way is waited for before what it works on goes
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
