#include "preparer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "devices.h"
#include "error_budget.h"
#include "numbers.h"

namespace mollify::python {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw std::invalid_argument(message);
}

template <class T>
T value_of(Result<T> result) {
  if (result) return std::move(*result);
  const Error& error = result.error();
  std::string text = error.message;
  for (const std::string& reason : error.reasons) text += "\n  " + reason;
  if (error.code == ErrorCode::out_of_memory) throw std::bad_alloc();
  if (error.code == ErrorCode::unsupported) throw Unsupported(text);
  throw std::invalid_argument(text);
}

std::size_t axis_number(int axis, std::size_t dimensions, const char* argument) {
  const int count = static_cast<int>(dimensions);
  if (axis < -count || axis >= count) {
    refuse(std::string(argument) + ": there is no axis " + std::to_string(axis) + " in an array of " + std::to_string(count) +
           (count == 1 ? " axis" : " axes"));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

bool contains(const std::vector<std::size_t>& list, std::size_t value) {
  return std::ranges::find(list, value) != list.end();
}

/// The number that a half float holds in place of this one, which is in its range.
double as_half(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const int bits = std::min(11, exponent + 24);  // fewer near zero
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
}

Matrix transposed(const Matrix& matrix) {
  Matrix out = matrix;
  std::swap(out.width, out.height);
  std::swap(out.anchor.x, out.anchor.y);
  for (std::int32_t y = 0; y < out.height; ++y) {
    for (std::int32_t x = 0; x < out.width; ++x) {
      out.weights[static_cast<std::size_t>(y * out.width + x)] = matrix.weights[static_cast<std::size_t>(x * matrix.width + y)];
    }
  }
  return out;
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t out = 1;
  for (const std::int64_t extent : shape) out *= extent;
  return out;
}

/// Whether a run blurs down columns and has so few of them that to copy the array into another order takes less time.
bool is_narrow(const ImageLayout& layout) {
  constexpr std::int32_t kFewest = 32;
  return layout.y_axis && !layout.x_axis && layout.width < kFewest && layout.height > 1;
}

/// Whether images at these distances lie one after the other, none within the rows of another.
bool lie_apart(const ImageLayout& layout, std::ptrdiff_t RunAxis::*stride, std::ptrdiff_t row_bytes, std::int64_t element) {
  if (row_bytes < 0) return false;
  std::ptrdiff_t span = row_bytes * (layout.height - 1) + std::int64_t{layout.width} * layout.channels * element;
  std::vector<RunAxis> images = layout.images;
  std::ranges::sort(images, std::less<>(), [&](const RunAxis& axis) { return std::abs(axis.*stride); });
  for (const RunAxis& axis : images) {
    if (std::abs(axis.*stride) < span) return false;
    span += std::abs(axis.*stride) * (axis.extent - 1);
  }
  return true;
}

/// As Prepared::Run has it. Few kernels compute anything twice where windows side by side meet, which those above each other do.
std::int32_t window_columns(const Plan& plan) {
  constexpr double kMostSeconds = 0.25;
  constexpr std::int32_t kLeastColumns = 64, kLeastOfSeveral = 256;  // of a thread; several share a window by columns
  const bool has_windows = plan.halo && plan.overlap == Overlap::none && plan.device.backend == Backend::cpu;
  if (plan.predicted_seconds < kMostSeconds || !has_windows) return 0;
  const auto columns = static_cast<std::int32_t>(plan.dst.width * kMostSeconds / plan.predicted_seconds);
  const std::int32_t threads = plan.device.threads;
  return std::min(std::max(columns, threads == 1 ? kLeastColumns : kLeastOfSeveral * threads), plan.dst.width);
}

}  // namespace

Preparer::Preparer(const Task& task) : task_(task) {
  find_axes();
  const std::size_t count = axes_.size();
  modes_ = spread(task.request.manner.mode, count, "mode");
  check_border();
  check_alpha();
  if (is_masked()) check_mask();
  if (is_matrix()) {
    if (count != 2) refuse("weights: a matrix is for 2 axes, not " + std::to_string(count));
    changed_ = axes_;
    return;
  }
  if (const auto* block = std::get_if<BlockKernel>(&task.request.kernel)) {
    const std::string weights = "weights: a block of " + std::to_string(block->extent.size()) + " axes is for ";
    if (!task.src.element.is_wide()) refuse(weights + "arrays of float64, int32 and uint32; others have separable()");
    if (count != block->extent.size()) refuse(weights + "as many, not " + std::to_string(count));
    return;
  }
  kernels_ = axis_kernels(task.request.kernel, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_identity(kernels_[i])) changed_.push_back(axes_[i]);
  }
}

