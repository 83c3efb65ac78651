#include "backends/cuda/timestamps.h"

#include <algorithm>
#include <chrono>
#include <semaphore>

#include "backends/cuda/kernels/copy_shape.h"
#include "base/gpu_images.h"

namespace mollify::cuda {
namespace {

/// Runs in one go. Every run is some ten calls, and a stream takes about a thousand before the next call waits.
constexpr std::size_t kRunsAtOnce = 16;

std::size_t set_count(const Plan& plan, std::size_t batch) {
  return mollify::set_count(2 * plan.min_bytes * static_cast<std::int64_t>(batch), plan.device.gpu.is_software);
}

Status status_of(const Context& context, CUresult result, const char* doing) {
  return result == CUDA_SUCCESS ? Status() : Status(to_error(context.cu(), result, doing));
}

}  // namespace

/// What the stream waits at: a function of the host that returns when the gate is opened.
struct Stopwatch::Gate {
  std::binary_semaphore opened{0};
};

Stopwatch::Stopwatch(std::shared_ptr<const Context> context)
    : context_(std::move(context)), gate_(std::make_unique<Gate>()), stream_(context_) {}

Result<std::unique_ptr<Stopwatch>> Stopwatch::create(std::shared_ptr<const Context> context, std::size_t capacity) {
  std::unique_ptr<Stopwatch> stopwatch(new Stopwatch(std::move(context)));
  if (Status s = stopwatch->open(capacity); !s) return s.error();
  return stopwatch;
}

Status Stopwatch::open(std::size_t capacity) {
  if (Status s = stream_.open(); !s) return s;
  const Current current(*context_);
  while (events_.size() < 2 * capacity) {
    CUevent event = nullptr;
    if (Status s = status_of(*context_, context_->cu().EventCreate(&event, CU_EVENT_DEFAULT), "making an event"); !s) return s;
    events_.push_back(event);
  }
  return {};
}

Stopwatch::~Stopwatch() {
  const Current current(*context_);
  for (CUevent event : events_) context_->cu().EventDestroy(event);
}

Status Stopwatch::hold() {
  const Current current(*context_);
  const CUhostFn until_opened = [](void* gate) { static_cast<Gate*>(gate)->opened.acquire(); };
  return status_of(*context_, context_->cu().LaunchHostFunc(stream_.get(), until_opened, gate_.get()), "holding a stream");
}

void Stopwatch::let_go() {
  gate_->opened.release();
}

Status Stopwatch::mark() {
  if (marks_ == events_.size()) return Error{ErrorCode::internal, "there are too few events", {}};
  const Current current(*context_);
  return status_of(*context_, context_->cu().EventRecord(events_[marks_++], stream_.get()), "marking the time");
}

Result<std::vector<double>> Stopwatch::read() const {
  const Current current(*context_);
  std::vector<double> times;
  for (std::size_t i = 0; i < marks_; i += 2) {
    float milliseconds = 0.0F;
    const CUresult r = context_->cu().EventElapsedTime(&milliseconds, events_[i], events_[i + 1]);
    if (r != CUDA_SUCCESS) return to_error(context_->cu(), r, "reading the time");
    times.push_back(static_cast<double>(milliseconds) * 1e6);
  }
  return times;
}

std::int64_t timer_bytes(const Plan& plan, std::size_t batch) {
  const std::int64_t image = plan.src.payload_bytes() + plan.dst.payload_bytes() + gpu_intermediate_bytes(plan);
  return static_cast<std::int64_t>(set_count(plan, batch) * batch) * (image + plan.min_bytes);
}

std::int64_t timer_budget(const Context& context) {
  return context.info().gpu.max_buffer_bytes / 2;
}

Result<std::unique_ptr<DeviceNoise>> DeviceNoise::create(const std::shared_ptr<const Context>& context, const ConstImageView& noise) {
  if (noise.row_bytes != noise.desc.row_payload_bytes()) return Error{ErrorCode::internal, "the noise is not packed", {}};
  Result<Memory> memory = Memory::allocate(context, Memory::Kind::device, noise.desc.payload_bytes());
  if (!memory) return memory.error();
  const Current current(*context);
  const CUresult r = context->upload(memory->device(), noise.data, static_cast<std::size_t>(noise.desc.payload_bytes()));
  if (r != CUDA_SUCCESS) return to_error(context->cu(), r, "copying noise to the GPU");
  return std::unique_ptr<DeviceNoise>(new DeviceNoise(std::move(*memory), noise.desc));
}

class DeviceImages {
 public:
  static Result<std::unique_ptr<DeviceImages>> create(const std::shared_ptr<const Prepared>& prepared, std::size_t batch) {
    std::unique_ptr<DeviceImages> images(new DeviceImages(prepared, batch));
    const auto bytes = [&](const Place& place) { return static_cast<std::int64_t>(batch) * place.image_bytes; };
    const std::initializer_list<std::pair<Memory*, std::int64_t>> wanted = {{&images->source_, bytes(images->from_)},
                                                                            {&images->destination_, bytes(images->to_)}};
    for (const auto& [memory, size] : wanted) {
      Result<Memory> allocated = Memory::allocate(images->context_, Memory::Kind::device, size);
      if (!allocated) return allocated.error();
      *memory = std::move(*allocated);
    }
    images->from_.data = images->source_.device();
    images->to_.data = images->destination_.device();
    return images;
  }

