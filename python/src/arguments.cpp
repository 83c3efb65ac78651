#include "arguments.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace mollify::python {
namespace {

[[noreturn]] void refuse(const char* argument, const std::string& reason) {
  throw std::invalid_argument(std::string(argument) + ": " + reason);
}

[[noreturn]] void refuse_type(const char* argument, const char* wanted, nb::handle value) {
  PyErr_Clear();
  const auto name = nb::cast<std::string>(value.type().attr("__name__"));
  throw nb::type_error((std::string(argument) + ": " + wanted + " is needed, not " + name).c_str());
}

double number(nb::handle value, const char* argument) {
  const double out = PyFloat_AsDouble(value.ptr());
  if (out == -1.0 && PyErr_Occurred() != nullptr) refuse_type(argument, "a number", value);
  if (!std::isfinite(out)) refuse(argument, "a finite number is needed");
  return out;
}

double number_from_0(nb::handle value, const char* argument) {
  const double out = number(value, argument);
  if (out < 0.0) refuse(argument, "a number from 0 up is needed, not " + nb::cast<std::string>(nb::str(value)));
  return out;
}

std::int32_t integer(nb::handle value, const char* argument) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) refuse_type(argument, "an integer", value);
  constexpr long kMost = 1L << 30;
  const long out = PyLong_AsLong(index.ptr());
  if ((out == -1 && PyErr_Occurred() != nullptr) || out > kMost || out < -kMost) {
    PyErr_Clear();
    refuse(argument, "an integer of less than 2^30 is needed");
  }
  return static_cast<std::int32_t>(out);
}

bool truth(nb::handle value, const char* argument) {
  if (!nb::isinstance<nb::bool_>(value)) refuse_type(argument, "True or False", value);
  return value.ptr() == Py_True;
}

/// Whether the value is a list or anything else that has a length and items, but no text.
bool is_list(nb::handle value) {
  if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyUnicode_Check(value.ptr())) return false;
  if (PySequence_Check(value.ptr()) == 0) return false;
  if (PySequence_Size(value.ptr()) >= 0) return true;
  PyErr_Clear();  // an array without axes
  return false;
}

template <class Read>
auto list_of(nb::handle value, const char* argument, const Read& read) {
  std::vector<decltype(read(value, argument))> out;
  if (!is_list(value)) {
    out.push_back(read(value, argument));
    return out;
  }
  for (const nb::handle item : value) out.push_back(read(item, argument));
  if (out.empty()) refuse(argument, "the list is empty");
  return out;
}

struct Mode {
  std::string_view name;
  BorderMode mode;
};
/// SciPy's names. Of two that mean the same, the first is the one that is shown.
constexpr std::array<Mode, 8> kModes{{{"nearest", BorderMode::clamp},
                                      {"reflect", BorderMode::reflect},
                                      {"mirror", BorderMode::mirror},
                                      {"wrap", BorderMode::wrap},
                                      {"constant", BorderMode::constant},
                                      {"grid-mirror", BorderMode::reflect},
                                      {"grid-wrap", BorderMode::wrap},
                                      {"grid-constant", BorderMode::constant}}};

BorderMode mode_of(nb::handle value, const char* argument) {
  if (PyUnicode_Check(value.ptr()) == 0) refuse_type(argument, "the name of a mode", value);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) throw nb::python_error();
  const std::string_view name(text, static_cast<std::size_t>(size));
  for (const Mode& mode : kModes) {
    if (mode.name == name) return mode.mode;
  }
  std::string message = "there is no mode \"" + std::string(name) + "\"; there are";
  for (const Mode& mode : kModes) message += (&mode == &kModes.front() ? " " : ", ") + std::string(mode.name);
  refuse(argument, message);
}

/// Weights of a convolution as those of a correlation. The weight in the middle, or after the middle, falls on the output pixel.
AxisTaps taps_of(nb::handle value, const char* argument) {
  if (!is_list(value)) refuse_type(argument, "a list of numbers", value);
  AxisTaps out{list_of(value, argument, number), 0};
  std::ranges::reverse(out.weights);
  const auto size = static_cast<std::int32_t>(out.weights.size());
  out.anchor = size - 1 - size / 2;
  return out;
}

