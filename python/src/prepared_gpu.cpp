// Blurs of arrays that lie in the memory of a GPU.
#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "devices.h"
#include "mollify/experimental/cuda_numbers.h"
#include "prepared.h"

namespace mollify::python {
namespace {

/// Whether the library can see images so far apart: none overlap, and rows do not run backwards.
bool lie_apart(const ImageLayout& layout, std::ptrdiff_t row_bytes, std::int64_t image_bytes, std::int64_t images, std::int64_t element) {
  const std::int64_t payload = std::int64_t{layout.width} * layout.channels * element;
  if (layout.height > 1 && row_bytes < payload) return false;
  if (images == 1) return true;
  const bool interleaved = layout.height > 1 && image_bytes >= payload && image_bytes * (images - 1) + payload <= row_bytes;
  return interleaved || image_bytes >= row_bytes * (layout.height - 1) + payload;
}

}  // namespace

Prepared::Batch Prepared::batch_of(const ImageLayout& layout, std::int64_t src_element, std::int64_t dst_element) {
  std::vector<RunAxis> axes = layout.images;
  std::ranges::sort(axes, {}, &RunAxis::src_stride);
  Batch out;
  for (const RunAxis& axis : axes) {
    if (out.images == 1) {
      out = {axis.extent, axis.src_stride, axis.dst_stride};
    } else if (axis.src_stride == out.images * out.src_image_bytes && axis.dst_stride == out.images * out.dst_image_bytes) {
      out.images *= axis.extent;
    } else {
      throw NeedsCopy();
    }
  }
  if (!lie_apart(layout, layout.src_row_bytes, out.src_image_bytes, out.images, src_element) ||
      !lie_apart(layout, layout.dst_row_bytes, out.dst_image_bytes, out.images, dst_element)) {
    throw NeedsCopy();
  }
  return out;
}

#ifdef MOLLIFY_CUDA

bool is_built_with_cuda() {
  return true;
}

namespace {

constexpr std::int64_t kAlignment = 256;  // of each part of the scratch memory

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

/// The memory between runs lies first in the scratch memory, then that of one run.
void Prepared::place_on_gpu() {
  for (const std::int64_t bytes : memory_bytes_) {
    gpu_memory_.push_back(gpu_scratch_bytes_);
    gpu_scratch_bytes_ += aligned(bytes);
  }
  const std::int64_t between = gpu_scratch_bytes_;
  const Executable* any = nullptr;
  for (const Step& step : steps_) {
    const auto* run = std::get_if<Run>(&step.work);
    if (run == nullptr) continue;
    any = &*run->executable;
    const Result<cuda::ScratchNeeds> needs = cuda::scratch_needs(*any, run->batch.images);
    if (!needs) throw std::runtime_error(needs.error().message);
    gpu_scratch_bytes_ = std::max(gpu_scratch_bytes_, between + needs->size);
  }
  gpu_memory_.push_back(between);
  if (std::ranges::all_of(steps_, [](const Step& step) { return std::holds_alternative<Run>(step.work); })) return;
  Result<cuda::Numbers> numbers = cuda::Numbers::prepare(*any);
  if (!numbers) throw std::runtime_error(numbers.error().message);
  gpu_numbers_ = std::make_shared<const cuda::Numbers>(std::move(*numbers));
}

namespace {

cuda::NumberType type_of(Element element) {
  switch (element.kind) {
    case NumberKind::boolean:
      return cuda::NumberType::boolean;
    case NumberKind::brain_floating:
      return cuda::NumberType::bf16;
    case NumberKind::signed_integer:
      return element.bits == 8 ? cuda::NumberType::i8 : cuda::NumberType::i16;
    default:
      return cuda::NumberType::f32;
  }
}

}  // namespace

/// The steps of one call, launched one after the other.
struct Prepared::OnGpu {
  const Prepared& prepared;
  const Step& step;
  std::byte* from;
  std::byte* to;
  std::byte* scratch;  ///< of a run
  std::int64_t scratch_bytes;
  cuda::Stream stream;

