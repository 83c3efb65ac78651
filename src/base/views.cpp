#include "base/views.h"

#include <string>
#include <vector>

namespace mollify {
Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), {}};
}

namespace {

std::string shape(const ImageDesc& desc) {
  const auto format = static_cast<std::size_t>(desc.format);
  const std::string name = format < formats().size() ? std::string(info(desc.format).name) : "pixel format " + std::to_string(format);
  return std::to_string(desc.width) + "x" + std::to_string(desc.height) + " " + name;
}

struct Place {
  ByteRange bytes;
  ConstImageView view;
  std::size_t image;
  bool is_written;
};

}  // namespace

Status check_view(std::string_view what, const ConstImageView& view, const ImageDesc& planned) {
  const std::string name(what);
  if (view.desc != planned) return invalid("the " + name + " is " + shape(view.desc) + ", the plan is for " + shape(planned));
  if (view.data == nullptr) return invalid("the " + name + " has no pixels");
  const std::int64_t most = kMostImageBytes / view.desc.height;
  const bool is_within = view.row_bytes >= -most && view.row_bytes <= most;  // before anything is reckoned with it
  if (!is_within || (view.desc.height > 1 && std::abs(view.row_bytes) < view.desc.row_payload_bytes())) {
    return invalid("rows of the " + name + " are " + std::to_string(view.row_bytes) + " bytes apart, a row has " +
                   std::to_string(view.desc.row_payload_bytes()));
  }
  const int component = info(view.desc.format).component_bytes();
  if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(component) != 0 || view.row_bytes % component != 0) {
    return invalid("the " + name + " is not aligned to its " + std::to_string(component) + "-byte components");
  }
  return {};
}

bool disturb_each_other(std::span<const ConstImageView> src, std::span<const ImageView> dst) {
  std::vector<Place> places;
  places.reserve(src.size() + dst.size());
  for (std::size_t i = 0; i < src.size(); ++i) {
    places.push_back({bytes_of(src[i]), src[i], i, false});
    places.push_back({bytes_of(dst[i]), dst[i], i, true});
  }
  std::ranges::sort(places, std::less<>(), [](const Place& p) { return p.bytes.begin; });
  for (auto a = places.begin(); a != places.end(); ++a) {
    for (auto b = a + 1; b != places.end() && std::less<>()(b->bytes.begin, a->bytes.end); ++b) {
      if (a->image != b->image && (a->is_written || b->is_written) && share_bytes(a->view, b->view)) return true;
    }
  }
  return false;
}

}  // namespace mollify