std::vector<double> weights_of(const AxisTaps& taps) {
  return {taps.weights.rbegin(), taps.weights.rend()};
}

Normalization normalization_of(nb::handle normalize) {
  return truth(normalize, "normalize") ? Normalization::unit_sum : Normalization::none;
}

Kernel matrix_of(nb::handle weights, Normalization normalization) {
  Matrix matrix;
  matrix.weights.clear();
  std::size_t width = 0;
  for (const nb::handle row : weights) {
    const std::vector<double> numbers = list_of(row, "weights", number);
    if (width != 0 && numbers.size() != width) refuse("weights", "the rows have different lengths");
    width = numbers.size();
    matrix.weights.insert(matrix.weights.end(), numbers.begin(), numbers.end());
  }
  std::ranges::reverse(matrix.weights);
  matrix.width = static_cast<std::int32_t>(width);
  matrix.height = static_cast<std::int32_t>(matrix.weights.size() / width);
  matrix.anchor = {matrix.width - 1 - matrix.width / 2, matrix.height - 1 - matrix.height / 2};
  matrix.normalization = normalization;
  return MatrixKernel{std::move(matrix)};
}

/// Adds the weights of lists within lists. All of one depth must have the same length.
void add_weights(nb::handle value, std::size_t depth, BlockKernel& out) {
  if (depth == out.extent.size()) {
    out.weights.push_back(number(value, "weights"));
    return;
  }
  if (!is_list(value) || PySequence_Size(value.ptr()) != out.extent[depth]) refuse("weights", "the rows have different lengths");
  for (const nb::handle item : value) add_weights(item, depth + 1, out);
}

Kernel block_of(nb::handle weights, int depth, Normalization normalization) {
  BlockKernel out{{}, {}, normalization};
  nb::object first = nb::borrow(weights);
  for (int i = 0; i < depth; ++i) {
    out.extent.push_back(PySequence_Size(first.ptr()));
    first = nb::object(first[0]);
  }
  add_weights(weights, 0, out);
  return out;
}

/// Lists within lists, from the weight at `next` on.
nb::object nested(const BlockKernel& kernel, std::size_t depth, std::size_t& next) {
  if (depth == kernel.extent.size()) return nb::float_(kernel.weights[next++]);
  nb::list out;
  for (std::int64_t i = 0; i < kernel.extent[depth]; ++i) out.append(nested(kernel, depth + 1, next));
  return out;
}

/// How deep lists lie in the value.
int depth_of(nb::handle value) {
  if (!is_list(value)) return 0;
  if (PySequence_Size(value.ptr()) == 0) refuse("weights", "the list is empty");
  return 1 + depth_of(value[0]);
}

template <class T>
nb::object as_python(const std::vector<T>& values) {
  if (values.size() == 1) return nb::cast(values.front());
  return nb::tuple(nb::cast(values));
}

struct KernelArguments {
  nb::dict& out;