void Preparer::find_axes() {
  const Manner& manner = task_.request.manner;
  const std::size_t dimensions = task_.src.shape.size();
  if (manner.channel_axis) channel_axis_ = axis_number(*manner.channel_axis, dimensions, "channel_axis");
  if (!manner.axes) {
    for (std::size_t axis = 0; axis < dimensions; ++axis) {
      if (axis != channel_axis_) axes_.push_back(axis);
    }
    return;
  }
  for (const int given : *manner.axes) {
    const std::size_t axis = axis_number(given, dimensions, "axes");
    if (contains(axes_, axis)) refuse("axes: axis " + std::to_string(axis) + " is named twice");
    if (axis == channel_axis_) refuse("axes: axis " + std::to_string(axis) + " is the channel_axis");
    axes_.push_back(axis);
  }
}

void Preparer::check_border() const {
  const double cval = task_.request.manner.cval;
  const Element element = task_.src.element;
  if (std::ranges::find(modes_, BorderMode::constant) == modes_.end()) {
    if (cval != 0.0) refuse("cval: only mode \"constant\" uses it");
    return;
  }
  if (!element.is_floating() && (cval != std::floor(cval) || cval < element.smallest() || cval > element.largest())) {
    refuse("cval: an array of " + element.name() + " cannot hold " + std::to_string(cval));
  }
}

void Preparer::check_alpha() const {
  const Manner& manner = task_.request.manner;
  if (!manner.has_alpha && !manner.is_srgb) return;
  const std::string argument = manner.has_alpha ? "alpha: " : "srgb: ";
  const Element element = task_.src.element;
  if (!element.is_floating() && !element.is_unorm()) {
    refuse(argument + "arrays of uint8, uint16 and floats are needed, not of " + element.name());
  }
  const auto* gaussian = std::get_if<GaussianKernel>(&task_.request.kernel);
  if (gaussian != nullptr && gaussian->amount) refuse(argument + "unsharp() takes numbers as they are");
  if (!manner.has_alpha) return;
  if (!channel_axis_) refuse("alpha: channel_axis must say which axis has alpha last");
  const std::int64_t channels = task_.src.shape[*channel_axis_];
  if (channels != 2 && channels != 4) refuse("alpha: 2 or 4 channels are needed, not " + std::to_string(channels));
}

double Preparer::border_value() const {
  const double cval = task_.request.manner.cval;
  const Element element = task_.src.element;
  if (element.is_wide()) return cval;
  if (element.kind == NumberKind::brain_floating) return widened(narrowed(static_cast<float>(cval)));
  return element.is_floating() && element.bits == 16 ? as_half(cval) : cval / element.unit();
}

Preparer::Place Preparer::own_place(std::size_t memory, Element element, std::span<const std::size_t> order) const {
  return {Place::Whose::own, memory, element, packed_strides(task_.src.shape, order, element.bytes())};
}

