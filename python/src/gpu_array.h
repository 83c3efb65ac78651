// Arrays in the memory of an NVIDIA GPU: where their elements lie, and what the library that they are of does for a blur.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

#include "array.h"

namespace mollify::python {

/// Elements in the memory of a GPU. The object that has them must live as long as they are used.
struct GpuArray {
  Geometry geometry;
  std::byte* data = nullptr;
  std::int32_t device = 0;  ///< as the driver counts GPUs
  bool is_writable = true;
  nb::object tensor;  ///< what DLPack handed over; not for all
};

/// The array of an object that has one on a GPU; nothing where it has none. Throws TypeError, beginning with `argument`, where its numbers
/// are of a kind that is not supported. Where the library is asked to, it makes `stream` wait for the work that makes the elements.
[[nodiscard]] std::optional<GpuArray> find_gpu_array(nb::handle object, const char* argument,
                                                     std::optional<std::uintptr_t> stream = std::nullopt);

/// What pymollify._gpu has for the library that the object is of.
[[nodiscard]] nb::handle gpu_library_of(nb::handle object);
/// Whether the library has no current stream, so that streams must be made to wait for one another.
[[nodiscard]] bool must_exchange_streams(nb::handle object);
/// The stream that the library's next operations on this GPU go to.
[[nodiscard]] std::uintptr_t current_stream_of(nb::handle object, std::int32_t device);

}  // namespace mollify::python
