#include "conventions.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arguments.h"
#include "conventions/conventions.h"

namespace mollify::python {
namespace {

using namespace nb::literals;
using conventions::Convention;
using Sizes = std::pair<std::int32_t, std::int32_t>;
using Sigmas = std::pair<double, double>;
using Weights = std::pair<std::vector<double>, std::vector<double>>;

const Convention& convention_of(const std::string& name) {
  const std::optional<conventions::Peer> peer = conventions::parse_peer(name);
  if (!peer) throw std::invalid_argument("name: there are no conventions of \"" + name + "\"");
  return conventions::convention(*peer);
}

std::tuple<Sigmas, Sizes, std::optional<Weights>> opencv_gaussian(Sizes size, Sigmas sigma, bool are_bytes) {
  Result<conventions::OpencvGaussian> meant =
      conventions::opencv_gaussian({size.first, size.second}, {sigma.first, sigma.second}, are_bytes);
  if (!meant) throw std::invalid_argument(meant.error().message);
  std::optional<Weights> weights;
  if (meant->weights) weights = Weights(std::move(meant->weights->x), std::move(meant->weights->y));
  return {{meant->sigma.x, meant->sigma.y}, {meant->radius.x, meant->radius.y}, std::move(weights)};
}

}  // namespace

void define_conventions(nb::module_& module) {
  nb::class_<Convention>(module, "Convention", "What holds in another library where its caller says nothing else.")
      .def_prop_ro(
          "mode", [](const Convention& self) { return name_of(self.border); }, nb::sig("def mode(self) -> pymollify._types.Mode"),
          "The border.")
      .def_ro("truncate", &Convention::truncate, "Where a Gaussian ends, in sigmas.")
      .def_ro("gaussian_boxes", &Convention::gaussian_boxes,
              "How many boxes along each axis stand for a Gaussian; 0: it has its own weights.")
      .def_ro("has_exact_boxes", &Convention::has_exact_boxes, "Whether means are rounded to the nearest, with no error before.");
  module.def("convention", &convention_of, "name"_a, nb::rv_policy::reference, "That of scipy, opencv, pillow or skimage.");
  module.def("truncated_radius", &conventions::truncated_radius, "sigma"_a, "truncate"_a,
             "SciPy's radius of a Gaussian that ends at so many sigmas.");
  module.def("box_radius", &conventions::box_radius, "sigma"_a, "boxes"_a,
             "The radius of the box of which so many have the variance of a Gaussian.");
  module.def("sigma_of_size", &conventions::sigma_of_size, "size"_a, "The sigma that belongs to a size in OpenCV and torchvision.");
  module.def("opencv_gaussian", &opencv_gaussian, "size"_a, "sigma"_a, "are_bytes"_a,
             "Sigmas, radii and, for small kernels whose sigma is not given, weights of OpenCV's GaussianBlur, each along x and y.");
}

}  // namespace mollify::python