std::optional<ImageLayout> Preparer::layout_of(const Place& from, const Place& to, const Axes& blurred) const {
  std::vector<RunAxis> axes;
  for (std::size_t i = 0; i < task_.src.shape.size(); ++i) {
    axes.push_back({task_.src.shape[i], from.strides[i], to.strides[i], contains(blurred, i)});
  }
  if (!task_.request.manner.has_alpha) return see_as_images(axes, from.element.bytes(), to.element.bytes(), is_matrix());
  // The channels of a pixel stay together.
  RunAxis& pixel = axes[*channel_axis_];
  if (pixel.src_stride != from.element.bytes() || pixel.dst_stride != to.element.bytes()) return std::nullopt;
  const std::int64_t channels = std::exchange(pixel.extent, 1);
  std::optional<ImageLayout> out = see_as_images(axes, channels * from.element.bytes(), channels * to.element.bytes(), is_matrix(), false);
  if (out) out->channels = static_cast<int>(channels);
  return out;
}

/// The runs that lead from one place to the other; nothing if it takes an array in another order.
std::optional<Preparer::Steps> Preparer::find_runs(Place from, const Place& to, const Axes& changed) const {
  const auto fits = [&](const std::optional<ImageLayout>& layout) {
    return layout && (changed.size() > 2 || task_.is_on_gpu || !is_narrow(*layout));  // no order gives three axes wide rows
  };
  Axes left = changed;
  const auto without = [&](const ImageLayout& layout) {
    Axes out;
    std::ranges::copy_if(left, std::back_inserter(out), [&](std::size_t axis) { return axis != layout.x_axis && axis != layout.y_axis; });
    return out;
  };
  Steps steps;
  while (true) {
    std::optional<ImageLayout> layout = layout_of(from, to, left);
    if (!fits(layout)) return std::nullopt;
    if (without(*layout).empty()) {
      steps.push_back({std::move(from), to, Prepared::Run{std::move(*layout)}});
      return steps;
    }
    if (is_matrix()) return std::nullopt;  // it takes one run
    Place next = own_place(kBetween + steps.size() % 2, between(), order_of(to.strides));
    layout = layout_of(from, next, left);
    if (!fits(layout)) return std::nullopt;
    left = without(*layout);
    steps.push_back({std::move(from), next, Prepared::Run{std::move(*layout)}});
    from = std::move(next);
  }
}

/// The first of these that the library has images for: from the source to the destination as they lie; the result packed in the order of
/// the source; the source packed in the order of the result; both packed with the changed axes nearest.
Preparer::Steps Preparer::find_steps(const Place& source, const Place& destination, const Axes& changed) const {
  if (task_.is_on_gpu) {
    std::optional<Steps> steps;
    if (task_.is_aligned) steps = find_runs(source, destination, changed);
    if (!steps) throw NeedsCopy();
    for (Step& step : *steps) {
      auto& run = std::get<Prepared::Run>(step.work);
      run.batch = Prepared::batch_of(run.layout, step.from.element.bytes(), step.to.element.bytes());
    }
    return std::move(*steps);
  }
  const bool can_write = destination.whose == Place::Whose::own || task_.is_aligned;
  const bool can_read = source.whose == Place::Whose::own || (task_.is_aligned && task_.sharing != Sharing::otherwise);
  if (can_read && can_write) {
    if (std::optional<Steps> steps = find_runs(source, destination, changed)) return std::move(*steps);
  }
  if (can_read) {
    const Place packed = own_place(kPackedResult, destination.element, order_of(source.strides));
    if (std::optional<Steps> steps = find_runs(source, packed, changed)) {
      steps->push_back({packed, destination, Prepared::Copy{}});
      return std::move(*steps);
    }
  }
  if (can_write) {
    const Place packed = own_place(kPackedSource, source.element, order_of(destination.strides));
    if (std::optional<Steps> steps = find_runs(packed, destination, changed)) {
      steps->insert(steps->begin(), {source, packed, Prepared::Copy{}});
      return std::move(*steps);
    }
  }
  Axes order;
  if (task_.request.manner.has_alpha) order.push_back(*channel_axis_);
  order.insert(order.end(), changed.rbegin(), changed.rend());
  for (const std::size_t axis : order_of(destination.strides)) {
    if (!contains(order, axis)) order.push_back(axis);
  }
  const Place from = own_place(kPackedSource, source.element, order);
  const Place to = own_place(kPackedResult, destination.element, order);
  std::optional<Steps> steps = find_runs(from, to, changed);
  if (!steps) refuse("image: an axis has more than 2^31 - 1 elements");
  steps->insert(steps->begin(), {source, from, Prepared::Copy{}});
  steps->push_back({to, destination, Prepared::Copy{}});
  return std::move(*steps);
}

