#include "blur.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "arguments.h"
#include "auto_device.h"
#include "gpu_blur.h"
#include "keyboard.h"

namespace mollify::python {
namespace {

struct ByteRange {
  const std::byte* begin;
  const std::byte* end;
};

ByteRange bytes_of(const Geometry& geometry, const std::byte* data) {
  ByteRange out{data, data + geometry.element.bytes()};
  for (std::size_t i = 0; i < geometry.shape.size(); ++i) {
    const std::ptrdiff_t reach = geometry.strides[i] * (geometry.shape[i] - 1);
    (reach < 0 ? out.begin : out.end) += reach;
  }
  return out;
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string out = "(";
  for (const std::int64_t extent : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(extent);
  return out + ")";
}

/// Puts the device that ends first in place of "auto", and returns why it is that one.
std::string settle_device(Task& task) {
  if (task.request.manner.device != kAutoDevice) return {};
  task.request.manner.device = "cpu";
  DeviceChoice chosen = choose_device_of(task);
  task.request.manner.device = std::move(chosen.device);
  return std::move(chosen.why);
}

}  // namespace

Geometry mask_geometry(const Geometry& mask, const Geometry& image, const Manner& manner) {
  Geometry out = mask;
  if (out.element.kind != NumberKind::boolean && out.element != kBetweenRuns) {
    throw nb::type_error(("mask: an array of bool or float32 is needed, not of " + out.element.name()).c_str());
  }
  if (manner.channel_axis && out.shape.size() + 1 == image.shape.size()) {  // the same for all channels
    const auto count = static_cast<int>(image.shape.size());
    const int axis = *manner.channel_axis < 0 ? *manner.channel_axis + count : *manner.channel_axis;
    if (axis >= 0 && axis < count) {
      out.shape.insert(out.shape.begin() + axis, image.shape[static_cast<std::size_t>(axis)]);
      out.strides.insert(out.strides.begin() + axis, 0);
    }
  }
  if (out.shape == image.shape) return out;
  throw std::invalid_argument("mask: its shape is " + text_of(mask.shape) + ", that of image " + text_of(image.shape));
}

Sharing sharing_of(const Geometry& src, const std::byte* src_data, const Geometry& dst, const std::byte* dst_data) {
  const ByteRange a = bytes_of(src, src_data);
  const ByteRange b = bytes_of(dst, dst_data);
  if (!std::less<>()(a.begin, b.end) || !std::less<>()(b.begin, a.end)) return Sharing::none;
  return src_data == dst_data && src.strides == dst.strides ? Sharing::same_elements : Sharing::otherwise;
}

void check_out(const Geometry& image, const Geometry& out) {
  if (out.element != image.element)
    throw nb::type_error(("out: it is " + out.element.name() + ", image is " + image.element.name()).c_str());
  if (out.shape == image.shape) return;
  throw std::invalid_argument("out: its shape is " + text_of(out.shape) + ", that of image " + text_of(image.shape));
}

bool is_empty(const Geometry& geometry) {
  return std::ranges::find(geometry.shape, 0) != geometry.shape.end();
}

Task task_of(Request request, const Array& src, const Array& dst) {
  const Sharing sharing = sharing_of(src.geometry(), src.data(), dst.geometry(), dst.data());
  return {std::move(request), src.geometry(), dst.geometry(), sharing, src.is_aligned() && dst.is_aligned(), {}};
}

nb::object apply(Request request, nb::handle image, nb::handle mask, nb::handle out, nb::handle stream) {
  if (std::optional<GpuArray> array = find_gpu_array(image, "image")) {
    return apply_on_gpu(std::move(request), std::move(*array), image, mask, out, stream);
  }
  if (!stream.is_none()) throw std::invalid_argument("stream: only arrays on a GPU are blurred in a stream");
  const Array src(image, "image", Use::read);
  NewArray made;
  if (out.is_none()) made = new_array_like(image, src.geometry());
  const Array dst(out.is_none() ? made.object : out, "out", Use::write);
  check_out(src.geometry(), dst.geometry());
  std::optional<Array> known;
  if (!mask.is_none()) known.emplace(mask, "mask", Use::read);
  if (!is_empty(src.geometry())) {
    Task task = task_of(std::move(request), src, dst);
    if (known) task.mask = mask_geometry(known->geometry(), src.geometry(), task.request.manner);
    const nb::gil_scoped_release release;
    (void)settle_device(task);
    std::unique_ptr<Prepared> prepared = take(task);
    const std::byte* mask_data = known ? known->data() : nullptr;
    if (prepared->is_long()) {
      obey_keyboard([&](const std::atomic<bool>& stop) { prepared->run(src.data(), mask_data, dst.data(), &stop); });
    } else {
      prepared->run(src.data(), mask_data, dst.data(), nullptr);
    }
    put_back(std::move(prepared));
  }
  return out.is_none() ? made.finished() : nb::borrow(out);
}

Summary summary_of(const Request& request, nb::handle image) {
  if (std::optional<GpuArray> array = find_gpu_array(image, "image")) return summary_on_gpu(request, std::move(*array), image);
  const Array src(image, "image", Use::read);
  if (is_empty(src.geometry())) throw std::invalid_argument("image: it is empty");
  const NewArray made = new_array_like(image, src.geometry());
  const Array dst(made.object, "out", Use::write);
  Task task = task_of(request, src, dst);
  const nb::gil_scoped_release release;
  const std::string why = settle_device(task);
  Summary out = Prepared(task).summary();
  if (!why.empty()) out.explanation = why + "\n" + out.explanation;
  return out;
}

std::string text_of(const Request& request) {
  std::string out = "Blur." + std::string(function_name(request.kernel)) + "(";
  bool is_first = true;
  for (const auto& [name, value] : arguments_of(request)) {
    out += (is_first ? "" : ", ") + std::string(nb::str(name).c_str()) + "=" + nb::repr(value).c_str();
    is_first = false;
  }
  return out + ")";
}

}  // namespace mollify::python
