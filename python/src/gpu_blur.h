// Blurs of arrays in the memory of a GPU, in streams of the library that they are of.
#pragma once

#include "gpu_array.h"
#include "prepared.h"
#include "request.h"

namespace mollify::python {

/// Launches a blur of `array`, which is that of `image`, into `out`, or into a new array of the same kind where that is None. Returns what
/// holds the result. `stream` is None for the library's current one.
[[nodiscard]] nb::object apply_on_gpu(Request request, GpuArray array, nb::handle image, nb::handle mask, nb::handle out,
                                      nb::handle stream);
/// Blurs of `image`, each index of its first axis with a sigma of its own, where the library can launch them together: into `out`, or a new
/// array. Returns that and the indices that are left to be blurred by themselves.
[[nodiscard]] std::pair<nb::object, std::vector<std::int32_t>> apply_each_on_gpu(Request request, GpuArray array, nb::handle image,
                                                                                 std::span<const double> sigmas, nb::handle out,
                                                                                 nb::handle stream);
/// How a blur of `image` into a new array would run.
[[nodiscard]] Summary summary_on_gpu(Request request, GpuArray array, nb::handle image);
/// Frees the blurs that are kept for the next calls.
void clear_gpu_cache();

}  // namespace mollify::python