std::size_t Preparer::number_of(std::size_t array_axis) const {
  return static_cast<std::size_t>(std::ranges::find(axes_, array_axis) - axes_.begin());
}

KernelSpec Preparer::kernel_of(const ImageLayout& layout) const {
  if (!layout.x_axis && !layout.y_axis) return Gaussian{.sigma = {0.0, 0.0}};
  if (const auto* kernel = std::get_if<MatrixKernel>(&task_.request.kernel)) {
    return number_of(*layout.x_axis) == 1 ? kernel->matrix : transposed(kernel->matrix);
  }
  const auto kernel_along = [&](const std::optional<std::size_t>& axis) { return axis ? &kernels_[number_of(*axis)] : nullptr; };
  return combine(kernel_along(layout.x_axis), kernel_along(layout.y_axis));
}

double Preparer::gain_of(const ImageLayout& layout) const {
  double out = 1.0;
  for (const std::optional<std::size_t>& axis : {layout.x_axis, layout.y_axis}) {
    if (axis && !kernels_.empty()) out *= gain(kernels_[number_of(*axis)]);
  }
  return out;
}

double Preparer::sum_of(const ImageLayout& layout) const {
  double out = 1.0;
  for (const std::optional<std::size_t>& axis : {layout.x_axis, layout.y_axis}) {
    if (axis && !kernels_.empty()) out *= sum(kernels_[number_of(*axis)]);
  }
  return out;
}

BlurSpec Preparer::spec_of(const ImageLayout& layout, double border_value) const {
  BlurSpec spec;
  spec.kernel = kernel_of(layout);
  if (layout.x_axis) spec.border.mode.x = modes_[number_of(*layout.x_axis)];
  if (layout.y_axis) spec.border.mode.y = modes_[number_of(*layout.y_axis)];
  spec.border.value.fill(border_value);
  if (task_.request.manner.has_alpha) spec.alpha = AlphaMode::premultiply;
  if (task_.request.manner.is_srgb) spec.transfer = TransferFunction::srgb;
  return spec;
}

/// Makes the run of a step. Returns the error that its plan promises.
double Preparer::make_run(Step& step, const BlurSpec& spec, const Device& device) const {
  auto& run = std::get<Prepared::Run>(step.work);
  const ImageLayout& layout = run.layout;
  const ImageDesc src{layout.width, layout.height, step.from.element.format(layout.channels)};
  const ImageDesc dst{layout.width, layout.height, step.to.element.format(layout.channels)};
  const bool is_direct = step.from.whose == Place::Whose::source && step.to.whose == Place::Whose::destination;
  PlanOptions options;
  if (is_direct && task_.sharing == Sharing::same_elements) options.overlap = Overlap::in_place;
  constexpr std::int64_t kMostOfBatch = std::numeric_limits<std::int32_t>::max();
  options.batch = static_cast<std::int32_t>(std::min(run.batch.images, kMostOfBatch));
  const Plan plan = value_of(make_plan(spec, src, dst, device.info(), options));
  run.executable = value_of(device.prepare(plan));
  if (task_.is_on_gpu) return plan.predicted_error;
  run.window_columns = window_columns(plan);
  run.workspace = value_of(run.window_columns > 0 ? run.executable->make_workspace(PerAxis<std::int32_t>{run.window_columns, dst.height})
                                                  : run.executable->make_workspace());
  run.is_batch = lie_apart(layout, &RunAxis::src_stride, layout.src_row_bytes, step.from.element.bytes()) &&
                 lie_apart(layout, &RunAxis::dst_stride, layout.dst_row_bytes, step.to.element.bytes());
  return plan.predicted_error;
}

