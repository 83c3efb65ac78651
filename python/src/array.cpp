#include "array.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>

namespace mollify::python {
namespace {

constexpr std::string_view kSupported = "bool, int8 to int32, uint8 to uint32, bfloat16 and float16 to float64 are";

/// The kind of number that a format of the buffer protocol names.
char kind_of(std::string_view format, const char* argument) {
  const char order = format.empty() ? '\0' : format.front();
  if (order == '>' || order == '!') refuse_array(argument, "arrays in the byte order of other machines are not supported");
  if (order == '<' || order == '=' || order == '@') format.remove_prefix(1);
  if (format == "?") return 'b';
  if (format.size() != 1) return ' ';
  if (std::string_view("BHILQN").find(format.front()) != std::string_view::npos) return 'u';
  if (std::string_view("bhilqn").find(format.front()) != std::string_view::npos) return 'i';
  if (std::string_view("efdg").find(format.front()) != std::string_view::npos) return 'f';
  return ' ';
}

char kind_of(const nb::dlpack::dtype& dtype) {
  switch (static_cast<nb::dlpack::dtype_code>(dtype.code)) {
    case nb::dlpack::dtype_code::UInt:
      return 'u';
    case nb::dlpack::dtype_code::Int:
      return 'i';
    case nb::dlpack::dtype_code::Float:
      return 'f';
    case nb::dlpack::dtype_code::Bfloat:
      return 'B';
    case nb::dlpack::dtype_code::Complex:
      return 'c';
    case nb::dlpack::dtype_code::Bool:
      return 'b';
    default:
      return ' ';
  }
}

std::string full_name(nb::handle type) {
  return nb::cast<std::string>(type.attr("__module__")) + "." + nb::cast<std::string>(type.attr("__qualname__"));
}

/// Functions and types of NumPy. They are looked up once and never given back: they outlive the interpreter's last call.
struct NumPy {
  nb::object array_type;
  nb::object empty;
  nb::object empty_like;

  static const NumPy& get() {
    static const auto* numpy = new NumPy(nb::module_::import_("numpy"));
    return *numpy;
  }

 private:
  explicit NumPy(nb::module_ numpy) : array_type(numpy.attr("ndarray")), empty(numpy.attr("empty")), empty_like(numpy.attr("empty_like")) {}
};

bool is_of_arrow(nb::handle object) {
  return full_name(object.type()).starts_with("pyarrow.");
}

/// Whether it is an array of NumPy with the numbers of ml_dtypes.
bool is_of_bfloat16(nb::handle object) {
  return nb::isinstance(object, NumPy::get().array_type) && nb::cast<std::string>(object.attr("dtype").attr("name")) == "bfloat16";
}

}  // namespace

void refuse_array(const char* argument, const std::string& reason) {
  throw nb::type_error((std::string(argument) + ": " + reason).c_str());
}

Element element_of(char kind, std::int64_t bytes, const char* argument) {
  const auto bits = static_cast<int>(8 * bytes);
  if (kind == 'u' && bits <= 32) return {NumberKind::unsigned_integer, bits};
  if (kind == 'i' && bits <= 32) return {NumberKind::signed_integer, bits};
  if (kind == 'f' && bits >= 16 && bits <= 64) return {NumberKind::floating, bits};
  if (kind == 'B' && bits == 16) return {NumberKind::brain_floating, bits};
  if (kind == 'b' && bits == 8) return {NumberKind::boolean, bits};
  std::string name = "this kind";
  if (kind == 'b') name = "bool";
  if (kind == 'i') name = "int" + std::to_string(bits);
  if (kind == 'u') name = "uint" + std::to_string(bits);
  if (kind == 'f') name = "float" + std::to_string(bits);
  if (kind == 'c') name = "complex" + std::to_string(bits);
  refuse_array(argument, "arrays of " + name + " are not supported; " + std::string(kSupported));
}

void refuse_gradient(nb::handle object, const char* argument) {
  if (nb::getattr(object, "requires_grad", nb::none()).ptr() != Py_True) return;
  refuse_array(argument, "a tensor that requires a gradient must be detached; functions of pymollify.torch have gradients");
}

Element element_of(const nb::dlpack::dtype& dtype, const char* argument) {
  if (dtype.lanes != 1) refuse_array(argument, "arrays of vectors are not supported");
  return element_of(kind_of(dtype), dtype.bits / 8, argument);
}

std::vector<std::ptrdiff_t> row_major_strides(const std::vector<std::int64_t>& shape, std::int64_t element) {
  std::vector<std::ptrdiff_t> out(shape.size());
  std::ptrdiff_t stride = element;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) out[axis] = stride;
  return out;
}

