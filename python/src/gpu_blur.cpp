#include "gpu_blur.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "auto_device.h"
#include "blur.h"
#include "devices.h"

namespace mollify::python {
namespace {

/// A blur that is ready for arrays of one geometry. Nothing is prepared where the library cannot see them as images as they lie.
struct Ready {
  explicit Ready(Task of) : task(std::move(of)) {}
  Task task;
  std::optional<Prepared> prepared{};
};
using ReadyPointer = std::shared_ptr<const Ready>;

/// The last ones that were used. When they become too many, half of them go at once: to free memory of a GPU is to wait for it.
class Cache {
 public:
  ReadyPointer find(const Task& task) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(entries_, [&](const ReadyPointer& entry) { return entry->task == task; });
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front();
  }
  void add(ReadyPointer entry) {
    std::list<ReadyPointer> removed;  // freed without the lock
    const std::scoped_lock lock(mutex_);
    entries_.push_front(std::move(entry));
    if (entries_.size() > kEntries) {
      removed.splice(removed.begin(), entries_, std::next(entries_.begin(), kEntries / 2), entries_.end());
    }
  }
  void clear() {
    std::list<ReadyPointer> removed;
    const std::scoped_lock lock(mutex_);
    removed.swap(entries_);
  }

 private:
  static constexpr std::size_t kEntries = 512;
  std::mutex mutex_;
  std::list<ReadyPointer> entries_;
};

Cache& cache() {
  static auto* instance = new Cache;  // never destroyed: threads may outlive the interpreter
  return *instance;
}

/// The device that the array lies on, which its request must be for.
void set_device(Manner& manner, const GpuArray& array) {
  const std::string name = "cuda:" + std::to_string(array.device);
  if (!manner.device.empty() && manner.device != kAutoDevice && manner.device != name) {
    throw std::invalid_argument("device: the image lies on " + name + ", not on " + manner.device);
  }
  manner.device = name;
  manner.threads = 0;
}

bool is_aligned(const GpuArray& array) {
  const std::ptrdiff_t bytes = array.geometry.element.bytes();
  const bool strides = std::ranges::all_of(array.geometry.strides, [&](std::ptrdiff_t stride) { return stride % bytes == 0; });
  return strides && reinterpret_cast<std::uintptr_t>(array.data) % static_cast<std::uintptr_t>(bytes) == 0;
}

bool have_elements_in_common(const Geometry& geometry) {
  for (std::size_t i = 0; i < geometry.shape.size(); ++i) {
    if (geometry.shape[i] > 1 && geometry.strides[i] == 0) return true;
  }
  return false;
}

/// Opens the device, so that what is missing is said before anything else.
void open_gpu(const Manner& manner, std::int32_t device) {
  static std::atomic<std::uint64_t> open = 0;  // a bit for each device
  const std::uint64_t bit = device < 64 ? std::uint64_t{1} << device : 0;
  if ((open & bit) != 0) return;
  const std::string start = "image: it lies on " + manner.device + ", ";
  if (!is_built_with_cuda()) throw std::runtime_error(start + "and this pymollify is built without CUDA; -DMOLLIFY_CUDA=ON adds it");
  const Result<Device> found = find_device(manner.device, manner.threads);
  if (!found) throw std::runtime_error(start + "but " + found.error().message);
  open |= bit;
}

/// One call with arrays of a library.
class Call {
 public:
  Call(Request request, GpuArray src, nb::handle image, nb::handle mask, nb::handle stream)
      : request_(std::move(request)), src_(std::move(src)), image_(image), library_(gpu_library_of(image)) {
    set_device(request_.manner, src_);
    open_gpu(request_.manner, src_.device);
    if (!stream.is_none()) stream_ = nb::cast<std::uintptr_t>(library_.attr("stream_of")(stream));
    exchanges_ = must_exchange_streams(image);
    if (exchanges_) {
      if (!stream_) stream_ = nb::cast<std::uintptr_t>(library_.attr("stream")(image, src_.device));
      src_ = array_of(image);
    }
    if (!mask.is_none()) set_mask(mask);
    if (stream.is_none()) return;
    nb::object turn = library_.attr("on")(*stream_, src_.device);  // so that new arrays belong to this stream
    turn.attr("__enter__")();
    turn_ = std::move(turn);  // last: what ends it is the destructor of a whole object
  }
  ~Call() {
    if (!turn_.is_valid()) return;
    try {
      turn_.attr("__exit__")(nb::none(), nb::none(), nb::none());
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("a stream of pymollify");
    }
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] nb::object into_new() {
    nb::object result = new_array();
    const GpuArray dst = array_of(result);
    if (is_empty(src_.geometry)) return result;
    const auto [ready, gathers] = ready_for_new(dst);
    const nb::object gathered = gathers ? library_.attr("gather")(image_) : nb::object();
    launch(*ready, gathers ? array_of(gathered).data : src_.data, dst.data);
    return exchanges_ ? library_.attr("finished")(result, *stream_, src_.device, kept_) : result;
  }

