// NPP of NVIDIA's CUDA toolkit: FilterRowBorder and FilterColumnBorder, FilterGaussAdvancedBorder, FilterBoxBorder. Its
// libraries and the driver are opened at run time, so that one build of the tool measures it wherever they are.
#include "bench/peers/npp.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/buffers.h"
#include "bench/peers/peer.h"

namespace mollify::bench {
namespace {

using npp::Address;

Error refuse(std::string reason) {
  return {ErrorCode::unsupported, std::move(reason), {}};
}
Error broken(std::string what) {
  return {ErrorCode::internal, std::move(what), {}};
}

void* open_library(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class Function>
bool load(void* library, Function*& function, const char* symbol) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

/// The first GPU through the driver's own interface, which any version of the toolkit shares.
class Cuda {
 public:
  /// Null where there is no NVIDIA GPU.
  static std::shared_ptr<const Cuda> open() {
    auto cuda = std::make_shared<Cuda>();
    void* library = open_library({"libcuda.so.1"});
    if (library == nullptr || !cuda->load_all(library)) return nullptr;
    npp::Device device = 0;
    if (cuda->init(0) != 0 || cuda->device_get(&device, 0) != 0) return nullptr;
    if (cuda->retain_context(&cuda->context_, device) != 0 || cuda->make_current(cuda->context_) != 0) return nullptr;
    const auto attribute = [&](int which) {
      int value = 0;
      cuda->attribute(&value, which, device);
      return value;
    };
    cuda->stream_ = {.device = device,
                     .multiprocessors = attribute(16),
                     .threads_per_multiprocessor = attribute(39),
                     .threads_per_block = attribute(1),
                     .shared_bytes_per_block = static_cast<std::size_t>(attribute(8)),
                     .compute_major = attribute(75),
                     .compute_minor = attribute(76)};
    return cuda;
  }

  /// The default stream, which work of this thread goes to.
  [[nodiscard]] npp::StreamContext stream() const {
    make_current(context_);
    return stream_;
  }

  npp::cuMemAlloc* allocate = nullptr;
  npp::cuMemFree* free = nullptr;
  npp::cuMemcpyHtoD* upload = nullptr;
  npp::cuMemcpyDtoH* download = nullptr;
  npp::cuMemcpyDtoDAsync* copy = nullptr;
  npp::cuEventCreate* create_event = nullptr;
  npp::cuEventDestroy* destroy_event = nullptr;
  npp::cuEventRecord* record_event = nullptr;
  npp::cuEventSynchronize* wait_for_event = nullptr;
  npp::cuEventElapsedTime* elapsed_ms = nullptr;

 private:
  bool load_all(void* library) {
    return load(library, init, "cuInit") && load(library, device_get, "cuDeviceGet") && load(library, attribute, "cuDeviceGetAttribute") &&
           load(library, retain_context, "cuDevicePrimaryCtxRetain") && load(library, make_current, "cuCtxSetCurrent") &&
           load(library, allocate, "cuMemAlloc_v2") && load(library, free, "cuMemFree_v2") && load(library, upload, "cuMemcpyHtoD_v2") &&
           load(library, download, "cuMemcpyDtoH_v2") && load(library, copy, "cuMemcpyDtoDAsync_v2") &&
           load(library, create_event, "cuEventCreate") && load(library, destroy_event, "cuEventDestroy_v2") &&
           load(library, record_event, "cuEventRecord") && load(library, wait_for_event, "cuEventSynchronize") &&
           load(library, elapsed_ms, "cuEventElapsedTime");
  }

  npp::cuInit* init = nullptr;
  npp::cuDeviceGet* device_get = nullptr;
  npp::cuDeviceGetAttribute* attribute = nullptr;
  npp::cuDevicePrimaryCtxRetain* retain_context = nullptr;
  npp::cuCtxSetCurrent* make_current = nullptr;
  npp::Context context_ = nullptr;
  npp::StreamContext stream_;
};

using CudaPtr = std::shared_ptr<const Cuda>;

/// Bytes on the device.
class DeviceMemory {
 public:
  static Result<DeviceMemory> create(const CudaPtr& cuda, std::size_t bytes) {
    DeviceMemory memory(cuda);
    if (cuda->allocate(&memory.address_, bytes) != 0) return broken("no memory for it on the GPU");
    return memory;
  }
  DeviceMemory(DeviceMemory&& other) noexcept : cuda_(std::move(other.cuda_)), address_(std::exchange(other.address_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory() {
    if (address_ != 0) cuda_->free(address_);
  }
  [[nodiscard]] Address address() const { return address_; }
  [[nodiscard]] void* pointer() const { return reinterpret_cast<void*>(address_); }

 private:
  explicit DeviceMemory(CudaPtr cuda) : cuda_(std::move(cuda)) {}
  CudaPtr cuda_;
  Address address_ = 0;
};

class Event {
 public:
  explicit Event(const CudaPtr& cuda) : cuda_(cuda) { cuda->create_event(&event_, 0); }
  ~Event() { cuda_->destroy_event(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  [[nodiscard]] npp::Event get() const { return event_; }

 private:
  CudaPtr cuda_;
  npp::Event event_ = nullptr;
};

/// The library of filters.
struct Filters {
  void* library = nullptr;
  std::string version;
};

std::optional<Filters> open_filters() {
  Filters filters;
  filters.library =
      open_library({"libnppif.so.13", "libnppif.so.12", "/usr/local/cuda/lib64/libnppif.so.13", "/usr/local/cuda/lib64/libnppif.so.12"});
  if (filters.library == nullptr) return std::nullopt;
  npp::nppGetLibVersion* get_version = nullptr;
  if (!load(filters.library, get_version, "nppGetLibVersion")) return std::nullopt;  // of libnppc, which it needs
  const npp::LibraryVersion* version = get_version();
  filters.version = "npp " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->build);
  return filters;
}

/// A blur of one shape and kernel, ready to be queued.
struct Job {
  CudaPtr cuda;
  ImageDesc desc;
  npp::TapsFilter* rows = nullptr;  ///< rows and columns, or gauss, or box
  npp::TapsFilter* columns = nullptr;
  npp::GaussFilter* gauss = nullptr;
  npp::BoxFilter* box = nullptr;
  int radius = 0;
  std::optional<DeviceMemory> weights;
  std::optional<DeviceMemory> between;   ///< the image that rows leave to columns
  std::vector<DeviceMemory> rotation{};  ///< noise, filled at the first turn, and results
  std::size_t next = 0;

  /// Packed images on the device.
  Status queue(const void* src, void* dst) {
    const npp::StreamContext stream = cuda->stream();
    const npp::Size size{desc.width, desc.height};
    const auto step = static_cast<int>(desc.row_payload_bytes());
    const auto* taps = weights ? static_cast<const float*>(weights->pointer()) : nullptr;
    const int length = 2 * radius + 1;
    const npp::Point whole{0, 0};
    int status = 0;
    if (box != nullptr) {
      status = box(src, step, size, whole, dst, step, size, {length, length}, {radius, radius}, npp::kReplicate, stream);
    } else if (gauss != nullptr) {
      status = gauss(src, step, size, whole, dst, step, size, length, taps, npp::kReplicate, stream);
    } else {
      status = rows(src, step, size, whole, between->pointer(), step, size, taps, length, radius, npp::kReplicate, stream);
      if (status == 0) {
        status = columns(between->pointer(), step, size, whole, dst, step, size, taps, length, radius, npp::kReplicate, stream);
      }
    }
    if (status < 0) return broken("NPP's status is " + std::to_string(status));
    return {};
  }
};

Status run_once(Job& job, const ConstImageView& src, const ImageView& dst) {
  const auto bytes = static_cast<std::size_t>(job.desc.payload_bytes());
  (void)job.cuda->stream();
  const Result<DeviceMemory> from = DeviceMemory::create(job.cuda, bytes);
  if (!from) return from.error();
  const Result<DeviceMemory> to = DeviceMemory::create(job.cuda, bytes);
  if (!to) return to.error();
  if (job.cuda->upload(from->address(), src.data, bytes) != 0) return broken("CUDA cannot upload");
  if (Status s = job.queue(from->pointer(), to->pointer()); !s) return s;
  if (const int status = job.cuda->download(dst.data, to->address(), bytes); status != 0) {
    return broken("CUDA's status is " + std::to_string(status));
  }
  return {};
}

/// Images that together are larger than any cache, half of them noise and half to be written.
Status make_rotation(Job& job) {
  constexpr std::int64_t kBytes = 512 << 20;
  const std::int64_t bytes = job.desc.payload_bytes();
  const auto pairs = std::clamp<std::int64_t>(kBytes / (2 * bytes), 2, 16);
  std::vector<std::byte> noise(static_cast<std::size_t>(bytes));
  fill_noise({job.desc, noise.data(), static_cast<std::ptrdiff_t>(job.desc.row_payload_bytes())}, 1);
  for (std::int64_t i = 0; i < 2 * pairs; ++i) {
    Result<DeviceMemory> image = DeviceMemory::create(job.cuda, noise.size());
    if (!image) return image.error();
    if (job.cuda->upload(image->address(), noise.data(), noise.size()) != 0) return broken("CUDA cannot upload");
    job.rotation.push_back(std::move(*image));
  }
  return {};
}

/// Nanoseconds of each of `runs` blurs and of a copy after each.
Result<PeerTurn> time_runs(Job& job, int runs) {
  const Cuda& cuda = *job.cuda;
  std::vector<std::unique_ptr<Event>> events;
  const auto mark = [&] {
    events.push_back(std::make_unique<Event>(job.cuda));
    cuda.record_event(events.back()->get(), nullptr);
  };
  for (int run = 0; run < runs; ++run) {
    const DeviceMemory& from = job.rotation[job.next];
    const DeviceMemory& to = job.rotation[job.next + 1];
    job.next = (job.next + 2) % job.rotation.size();
    mark();
    if (Status s = job.queue(from.pointer(), to.pointer()); !s) return s.error();
    mark();
    cuda.copy(to.address(), from.address(), static_cast<std::size_t>(job.desc.payload_bytes()), nullptr);
    mark();
  }
  if (const int status = cuda.wait_for_event(events.back()->get()); status != 0) {
    return broken("CUDA's status is " + std::to_string(status));
  }
  PeerTurn turn;
  const auto between = [&](std::size_t i) {
    float ms = 0.0F;
    cuda.elapsed_ms(&ms, events[i]->get(), events[i + 1]->get());
    return ms * 1e6;
  };
  for (std::size_t i = 0; i < events.size(); i += 3) {
    turn.blur_ns.push_back(between(i));
    turn.copy_ns.push_back(between(i + 1));
  }
  return turn;
}

Result<PeerTurn> turn(Job& job) {
  constexpr double kTurnNs = 20e6;
  constexpr int kMostRuns = 64;
  (void)job.cuda->stream();
  if (job.rotation.empty()) {
    if (Status s = make_rotation(job); !s) return s.error();
  }
  const Result<PeerTurn> first = time_runs(job, 1);
  if (!first) return first.error();
  const double one_ns = first->blur_ns.front() + first->copy_ns.front();
  return time_runs(job, static_cast<int>(std::clamp(kTurnNs / one_ns, 1.0, double{kMostRuns})));
}

// --- From cases to calls -------------------------------------------------------------------------------------------------

/// "8u_C4R_Ctx": what names of functions end in.
std::optional<std::string> suffix(PixelFormat format) {
  const FormatInfo& f = info(format);
  const char* type = f.is_unorm() ? (f.bits == 8 ? "8u" : "16u") : (f.is_floating() && f.bits == 32 ? "32f" : nullptr);
  if (type == nullptr || f.channels == 2) return std::nullopt;
  return std::string(type) + "_C" + std::to_string(f.channels) + "R_Ctx";
}

enum class Method : std::uint8_t { rows_and_columns, gauss };

Result<int> whole_radius(const Box& box) {
  const auto [x, y] = box.extent;
  if (x.before != x.after || !(x == y) || x.before != std::floor(x.before))
    return refuse("NPP is asked for boxes of one whole radius only");
  return static_cast<int>(x.before);
}

Result<int> radius_of(const Gaussian& gaussian) {
  if (gaussian.sigma.x != gaussian.sigma.y || gaussian.truncate) return refuse("NPP is asked for Gaussians of one sigma only");
  if (!gaussian.radius) return static_cast<int>(std::ceil(4 * gaussian.sigma.x));
  if (gaussian.radius->x != gaussian.radius->y) return refuse("NPP is asked for Gaussians of one radius only");
  return gaussian.radius->x;
}

std::vector<float> gaussian_weights(double sigma, int radius) {
  std::vector<double> weights;
  double sum = 0.0;
  for (int i = -radius; i <= radius; ++i) sum += weights.emplace_back(std::exp(-0.5 * i * i / (sigma * sigma)));
  std::vector<float> scaled;
  for (const double weight : weights) scaled.push_back(static_cast<float>(weight / sum));
  return scaled;
}

Result<PeerRun> make_box(const Filters& filters, Job job, const Box& box, const std::string& type) {
  const Result<int> radius = whole_radius(box);
  if (!radius) return radius.error();
  job.radius = *radius;
  if (!load(filters.library, job.box, ("nppiFilterBoxBorder_" + type).c_str())) return refuse("NPP has no box for this format");
  const auto shared = std::make_shared<Job>(std::move(job));
  return PeerRun{.function = "FilterBoxBorder",
                 .options = {},
                 .note = {},
                 .run = [shared](const ConstImageView& src, const ImageView& dst) { return run_once(*shared, src, dst); },
                 .turn = [shared] { return turn(*shared); }};
}

Result<PeerRun> make_gaussian(const Filters& filters, Job job, const Gaussian& gaussian, const std::string& type, Method method) {
  const Result<int> radius = radius_of(gaussian);
  if (!radius) return radius.error();
  job.radius = *radius;
  const std::string scale = type.starts_with("32f") ? "_" : "32f_";  // whole numbers have weights of either kind
  const bool found = method == Method::gauss ? load(filters.library, job.gauss, ("nppiFilterGaussAdvancedBorder_" + type).c_str())
                                             : load(filters.library, job.rows, ("nppiFilterRowBorder" + scale + type).c_str()) &&
                                                   load(filters.library, job.columns, ("nppiFilterColumnBorder" + scale + type).c_str());
  if (!found) return refuse("NPP has no such filter for this format");
  (void)job.cuda->stream();
  const std::vector<float> weights = gaussian_weights(gaussian.sigma.x, job.radius);
  Result<DeviceMemory> memory = DeviceMemory::create(job.cuda, weights.size() * sizeof(float));
  if (!memory) return memory.error();
  if (job.cuda->upload(memory->address(), weights.data(), weights.size() * sizeof(float)) != 0) return broken("CUDA cannot upload");
  job.weights.emplace(std::move(*memory));
  PeerRun run{.function = "FilterGaussAdvancedBorder", .options = {}, .note = {}, .run = {}};
  if (method == Method::rows_and_columns) {
    Result<DeviceMemory> between = DeviceMemory::create(job.cuda, static_cast<std::size_t>(job.desc.payload_bytes()));
    if (!between) return between.error();
    job.between.emplace(std::move(*between));
    run.function = "FilterRowBorder";
    run.options["then"] = "FilterColumnBorder";
    if (info(job.desc.format).is_unorm()) run.note = "rounds to the image's format between rows and columns";
  }
  if (!gaussian.radius) run.note += run.note.empty() ? "cut at 4 sigma" : "; cut at 4 sigma";
  const auto shared = std::make_shared<Job>(std::move(job));
  run.run = [shared](const ConstImageView& src, const ImageView& dst) { return run_once(*shared, src, dst); };
  run.turn = [shared] { return turn(*shared); };
  return run;
}

Result<PeerRun> prepare(const CudaPtr& cuda, const Filters& filters, const cases::Case& c, Method method) {
  if (c.src.format != c.dst.format) return refuse("NPP's filters do not convert");
  if (c.spec.alpha != AlphaMode::ignore || c.spec.transfer != TransferFunction::none) return refuse("NPP knows nothing of colour");
  if (c.spec.roi || c.layout != cases::Layout::packed) return refuse("NPP is given whole images only");
  if (c.spec.border.mode != Border{}.mode) return refuse("NPP's filters repeat the edge pixels");
  const std::optional<std::string> type = suffix(c.src.format);
  if (!type) return refuse("NPP filters 8, 16 and 32 bits of 1, 3 or 4 channels");
  Job job{.cuda = cuda, .desc = c.src, .weights = {}, .between = {}};
  if (const auto* box = std::get_if<Box>(&c.spec.kernel); box != nullptr && method == Method::rows_and_columns) {
    return make_box(filters, std::move(job), *box, *type);
  }
  if (const auto* gaussian = std::get_if<Gaussian>(&c.spec.kernel)) {
    return make_gaussian(filters, std::move(job), *gaussian, *type, method);
  }
  return refuse("NPP is asked for Gaussians and boxes only");
}

}  // namespace

std::vector<Peer> npp_peers() {
  const std::optional<Filters> filters = open_filters();
  if (!filters) return {};
  const CudaPtr cuda = Cuda::open();
  if (!cuda) return {};
  const auto peer = [&](const std::string& name, Method method) {
    return Peer{.name = name,
                .prepare = [=, filters = *filters](const cases::Case& c, int) { return prepare(cuda, filters, c, method); },
                .on_gpu = true};
  };
  return {peer(filters->version, Method::rows_and_columns), peer(filters->version + " gauss", Method::gauss)};
}

}  // namespace mollify::bench
