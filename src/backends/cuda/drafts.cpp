#include "backends/cuda/drafts.h"

#include "base/outside_pixel.h"

namespace mollify::cuda {

static_assert(kClamp == static_cast<int>(BorderMode::clamp) && kMirror == static_cast<int>(BorderMode::mirror) &&
              kReflect == static_cast<int>(BorderMode::reflect) && kWrap == static_cast<int>(BorderMode::wrap) &&
              kConstant == static_cast<int>(BorderMode::constant));

bool handles_colour(const Plan& plan) {
  return plan.spec.alpha != AlphaMode::ignore || plan.spec.transfer != TransferFunction::none;
}

Shared shared_of(const Plan& plan, const Pass& pass) {
  Shared shared;
  const ImageDesc& from = desc_of(plan, pass.source);
  const ImageDesc& to = desc_of(plan, pass.destination);
  shared.source.width = from.width;
  shared.source.height = from.height;
  shared.destination.width = to.width;
  shared.destination.height = to.height;
  shared.from.component = component_of<Component>(info(from.format));
  shared.to.component = component_of<Component>(info(to.format));
  const double source_unit = info(plan.src.format).unit();
  const double number_unit = handles_colour(plan) ? 1.0 : source_unit;  // what full scale is in numbers
  const bool premultiplied = plan.spec.alpha == AlphaMode::premultiply;
  const bool is_srgb = plan.spec.transfer == TransferFunction::srgb;
  if (pass.source.kind == Binding::Kind::source) {
    shared.from = {shared.from.component, number_unit / source_unit, premultiplied, is_srgb};
  }
  if (pass.destination.kind == Binding::Kind::destination) {
    shared.to = {shared.to.component, info(to.format).unit() / number_unit, premultiplied, is_srgb};
  }
  shared.outside.mode_x = static_cast<std::int32_t>(plan.spec.border.mode.x);
  shared.outside.mode_y = static_cast<std::int32_t>(plan.spec.border.mode.y);
  const std::array<double, 4> outside = outside_pixel(plan.spec, plan.src.format);
  for (std::size_t c = 0; c < outside.size(); ++c) shared.outside.value[c] = outside[c] * number_unit;
  return shared;
}

std::string name_of(std::string_view kernel, const Plan& plan, std::string_view ending) {
  return std::string(kernel) + "_" + std::to_string(info(plan.src.format).channels) + std::string(ending);
}

std::string_view ending_of(bool wide) {
  return wide ? "_f64" : "_f32";
}

std::string_view ending_of(const Plan& plan) {
  if (handles_colour(plan) || plan.src.format != plan.dst.format) return "_any";
  switch (component_of<Component>(info(plan.src.format))) {
    case Component::u8:
      return "_u8";
    case Component::f16:
      return "_f16";
    case Component::f32:
      return "_f32";
    default:
      return "_any";
  }
}

std::vector<double> of_both_axes(const PerAxis<AxisTaps>& taps) {
  std::vector<double> weights = taps.x.weights;
  weights.insert(weights.end(), taps.y.weights.begin(), taps.y.weights.end());
  return weights;
}

}  // namespace mollify::cuda