  void into(nb::handle out) {
    if (exchanges_) throw nb::type_error("out: arrays of this library are not written to");
    const std::optional<GpuArray> dst = find_gpu_array(out, "out");
    if (!dst || dst->device != src_.device) throw nb::type_error(("out: it does not lie on " + request_.manner.device).c_str());
    check_out(src_.geometry, dst->geometry);
    if (!dst->is_writable) throw nb::type_error("out: it cannot be written");
    if (have_elements_in_common(dst->geometry)) throw std::invalid_argument("out: some of its elements are one and the same");
    if (is_empty(src_.geometry)) return;
    if (sharing_of(src_.geometry, src_.data, dst->geometry, dst->data) == Sharing::none) {
      const ReadyPointer ready = ready_for(src_.geometry, *dst, is_aligned(src_));
      if (ready->prepared) return launch(*ready, src_.data, dst->data);
    }
    library_.attr("assign")(out, into_new());
  }

  /// Of each index of the first axis by a sigma of its own: what holds the results, and which indices are left to blur.
  [[nodiscard]] std::pair<nb::object, std::vector<std::int32_t>> each(std::span<const double> sigmas, nb::handle out) {
    if (exchanges_ && !out.is_none()) throw nb::type_error("out: arrays of this library are not written to");
    const nb::object result = out.is_none() ? new_array() : nb::borrow(out);
    const GpuArray dst = array_of(result);
    check_out(src_.geometry, dst.geometry);
    if (!dst.is_writable) throw nb::type_error("out: it cannot be written");
    if (sharing_of(src_.geometry, src_.data, dst.geometry, dst.data) != Sharing::none) {
      throw std::invalid_argument("out: it shares memory with the image, which is not there yet on a GPU");
    }
    const ReadyPointer ready = ready_for(src_.geometry, dst, is_aligned(src_) && is_aligned(dst));
    Prepared::Each launches;
    if (ready->prepared) {
      launches = ready->prepared->each(sigmas, !is_capturing());
    } else {
      launches.left_out.resize(sigmas.size());
      std::iota(launches.left_out.begin(), launches.left_out.end(), 0);
    }
    if (launches.enqueue) {
      run(launches.scratch_bytes,
          [&](std::byte* scratch, std::uintptr_t stream) { launches.enqueue(src_.data, dst.data, scratch, stream); });
    }
    return {exchanges_ ? library_.attr("finished")(result, *stream_, src_.device, kept_) : result, std::move(launches.left_out)};
  }

  [[nodiscard]] Summary summary() {
    const nb::object result = new_array();
    const auto [ready, gathers] = ready_for_new(array_of(result));
    Summary out = ready->prepared->summary();
    if (!gathers) return out;
    std::int64_t bytes = src_.geometry.element.bytes();
    for (const std::int64_t extent : src_.geometry.shape) bytes *= extent;
    out.scratch += bytes;
    out.bytes += 2 * bytes;
    out.explanation = "copy into another order of elements first\n" + out.explanation;
    return out;
  }

 private:
  [[nodiscard]] bool is_capturing() const { return nb::cast<bool>(library_.attr("is_capturing")()); }
  [[nodiscard]] nb::object new_array() const { return library_.attr("empty_like")(image_); }

  GpuArray array_of(nb::handle object) {
    std::optional<GpuArray> out = find_gpu_array(object, "image", stream_);
    if (!out) throw nb::type_error("image: a new array like it does not lie on a GPU");
    if (exchanges_) {
      kept_.append(object);
      kept_.append(out->tensor);
    }
    return std::move(*out);
  }