/// Makes the runs of steps that follow one another. Returns the error of their result, where `allowed` is the largest, in the library's
/// units.
double Preparer::make_runs(Steps& steps, double allowed, double border_value) const {
  const Manner& manner = task_.request.manner;
  const Device device = open_device(manner.device, manner.threads);
  std::vector<std::pair<Step*, const ImageLayout*>> runs;
  std::vector<double> gains;
  for (Step& step : steps) {
    const auto* run = std::get_if<Prepared::Run>(&step.work);
    if (run == nullptr) continue;
    runs.emplace_back(&step, &run->layout);
    gains.push_back(gain_of(run->layout));
  }
  const ErrorBudget budget(allowed, gains, reads_unorm(), default_max_error(between().format(1)));
  double border = border_value;  // blurred by the runs before
  double error = 0.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [step, layout] = runs[i];
    BlurSpec spec = spec_of(*layout, border);
    spec.accuracy.max_error = budget.share(i);
    error += budget.in_result(i, make_run(*step, spec, device));
    border *= sum_of(*layout);
  }
  return error;
}

/// Two runs of which the second goes across the images of the first, as one that keeps few of them. Takes both runs out of their steps.
std::optional<Prepared::Slices> Preparer::by_slices(Step& first, Step& second) const {
  auto* of_slices = std::get_if<Prepared::Run>(&first.work);
  auto* across = std::get_if<Prepared::Run>(&second.work);
  const bool is_between = first.to.whose == Place::Whose::own && (first.to.index == kBetween || first.to.index == kBetween2);
  const bool follows = second.from.whose == first.to.whose && second.from.index == first.to.index;
  if (task_.is_on_gpu || of_slices == nullptr || across == nullptr || !is_between || !follows) return std::nullopt;
  std::optional<SliceAxes> axes = slice_axes(of_slices->layout, across->layout);
  if (!axes) return std::nullopt;
  const Plan& plan = across->executable->plan();
  std::optional<SliceBlocks> blocks = SliceBlocks::make(plan, axes->across.dst_stride, task_.sharing == Sharing::none);
  if (!blocks) return std::nullopt;
  const PerAxis<std::int32_t> largest{plan.dst.width, static_cast<std::int32_t>(blocks->rows())};
  across->workspace = value_of(across->executable->make_workspace(largest));
  return Prepared::Slices{std::move(*of_slices), std::move(*across), std::move(*axes), std::move(*blocks), first.to};
}

void Preparer::add(Steps steps, Prepared& out) const {
  for (Step& step : steps) {
    std::optional<Prepared::Slices> slices;
    if (!out.steps_.empty()) slices = by_slices(out.steps_.back(), step);
    if (slices) {
      out.steps_.back() = {out.steps_.back().from, std::move(step.to), std::move(*slices)};
    } else {
      out.steps_.push_back(std::move(step));
    }
  }
}

/// The image in float32, its blur, the sum of both, and that as the caller's numbers.
///
/// The result is (1 + amount) times the image less amount times the blur, which can be 1 + 2 amount times as large as the image. The blur
/// may make half of the error, the other two a quarter each.
double Preparer::prepare_sharpening(double amount, double allowed, Prepared& out) const {
  const Axes order = order_of(task_.dst.strides);
  const Place image = own_place(kSharpened, between(), order);
  const Place blurred = own_place(kBlurred, between(), order);
  const double weight = std::abs(amount);
  const double largest = reads_unorm() ? 1.0 : 1.0 + 2.0 * weight;  // that errors are relative to
  Steps read = find_steps(read_place(), image, {});
  Steps blur = find_steps(read_place(), blurred, changed_);
  Steps write = find_steps(image, written_place(), {});
  double error = make_runs(read, allowed * largest / (4.0 * (1.0 + weight))) * (1.0 + weight) / largest;
  error += make_runs(blur, allowed * largest / (2.0 * std::max(weight, 0.5))) * weight / largest;
  error += make_runs(write, allowed * largest / (4.0 * (1.0 + 2.0 * weight))) * (1.0 + 2.0 * weight) / largest;
  add(std::move(read), out);
  add(std::move(blur), out);
  out.steps_.push_back({blurred, image, Prepared::Sharpen{amount}});
  add(std::move(write), out);
  return error;
}

