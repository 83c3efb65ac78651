#include <algorithm>

#include "backends/cuda/executor.h"
#include "backends/cuda/kernels/numbers_shape.h"
#include "mollify/experimental/cuda_numbers.h"

namespace mollify::cuda {

static_assert(kF32 == static_cast<int>(NumberType::f32) && kBoolean == static_cast<int>(NumberType::boolean) &&
              kI8 == static_cast<int>(NumberType::i8) && kI16 == static_cast<int>(NumberType::i16) &&
              kBf16 == static_cast<int>(NumberType::bf16));

namespace {

Result<Strided> strided(NumberType type, std::span<const std::int64_t> extents, std::span<const std::int64_t> strides) {
  if (extents.size() > kMostAxes || extents.size() != strides.size()) {
    return Error{ErrorCode::invalid_argument, "there are " + std::to_string(extents.size()) + " axes; eight can be read or written", {}};
  }
  Strided array;
  array.axes = static_cast<std::int32_t>(extents.size());
  array.type = static_cast<std::int32_t>(type);
  std::ranges::reverse_copy(extents, array.extents);
  std::ranges::reverse_copy(strides, array.strides);
  return array;
}

std::int64_t count_of(const Strided& array) {
  std::int64_t count = 1;
  for (int axis = 0; axis < array.axes; ++axis) count *= array.extents[axis];
  return count;
}

}  // namespace

struct Numbers::Impl {
  std::shared_ptr<Context> context;
  CUfunction fill = nullptr;
  CUfunction weigh = nullptr;
  CUfunction divide = nullptr;
  CUfunction sharpen = nullptr;
  CUfunction gather = nullptr;
  CUfunction scatter = nullptr;

  /// Parameters in the order of the kernel's.
  template <class... Parameters>
  [[nodiscard]] Status launch(CUfunction function, std::int64_t count, Stream stream, Parameters... parameters) const {
    if (count == 0) return {};
    constexpr std::int64_t kMost = ((std::int64_t{1} << 31) - 1) * kNumbersThreads;  // of one launch
    if (count > kMost) return Error{ErrorCode::unsupported, "there are too many numbers for one launch", {}};
    const Current current(*context);
    void* pointers[] = {&parameters...};
    const auto blocks = static_cast<unsigned>((count + kNumbersThreads - 1) / kNumbersThreads);
    const CUresult r = context->cu().LaunchKernel(function, blocks, 1, 1, kNumbersThreads, 1, 1, 0, stream, pointers, nullptr);
    return r == CUDA_SUCCESS ? Status() : Status(to_error(context->cu(), r, "launching a kernel"));
  }
};

Result<Numbers> Numbers::prepare(const Executable& executable) {
  const std::shared_ptr<const Prepared> prepared = prepared_of(Access::impl(executable));
  if (!prepared) return Error{ErrorCode::invalid_argument, "the executable is not one of the CUDA backend", {}};
  auto impl = std::make_shared<Impl>(Impl{prepared->context()});
  const Current current(*impl->context);
  const std::initializer_list<std::pair<CUfunction*, const char*>> wanted = {
      {&impl->fill, "numbers_fill"},       {&impl->weigh, "numbers_weigh"},   {&impl->divide, "numbers_divide"},
      {&impl->sharpen, "numbers_sharpen"}, {&impl->gather, "numbers_gather"}, {&impl->scatter, "numbers_scatter"}};
  for (const auto& [function, name] : wanted) {
    const Result<CUfunction> found = impl->context->kernel("numbers", name);
    if (!found) return found.error();
    *function = *found;
  }
  Numbers out;
  out.impl_ = std::move(impl);
  return out;
}

Status Numbers::fill(float* to, std::int64_t count, float value, Stream stream) const {
  return impl_->launch(impl_->fill, count, stream, to, count, value);
}

Status Numbers::weigh(float* weights, float* image, std::int64_t count, bool skips_nan, Stream stream) const {
  return impl_->launch(impl_->weigh, count, stream, weights, image, count, skips_nan);
}

Status Numbers::divide(const float* weights, float* image, std::int64_t count, float least, float otherwise, Stream stream) const {
  return impl_->launch(impl_->divide, count, stream, weights, image, count, least, otherwise);
}

Status Numbers::sharpen(const float* blurred, float* image, std::int64_t count, float amount, Stream stream) const {
  return impl_->launch(impl_->sharpen, count, stream, blurred, image, count, amount);
}

Status Numbers::gather(const void* from, NumberType type, std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                       float* to, Stream stream) const {
  const Result<Strided> array = strided(type, extents, strides);
  if (!array) return array.error();
  return impl_->launch(impl_->gather, count_of(*array), stream, from, to, count_of(*array), *array);
}

Status Numbers::scatter(const float* from, void* to, NumberType type, std::span<const std::int64_t> extents,
                        std::span<const std::int64_t> strides, Stream stream) const {
  const Result<Strided> array = strided(type, extents, strides);
  if (!array) return array.error();
  return impl_->launch(impl_->scatter, count_of(*array), stream, from, to, count_of(*array), *array);
}

}  // namespace mollify::cuda