  void operator()(const GaussianKernel& kernel) const {
    out["sigma"] = as_python(kernel.sigma);
    if (kernel.amount) out["amount"] = *kernel.amount;
    if (kernel.order != GaussianKernel().order) out["order"] = as_python(kernel.order);
    if (kernel.truncate) out["truncate"] = *kernel.truncate;
    if (!kernel.radius.empty()) out["radius"] = as_python(kernel.radius);
  }
  void operator()(const BoxKernel& kernel) const {
    if (std::ranges::all_of(kernel.extent, [](const BoxExtent& extent) { return extent.before == extent.after; })) {
      std::vector<double> radii;
      for (const BoxExtent& extent : kernel.extent) radii.push_back(extent.before);
      out["radius"] = as_python(radii);
      return;
    }
    std::vector<int> sizes;
    std::vector<int> origins;
    for (const BoxExtent& extent : kernel.extent) {
      sizes.push_back(static_cast<int>(extent.before + extent.after) + 1);
      origins.push_back(static_cast<int>(extent.before) - sizes.back() / 2);
    }
    out["size"] = as_python(sizes);
    out["origin"] = as_python(origins);
  }
  void operator()(const TentKernel& kernel) const { out["radius"] = as_python(kernel.radius); }
  void operator()(const SeparableKernel& kernel) const {
    nb::list weights;
    for (const AxisTaps& taps : kernel.taps) weights.append(weights_of(taps));
    out["weights"] = kernel.taps.size() == 1 ? nb::object(weights[0]) : nb::object(weights);
    if (kernel.normalization == Normalization::unit_sum) out["normalize"] = true;
  }
  void operator()(const MatrixKernel& kernel) const {
    const Matrix& matrix = kernel.matrix;
    nb::list rows;
    for (auto row = matrix.weights.rbegin(); row != matrix.weights.rend(); row += matrix.width) {
      rows.append(std::vector<double>(row, row + matrix.width));
    }
    out["weights"] = rows;
    if (matrix.normalization == Normalization::unit_sum) out["normalize"] = true;
  }
  void operator()(const BlockKernel& kernel) const {
    std::size_t next = 0;
    out["weights"] = nested(kernel, 0, next);
    if (kernel.normalization == Normalization::unit_sum) out["normalize"] = true;
  }
};

bool skips_nan(nb::handle value) {
  const std::string name = PyUnicode_Check(value.ptr()) != 0 ? nb::cast<std::string>(value) : "";
  if (name != "skip" && name != "propagate") refuse("nan", "\"propagate\" or \"skip\" is needed");
  return name == "skip";
}

}  // namespace

std::string_view name_of(BorderMode mode) {
  return std::ranges::find(kModes, mode, &Mode::mode)->name;
}

Manner manner_of(const MannerArguments& arguments) {
  Manner out;
  if (!arguments.axes.is_none()) out.axes = list_of(arguments.axes, "axes", integer);
  if (!arguments.channel_axis.is_none()) out.channel_axis = integer(arguments.channel_axis, "channel_axis");
  out.mode = list_of(arguments.mode, "mode", mode_of);
  out.cval = number(arguments.cval, "cval");
  out.skips_nan = skips_nan(arguments.nan);
  out.has_alpha = truth(arguments.alpha, "alpha");
  out.is_srgb = truth(arguments.srgb, "srgb");
  if (!arguments.max_error.is_none()) out.max_error = number_from_0(arguments.max_error, "max_error");
  if (!arguments.device.is_none()) {
    if (PyUnicode_Check(arguments.device.ptr()) == 0) refuse_type("device", "the name of a device", arguments.device);
    out.device = nb::cast<std::string>(arguments.device);
  }
  if (!arguments.threads.is_none()) {
    out.threads = integer(arguments.threads, "threads");
    if (out.threads < 1 || out.threads > 4096) refuse("threads", "1 to 4096, not " + std::to_string(out.threads));
  }
  return out;
}

Kernel gaussian_of(nb::handle sigma, nb::handle order, nb::handle truncate, nb::handle radius) {
  GaussianKernel out;
  out.sigma = list_of(sigma, "sigma", number_from_0);
  out.order = list_of(order, "order", integer);
  if (std::ranges::any_of(out.order, [](std::int32_t n) { return n < 0 || n > 4; })) refuse("order", "an integer from 0 to 4 is needed");
  if (!truncate.is_none()) out.truncate = number_from_0(truncate, "truncate");
  if (!radius.is_none()) out.radius = list_of(radius, "radius", integer);
  if (out.truncate && !out.radius.empty()) refuse("radius", "either truncate or radius ends the kernel, not both");
  if (std::ranges::any_of(out.radius, [](std::int32_t r) { return r < 0; })) refuse("radius", "an integer from 0 up is needed");
  return out;
}

Kernel unsharp_of(nb::handle sigma, nb::handle amount, nb::handle truncate, nb::handle radius) {
  Kernel out = gaussian_of(sigma, nb::int_(0), truncate, radius);
  std::get<GaussianKernel>(out).amount = number(amount, "amount");
  return out;
}

