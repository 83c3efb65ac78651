#include "gpu_array.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <string>
#include <unordered_map>

namespace mollify::python {
namespace {

constexpr std::int32_t kCuda = nb::device::cuda::value, kCudaManaged = nb::device::cuda_managed::value;

bool is_gpu(std::int32_t device_type) {
  return device_type == kCuda || device_type == kCudaManaged;
}

/// DLPack's table of functions of a type, as version 1.3 of the standard has it. They ask no interpreter and wait for no stream.
struct ExchangeTable {
  struct Header {
    std::uint32_t major, minor;
    Header* previous;
  } header;
  int (*allocate)(nb::dlpack::dltensor*, void**, void*, void (*)(void*, const char*, const char*));
  int (*to_managed)(void*, void**);
  int (*to_object)(void*, void**);
  int (*to_tensor)(void*, nb::dlpack::dltensor*);
  int (*current_stream)(std::int32_t, std::int32_t, void**);
};

/// The table of a type, or null where it has none that is known here.
const ExchangeTable* exchange_table(nb::handle type) {
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  constexpr const char* kName = "dlpack_exchange_api";
  if (PyCapsule_IsValid(capsule.ptr(), kName) == 0) return nullptr;
  const auto* table = static_cast<const ExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  return table->header.major == 1 && table->to_tensor != nullptr ? table : nullptr;
}

/// What is known of a type of objects. It is found out once.
struct TypeInfo {
  nb::object type;  // so that no other type takes its place
  nb::object library{};
  const ExchangeTable* exchange = nullptr;
  bool has_dlpack = false;
  bool exchanges_streams = false;
  bool may_be_on_gpu = false;
};

const TypeInfo& info_of(nb::handle object) {
  static auto* mutex = new std::mutex;  // never destroyed: threads may outlive the interpreter
  static auto* types = new std::unordered_map<PyTypeObject*, TypeInfo>;
  PyTypeObject* type = Py_TYPE(object.ptr());
  {
    const std::scoped_lock lock(*mutex);
    const auto found = types->find(type);
    if (found != types->end()) return found->second;
  }
  TypeInfo info{nb::borrow(object.type())};
  info.exchange = exchange_table(object.type());
  info.has_dlpack = nb::hasattr(object, "__dlpack_device__");
  const bool is_array_of_numpy =
      PyObject_CheckBuffer(object.ptr()) != 0 && nb::isinstance(object, nb::module_::import_("numpy").attr("ndarray"));
  info.may_be_on_gpu =
      !is_array_of_numpy && (info.exchange != nullptr || info.has_dlpack || nb::hasattr(object.type(), "__cuda_array_interface__"));
  if (info.may_be_on_gpu) info.library = nb::module_::import_("pymollify._gpu").attr("library_of")(object.type());
  info.exchanges_streams = info.may_be_on_gpu && info.has_dlpack && !nb::cast<bool>(info.library.attr("has_current_stream"));
  const std::scoped_lock lock(*mutex);
  return types->emplace(type, std::move(info)).first->second;
}

GpuArray from_tensor(const nb::dlpack::dltensor& tensor, const char* argument) {
  GpuArray out;
  out.geometry.element = element_of(tensor.dtype, argument);
  const std::int64_t bytes = out.geometry.element.bytes();
  const auto axes = static_cast<std::size_t>(tensor.ndim);
  out.geometry.shape.assign(tensor.shape, tensor.shape + axes);
  if (tensor.strides == nullptr) {
    out.geometry.strides = row_major_strides(out.geometry.shape, bytes);
  } else {
    for (std::size_t i = 0; i < axes; ++i) out.geometry.strides.push_back(tensor.strides[i] * bytes);
  }
  out.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  out.device = tensor.device.device_id;
  return out;
}

std::optional<GpuArray> from_exchange(const ExchangeTable& exchange, nb::handle object, const char* argument) {
  nb::dlpack::dltensor tensor;
  if (exchange.to_tensor(object.ptr(), &tensor) != 0) throw nb::python_error();
  if (!is_gpu(tensor.device.device_type)) return std::nullopt;
  return from_tensor(tensor, argument);
}

std::optional<GpuArray> from_dlpack(nb::handle object, const TypeInfo& info, const char* argument, std::optional<std::uintptr_t> stream) {
  if (!is_gpu(nb::cast<std::int32_t>(object.attr("__dlpack_device__")()[0]))) return std::nullopt;
  nb::object waiting = info.exchanges_streams ? nb::none() : nb::object(nb::int_(-1));  // -1: none, but not all libraries know that
  if (info.exchanges_streams && stream) waiting = nb::int_(*stream);
  nb::object capsule = object.attr("__dlpack__")(nb::arg("stream") = waiting);
  const void* tensor = PyCapsule_GetPointer(capsule.ptr(), "dltensor");  // what begins with one
  if (tensor == nullptr) throw nb::python_error();
  GpuArray out = from_tensor(*static_cast<const nb::dlpack::dltensor*>(tensor), argument);
  out.tensor = std::move(capsule);  // which nobody takes over: it frees the tensor itself
  return out;
}

GpuArray from_interface(nb::handle object, const TypeInfo& info, const char* argument) {
  const nb::object interface = object.attr("__cuda_array_interface__");
  const auto number = nb::cast<std::string>(interface["typestr"]);  // such as "<f4"
  GpuArray out;
  if (number.size() < 3 || number.front() == '>') refuse_array(argument, "arrays of \"" + number + "\" are not supported");
  out.geometry.element = element_of(number[1], std::stoi(number.substr(2)), argument);
  const nb::object mask = interface.attr("get")("mask");
  if (!mask.is_none()) refuse_array(argument, "masked arrays are not supported");
  out.geometry.shape = nb::cast<std::vector<std::int64_t>>(nb::list(interface["shape"]));
  const nb::object strides = interface.attr("get")("strides");
  out.geometry.strides = strides.is_none() ? row_major_strides(out.geometry.shape, out.geometry.element.bytes())
                                           : nb::cast<std::vector<std::ptrdiff_t>>(nb::list(strides));
  out.data = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(interface["data"][0]));
  out.is_writable = !nb::cast<bool>(interface["data"][1]);
  out.device = nb::cast<std::int32_t>(info.library.attr("device")(object, reinterpret_cast<std::uintptr_t>(out.data)));
  return out;
}

}  // namespace

std::optional<GpuArray> find_gpu_array(nb::handle object, const char* argument, std::optional<std::uintptr_t> stream) {
  const TypeInfo& info = info_of(object);
  if (!info.may_be_on_gpu) return std::nullopt;
  if (info.exchange != nullptr) return from_exchange(*info.exchange, object, argument);
  if (info.has_dlpack) return from_dlpack(object, info, argument, stream);
  return from_interface(object, info, argument);
}

nb::handle gpu_library_of(nb::handle object) {
  return info_of(object).library;
}

bool must_exchange_streams(nb::handle object) {
  return info_of(object).exchanges_streams;
}

std::uintptr_t current_stream_of(nb::handle object, std::int32_t device) {
  const TypeInfo& info = info_of(object);
  if (info.exchange == nullptr) return nb::cast<std::uintptr_t>(info.library.attr("stream")(object, device));
  void* stream = nullptr;
  if (info.exchange->current_stream(kCuda, device, &stream) != 0) throw nb::python_error();
  return reinterpret_cast<std::uintptr_t>(stream);
}

}  // namespace mollify::python