  void set_mask(nb::handle mask) {
    std::optional<GpuArray> found = find_gpu_array(mask, "mask", stream_);
    if (!found || found->device != src_.device) throw nb::type_error(("mask: it does not lie on " + request_.manner.device).c_str());
    if (exchanges_) {
      kept_.append(mask);
      kept_.append(found->tensor);
    }
    mask_geometry_ = mask_geometry(found->geometry, src_.geometry, request_.manner);
    if (!is_aligned(*found)) throw std::invalid_argument("mask: its elements do not lie at multiples of their size");
    mask_ = std::move(*found);
  }

  [[nodiscard]] ReadyPointer ready_for(const Geometry& src, const GpuArray& dst, bool is_src_aligned) const {
    Task task{request_, src, dst.geometry, Sharing::none, is_src_aligned && is_aligned(dst), mask_geometry_, true};
    if (ReadyPointer found = cache().find(task)) return found;
    if (is_capturing()) throw std::runtime_error(kNotPrepared);
    const auto made = std::make_shared<Ready>(std::move(task));
    try {
      const nb::gil_scoped_release release;
      made->prepared.emplace(made->task);
    } catch (const NeedsCopy&) {  // which is remembered, too
    }
    cache().add(made);
    return made;
  }

  /// For a new array, and whether the source must be copied into another new array before.
  [[nodiscard]] std::pair<ReadyPointer, bool> ready_for_new(const GpuArray& dst) const {
    const ReadyPointer direct = ready_for(src_.geometry, dst, is_aligned(src_));
    if (direct->prepared) return {direct, false};
    const ReadyPointer gathered = ready_for(dst.geometry, dst, true);
    if (!gathered->prepared) {
      throw std::invalid_argument(
          "image: the axes that are blurred must be those whose elements lie closest, but for up to 4 channels; copy it into such an "
          "order");
    }
    return {gathered, true};
  }

  void launch(const Ready& ready, const std::byte* src, std::byte* dst) {
    run(ready.prepared->gpu_scratch_bytes(),
        [&](std::byte* scratch, std::uintptr_t stream) { ready.prepared->enqueue(src, mask_.data, dst, scratch, stream); });
  }

  template <class Enqueue>
  void run(std::int64_t bytes, const Enqueue& enqueue) {
    const nb::object scratch = bytes > 0 ? library_.attr("empty_bytes")(bytes, src_.device) : nb::object();
    std::byte* const memory = bytes > 0 ? array_of(scratch).data : nullptr;
    const std::uintptr_t stream = stream_ ? *stream_ : current_stream_of(image_, src_.device);
    const nb::gil_scoped_release release;
    enqueue(memory, stream);
  }

  Request request_;
  GpuArray src_;
  GpuArray mask_;
  std::optional<Geometry> mask_geometry_;  ///< unset: there is none
  nb::handle image_;
  nb::handle library_;
  std::optional<std::uintptr_t> stream_;
  nb::object turn_;
  bool exchanges_ = false;  ///< Whether streams wait for one another.
  nb::list kept_;           ///< If so, what must live until the blur has run.
};

}  // namespace

nb::object apply_on_gpu(Request request, GpuArray array, nb::handle image, nb::handle mask, nb::handle out, nb::handle stream) {
  refuse_gradient(image, "image");
  Call call(std::move(request), std::move(array), image, mask, stream);
  if (out.is_none()) return call.into_new();
  call.into(out);
  return nb::borrow(out);
}

std::pair<nb::object, std::vector<std::int32_t>> apply_each_on_gpu(Request request, GpuArray array, nb::handle image,
                                                                   std::span<const double> sigmas, nb::handle out, nb::handle stream) {
  refuse_gradient(image, "image");
  if (is_empty(array.geometry)) throw std::invalid_argument("image: it is empty");
  return Call(std::move(request), std::move(array), image, nb::none(), stream).each(sigmas, out);
}

Summary summary_on_gpu(Request request, GpuArray array, nb::handle image) {
  if (is_empty(array.geometry)) throw std::invalid_argument("image: it is empty");
  return Call(std::move(request), std::move(array), image, nb::none(), nb::none()).summary();
}

void clear_gpu_cache() {
  cache().clear();
}

}  // namespace mollify::python
