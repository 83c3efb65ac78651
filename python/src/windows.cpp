#include "windows.h"

#include <algorithm>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "devices.h"
#include "mollify/plan.h"

namespace mollify::python {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw std::invalid_argument(message);
}

Geometry packed(const std::vector<std::int64_t>& shape, const std::string& dtype) {
  if (shape.size() != 2 && shape.size() != 3) refuse("shape: rows and columns are needed, and channels if there are several");
  if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; })) refuse("shape: numbers from 1 up are needed");
  for (const Element element :
       {Element{NumberKind::unsigned_integer, 8}, Element{NumberKind::unsigned_integer, 16}, Element{NumberKind::floating, 16},
        Element{NumberKind::floating, 32}, Element{NumberKind::signed_integer, 32}, Element{NumberKind::unsigned_integer, 32},
        Element{NumberKind::floating, 64}}) {
    if (element.name() != dtype) continue;
    std::vector<std::size_t> order;
    for (std::size_t axis = shape.size(); axis-- > 0;) order.push_back(axis);
    return {element, shape, packed_strides(shape, order, element.bytes())};
  }
  throw nb::type_error(("dtype: windows are of uint8, uint16, int32, uint32, float16, float32 or float64, not " + dtype).c_str());
}

void check(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

template <class T>
T value_of(Result<T> result) {
  if (!result) refuse(result.error().message);
  return std::move(*result);
}

/// The same blur, of which only the pixels in the middle of blocks are made.
Executable with_stride(const Plan& plan, std::int32_t stride, const Manner& manner) {
  if (plan.src.width != plan.dst.width || stride < 1 || stride > Stride::kMaxStep) {
    refuse("stride: 1 to " + std::to_string(Stride::kMaxStep) + " is needed, not " + std::to_string(stride));
  }
  BlurSpec spec = plan.spec;
  spec.stride = {Stride::of_blocks(stride), Stride::of_blocks(stride)};
  const Device device = open_device(manner.device, manner.threads);
  return value_of(device.prepare(value_of(make_plan(spec, plan.src, destination_desc(spec, plan.src, plan.dst.format), device.info()))));
}

}  // namespace

Windows::Windows(const Request& request, const std::vector<std::int64_t>& shape, const std::string& dtype, std::int32_t stride)
    : shape_(shape) {
  const Geometry whole = packed(shape, dtype);
  task_ = {request, whole, whole, Sharing::none, true, {}};
  prepared_ = std::make_unique<Prepared>(task_);
  const std::optional<Prepared::SingleRun> run = prepared_->single_run();
  if (!run) refuse("shape: a blur of this array is no single run on one image, so that it has no windows");
  channels_ = run->layout->channels;
  per_column_ = run->layout->width / shape[1];
  executable_ = stride == 1 ? *run->executable : with_stride(run->executable->plan(), stride, request.manner);
  shape_[0] = executable_->plan().dst.height;
  shape_[1] = executable_->plan().dst.width / per_column_;
  if (!executable_->plan().halo) refuse("blur: " + executable_->plan().algorithm.id + " cannot run on windows");
}

Rect Windows::rect_of(const WindowPlace& place, const std::vector<std::int64_t>& whole) const {
  if (place.y < 0 || place.x < 0 || place.height < 1 || place.width < 1 || place.y + place.height > whole[0] ||
      place.x + place.width > whole[1]) {
    refuse("window: it is empty or does not lie in the image");
  }
  return {static_cast<std::int32_t>(place.x * per_column_), static_cast<std::int32_t>(place.y),
          static_cast<std::int32_t>(place.width * per_column_), static_cast<std::int32_t>(place.height)};
}

std::vector<WindowPlace> Windows::source(const WindowPlace& result) const {
  std::vector<WindowPlace> out;
  for (const Rect& rect : value_of(executable_->plan().source_region(rect_of(result, shape_)))) {
    const std::int64_t first = rect.x / per_column_;
    const std::int64_t last = (std::int64_t{rect.x} + rect.width + per_column_ - 1) / per_column_;
    out.push_back({rect.y, first, rect.height, last - first});
  }
  return out;
}

/// The shape of a part, whose rows must have no gaps within.
ImageDesc Windows::desc_of(const Geometry& geometry, const char* argument) const {
  const std::string name = argument;
  const bool has_shape =
      geometry.shape.size() == task_.src.shape.size() && (geometry.shape.size() == 2 || geometry.shape[2] == task_.src.shape[2]);
  if (geometry.element != task_.src.element || !has_shape) refuse(name + ": numbers and channels must be those of the image");
  const bool is_packed =
      std::ranges::equal(geometry.strides.begin() + 1, geometry.strides.end(), task_.src.strides.begin() + 1, task_.src.strides.end());
  if (!is_packed) refuse(name + ": elements of a row must lie side by side");
  return {static_cast<std::int32_t>(geometry.shape[1] * per_column_), static_cast<std::int32_t>(geometry.shape[0]),
          geometry.element.format(channels_)};
}

void Windows::run(const std::vector<SourceWindow>& sources, std::int64_t y, std::int64_t x, nb::handle out) const {
  const Array destination(out, "out", Use::write);
  const auto place_of = [&](const Geometry& part, std::int64_t first_y, std::int64_t first_x, const std::vector<std::int64_t>& whole) {
    return rect_of({first_y, first_x, part.shape[0], part.shape[1]}, whole);
  };
  const ImageDesc desc = desc_of(destination.geometry(), "out");
  const Rect to = place_of(destination.geometry(), y, x, shape_);
  const Window result{{desc, destination.data(), destination.geometry().strides[0]}, to.x, to.y};
  std::list<Array> arrays;
  std::vector<ConstWindow> windows;
  for (const SourceWindow& source : sources) {
    const Array& array = arrays.emplace_back(source.array, "sources", Use::read);
    const ImageDesc part = desc_of(array.geometry(), "sources");
    const Rect from = place_of(array.geometry(), source.y, source.x, task_.src.shape);
    windows.push_back({{part, array.data(), array.geometry().strides[0]}, from.x, from.y});
  }
  const nb::gil_scoped_release release;
  Workspace workspace = value_of(executable_->make_workspace(PerAxis<std::int32_t>{desc.width, desc.height}));
  check(executable_->run(windows, result, workspace));
}

}  // namespace mollify::python