Array::Array(nb::handle object, const char* argument, Use use) {
  // Its mask would be ignored.
  if (Py_TYPE(object.ptr()) != reinterpret_cast<PyTypeObject*>(NumPy::get().array_type.ptr()) &&
      full_name(object.type()).starts_with("numpy.ma.")) {
    refuse_array(argument, "masked arrays are not supported");
  }
  if (PyObject_CheckBuffer(object.ptr()) == 0) {
    take_tensor(object, argument, use);
  } else if (get_buffer(object, use)) {
    take_buffer(argument);
  } else {
    nb::python_error error;  // NumPy gives no buffer of numbers that are not its own
    if (!is_of_bfloat16(object) || !get_buffer(object.attr("view")("uint16"), use)) {
      refuse_array(argument, nb::cast<std::string>(nb::str(error.value())));
    }
    take_buffer(argument);
    geometry_.element.kind = NumberKind::brain_floating;
  }
}

void Array::Release::operator()(Py_buffer* buffer) const {
  PyBuffer_Release(buffer);
  delete buffer;
}

bool Array::get_buffer(nb::handle object, Use use) {
  auto buffer = std::make_unique<Py_buffer>();  // it may point into itself
  if (PyObject_GetBuffer(object.ptr(), buffer.get(), use == Use::write ? PyBUF_RECORDS : PyBUF_RECORDS_RO) != 0) return false;
  buffer_.reset(buffer.release());
  return true;
}

void Array::take_buffer(const char* argument) {
  geometry_.element = element_of(kind_of(buffer_->format != nullptr ? buffer_->format : "B", argument), buffer_->itemsize, argument);
  geometry_.shape.assign(buffer_->shape, buffer_->shape + buffer_->ndim);
  if (buffer_->strides != nullptr) {
    geometry_.strides.assign(buffer_->strides, buffer_->strides + buffer_->ndim);
  } else {  // ctypes leaves them out
    geometry_.strides = row_major_strides(geometry_.shape, buffer_->itemsize);
  }
  data_ = static_cast<std::byte*>(buffer_->buf);
}

void Array::take_tensor(nb::handle object, const char* argument, Use use) {
  refuse_gradient(object, argument);
  if (!nb::try_cast(object, tensor_)) {
    refuse_array(argument, "an array is needed, by the buffer protocol or by DLPack, not " + full_name(object.type()));
  }
  if (use == Use::read) return take_places(tensor_, argument);
  // Arrays of the array standard need not be writable, and their tensors need not say so.
  if (nb::hasattr(object, "__array_namespace__") || !nb::try_cast(object, writable_tensor_)) {
    refuse_array(argument, "this " + full_name(object.type()) + " cannot be written");
  }
  take_places(writable_tensor_, argument);
}

template <class Tensor>
void Array::take_places(const Tensor& tensor, const char* argument) {
  if (tensor.device_type() != nb::device::cpu::value) refuse_array(argument, "the array is not in the memory of the host");
  geometry_.element = element_of(tensor.dtype(), argument);
  for (std::size_t i = 0; i < tensor.ndim(); ++i) {
    geometry_.shape.push_back(static_cast<std::int64_t>(tensor.shape(i)));
    geometry_.strides.push_back(tensor.stride(i) * geometry_.element.bytes());
  }
  data_ = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(tensor.data())));
}

bool Array::is_aligned() const {
  const std::ptrdiff_t bytes = geometry_.element.bytes();
  const bool strides = std::ranges::all_of(geometry_.strides, [&](std::ptrdiff_t stride) { return stride % bytes == 0; });
  return strides && reinterpret_cast<std::uintptr_t>(data_) % static_cast<std::uintptr_t>(bytes) == 0;
}

NewArray new_array_like(nb::handle image, const Geometry& geometry) {
  const NumPy& numpy = NumPy::get();
  if (image.type().is(numpy.array_type)) return {numpy.empty_like(image), {}};
  if (nb::isinstance(image, numpy.array_type)) return {numpy.empty_like(image, nb::arg("subok") = false), {}};
  if (full_name(image.type()).starts_with("torch.")) return {nb::module_::import_("torch").attr("empty_like")(image), {}};
  nb::object numbers = nb::cast(geometry.element.name());
  if (geometry.element.kind == NumberKind::brain_floating) numbers = nb::module_::import_("ml_dtypes").attr("bfloat16");
  nb::object object = numpy.empty(nb::tuple(nb::cast(geometry.shape)), numbers);
  // Arrow's arrays cannot be written: they are made of the result, without a copy.
  if (is_of_arrow(image)) {
    const nb::module_ arrow = nb::module_::import_("pyarrow");
    const bool is_tensor = nb::isinstance(image, arrow.attr("Tensor"));
    return {object, is_tensor ? arrow.attr("Tensor").attr("from_numpy") : arrow.attr("array")};
  }
  if (!nb::hasattr(image, "__array_namespace__")) return {object, {}};
  return {object, image.attr("__array_namespace__")().attr("from_dlpack")};
}

}  // namespace mollify::python