  [[nodiscard]] Status fill(const DeviceNoise& noise, CUstream stream) const {
    for (std::size_t i = 0; i < batch_; ++i) {
      const auto image = static_cast<CUdeviceptr>(i);
      CUDA_MEMCPY2D copy = rows(plan().src);
      copy.srcDevice = noise.data() + image * static_cast<CUdeviceptr>(noise.pixel_bytes());
      copy.dstDevice = from_.data + image * static_cast<CUdeviceptr>(from_.image_bytes);
      copy.dstPitch = static_cast<std::size_t>(from_.row_bytes);
      if (Status s = run(copy, stream); !s) return s;
    }
    return {};
  }
  /// To packed images.
  [[nodiscard]] Status download(std::byte* to, CUstream stream) const {
    for (std::size_t i = 0; i < batch_; ++i) {
      CUDA_MEMCPY2D copy = rows(plan().dst);
      copy.srcDevice = to_.data + static_cast<CUdeviceptr>(i) * static_cast<CUdeviceptr>(to_.image_bytes);
      copy.srcPitch = static_cast<std::size_t>(to_.row_bytes);
      copy.dstMemoryType = CU_MEMORYTYPE_HOST;
      copy.dstHost = to + static_cast<std::int64_t>(i) * plan().dst.payload_bytes();
      if (Status s = run(copy, stream); !s) return s;
    }
    return {};
  }
  [[nodiscard]] Status blur(const Prepared& prepared, CUdeviceptr scratch, CUstream stream) const {
    return prepared.enqueue(from_, to_, static_cast<std::int64_t>(batch_), scratch, stream);
  }

 private:
  DeviceImages(std::shared_ptr<const Prepared> prepared, std::size_t batch)
      : prepared_(std::move(prepared)), context_(prepared_->context()), batch_(batch) {
    from_ = place_of(plan().src);
    to_ = place_of(plan().dst);
  }
  [[nodiscard]] const Plan& plan() const { return prepared_->plan(); }

