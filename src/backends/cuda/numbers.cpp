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

namespace {

/// Kernels on packed numbers of one type.
struct Packed {
  CUfunction fill = nullptr;
  CUfunction weigh = nullptr;
  CUfunction divide = nullptr;
  CUfunction sharpen = nullptr;
  CUfunction gather = nullptr;

  [[nodiscard]] Status load(Context& context, const std::string& ending) {
    const std::initializer_list<std::pair<CUfunction*, const char*>> wanted = {
        {&fill, "fill"}, {&weigh, "weigh"}, {&divide, "divide"}, {&sharpen, "sharpen"}, {&gather, "gather"}};
    for (const auto& [function, name] : wanted) {
      const Result<CUfunction> found = context.kernel("numbers", std::string("numbers_") + name + ending);
      if (!found) return found.error();
      *function = *found;
    }
    return {};
  }
};

}  // namespace

struct Numbers::Impl {
  std::shared_ptr<Context> context;
  Packed floats;
  Packed doubles;
  CUfunction scatter = nullptr;

  template <class Float>
  [[nodiscard]] const Packed& of() const {
    return std::is_same_v<Float, double> ? doubles : floats;
  }

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
  auto impl = std::make_shared<Impl>();
  impl->context = prepared->context();
  const Current current(*impl->context);
  if (Status s = impl->floats.load(*impl->context, "_f32"); !s) return s.error();
  if (Status s = impl->doubles.load(*impl->context, "_f64"); !s) return s.error();
  const Result<CUfunction> scatter = impl->context->kernel("numbers", "numbers_scatter");
  if (!scatter) return scatter.error();
  impl->scatter = *scatter;
  Numbers out;
  out.impl_ = std::move(impl);
  return out;
}

template <class Float>
Status Numbers::fill(Float* to, std::int64_t count, Float value, Stream stream) const {
  return impl_->launch(impl_->of<Float>().fill, count, stream, to, count, value);
}

template <class Float>
Status Numbers::weigh(Float* weights, Float* image, std::int64_t count, bool skips_nan, Stream stream) const {
  return impl_->launch(impl_->of<Float>().weigh, count, stream, weights, image, count, skips_nan);
}

template <class Float>
Status Numbers::divide(const Float* weights, Float* image, std::int64_t count, Float least, Float otherwise, Stream stream) const {
  return impl_->launch(impl_->of<Float>().divide, count, stream, weights, image, count, least, otherwise);
}

template <class Float>
Status Numbers::sharpen(const Float* blurred, Float* image, std::int64_t count, Float amount, Stream stream) const {
  return impl_->launch(impl_->of<Float>().sharpen, count, stream, blurred, image, count, amount);
}

template <class Float>
Status Numbers::gather(const void* from, NumberType type, std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                       Float* to, Stream stream) const {
  const Result<Strided> array = strided(type, extents, strides);
  if (!array) return array.error();
  return impl_->launch(impl_->of<Float>().gather, count_of(*array), stream, from, to, count_of(*array), *array);
}

#define MOLLIFY_NUMBERS(Float)                                                                                                           \
  template Status Numbers::fill(Float*, std::int64_t, Float, Stream) const;                                                              \
  template Status Numbers::weigh(Float*, Float*, std::int64_t, bool, Stream) const;                                                      \
  template Status Numbers::divide(const Float*, Float*, std::int64_t, Float, Float, Stream) const;                                       \
  template Status Numbers::sharpen(const Float*, Float*, std::int64_t, Float, Stream) const;                                             \
  template Status Numbers::gather(const void*, NumberType, std::span<const std::int64_t>, std::span<const std::int64_t>, Float*, Stream) \
      const;
MOLLIFY_NUMBERS(float)
MOLLIFY_NUMBERS(double)
#undef MOLLIFY_NUMBERS

Status Numbers::scatter(const float* from, void* to, NumberType type, std::span<const std::int64_t> extents,
                        std::span<const std::int64_t> strides, Stream stream) const {
  const Result<Strided> array = strided(type, extents, strides);
  if (!array) return array.error();
  return impl_->launch(impl_->scatter, count_of(*array), stream, from, to, count_of(*array), *array);
}

}  // namespace mollify::cuda
