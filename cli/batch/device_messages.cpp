#include "batch/device_messages.h"

#include <stdexcept>

#include "failure.h"

namespace mollify::cli {

Json to_json(const ImageDesc& desc) {
  return {{"width", desc.width}, {"height", desc.height}, {"format", desc.format}};
}

ImageDesc image_desc_of(const Json& message) {
  const auto format = message["format"].get<std::size_t>();
  if (format >= formats().size()) throw std::invalid_argument("no format of pixels");
  return {message["width"], message["height"], static_cast<PixelFormat>(format)};
}

Json to_json(const SharedImage& image) {
  return {{"desc", to_json(image.desc)}, {"row_bytes", image.row_bytes}, {"offset", image.offset}};
}

SharedImage shared_image_of(const Json& message) {
  return {image_desc_of(message["desc"]), message["row_bytes"], message["offset"]};
}

Json to_json(const ImageSpec& spec) {
  Json message{{"scale_x", spec.kernel_scale.x}, {"scale_y", spec.kernel_scale.y}, {"alpha", spec.alpha},      {"transfer", spec.transfer},
               {"border", spec.border_value},    {"are_bytes", spec.are_bytes},    {"is_exact", spec.is_exact}};
  if (const std::optional<Rect>& r = spec.region) message["region"] = {r->x, r->y, r->width, r->height};
  return message;
}

ImageSpec image_spec_of(const Json& message) {
  ImageSpec spec;
  if (message.contains("region")) {
    const Json& r = message["region"];
    spec.region = Rect{r[0], r[1], r[2], r[3]};
  }
  spec.kernel_scale = {message["scale_x"], message["scale_y"]};
  spec.alpha = message["alpha"].get<AlphaMode>();
  spec.transfer = message["transfer"].get<TransferFunction>();
  spec.border_value = message["border"].get<std::array<double, 4>>();
  spec.are_bytes = message["are_bytes"];
  spec.is_exact = message["is_exact"];
  return spec;
}

Json to_json(const Error& error) {
  return {{"code", error.code}, {"message", one_line(error)}};
}

Error error_of(const Json& message) {
  return {message["code"].get<ErrorCode>(), message["message"], {}};
}

Json to_json(const BlurOutcome& outcome) {
  const auto& [x, y] = outcome.reach;
  return {
      {"algorithm", outcome.algorithm}, {"predicted_error", outcome.predicted_error}, {"reach", {x.before, x.after, y.before, y.after}}};
}

BlurOutcome outcome_of(const Json& message) {
  const Json& reach = message["reach"];
  return {message["algorithm"], message["predicted_error"], {{reach[0], reach[1]}, {reach[2], reach[3]}}};
}

Json to_json(const DeviceChoice& choice) {
  return {{"device", choice.device}, {"why", choice.why}};
}

DeviceChoice choice_of(const Json& message) {
  return {message["device"], message["why"]};
}

}  // namespace mollify::cli
