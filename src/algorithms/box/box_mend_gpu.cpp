#include "algorithms/box/box_mend_gpu.h"

#include <algorithm>
#include <cmath>

#include "algorithms/box/box_any.h"
#include "box_mend_arguments.h"
#include "model/gpu_model.h"

namespace mollify {

using namespace gpu;

namespace {

constexpr std::string_view kKernel = glsl::BoxMend::kKernel;

/// Plans cut it where the border repeats all.
Reach reach_of(const BoxAxis& axis, const Reach& beyond) {
  return {axis.reach_before() + beyond.before, axis.reach_after() + beyond.after};
}

PerAxis<Reach> reach_of(const PerAxis<BoxAxis>& box, const PerAxis<Reach>& beyond) {
  return {reach_of(box.x, beyond.x), reach_of(box.y, beyond.y)};
}

}  // namespace

double box_scale_along_rows(const Problem& p, double columns) {
  constexpr double kInPassing = 2.0;  // one that has entered before another has left, and roundings
  return box_can_spoil(p) ? std::exp2(-std::ceil(std::log2(columns + kInPassing))) : 1.0;
}

Status can_mend_box(const Problem& p) {
  if (!box_can_spoil(p)) return {};
  if (info(p.dst.format).is_unorm()) return refusal("codes do not tell which sums of floats were spoiled");
  if (p.spec.transfer != TransferFunction::none) return refusal("a transfer function may make a number of a spoiled sum");
  if (!p.device.has_kernel(kKernel)) return refusal_without_kernel(p, kKernel);
  return {};
}

Status mend_box(const Problem& p, const PerAxis<BoxAxis>& box, std::int32_t height, Proposal& out) {
  if (Status can = can_mend_box(p); !can || !box_can_spoil(p)) return can;
  const Rect r = region(p);
  const std::int32_t skip = r.y % height;
  const std::int32_t threads = std::max(128, p.device.gpu.subgroup_size);
  Pass pass = make_pass(glsl::BoxMend{.after = {box.x.after, box.y.after},
                                      .after_fraction = {box.x.after_fraction, box.y.after_fraction},
                                      .before = {box.x.before, box.y.before},
                                      .before_fraction = {box.x.before_fraction, box.y.before_fraction},
                                      .height = height,
                                      .scale = 1.0 / (box.x.length() * box.y.length()),
                                      .skip = skip,
                                      .unroll = 8},
                        {r.width, r.height + skip}, {threads, height}, {threads, 1}, Storage::buffer);
  pass.origin = {r.x, r.y};
  pass.extent = *box_extents(p);
  out.passes.push_back(std::move(pass));
  out.reach = reach_of(box, {});
  out.moved_bytes += p.dst.payload_bytes() / height;
  out.seconds += gpu_model(p.device).launch_seconds;
  return {};
}

void leave_box_spoiled(const Problem& p, const PerAxis<BoxAxis>& box, PerAxis<Reach> beyond, Proposal& out) {
  if (!box_can_spoil(p)) return;
  out.reach = reach_of(box, beyond);
  out.only_on_request = "a NaN, an infinity or an outlier acts beyond its windows";
}

}  // namespace mollify
