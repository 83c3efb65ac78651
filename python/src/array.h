// Arrays of the caller: where their elements lie, and new arrays of the same kind for results.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "element.h"

namespace mollify::python {

namespace nb = nanobind;

/// The shape of an array, and the bytes from an element to the next one along each axis, which may be negative.
struct Geometry {
  Element element;
  std::vector<std::int64_t> shape;
  std::vector<std::ptrdiff_t> strides;
  bool operator==(const Geometry&) const = default;
};

enum class Use : bool { read, write };

/// Memory of an object that speaks the buffer protocol or DLPack. It keeps the object's memory in place as long as it lives.
class Array {
 public:
  /// Throws TypeError where the object is no array in the memory of the host, or its numbers are of a kind that is not supported. The
  /// message begins with `argument`.
  Array(nb::handle object, const char* argument, Use use);
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() = default;

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Whether every element lies at a multiple of its size.
  [[nodiscard]] bool is_aligned() const;

 private:
  struct Release {
    void operator()(Py_buffer* buffer) const;
  };

  /// Fails with Python's error set.
  bool get_buffer(nb::handle object, Use use);
  void take_buffer(const char* argument);
  void take_tensor(nb::handle object, const char* argument, Use use);
  template <class Tensor>
  void take_places(const Tensor& tensor, const char* argument);

  std::unique_ptr<Py_buffer, Release> buffer_;
  nb::ndarray<nb::ro> tensor_;
  nb::ndarray<> writable_tensor_;
  Geometry geometry_;
  std::byte* data_ = nullptr;
};

// They throw TypeError, beginning with `argument`.
/// The element of this kind and size, if it is supported: 'u', 'i', 'f', 'b', 'B' for bfloat16, or another letter for what is no number.
[[nodiscard]] Element element_of(char kind, std::int64_t bytes, const char* argument);
[[nodiscard]] Element element_of(const nb::dlpack::dtype& dtype, const char* argument);
[[noreturn]] void refuse_array(const char* argument, const std::string& reason);
void refuse_gradient(nb::handle object, const char* argument);

/// Strides in bytes of an array without gaps whose last axis has neighbouring elements.
[[nodiscard]] std::vector<std::ptrdiff_t> row_major_strides(const std::vector<std::int64_t>& shape, std::int64_t element);

/// An array that nobody else has, to be filled with the result for `image`.
struct NewArray {
  nb::object object;  ///< what the library writes to
  nb::object from;    ///< makes the caller's kind of `object`, where that is another one
  /// What the caller gets.
  [[nodiscard]] nb::object finished() const { return from.is_valid() ? from(object) : object; }
};

/// Of the shape and numbers of `image`, and of its kind: an array of NumPy, Torch, Arrow, or another library that follows the array
/// standard.
/// Where it is none of these, the result is an array of NumPy.
[[nodiscard]] NewArray new_array_like(nb::handle image, const Geometry& geometry);

}  // namespace mollify::python
