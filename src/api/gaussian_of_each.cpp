// A sigma for each image of a batch, on CUDA: weights by the planner's formulas, in tables that kernels read by image.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable.h"
#include "algorithms/separable/sep_fused.h"
#include "backends/cuda/engine.h"
#include "backends/cuda/executor.h"
#include "backends/cuda/kernels/sep_fused_shape.h"
#include "backends/cuda/kernels/sep_scatter_shape.h"
#include "backends/cuda/kernels/sep_weights_shape.h"
#include "math/weights.h"
#include "mollify/cuda.h"

namespace mollify::cuda {
namespace {

constexpr std::size_t kMostForms = 4;

/// Taps of each axis that a launch has room for. An image of more takes less time by algorithms that know its sigma.
struct Form {
  std::int32_t taps = 0;
  /// Whether sums are in registers: then weights are as many for all images, those of fewer taps with zeros around them.
  bool has_sums = false;
};

std::vector<Form> forms_of(const Problem& p) {
  const FormatInfo& format = info(p.src.format);
  const auto fits = [&](std::int64_t bytes) { return bytes <= p.device.gpu.shared_bytes; };
  std::vector<Form> forms;
  std::vector<std::int32_t> of_any = {17, 33, 49, 65};
  if (has_sums_of_each(p)) {
    of_any = {65};
    for (const std::int32_t taps : kSepSumsEachSizes) {
      const SepScatterShape shape(format.channels, taps, sep_scatter_threads(taps));
      const bool fits_block = fits(shape.shared_bytes() + sep_weights_bytes(taps));
      if (taps_of_warps(format, taps) == taps || fits_block) forms.push_back({taps, true});
    }
  }
  for (const std::int32_t taps : of_any) {
    // Strips that begin three pixels behind a multiple of four take the most memory.
    if (fits(SepFusedShape(format.channels, sep_fused_columns(format.channels), taps, taps, -1).shared_bytes())) forms.push_back({taps});
  }
  return forms;
}

Pass fused_pass(const Problem& p, std::int32_t taps) {
  const std::int32_t columns = sep_fused_columns(info(p.src.format).channels);
  const std::int64_t across = (p.dst.width + columns - 1) / columns;
  const std::int32_t rows = gpu::rows_of_chunk(p, across, p.dst.height, kSepFusedAtOnce, kSepFusedRows, 2 * kSepFusedRows);
  const AxisTaps any{std::vector<double>(static_cast<std::size_t>(taps), 1.0 / taps), 1};
  Pass pass;
  pass.kernel = "sep_fused";
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = {columns, rows};
  pass.group = {kSepFusedThreads, 1};
  pass.taps = {any, any};
  return pass;
}

/// The plan of one launch, with weights that stand for those to come.
Plan plan_of(const Problem& p, const Form& form) {
  Plan plan;
  plan.spec = p.spec;
  plan.device = p.device;
  plan.src = p.src;
  plan.dst = p.dst;
  plan.passes = {form.has_sums ? sums_pass(p, form.taps) : fused_pass(p, form.taps)};
  return plan;
}

/// Adds the weights of an image as its form reads them.
TapsOfImage add_weights(const PerAxis<AxisTaps>& taps, const Form& form, std::vector<float>& numbers) {
  TapsOfImage record;
  record.taps = numbers.size() * sizeof(float);
  for (const AxisTaps* axis : {&taps.x, &taps.y}) {
    const std::vector<float> some = form.has_sums ? in_the_middle(*axis, form.taps) : rounded<float>(axis->weights);
    numbers.insert(numbers.end(), some.begin(), some.end());
  }
  record.taps_x = static_cast<std::int32_t>(taps.x.weights.size());
  record.taps_y = static_cast<std::int32_t>(taps.y.weights.size());
  record.first_x = -taps.x.anchor;
  record.first_y = -taps.y.anchor;
  return record;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

struct GaussianOfEach::Impl {
  DeviceInfo device;
  BlurSpec spec;
  ImageDesc image;
  std::vector<Form> forms{};  ///< from few to many taps
  LaunchesOfEach launches{};

  [[nodiscard]] std::size_t form_of(const PerAxis<AxisTaps>& taps) const {
    const std::int32_t needed = 2 * std::max(radius_of(taps.x), radius_of(taps.y)) + 1;
    return static_cast<std::size_t>(std::ranges::lower_bound(forms, needed, {}, &Form::taps) - forms.begin());
  }
};

Result<GaussianOfEach> GaussianOfEach::prepare(const Device& device, const BlurSpec& spec, const ImageDesc& image, std::int32_t images) {
  if (device.info().backend != Backend::cuda) return Error{ErrorCode::invalid_argument, "the device is not one of the CUDA backend", {}};
  if (!std::holds_alternative<Gaussian>(spec.kernel)) return Error{ErrorCode::invalid_argument, "the kernel is no Gaussian", {}};
  if (spec.stride != PerAxis<Stride>{} || spec.roi) {
    return Error{ErrorCode::unsupported, "a sigma for each image goes with whole images, without strides", {}};
  }
  if (info(image.format).is_wide()) {
    return Error{
        ErrorCode::unsupported, "a sigma for each image has sums of f32, which cannot hold " + std::string(info(image.format).name), {}};
  }
  if (images < 1) return Error{ErrorCode::invalid_argument, "there is one image at least", {}};
  // A plan says what is wrong with the request, and its executable has the device's context.
  BlurSpec any = spec;
  std::get<Gaussian>(any.kernel).sigma = {1.0, 1.0};
  const Result<Plan> plan = make_plan(any, image, image, device.info());
  if (!plan) return plan.error();
  const Result<Executable> executable = device.prepare(*plan);
  if (!executable) return executable.error();
  const std::shared_ptr<Context>& context = prepared_of(Access::impl(*executable))->context();
  auto impl = std::make_shared<Impl>(Impl{device.info(), any, image});
  // Images fall into groups, which run one after the other.
  const Problem problem{impl->spec, image, image, impl->device, {}, plan->allowed_error, std::max(images / 2, 1)};
  impl->forms = forms_of(problem);
  for (const Form& form : impl->forms) {
    Result<std::shared_ptr<const Prepared>> launch = Prepared::create(plan_of(problem, form), context, Prepared::Weights::of_each);
    if (!launch) return launch.error();
    impl->launches.forms.push_back(std::move(*launch));
  }
  const Current current(*context);
  const Result<CUfunction> write_words = context->kernel("words", "words");
  if (!write_words) return write_words.error();
  impl->launches.write_words = *write_words;
  GaussianOfEach out;
  out.impl_ = std::move(impl);
  return out;
}

Result<WeightsOfEach> GaussianOfEach::weights(std::span<const PerAxis<double>> sigmas, std::int32_t planes) const {
  if (planes < 1) return Error{ErrorCode::invalid_argument, "an image has one plane at least", {}};
  WeightsOfEach out;
  std::vector<float> numbers;
  std::array<std::vector<TapsOfImage>, kMostForms> records;
  struct Known {
    TapsOfImage record;
    std::size_t form = 0;
  };
  std::map<std::pair<double, double>, Known> known;
  BlurSpec spec = impl_->spec;
  const double allowed = allowed_error(spec.accuracy, impl_->image.format);
  for (std::size_t i = 0; i < sigmas.size(); ++i) {
    const auto [found, is_new] = known.try_emplace({sigmas[i].x, sigmas[i].y});
    Known& one = found->second;
    if (is_new) {
      std::get<Gaussian>(spec.kernel).sigma = sigmas[i];
      if (Status s = validate(spec, impl_->image, impl_->image); !s) return s.error();
      const Problem problem{spec, impl_->image, impl_->image, impl_->device, {}, allowed};
      const std::optional<SeparableTaps> taps = separable_taps(problem);
      const double error = taps->cut_error + rounding_error(problem, *taps, Accumulator::f32);
      one.form = error <= allowed ? impl_->form_of(taps->taps) : impl_->forms.size();
      if (one.form < impl_->forms.size()) {
        out.predicted_error = std::max(out.predicted_error, error);
        one.record = add_weights(taps->taps, impl_->forms[one.form], numbers);
      }
    }
    if (one.form >= impl_->forms.size()) {
      out.left_out.push_back(static_cast<std::int32_t>(i));
      continue;
    }
    for (std::int32_t plane = 0; plane < planes; ++plane) {
      one.record.image = static_cast<std::int32_t>(i) * planes + plane;
      records[one.form].push_back(one.record);
    }
  }
  std::vector<TapsOfImage> all;
  for (std::size_t form = 0; form < records.size(); ++form) {
    if (records[form].empty()) continue;
    out.groups.push_back({form, static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(records[form].size())});
    all.insert(all.end(), records[form].begin(), records[form].end());
  }
  for (TapsOfImage& record : all) record.taps += all.size() * sizeof(TapsOfImage);
  out.tables = bytes_of(all);
  const std::vector<std::byte> behind = bytes_of(numbers);
  out.tables.insert(out.tables.end(), behind.begin(), behind.end());
  out.planes = static_cast<std::int64_t>(sigmas.size()) * planes;
  out.scratch = {static_cast<std::int64_t>(out.tables.size()), kScratchAlignment};
  return out;
}

Status GaussianOfEach::enqueue(const WeightsOfEach& weights, const ConstImages& source, const Images& destination, const Scratch& scratch,
                               Stream stream) const {
  return enqueue_each(impl_->launches, weights, source, destination, scratch, stream);
}

}  // namespace mollify::cuda
