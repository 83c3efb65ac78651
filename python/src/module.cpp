// The module pymollify._core: what Python can call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>

#include "arguments.h"
#include "bench.h"
#include "blur.h"
#include "conventions.h"
#include "gpu_blur.h"
#include "keyboard.h"
#include "mollify/device.h"
#include "mollify/mollify.h"
#include "prepared.h"
#include "verify.h"
#include "windows.h"

namespace mollify::python {
namespace {

using namespace nb::literals;

/// The text of the arguments that all functions have in common, for the stubs.
constexpr const char* kMannerArguments =
    "axes: int | collections.abc.Sequence[int] | None = None, channel_axis: int | None = None, "
    "mode: pymollify._types.Mode | collections.abc.Sequence[pymollify._types.Mode] = 'nearest', cval: float = 0.0, "
    "nan: typing.Literal['propagate', 'skip'] = 'propagate', alpha: bool = False, srgb: bool = False, "
    "max_error: float | None = None, device: str | None = None, threads: int | None = None";

/// What they mean, for the docstrings.
constexpr const char* kMannerMeaning = R"(
:param axes: The axes to blur; by default all but channel_axis. The others count images that are blurred by themselves.
:param channel_axis: An axis that is not to be blurred.
:param mode: What stands beyond the edges, for all axes or for each: nearest, reflect, mirror, wrap or constant, as SciPy means them.
:param cval: The value beyond the edges with constant.
:param nan: With skip, NaN counts as unknown, as elements do whose mask is 0.
:param alpha: Whether the last of 2 or 4 channels is alpha that weighs the colours.
:param srgb: Whether colours are blurred in linear light.
:param max_error: How far a result may be from the exact one beyond rounding: in the array's numbers for integers, else relative.
:param device: The name of a device, of those that devices() lists, or auto: where the blur should end first; by default the processor, or
    the GPU that the image lies on.
:param threads: How many threads of the processor are used; by default all.)";
constexpr const char* kArrayMeaning = R"(
:param mask: How far each element is known, from 0 to 1; unknown ones are left out of the means.
:param out: The array to write to, which may be the image; by default a new one of the image's kind.
:param stream: Of an array on a GPU, the stream of CUDA that the blur runs in; by default the current one of the array's library.)";

/// What is different from function to function. `Own` are its arguments beside the image and those that all have in common.
template <class... Own>
struct Function {
  const char* name;
  Kernel (*kernel)(Own...);
  const char* arguments;  ///< the text of its own arguments for the stubs, up to a `*` that ends those without names
  const char* summary;
  const char* meaning;  ///< of its own arguments, in a line each that begins with a new line
};

/// Defines function `name(image, ..., out=None)`, and the method `Blur.name(...)` that makes an object of the same arguments.
template <class... Own, class... Annotations>
void define(nb::module_& module, nb::class_<Blur>& blur, const Function<Own...>& function, const Annotations&... own) {
  const auto kernel = function.kernel;
  const std::string call =
      std::string("def ") + function.name + "(image: pymollify._types.ArrayT, " + function.arguments + ", " + kMannerArguments +
      ", mask: pymollify._types.Array | None = None, out: pymollify._types.ArrayT | None = None, stream: object = None) -> "
      "pymollify._types.ArrayT";
  const std::string make = std::string("def ") + function.name + "(" + function.arguments + ", " + kMannerArguments + ") -> Blur";
  const std::string call_doc =
      std::string(function.summary) + "\n\n:param image: An array." + function.meaning + kMannerMeaning + kArrayMeaning;
  const std::string make_doc =
      std::string("Prepares ") + function.name + "() for many calls. It takes the same arguments, without image, mask and out.";
  module.def(
      function.name,
      [kernel](nb::handle image, Own... arguments, nb::handle axes, nb::handle channel_axis, nb::handle mode, nb::handle cval,
               nb::handle nan, nb::handle alpha, nb::handle srgb, nb::handle max_error, nb::handle device, nb::handle threads,
               nb::handle mask, nb::handle out, nb::handle stream) {
        return apply({kernel(arguments...), manner_of({axes, channel_axis, mode, cval, nan, alpha, srgb, max_error, device, threads})},
                     image, mask, out, stream);
      },
      nb::sig(call.c_str()), call_doc.c_str(), "image"_a, own..., "axes"_a = nb::none(), "channel_axis"_a = nb::none(),
      "mode"_a = "nearest", "cval"_a = 0.0, "nan"_a = "propagate", "alpha"_a = false, "srgb"_a = false, "max_error"_a = nb::none(),
      "device"_a = nb::none(), "threads"_a = nb::none(), "mask"_a = nb::none(), "out"_a = nb::none(), "stream"_a = nb::none());
  blur.def_static(
      function.name,
      [kernel](Own... arguments, nb::handle axes, nb::handle channel_axis, nb::handle mode, nb::handle cval, nb::handle nan,
               nb::handle alpha, nb::handle srgb, nb::handle max_error, nb::handle device, nb::handle threads) {
        return Blur{{kernel(arguments...), manner_of({axes, channel_axis, mode, cval, nan, alpha, srgb, max_error, device, threads})}};
      },
      nb::sig(make.c_str()), make_doc.c_str(), own..., "axes"_a = nb::none(), "channel_axis"_a = nb::none(), "mode"_a = "nearest",
      "cval"_a = 0.0, "nan"_a = "propagate", "alpha"_a = false, "srgb"_a = false, "max_error"_a = nb::none(), "device"_a = nb::none(),
      "threads"_a = nb::none());
}

void define_functions(nb::module_& module, nb::class_<Blur>& blur) {
  using nb::handle;
  constexpr const char* kPerAxis = "float | collections.abc.Sequence[float]";
  const std::string gaussian = std::string("sigma: ") + kPerAxis +
                               ", *, order: int | collections.abc.Sequence[int] = 0, truncate: float | None = None, radius: int | "
                               "collections.abc.Sequence[int] | None = None";
  define(
      module, blur,
      Function<handle, handle, handle, handle>{"gaussian", gaussian_of, gaussian.c_str(), "Blurs with the true Gaussian.",
                                               "\n:param sigma: The standard deviation in elements, for all axes or for each."
                                               "\n:param order: 0, or 1 to 4 for that derivative, for all axes or for each."
                                               "\n:param truncate: Where the Gaussian ends, in sigmas; by default where the error cannot "
                                               "notice it.\n:param radius: Where it ends, in elements."},
      "sigma"_a, nb::kw_only(), "order"_a = 0, "truncate"_a = nb::none(), "radius"_a = nb::none());
  const std::string unsharp =
      std::string("sigma: ") + kPerAxis +
      ", amount: float = 1.0, *, truncate: float | None = None, radius: int | collections.abc.Sequence[int] | None = None";
  define(module, blur,
         Function<handle, handle, handle, handle>{
             "unsharp", unsharp_of, unsharp.c_str(), "Adds amount times what a Gaussian takes away from the image to the image.",
             "\n:param sigma: The Gaussian's standard deviation in elements.\n:param amount: 0 changes "
             "nothing.\n:param truncate: Where the Gaussian ends, in sigmas.\n:param radius: Where it ends, "
             "in elements."},
         "sigma"_a, "amount"_a = 1.0, nb::kw_only(), "truncate"_a = nb::none(), "radius"_a = nb::none());
  const std::string box = std::string("radius: ") + kPerAxis +
                          " | None = None, *, size: int | collections.abc.Sequence[int] | None = None, "
                          "origin: int | collections.abc.Sequence[int] | None = None";
  define(module, blur,
         Function<handle, handle, handle>{"box", box_of, box.c_str(),
                                          "The mean of a window around each element: of 2 * radius + 1 elements, or of size elements.",
                                          "\n:param radius: Elements on each side, which may be a fraction, for all axes or for each."
                                          "\n:param size: Elements of the window, in place of radius."
                                          "\n:param origin: How far the window is moved, as SciPy means it; goes with size."},
         "radius"_a = nb::none(), nb::kw_only(), "size"_a = nb::none(), "origin"_a = nb::none());
  const std::string tent = std::string("radius: ") + kPerAxis + ", *";
  define(module, blur,
         Function<handle>{"tent", tent_of, tent.c_str(), "Blurs with weights that fall linearly: max(0, radius + 1 - abs(i)).",
                          "\n:param radius: Elements on each side, for all axes or for each."},
         "radius"_a, nb::kw_only());
  constexpr const char* kWeights =
      "weights: collections.abc.Sequence[float] | collections.abc.Sequence[collections.abc.Sequence[float]] | pymollify._types.Array, *, "
      "normalize: bool = False";
  define(
      module, blur,
      Function<handle, handle>{"convolve", convolve_of, kWeights, "Convolves one axis with a list of weights, or two axes with a matrix.",
                               "\n:param weights: A list, or a matrix.\n:param normalize: Whether the weights are divided by their sum."},
      "weights"_a, nb::kw_only(), "normalize"_a = false);
  define(module, blur,
         Function<handle, handle>{"separable", separable_of, kWeights,
                                  "Convolves each axis with a list of weights of its own, or all with the same.",
                                  "\n:param weights: A list for all axes, or a list of lists."
                                  "\n:param normalize: Whether the weights are divided by their sum."},
         "weights"_a, nb::kw_only(), "normalize"_a = false);
}

void define_blur(nb::class_<Blur>& blur) {
  blur.def(
          "__call__",
          [](const Blur& self, nb::handle image, nb::handle mask, nb::handle out, nb::handle stream) {
            return apply(self.request, image, mask, out, stream);
          },
          nb::sig("def __call__(self, image: pymollify._types.ArrayT, *, mask: pymollify._types.Array | None = None, "
                  "out: pymollify._types.ArrayT | None = None, stream: object = None) -> pymollify._types.ArrayT"),
          "image"_a, nb::kw_only(), "mask"_a = nb::none(), "out"_a = nb::none(), "stream"_a = nb::none())
      .def("__repr__", [](const Blur& self) { return text_of(self.request); })
      .def(
          "__eq__", [](const Blur& self, nb::handle other) { return nb::isinstance<Blur>(other) && self == nb::cast<const Blur&>(other); },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__getstate__", [](const Blur& self) { return nb::make_tuple(function_name(self.request.kernel), arguments_of(self.request)); },
          nb::sig("def __getstate__(self) -> tuple[str, dict[str, typing.Any]]"))
      .def(
          "__setstate__",
          [](Blur& self, const nb::tuple& state) {
            const nb::object made = nb::type<Blur>().attr(state[0])(**nb::dict(state[1]));
            new (&self) Blur(nb::cast<const Blur&>(made));
          },
          nb::sig("def __setstate__(self, state: tuple[str, dict[str, typing.Any]], /) -> None"));
}

/// For pymollify._each.
void define_each(nb::module_& module) {
  module.def(
      "gaussian_each_on_gpu",
      [](const Blur& blur, nb::handle image, const std::vector<double>& sigmas, nb::handle out,
         nb::handle stream) -> std::optional<std::pair<nb::object, std::vector<std::int32_t>>> {
        std::optional<GpuArray> array = find_gpu_array(image, "image");
        if (!array) return std::nullopt;
        return apply_each_on_gpu(blur.request, std::move(*array), image, sigmas, out, stream);
      },
      nb::sig("def gaussian_each_on_gpu(blur: Blur, image: pymollify._types.Array, sigmas: collections.abc.Sequence[float], out: object, "
              "stream: object) -> tuple[object, list[int]] | None"),
      "blur"_a, "image"_a, "sigmas"_a, "out"_a.none(), "stream"_a.none());
}

void define_plan(nb::module_& module) {
  nb::class_<Summary>(module, "Plan", "How a blur of an array would run. str() explains it.")
      .def_ro("algorithm", &Summary::algorithm, "The algorithms of the runs, joined by \" + \".")
      .def_ro("error", &Summary::error, "The promised bound of the error, in the units of max_error.")
      .def_ro("bytes", &Summary::bytes, "Bytes that the runs read and write.")
      .def_ro("scratch_bytes", &Summary::scratch, "Bytes of memory beside the arrays.")
      .def_ro("seconds", &Summary::seconds, "A rough time.")
      .def_prop_ro(
          "reach",
          [](const Summary& self) {
            std::vector<std::pair<int, int>> out;
            for (const Reach& reach : self.reach) out.emplace_back(reach.before, reach.after);
            return out;
          },
          "For each axis, how many elements before and after its own place an element can depend on.")
      .def_ro("refusals", &Summary::refusals, "Algorithms that were not chosen, and why.")
      .def("__str__", [](const Summary& self) { return self.explanation; })
      .def("__repr__", [](const Summary& self) { return "<Plan: " + self.algorithm + ">"; });
  module.def(
      "plan", [](const Blur& blur, nb::handle image) { return summary_of(blur.request, image); },
      nb::sig("def plan(blur: Blur, image: pymollify._types.Array) -> Plan"), "blur"_a, "image"_a, "How a blur of this array would run.");
}

void define_windows(nb::module_& module) {
  using Place = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  using Source = std::tuple<nb::object, std::int64_t, std::int64_t>;
  nb::class_<Windows>(module, "Windows",
                      "Makes parts of the result for an image that is never in memory as a whole, with the bits of the whole. The shape is "
                      "(rows, columns) or (rows, columns, channels). With a stride, the result has a pixel in the middle of each block of "
                      "so many rows and columns.")
      .def(
          "__init__",
          [](Windows* self, const Blur& blur, const std::vector<std::int64_t>& shape, const std::string& dtype, std::int32_t stride) {
            new (self) Windows(blur.request, shape, dtype, stride);
          },
          "blur"_a, "shape"_a, "dtype"_a, nb::kw_only(), "stride"_a = 1)
      .def_prop_ro("shape", &Windows::shape, "Of the result.")
      .def(
          "source",
          [](const Windows& self, std::int64_t y, std::int64_t x, std::int64_t height, std::int64_t width) {
            std::vector<Place> out;
            for (const WindowPlace& place : self.source({y, x, height, width}))
              out.emplace_back(place.y, place.x, place.height, place.width);
            return out;
          },
          "y"_a, "x"_a, "height"_a, "width"_a, "The parts (y, x, height, width) of the source that this part of the result is made from.")
      .def(
          "run",
          [](const Windows& self, const std::vector<Source>& sources, std::int64_t y, std::int64_t x, const nb::object& out) {
            std::vector<SourceWindow> windows;
            for (const auto& [array, first_y, first_x] : sources) windows.push_back({array, first_y, first_x});
            self.run(windows, y, x, out);
          },
          nb::sig("def run(self, sources: collections.abc.Sequence[tuple[pymollify._types.Array, int, int]], y: int, x: int, "
                  "out: pymollify._types.Array) -> None"),
          "sources"_a, "y"_a, "x"_a, "out"_a, "Makes the part at (y, x), of the shape of out, from parts (array, y, x) of the source.");
}

void define_devices(nb::module_& module) {
  nb::class_<DeviceEntry>(module, "Device", "A CPU or GPU that blurs can run on.")
      .def_ro("name", &DeviceEntry::open_name, "The name for the argument device.")
      .def_prop_ro(
          "description", [](const DeviceEntry& self) { return self.info.name; }, "The name that its maker gave it.")
      .def_prop_ro(
          "driver", [](const DeviceEntry& self) { return self.info.driver; }, "What runs its programs.")
      .def("__repr__", [](const DeviceEntry& self) { return "<Device " + self.open_name + ": " + self.info.name + ">"; });
  module.def(
      "devices",
      [] {
        const nb::gil_scoped_release release;
        return list_devices();
      },
      "The devices of this machine.");
}

}  // namespace
}  // namespace mollify::python

NB_MODULE(_core, module) {
  using namespace mollify::python;
  remember_main_thread();
  nb::set_leak_warnings(false);  // a Blur that a program keeps until its end is nothing to print about
  nb::class_<Blur> blur(module, "Blur", "A blur that is set up once and called with many arrays. It can be pickled.");
  define_blur(blur);
  define_functions(module, blur);
  define_plan(module);
  define_each(module);
  define_windows(module);
  define_devices(module);
  define_conventions(module);
  define_verify(module);
  define_bench(module);
  module.def("version", &mollify::version, "The version of the library.");
  module.def(
      "clear_cache",
      [] {
        clear_cache();
        clear_gpu_cache();
      },
      "Frees the prepared blurs and the memory that are kept for the next calls.");
}
