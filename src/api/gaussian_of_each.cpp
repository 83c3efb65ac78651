// A sigma for each image of a batch, on CUDA: weights by the planner's formulas, in tables that one kernel reads by image.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable.h"
#include "backends/cuda/engine.h"
#include "backends/cuda/executor.h"
#include "backends/cuda/kernels/sep_fused_shape.h"
#include "math/weights.h"
#include "mollify/cuda.h"

namespace mollify::cuda {
namespace {

/// Taps of each axis that the launches have room for. An image of more takes less time by algorithms that know its sigma.
constexpr std::array<std::int32_t, 4> kForms = {17, 33, 49, 65};

std::int32_t count_of(const AxisTaps& taps) {
  return static_cast<std::int32_t>(taps.weights.size());
}

/// The plan of one launch, with weights that stand for those to come.
Plan plan_of(const Problem& p, std::int32_t taps) {
  const std::int32_t columns = sep_fused_columns(info(p.src.format).channels);
  const std::int64_t across = (p.dst.width + columns - 1) / columns;
  const std::int32_t rows = gpu::rows_of_chunk(p, across, p.dst.height, kSepFusedAtOnce, kSepFusedRows, 2 * kSepFusedRows);
  // Strips that begin three pixels behind a multiple of four take the most memory.
  const AxisTaps any{std::vector<double>(static_cast<std::size_t>(taps), 1.0 / taps), 1};
  Pass pass;
  pass.kernel = "sep_fused";
  pass.size = {p.dst.width, p.dst.height};
  pass.tile = {columns, rows};
  pass.group = {kSepFusedThreads, 1};
  pass.taps = {any, any};
  Plan plan;
  plan.spec = p.spec;
  plan.device = p.device;
  plan.src = p.src;
  plan.dst = p.dst;
  plan.passes = {std::move(pass)};
  return plan;
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
  LaunchesOfEach launches;  ///< forms: of kForms, as many as the device has room for

  [[nodiscard]] std::size_t forms() const { return launches.forms.size(); }
  [[nodiscard]] std::size_t form_of(std::int32_t most_taps) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(kForms.begin(), kForms.begin() + forms(), most_taps) - kForms.begin());
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
  auto impl = std::make_shared<Impl>(Impl{device.info(), any, image, {}});
  const Problem problem{impl->spec, image, image, impl->device, {}, plan->allowed_error, images};
  const int channels = info(image.format).channels;
  for (const std::int32_t taps : kForms) {
    if (SepFusedShape(channels, sep_fused_columns(channels), taps, taps, -1).shared_bytes() > impl->device.gpu.shared_bytes) break;
    Result<std::shared_ptr<const Prepared>> form = Prepared::create(plan_of(problem, taps), context);
    if (!form) return form.error();
    impl->launches.forms.push_back(std::move(*form));
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
  std::array<std::vector<TapsOfImage>, kForms.size()> records;
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
      const std::int32_t x = count_of(taps->taps.x);
      const std::int32_t y = count_of(taps->taps.y);
      one.form = error <= allowed ? impl_->form_of(std::max(x, y)) : impl_->forms();
      if (one.form < impl_->forms()) {
        out.predicted_error = std::max(out.predicted_error, error);
        one.record = {numbers.size() * sizeof(float), x, y, -taps->taps.x.anchor, -taps->taps.y.anchor};
        for (const AxisTaps* axis : {&taps->taps.x, &taps->taps.y}) {
          const std::vector<float> some = rounded<float>(axis->weights);
          numbers.insert(numbers.end(), some.begin(), some.end());
        }
      }
    }
    if (one.form >= impl_->forms()) {
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
