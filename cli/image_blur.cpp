#include "image_blur.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace mollify::cli {
namespace {

constexpr std::size_t kLine = 64;  // bytes

// A window reaches half a pixel beyond the centre of its outermost pixel.
double scaled_extent(double pixels, double scale) {
  return std::max(0.0, (pixels + 0.5) * scale - 0.5);
}

/// The kernel that does to a smaller copy, `scale` times the size, what it does to the picture; none where it is defined in pixels only.
struct Scaled {
  PerAxis<double> scale;

  std::optional<KernelSpec> operator()(const Gaussian& k) const {
    Gaussian result = k;
    result.sigma = {k.sigma.x * scale.x, k.sigma.y * scale.y};
    if (k.radius) {
      result.radius = PerAxis<std::int32_t>{static_cast<std::int32_t>(std::lround(k.radius->x * scale.x)),
                                            static_cast<std::int32_t>(std::lround(k.radius->y * scale.y))};
    }
    return result;
  }
  std::optional<KernelSpec> operator()(const Box& k) const {
    return Box{{{scaled_extent(k.extent.x.before, scale.x), scaled_extent(k.extent.x.after, scale.x)},
                {scaled_extent(k.extent.y.before, scale.y), scaled_extent(k.extent.y.after, scale.y)}}};
  }
  std::optional<KernelSpec> operator()(const Tent& k) const {
    return Tent{{std::max(0.0, (k.radius.x + 1.0) * scale.x - 1.0), std::max(0.0, (k.radius.y + 1.0) * scale.y - 1.0)}};
  }
  std::optional<KernelSpec> operator()(const Taps&) const { return std::nullopt; }
  std::optional<KernelSpec> operator()(const Matrix&) const { return std::nullopt; }
};

std::optional<KernelSpec> scaled_kernel(const KernelSpec& kernel, PerAxis<double> scale) {
  if (scale == PerAxis<double>{1.0, 1.0}) return kernel;
  return std::visit(Scaled{scale}, kernel);
}

BlurOutcome outcome_of(const Plan& plan) {
  return {to_string(plan.algorithm), plan.predicted_error, plan.reach};
}

/// Of runs one after the other, whose errors and reaches add up.
BlurOutcome outcome_of(std::span<const Plan> plans) {
  BlurOutcome all = outcome_of(plans.front());
  for (const Plan& plan : plans.subspan(1)) {
    const std::string algorithm = to_string(plan.algorithm);
    if (all.algorithm.find(algorithm) == std::string::npos) all.algorithm += " + " + algorithm;
    all.predicted_error += plan.predicted_error;
    all.reach.x = {all.reach.x.before + plan.reach.x.before, all.reach.x.after + plan.reach.x.after};
    all.reach.y = {all.reach.y.before + plan.reach.y.before, all.reach.y.after + plan.reach.y.after};
  }
  return all;
}

std::ptrdiff_t work_row_bytes(const ImageDesc& desc) {
  constexpr auto kAlignment = static_cast<std::ptrdiff_t>(kLine);
  return (desc.row_payload_bytes() + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

int DeviceBlurrer::threads() const {
  return std::max(1, device_.info().threads);
}

PixelBytes DeviceBlurrer::allocate(std::int64_t bytes) {
  auto* pixels = new (std::align_val_t{kLine}) std::uint8_t[static_cast<std::size_t>(bytes)];
  return {pixels, [](std::uint8_t* p) { ::operator delete[](p, std::align_val_t{kLine}); }};
}

Result<std::vector<KernelSpec>> ImagePlanner::kernels_for(const ImageSpec& image, const ImageDesc& src, const ImageDesc& dst) const {
  if (!like_) return std::vector{request_.kernel};
  Result<std::vector<KernelSpec>> kernels = conventions::kernels_like(*like_, request_.kernel, image.are_bytes);
  if (!kernels || kernels->size() == 1) return kernels;
  const auto has_bytes = [](const ImageDesc& desc) { return info(desc.format).is_unorm() && info(desc.format).bits == 8; };
  if (!has_bytes(src) || !has_bytes(dst)) return Error{ErrorCode::unsupported, "--like pillow blurs integers of 8 bits only", {}};
  if (image.region) return Error{ErrorCode::unsupported, "--like pillow blurs no regions", {}};
  return kernels;
}

Result<std::vector<Plan>> ImagePlanner::plans(const ImageSpec& image, const ImageDesc& src, const ImageDesc& dst) const {
  const std::scoped_lock lock(last_->mutex);
  if (!last_->plans.empty() && last_->spec == image && last_->src == src && last_->dst == dst) return last_->plans;
  Result<std::vector<Plan>> plans = new_plans(image, src, dst);
  if (!plans) return plans;
  last_->spec = image;
  last_->src = src;
  last_->dst = dst;
  last_->plans = *plans;
  return plans;
}

Result<std::vector<Plan>> ImagePlanner::new_plans(const ImageSpec& image, const ImageDesc& src, const ImageDesc& dst) const {
  const Result<std::vector<KernelSpec>> kernels = kernels_for(image, src, dst);
  if (!kernels) return kernels.error();
  std::vector<Plan> plans;
  for (const KernelSpec& each : *kernels) {
    Result<Plan> plan =
        plans.empty() ? planned(each, image, src, dst, options_.overlap) : planned(each, image, dst, dst, Overlap::in_place);
    if (!plan) return plan.error();
    plans.push_back(*std::move(plan));
  }
  return plans;
}

Result<Plan> ImagePlanner::planned(const KernelSpec& meant, const ImageSpec& image, const ImageDesc& src, const ImageDesc& dst,
                                   Overlap overlap) const {
  BlurSpec spec = request_;
  std::optional<KernelSpec> kernel = scaled_kernel(meant, image.kernel_scale);
  if (!kernel) return Error{ErrorCode::unsupported, "has mip levels, to which the weights of a kernel cannot be scaled", {}};
  spec.kernel = *std::move(kernel);
  spec.roi = image.region;
  spec.alpha = image.alpha;
  spec.transfer = image.transfer;
  spec.border.value = image.border_value;
  const bool is_exact = image.is_exact || (std::holds_alternative<Box>(meant) && like_ && conventions::convention(*like_).has_exact_boxes);
  if (is_exact && !spec.accuracy.max_error) spec.accuracy.max_error = 0.0;
  PlanOptions options = options_;
  options.overlap = overlap;
  return make_plan(spec, src, dst, device_, options);
}

Result<BlurOutcome> DeviceBlurrer::plan(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) {
  const Result<std::vector<Plan>> plans = planner_.plans(spec, src, dst);
  if (!plans) return plans.error();
  return outcome_of(*plans);
}

Result<BlurOutcome> DeviceBlurrer::run(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) {
  const Result<std::vector<Plan>> plans = planner_.plans(spec, src.desc, dst.desc);
  if (!plans) return plans.error();
  ConstImageView from = src;
  for (const Plan& plan : *plans) {
    const Result<Executable> executable = device_.prepare(plan);
    if (!executable) return executable.error();
    Result<Workspace> workspace = executable->make_workspace(Batches::no);
    if (!workspace) return workspace.error();
    if (const Status done = executable->run(from, dst, *workspace); !done) return done.error();
    from = dst;
  }
  return outcome_of(*plans);
}

Result<std::unique_ptr<StripBlur>> DeviceBlurrer::prepare_strips(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                                                 StripsFor /*purpose*/) {
  const Result<std::vector<Plan>> plans = planner_.plans(spec, src, dst);
  if (!plans) return plans.error();
  if (plans->size() > 1) return Error{ErrorCode::unsupported, "several blurs one after the other need the whole image at once", {}};
  const Plan& plan = plans->front();
  if (!plan.halo) return Error{ErrorCode::unsupported, to_string(plan.algorithm) + " needs the whole image at once", {}};
  const Result<Executable> executable = device_.prepare(plan);
  if (!executable) return executable.error();
  return std::unique_ptr<StripBlur>(std::make_unique<DeviceStrips>(*executable));
}

BlurOutcome DeviceStrips::outcome() const {
  return outcome_of(executable_.plan());
}

std::string DeviceStrips::reading() const {
  const Plan& plan = executable_.plan();
  std::string text = to_string(plan.algorithm);
  for (const Halo& halo : {plan.halo->x, plan.halo->y}) {
    for (const HaloEdge& edge : {halo.before, halo.after}) text += fmt::format(" {}/{}+{}", edge.pixels, edge.block, edge.offset);
  }
  return text;
}

bool DeviceStrips::open_stream() {
  Result<Stream> stream = Stream::create(executable_);
  if (!stream) return false;
  stream_ = *std::move(stream);
  return true;
}

files::RowRange DeviceStrips::source_rows(files::RowRange rows) const {
  if (stream_) {
    const std::int32_t first = stream_->next_source_row();
    return {first + stream_->needed_source_rows(rows.begin), first + stream_->needed_source_rows(rows.end)};
  }
  const Plan& plan = executable_.plan();
  const Result<std::vector<Rect>> region = plan.source_region({0, rows.begin, plan.dst.width, rows.count()});
  files::RowRange all{plan.src.height, 0};
  for (const Rect& each : region.value()) {
    all.begin = std::min(all.begin, each.y);
    all.end = std::max(all.end, each.y + each.height);
  }
  return all;
}

std::int64_t DeviceStrips::most_source_rows(std::int64_t rows) const {
  if (stream_) return source_rows({0, static_cast<std::int32_t>(rows)}).count();  // the first strip, which has no rows above
  const Plan& plan = executable_.plan();
  // The first and the last rows of a wrapped image need each other.
  if (plan.spec.border.mode.y == BorderMode::wrap) return plan.src.height;
  const auto& [before, after] = plan.halo->y;
  return std::min<std::int64_t>(rows + before.pixels + before.block - 1 + after.pixels + after.block - 1, plan.src.height);
}

// A GPU's stream asks for the rows of several strips at once.
std::int64_t DeviceStrips::most_new_rows(std::int64_t rows) const {
  if (stream_ && is_on_gpu()) return most_source_rows(rows);
  const Plan& plan = executable_.plan();
  return std::min<std::int64_t>(rows + plan.halo->y.after.block, plan.src.height);
}

// The first row needs two windows of a GPU, as one of them is blurred while the other is copied.
std::int64_t DeviceStrips::rows_at_once() const {
  return stream_ && is_on_gpu() ? most_source_rows(1) / 2 : 1;
}

std::int64_t DeviceStrips::scratch_bytes(std::int64_t rows) const {
  if (stream_) return stream_->memory_bytes(static_cast<std::int32_t>(rows));
  const Plan& plan = executable_.plan();
  if (is_on_gpu()) {  // the image of a window lies on the device and in memory that the host sees
    const std::int64_t source_rows = most_source_rows(rows);
    const double part = std::min(1.0, static_cast<double>(source_rows) / plan.src.height);
    return 2 * (source_rows * plan.src.row_payload_bytes() + rows * plan.dst.row_payload_bytes()) +
           static_cast<std::int64_t>(part * static_cast<double>(plan.intermediate_bytes));
  }
  // Intermediate images have a row for each block of the result's rows, and those of the halo.
  const double share = static_cast<double>(most_source_rows(rows) + plan.halo->y.before.block) / plan.dst.height;
  const auto intermediate = static_cast<double>(plan.intermediate_bytes);
  return plan.scratch_bytes - plan.intermediate_bytes + static_cast<std::int64_t>(intermediate * std::min(share, 1.0));
}

Status DeviceStrips::reserve(std::int32_t rows) {
  if (stream_) return {};
  Result<Workspace> workspace = executable_.make_workspace(PerAxis<std::int32_t>{executable_.plan().dst.width, rows});
  if (!workspace) return workspace.error();
  workspace_ = *std::move(workspace);
  return {};
}

Status DeviceStrips::run(const ConstWindow& src, const Window& dst) {
  if (stream_) return stream_->advance(src.pixels, dst.pixels);
  return executable_.run({&src, 1}, dst, *workspace_);
}

std::optional<std::string> GpuBlurrer::reason_for_cpu(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) {
  if (!has_all_formats_ && (info(src.format).is_wide() || info(dst.format).is_wide())) return "Vulkan has no such format";
  if (spec.is_exact && if_inexact_ == IfInexact::use_cpu && !gpu_.plan(spec, src, dst))
    return "no plan of the GPU is exact enough for them";
  return std::nullopt;
}

ImageBlurrer& GpuBlurrer::blurrer_for(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) {
  if (!reason_for_cpu(spec, src, dst)) return gpu_;
  if (!cpu_) cpu_.emplace(open_cpu_());
  return *cpu_;
}

WorkImage::WorkImage(ImageBlurrer& blurrer, const ImageDesc& desc)
    : desc_(desc), row_bytes_(work_row_bytes(desc)), pixels_(blurrer.allocate(bytes(desc))) {}

std::int64_t WorkImage::bytes(const ImageDesc& desc) {
  return work_row_bytes(desc) * desc.height;
}

}  // namespace mollify::cli