  [[nodiscard]] const cuda::Numbers& numbers() const { return *static_cast<const cuda::Numbers*>(prepared.gpu_numbers_.get()); }
  template <class Number>
  [[nodiscard]] Number* from_numbers() const {
    return reinterpret_cast<Number*>(from);
  }
  template <class Number>
  [[nodiscard]] Number* to_numbers() const {
    return reinterpret_cast<Number*>(to);
  }
  /// Of packed doubles or floats: `work` is a function of a number of that type.
  template <class Work>
  [[nodiscard]] Status of_packed(const Place& packed, const Work& work) const {
    return packed.element.is_wide() ? work(double{}) : work(float{});
  }
  [[nodiscard]] std::int64_t count() const { return prepared.elements(); }

  Status operator()(const Run& run) const {
    const ImageLayout& layout = run.layout;
    return cuda::enqueue(*run.executable, {from, layout.src_row_bytes, run.batch.src_image_bytes},
                         {to, layout.dst_row_bytes, run.batch.dst_image_bytes}, run.batch.images,
                         {scratch_bytes > 0 ? scratch : nullptr, scratch_bytes}, stream);
  }
  /// From numbers in any order to packed ones, or back.
  Status operator()(Copy /*copy*/) const {
    const bool gathers = step.to.whose == Place::Whose::own;
    const Place& packed = gathers ? step.to : step.from;
    const Place& other = gathers ? step.from : step.to;
    std::vector<std::size_t> order = order_of(packed.strides);
    std::ranges::reverse(order);
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
    for (const std::size_t axis : order) {
      extents.push_back(prepared.task_.src.shape[axis]);
      strides.push_back(other.strides[axis]);
    }
    const cuda::NumberType type = type_of(other.element);
    if (!gathers) return numbers().scatter(from_numbers<float>(), to, type, extents, strides, stream);
    return of_packed(packed,
                     [&]<class Number>(Number) { return numbers().gather(from, type, extents, strides, to_numbers<Number>(), stream); });
  }
  Status operator()(const Fill& fill) const {
    return of_packed(step.to, [&]<class Number>(Number) {
      return numbers().fill(to_numbers<Number>(), count(), static_cast<Number>(fill.value), stream);
    });
  }
  Status operator()(const Weigh& weigh) const {
    return of_packed(step.to, [&]<class Number>(Number) {
      return numbers().weigh(from_numbers<Number>(), to_numbers<Number>(), count(), weigh.skips_nan, stream);
    });
  }
  Status operator()(const Divide& divide) const {
    return of_packed(step.to, [&]<class Number>(Number) {
      return numbers().divide<Number>(from_numbers<Number>(), to_numbers<Number>(), count(), static_cast<Number>(divide.least),
                                      static_cast<Number>(divide.otherwise), stream);
    });
  }
  Status operator()(const Sharpen& sharpen) const {
    return of_packed(step.to, [&]<class Number>(Number) {
      return numbers().sharpen<Number>(from_numbers<Number>(), to_numbers<Number>(), count(), static_cast<Number>(sharpen.amount), stream);
    });
  }
  Status operator()(const Slices& /*slices*/) const { return Error{ErrorCode::internal, "slices are not kept on a GPU", {}}; }
  Status operator()(const DirectSums& /*sums*/) const { return Error{ErrorCode::internal, "sums in float64 are not made on a GPU", {}}; }
};

void Prepared::enqueue(const std::byte* src, const std::byte* mask, std::byte* dst, std::byte* scratch, std::uintptr_t stream) const {
  const auto memory_of = [&](const Place& place) -> std::byte* {
    switch (place.whose) {
      case Place::Whose::own:
        return scratch + gpu_memory_[place.index];
      case Place::Whose::source:
        return const_cast<std::byte*>(src);  // no step writes there
      case Place::Whose::mask:
        return const_cast<std::byte*>(mask);
      case Place::Whose::destination:
        break;
    }
    return dst;
  };
  const std::int64_t between = gpu_memory_.back();
  for (const Step& step : steps_) {
    const Status status = std::visit(OnGpu{*this, step, memory_of(step.from), memory_of(step.to), scratch + between,
                                           gpu_scratch_bytes_ - between, reinterpret_cast<cuda::Stream>(stream)},
                                     step.work);
    if (!status) throw std::runtime_error(status.error().message);
  }
}

Prepared::Each Prepared::each(std::span<const double> sigmas, bool may_prepare) const {
  Each out;
  const auto leave_all_out = [&] {
    out.left_out.resize(sigmas.size());
    std::iota(out.left_out.begin(), out.left_out.end(), 0);
    return out;
  };
  const auto* run = steps_.size() == 1 ? std::get_if<Run>(&steps_.front().work) : nullptr;
  if (run == nullptr || (!run->layout.x_axis && !run->layout.y_axis) || task_.src.element.is_wide()) return leave_all_out();
  const Batch& batch = run->batch;
  const auto count = static_cast<std::int64_t>(sigmas.size());
  const std::int64_t planes = batch.images / count;
  const bool is_outermost = batch.images % count == 0 && task_.src.strides[0] == planes * batch.src_image_bytes &&
                            task_.dst.strides[0] == planes * batch.dst_image_bytes;
  if (count > 1 && !is_outermost) return leave_all_out();
  const Plan& plan = run->executable->plan();
  const std::scoped_lock lock(each_mutex_);
  auto blur = std::static_pointer_cast<const cuda::GaussianOfEach>(each_);
  if (!blur) {
    if (!may_prepare) throw std::runtime_error(kNotPrepared);
    const Device device = open_device(task_.request.manner.device, task_.request.manner.threads);
    constexpr std::int64_t kMostOfBatch = std::numeric_limits<std::int32_t>::max();
    Result<cuda::GaussianOfEach> made =
        cuda::GaussianOfEach::prepare(device, plan.spec, plan.src, static_cast<std::int32_t>(std::min(batch.images, kMostOfBatch)));
    if (!made) throw std::invalid_argument(made.error().message);
    blur = std::make_shared<const cuda::GaussianOfEach>(std::move(*made));
    each_ = blur;
  }
  std::vector<PerAxis<double>> of_axes;
  for (const double sigma : sigmas) of_axes.push_back({run->layout.x_axis ? sigma : 0.0, run->layout.y_axis ? sigma : 0.0});
  Result<cuda::WeightsOfEach> weights = blur->weights(of_axes, static_cast<std::int32_t>(planes));
  if (!weights) throw std::invalid_argument(weights.error().message);
  out.left_out = weights->left_out;
  out.scratch_bytes = weights->scratch.size;
  if (weights->groups.empty()) return out;
  out.enqueue = [blur, layout = run->layout, batch, made = std::move(*weights)](const std::byte* src, std::byte* dst, std::byte* scratch,
                                                                                std::uintptr_t stream) {
    const Status status =
        blur->enqueue(made, {src, layout.src_row_bytes, batch.src_image_bytes}, {dst, layout.dst_row_bytes, batch.dst_image_bytes},
                      {scratch, made.scratch.size}, reinterpret_cast<cuda::Stream>(stream));
    if (!status) throw std::runtime_error(status.error().message);
  };
  return out;
}

#else

bool is_built_with_cuda() {
  return false;
}

Prepared::Each Prepared::each(std::span<const double> /*sigmas*/, bool /*may_prepare*/) const {
  throw std::logic_error("built without CUDA");
}

void Prepared::place_on_gpu() {}

void Prepared::enqueue(const std::byte* /*src*/, const std::byte* /*mask*/, std::byte* /*dst*/, std::byte* /*scratch*/,
                       std::uintptr_t /*stream*/) const {
  throw std::logic_error("built without CUDA");
}

#endif

}  // namespace mollify::python
