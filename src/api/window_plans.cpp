#include "api/window_plans.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/border.h"
#include "base/places.h"
#include "base/source_region.h"
#include "math/decimation.h"
#include "planner/window_plan.h"

namespace mollify {
namespace {

std::int64_t floor_to(std::int64_t value, const HaloEdge& edge) {
  return floor_div(value, edge.block) * edge.block;
}

/// The part of an axis that is read for `made`, from the beginning of a block on. A kernel that reaches over half of a periodic axis, or
/// over all of another, is folded into it, which rounds otherwise. So a part is too long for that unless the whole is as short.
Span part_of_axis(BorderMode mode, const Halo& halo, Span made, std::int64_t source_length) {
  const std::int64_t least = std::min(2 * std::max(halo.before.pixels, halo.after.pixels) + 2, source_length);
  const Span read = span_with_halo(halo, made);
  const Span stored = mode == BorderMode::wrap ? read : *stored_spans(mode, read, source_length).begin();
  Span part{floor_to(stored.begin, halo.before), std::max(stored.end, stored.begin + least)};
  if (mode == BorderMode::wrap) return part.size() < source_length ? part : Span{0, source_length};
  part.end = std::min(part.end, source_length);
  part.begin = std::max<std::int64_t>(std::min(part.begin, floor_to(part.end - least, halo.before)), 0);
  return part;
}

Span span_of(std::int64_t first, std::int64_t length) {
  return {first, first + length};
}

/// One axis of a window.
struct AxisWindow {
  Span part;               ///< of the whole source
  Span region;             ///< of the part, in its own pixels
  std::int64_t phase = 0;  ///< pixels from the region's first one to the first that is made
};

/// A window whose pixels have their places in `made`. Places may lie behind the last pixel of the source, where no region reaches: then the
/// region begins so many pixels before the first of them.
AxisWindow axis_window(BorderMode mode, const Halo& halo, Span made, std::int64_t source_length) {
  AxisWindow out;
  out.part = part_of_axis(mode, halo, made, source_length);
  out.phase = std::max<std::int64_t>(made.end - out.part.end, 0);
  const Span region{made.begin - out.phase, made.end - out.phase};
  if (region.begin < out.part.begin) out.part.begin = floor_to(region.begin, halo.before);
  out.region = {region.begin - out.part.begin, region.end - out.part.begin};
  return out;
}

bool have_same_shape(const AxisTaps& a, const AxisTaps& b) {
  return a.anchor == b.anchor && a.weights.size() == b.weights.size();
}

/// Gives the plan of a window the weights of the whole. A planner that chooses among fits may choose others for an image of another size.
Status take_weights(const Plan& whole, Plan& window) {
  const auto are_alike = [](const Pass& a, const Pass& b) {
    return a.kernel == b.kernel && a.parameters == b.parameters && a.matrix == b.matrix && have_same_shape(a.taps.x, b.taps.x) &&
           have_same_shape(a.taps.y, b.taps.y);
  };
  if (!std::ranges::equal(whole.passes, window.passes, are_alike)) {
    return Error{
        ErrorCode::unsupported, whole.algorithm.id + " would blur a window of this size otherwise than the whole: make another", {}};
  }
  for (std::size_t i = 0; i < whole.passes.size(); ++i) window.passes[i].taps = whole.passes[i].taps;
  return {};
}

ImageDesc image_desc(const Plan& whole, const WindowImage& image) {
  return {static_cast<std::int32_t>(image.source.x.size()), static_cast<std::int32_t>(image.source.y.size()), whole.src.format};
}

/// Pixels of a row of the whole, whose columns may wrap.
void copy_row(std::span<const ConstWindow> src, const ImageDesc& whole, Span columns, std::int64_t y, std::byte* out) {
  const std::int64_t bytes = info(whole.format).pixel_bytes();
  for (std::int64_t x = columns.begin; x < columns.end;) {
    const std::int64_t inside = map_index(BorderMode::wrap, x, whole.width);
    const Span wanted{inside, std::min<std::int64_t>(inside + columns.end - x, whole.width)};
    const ConstWindow* best = nullptr;
    for (const ConstWindow& window : src) {
      const Span rows{window.y, std::int64_t{window.y} + window.pixels.desc.height};
      const Span held{window.x, std::int64_t{window.x} + window.pixels.desc.width};
      if (!rows.holds(y) || !held.holds(wanted.begin)) continue;
      if (!best || held.end > std::int64_t{best->x} + best->pixels.desc.width) best = &window;
    }
    // A part begins with a block, of which the needed pixels may be the last ones. Nothing depends on the others.
    std::int64_t count = 1;
    if (best) {
      count = std::min(wanted.end, std::int64_t{best->x} + best->pixels.desc.width) - wanted.begin;
      const std::byte* row = best->pixels.row(static_cast<std::int32_t>(y - best->y));
      std::memcpy(out, row + (wanted.begin - best->x) * bytes, static_cast<std::size_t>(count * bytes));
    } else {
      std::memset(out, 0, static_cast<std::size_t>(bytes));
    }
    out += count * bytes;
    x += count;
  }
}

}  // namespace

WindowImage window_image(const Plan& whole, const Rect& destination) {
  const PerAxis<AxisPlaces> places = places_of(whole.spec);
  const PerAxis<BorderMode>& mode = whole.spec.border.mode;
  const AxisWindow x = axis_window(mode.x, whole.halo->x, places.x.of(span_of(destination.x, destination.width)), whole.src.width);
  const AxisWindow y = axis_window(mode.y, whole.halo->y, places.y.of(span_of(destination.y, destination.height)), whole.src.height);
  const auto stride = [](const AxisPlaces& axis, const AxisWindow& window) {
    return Stride{static_cast<std::int32_t>(axis.step), static_cast<std::int32_t>(2 * window.phase + (axis.between ? 1 : 0))};
  };
  return {{x.part, y.part},
          {static_cast<std::int32_t>(x.region.begin), static_cast<std::int32_t>(y.region.begin), static_cast<std::int32_t>(x.region.size()),
           static_cast<std::int32_t>(y.region.size())},
          {stride(places.x, x), stride(places.y, y)}};
}

Result<Plan> window_plan_of(const Plan& whole, const WindowImage& image) {
  BlurSpec spec = whole.spec;
  spec.roi = image.region;
  spec.stride = image.stride;
  Result<Plan> plan = make_window_plan(whole, spec, image_desc(whole, image));
  if (!plan) return plan.error();
  if (Status s = take_weights(whole, *plan); !s) return s.error();
  return plan;
}

Result<WindowPlans::Prepared> WindowPlans::prepare(const WindowImage& image) const {
  const Result<Plan> plan = window_plan_of(whole_.plan(), image);
  if (!plan) return plan.error();
  Result<std::shared_ptr<const ExecutableImpl>> executable = whole_.prepare_window(*plan);
  if (!executable) return executable.error();
  Result<std::unique_ptr<WorkspaceImpl>> workspace = (*executable)->make_workspace(Batches::no);
  if (!workspace) return workspace.error();
  return Prepared{image, std::move(*executable), std::move(*workspace)};
}

Result<ConstImageView> WindowPlans::gathered(std::span<const ConstWindow> src, const WindowImage& image) {
  const ImageDesc& whole = whole_.plan().src;
  const ImageDesc desc = image_desc(whole_.plan(), image);
  for (const ConstWindow& window : src) {
    const Span rows{window.y, std::int64_t{window.y} + window.pixels.desc.height};
    if (!holds_columns(window, image.source.x) || rows.begin > image.source.y.begin || rows.end < image.source.y.end) continue;
    return crop(window.pixels, {static_cast<std::int32_t>(image.source.x.begin - window.x),
                                static_cast<std::int32_t>(image.source.y.begin - window.y), desc.width, desc.height});
  }
  if (copy_.desc() != desc) {
    copy_ = Image();  // its memory first
    Result<Image> made = Image::create(desc);
    if (!made) return made.error();
    copy_ = std::move(*made);
  }
  for (std::int32_t y = 0; y < desc.height; ++y) {
    const std::int64_t inside = map_index(BorderMode::wrap, image.source.y.begin + y, whole.height);
    copy_row(src, whole, image.source.x, inside, copy_.view().row(y));
  }
  return ConstImageView(copy_.view());
}

Result<const WindowPlans::Prepared*> WindowPlans::prepared_for(const WindowImage& image) {
  const auto has_shape = [&](const Prepared& one) {
    return image_desc(whole_.plan(), one.image) == image_desc(whole_.plan(), image) && one.image.region == image.region &&
           one.image.stride == image.stride;
  };
  if (const auto found = std::ranges::find_if(prepared_, has_shape); found != prepared_.end()) return &*found;
  if (prepared_.size() == most_shapes_) prepared_.pop_front();  // its memory first
  Result<Prepared> prepared = prepare(image);
  if (!prepared) return prepared.error();
  return &prepared_.emplace_back(std::move(*prepared));
}

Status WindowPlans::reserve(const Rect& destination) {
  const Result<const Prepared*> prepared = prepared_for(window_image(whole_.plan(), destination));
  return prepared ? Status() : Status(prepared.error());
}

Status WindowPlans::run(std::span<const ConstWindow> src, const Window& dst, const RunControl& control) {
  if (control.stop != nullptr && control.stop->load()) return Error{ErrorCode::stopped, "the run was stopped", {}};
  const WindowImage image = window_image(whole_.plan(), dst.place());
  const Result<ConstImageView> source = gathered(src, image);
  if (!source) return source.error();
  const Result<const Prepared*> prepared = prepared_for(image);
  if (!prepared) return prepared.error();
  const Status status = (*prepared)->executable->run(std::span(&*source, 1), std::span(&dst.pixels, 1), *(*prepared)->workspace);
  if (!status) return status;
  if (control.finished_pixels != nullptr) {
    control.finished_pixels->fetch_add(std::int64_t{dst.pixels.desc.width} * dst.pixels.desc.height, std::memory_order_relaxed);
  }
  return {};
}

}  // namespace mollify