  /// As images of the host's memory lie on the device.
  [[nodiscard]] Place place_of(const ImageDesc& desc) const {
    const std::int64_t row = buffer_row_bytes(desc, plan().device.gpu.max_buffer_bytes);
    return {0, row, (row * desc.height + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment};
  }
  static CUDA_MEMCPY2D rows(const ImageDesc& desc) {
    CUDA_MEMCPY2D copy{};
    copy.WidthInBytes = static_cast<std::size_t>(desc.row_payload_bytes());
    copy.Height = static_cast<std::size_t>(desc.height);
    copy.srcPitch = copy.dstPitch = copy.WidthInBytes;
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    return copy;
  }
  [[nodiscard]] Status run(const CUDA_MEMCPY2D& copy, CUstream stream) const {
    const Current current(*context_);
    return status_of(*context_, context_->cu().Memcpy2DAsync(&copy, stream), "copying an image");
  }

  std::shared_ptr<const Prepared> prepared_;
  std::shared_ptr<const Context> context_;
  std::size_t batch_;
  Place from_;
  Place to_;
  Memory source_;
  Memory destination_;
};

struct DeviceTimer::Set {
  std::unique_ptr<DeviceImages> images;
  Memory scratch;
  Memory copy_from;
  Memory copy_to;
};

DeviceTimer::DeviceTimer(std::shared_ptr<const Prepared> prepared, std::size_t batch) : prepared_(std::move(prepared)), batch_(batch) {}

DeviceTimer::~DeviceTimer() = default;

Result<std::unique_ptr<DeviceTimer>> DeviceTimer::create(std::shared_ptr<const Prepared> prepared, const DeviceNoise& noise,
                                                         std::size_t batch) {
  const std::shared_ptr<Context> context = prepared->context();
  std::unique_ptr<DeviceTimer> timer(new DeviceTimer(std::move(prepared), batch));
  {
    const Current current(*context);
    const Result<CUfunction> copy = context->kernel("copy", "copy");
    if (!copy) return copy.error();
    timer->copy_ = *copy;
  }
  timer->copy_bytes_ = std::max<std::int64_t>(16, static_cast<std::int64_t>(batch) * timer->prepared_->plan().min_bytes / 2 / 16 * 16);
  Result<std::unique_ptr<Stopwatch>> stopwatch = Stopwatch::create(context, kKindsOfSamples * kRunsAtOnce);
  if (!stopwatch) return stopwatch.error();
  timer->stopwatch_ = std::move(*stopwatch);
  if (Status s = timer->make_sets(noise); !s) return s.error();
  return timer;
}

Status DeviceTimer::make_sets(const DeviceNoise& noise) {
  const std::shared_ptr<Context> context = prepared_->context();
  const auto images = static_cast<std::int64_t>(batch_);
  for (std::size_t i = set_count(prepared_->plan(), batch_); i > 0; --i) {
    auto set = std::make_unique<Set>();
    Result<std::unique_ptr<DeviceImages>> made = DeviceImages::create(prepared_, batch_);
    if (!made) return made.error();
    set->images = std::move(*made);
    const std::initializer_list<std::pair<Memory*, std::int64_t>> wanted = {
        {&set->scratch, prepared_->scratch_bytes(images)}, {&set->copy_from, copy_bytes_}, {&set->copy_to, copy_bytes_}};
    for (const auto& [memory, size] : wanted) {
      Result<Memory> allocated = Memory::allocate(context, Memory::Kind::device, size);
      if (!allocated) return allocated.error();
      *memory = std::move(*allocated);
    }
    if (Status s = set->images->fill(noise, stopwatch_->stream()); !s) return s;
    {  // as much of the noise as there is into what the copies read
      const Current current(*context);
      const auto bytes = static_cast<std::size_t>(std::min(noise.bytes(), copy_bytes_));
      const CUresult r = context->cu().MemcpyDtoDAsync(set->copy_from.device(), noise.data(), bytes, stopwatch_->stream());
      if (Status s = status_of(*context, r, "copying noise"); !s) return s;
    }
    sets_.push_back(std::move(set));
  }
  // A driver may load a kernel when it is first launched, and wait for the device then, which must not be held.
  const Set& set = *sets_.front();
  Status status = set.images->blur(*prepared_, set.scratch.device(), stopwatch_->stream());
  if (status) status = copy_by_kernel(set, copy_bytes_);
  return status ? stopwatch_->wait() : status;
}

Status DeviceTimer::copy_by_driver(const Set& set) const {
  const Context& context = *prepared_->context();
  const Current current(context);
  const CUresult r = context.cu().MemcpyDtoDAsync(set.copy_to.device(), set.copy_from.device(), static_cast<std::size_t>(copy_bytes_),
                                                  stopwatch_->stream());
  return status_of(context, r, "copying on the GPU");
}

Status DeviceTimer::copy_by_kernel(const Set& set, std::int64_t bytes) const {
  const Context& context = *prepared_->context();
  const Current current(context);
  CUdeviceptr from = set.copy_from.device();
  CUdeviceptr to = set.copy_to.device();
  auto vectors = static_cast<unsigned long long>(bytes / 16);
  void* parameters[] = {&from, &to, &vectors};
  const auto blocks = static_cast<unsigned>((vectors + kCopyThreads - 1) / kCopyThreads);
  const CUresult r = context.cu().LaunchKernel(copy_, blocks, 1, 1, kCopyThreads, 1, 1, 0, stopwatch_->stream(), parameters, nullptr);
  return status_of(context, r, "launching a copy");
}

Result<DeviceSamples> DeviceTimer::measure(int runs) {
  DeviceSamples samples;
  for (auto left = static_cast<std::size_t>(std::clamp(runs, 1, kMaxRuns)); left > 0;) {
    const std::size_t now = std::min(left, kRunsAtOnce);
    left -= now;
    const Result<std::vector<double>> times = stopwatch_->run([&]() -> Status {
      // What comes first takes longer, so that is a copy which nobody times.
      if (Status s = copy_by_driver(*sets_[next_ % sets_.size()]); !s) return s;
      for (std::size_t run = 0; run < now; ++run) {
        const Set& set = *sets_[next_++ % sets_.size()];
        Status s = stopwatch_->time([&] { return set.images->blur(*prepared_, set.scratch.device(), stopwatch_->stream()); });
        if (s) s = stopwatch_->time([&] { return copy_by_driver(set); });
        if (s) s = stopwatch_->time([&] { return copy_by_kernel(set, copy_bytes_); });
        if (s) s = stopwatch_->time([&] { return copy_by_kernel(set, 16); });
        if (s) s = stopwatch_->time([] { return Status(); });
        if (!s) return s;
      }
      return {};
    });
    if (!times) return times.error();
    sort_into(samples, *times);
  }
  return samples;
}

Result<std::vector<std::byte>> DeviceTimer::blurred() {
  const Set& set = *sets_.front();
  std::vector<std::byte> bytes(batch_ * static_cast<std::size_t>(prepared_->plan().dst.payload_bytes()));
  Status status = set.images->blur(*prepared_, set.scratch.device(), stopwatch_->stream());
  if (status) status = set.images->download(bytes.data(), stopwatch_->stream());
  const Result<std::vector<double>> ended = stopwatch_->run([&] { return status; });
  if (!ended) return ended.error();
  return bytes;
}

Result<std::vector<double>> DeviceTimer::measure_submissions(int runs) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  for (int run = 0; run < runs; ++run) {
    const Set& set = *sets_[next_++ % sets_.size()];
    const auto start = Clock::now();
    if (Status s = set.images->blur(*prepared_, set.scratch.device(), stopwatch_->stream()); !s) return s.error();
    if (Status s = stopwatch_->wait(); !s) return s.error();
    samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return samples;
}

DeviceContest::~DeviceContest() = default;

Result<std::unique_ptr<DeviceContest>> DeviceContest::create(const std::shared_ptr<const Prepared>& prepared, const DeviceNoise& noise) {
  std::unique_ptr<DeviceContest> contest(new DeviceContest());
  Result<std::unique_ptr<Stopwatch>> stopwatch = Stopwatch::create(prepared->context(), kMaxExecutables);
  if (!stopwatch) return stopwatch.error();
  contest->stopwatch_ = std::move(*stopwatch);
  const Plan& plan = prepared->plan();
  for (std::size_t i = mollify::set_count(plan.min_bytes, plan.device.gpu.is_software); i > 0; --i) {
    Result<std::unique_ptr<DeviceImages>> images = DeviceImages::create(prepared, 1);
    if (!images) return images.error();
    if (Status s = (*images)->fill(noise, contest->stopwatch_->stream()); !s) return s.error();
    contest->images_.push_back(std::move(*images));
  }
  if (Status s = contest->stopwatch_->wait(); !s) return s.error();
  return contest;
}

Status DeviceContest::enter(std::span<const std::shared_ptr<const Prepared>> executables) {
  if (executables.size() > kMaxExecutables) {
    return Error{ErrorCode::unsupported,
                 "a contest times " + std::to_string(kMaxExecutables) + " executables at most, not " + std::to_string(executables.size()),
                 {}};
  }
  executables_.clear();
  scratch_.clear();
  for (const auto& prepared : executables) {
    Result<Memory> scratch = Memory::allocate(prepared->context(), Memory::Kind::device, prepared->scratch_bytes(1));
    if (!scratch) return scratch.error();
    executables_.push_back(prepared);
    scratch_.push_back(std::move(*scratch));
    if (Status s = run(executables_.size() - 1); !s) return s;  // which may load its kernels
  }
  return stopwatch_->wait();
}

/// One set of images each, in turn: by the time a set comes up again, others have taken its place in the caches.
Status DeviceContest::run(std::size_t i) const {
  return images_[i % images_.size()]->blur(*executables_[i], scratch_[i].device(), stopwatch_->stream());
}

Result<std::vector<double>> DeviceContest::round() {
  return stopwatch_->run([&]() -> Status {
    // What comes first takes longer, so that is one which nobody times.
    if (executables_.size() > 1) {
      if (Status s = run(executables_.size() - 1); !s) return s;
    }
    for (std::size_t i = 0; i < executables_.size(); ++i) {
      if (Status s = stopwatch_->time([&] { return run(i); }); !s) return s;
    }
    return {};
  });
}

}  // namespace mollify::cuda
