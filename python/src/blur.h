// A blur as Python sees it: an object that is called with arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "prepared.h"
#include "request.h"

namespace mollify::python {

/// A Request that Python holds.
struct Blur {
  Request request;
  bool operator==(const Blur&) const = default;
};

/// What a blur of these arrays depends on.
[[nodiscard]] Task task_of(Request request, const Array& src, const Array& dst);
/// Throws where `out` is no array for the result.
void check_out(const Geometry& image, const Geometry& out);
/// How a mask lies for each element of the image, whose shape it has, or that of one of its channels.
[[nodiscard]] Geometry mask_geometry(const Geometry& mask, const Geometry& image, const Manner& manner);
[[nodiscard]] bool is_empty(const Geometry& geometry);
[[nodiscard]] Sharing sharing_of(const Geometry& src, const std::byte* src_data, const Geometry& dst, const std::byte* dst_data);
/// Blurs `image` into `out`, or into a new array of the same kind where that is None, and returns it. `stream` is for arrays on a GPU.
[[nodiscard]] nb::object apply(Request request, nb::handle image, nb::handle mask, nb::handle out, nb::handle stream);
/// How a blur of `image` into a new array would run.
[[nodiscard]] Summary summary_of(const Request& request, nb::handle image);
/// As Python would write it, such as "Blur.gaussian(sigma=3.0)".
[[nodiscard]] std::string text_of(const Request& request);

}  // namespace mollify::python