Kernel box_of(nb::handle radius, nb::handle size, nb::handle origin) {
  if (radius.is_none() == size.is_none()) refuse("size", "either size or radius is needed");
  BoxKernel out;
  if (!radius.is_none()) {
    if (!origin.is_none()) refuse("origin", "only a size has an origin, not a radius");
    for (const double r : list_of(radius, "radius", number_from_0)) out.extent.push_back({r, r});
    return out;
  }
  const std::vector<std::int32_t> sizes = list_of(size, "size", integer);
  std::vector<std::int32_t> origins = origin.is_none() ? std::vector<std::int32_t>{0} : list_of(origin, "origin", integer);
  const std::size_t count = std::max(sizes.size(), origins.size());
  if (origins.size() == 1) origins.resize(count, origins.front());
  if (origins.size() != count || (sizes.size() != count && sizes.size() != 1)) refuse("origin", "size and origin have different lengths");
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t n = sizes[sizes.size() == 1 ? 0 : i];
    if (n < 1) refuse("size", "an integer from 1 up is needed, not " + std::to_string(n));
    const std::int32_t before = n / 2 + origins[i];
    if (before < 0 || before >= n) refuse("origin", std::to_string(origins[i]) + " lies outside a window of " + std::to_string(n));
    out.extent.push_back({static_cast<double>(before), static_cast<double>(n - 1 - before)});
  }
  return out;
}

Kernel tent_of(nb::handle radius) {
  return TentKernel{list_of(radius, "radius", number_from_0)};
}

Kernel convolve_of(nb::handle weights, nb::handle normalize) {
  const Normalization normalization = normalization_of(normalize);
  const int depth = depth_of(weights);
  if (depth == 1) return SeparableKernel{{taps_of(weights, "weights")}, normalization, true};
  if (depth == 2) return matrix_of(weights, normalization);
  if (depth > 2) return block_of(weights, depth, normalization);
  refuse("weights", "a list of numbers, or of lists of numbers, is needed");
}

Kernel separable_of(nb::handle weights, nb::handle normalize) {
  SeparableKernel out;
  out.normalization = normalization_of(normalize);
  if (depth_of(weights) < 2) {
    out.taps = {taps_of(weights, "weights")};
  } else {
    for (const nb::handle item : weights) out.taps.push_back(taps_of(item, "weights"));
  }
  return out;
}

const char* function_name(const Kernel& kernel) {
  constexpr std::array<const char*, 6> kNames{"gaussian", "box", "tent", "separable", "convolve", "convolve"};
  const auto* gaussian = std::get_if<GaussianKernel>(&kernel);
  if (gaussian != nullptr && gaussian->amount) return "unsharp";
  const auto* separable = std::get_if<SeparableKernel>(&kernel);
  return separable != nullptr && separable->is_for_one_axis ? "convolve" : kNames[kernel.index()];
}

nb::dict arguments_of(const Request& request) {
  const Manner& manner = request.manner;
  const Manner usual;
  nb::dict out;
  std::visit(KernelArguments{out}, request.kernel);
  if (manner.axes) out["axes"] = nb::tuple(nb::cast(*manner.axes));
  if (manner.channel_axis) out["channel_axis"] = *manner.channel_axis;
  if (manner.mode != usual.mode) {
    std::vector<std::string> names;
    for (const BorderMode mode : manner.mode) names.emplace_back(name_of(mode));
    out["mode"] = as_python(names);
  }
  if (manner.cval != usual.cval) out["cval"] = manner.cval;
  if (manner.skips_nan) out["nan"] = "skip";
  if (manner.has_alpha) out["alpha"] = true;
  if (manner.is_srgb) out["srgb"] = true;
  if (manner.max_error) out["max_error"] = *manner.max_error;
  if (manner.device != usual.device) out["device"] = manner.device;
  if (manner.threads != usual.threads) out["threads"] = manner.threads;
  return out;
}

}  // namespace mollify::python