void Preparer::measure_memory(Prepared& out) const {
  out.memory_bytes_.assign(kMemories, 0);
  for (const Step& step : out.steps_) {
    const auto need = [&](const Place& place, std::int64_t bytes) {
      if (place.whose == Place::Whose::own) out.memory_bytes_[place.index] = std::max(out.memory_bytes_[place.index], bytes);
    };
    need(step.to, elements_of(task_.src.shape) * step.to.element.bytes());
    if (const auto* slices = std::get_if<Prepared::Slices>(&step.work)) need(slices->between, slices->bytes());
  }
}

Preparer::Place Preparer::read_place() const {
  return task_.src.element.is_native() ? source() : own_place(kConvertedSource, between(), order_of(task_.src.strides));
}

Preparer::Place Preparer::written_place() const {
  return task_.dst.element.is_native() ? destination() : own_place(kConvertedResult, between(), order_of(task_.dst.strides));
}

/// How many times larger than its source a result can be.
double Preparer::largest_gain() const {
  if (const auto* kernel = std::get_if<MatrixKernel>(&task_.request.kernel)) return gain(kernel->matrix);
  if (const auto* kernel = std::get_if<BlockKernel>(&task_.request.kernel)) return gain(*kernel);
  double out = 1.0;
  for (const AxisKernel& kernel : kernels_) out *= gain(kernel);
  const auto* gaussian = std::get_if<GaussianKernel>(&task_.request.kernel);
  return gaussian != nullptr && gaussian->amount ? 1.0 + 2.0 * std::abs(*gaussian->amount) : out;
}

/// An error of 1 of the library, in the units of max_error: numbers of the array for integers, else relative. Runs on integers that stand
/// for themselves, or on float32 in their place, have errors relative to the largest of these, times the gain.
double Preparer::unit_of_errors() const {
  const Element element = task_.src.element;
  if (element.is_floating()) return 1.0;
  return element.is_unorm() ? element.unit() : std::max(-element.smallest(), element.largest()) * largest_gain();
}

/// By default, signed integers are as exact as unsigned ones of their size, and bools as float32.
double Preparer::allowed_error() const {
  const Element element = task_.src.element;
  if (const std::optional<double>& given = task_.request.manner.max_error) return *given;
  if (element.is_wide()) return error_of_wide() * unit_of_errors();
  if (element.kind == NumberKind::boolean || element.kind == NumberKind::brain_floating) return default_max_error(kBetweenRuns.format(1));
  const Element like{element.is_floating() ? NumberKind::floating : NumberKind::unsigned_integer, element.bits};
  return default_max_error(like.format(1)) * like.unit();
}

void Preparer::prepare(Prepared& out) const {
  if (task_.src.element.is_wide()) check_wide();
  const double unit = unit_of_errors();
  const double allowed = unit > 0.0 ? allowed_error() / unit : 1.0;  // else all that comes out is 0
  if (!task_.src.element.is_native()) out.steps_.push_back({source(), read_place(), Prepared::Copy{}});
  const auto* gaussian = std::get_if<GaussianKernel>(&task_.request.kernel);
  if (gaussian != nullptr && gaussian->amount) {
    out.error_ = prepare_sharpening(*gaussian->amount, allowed, out) * unit;
  } else if (is_masked()) {
    out.error_ = prepare_masked(allowed, out) * unit;
  } else if (const auto* block = std::get_if<BlockKernel>(&task_.request.kernel)) {
    out.error_ = prepare_block(*block, out) * unit;
  } else {
    Steps steps = find_steps(read_place(), written_place(), changed_);
    out.error_ = make_runs(steps, allowed) * unit;
    add(std::move(steps), out);
  }
  if (!task_.dst.element.is_native()) out.steps_.push_back({written_place(), destination(), Prepared::Copy{}});
  measure_memory(out);
}

}  // namespace mollify::python
