#include "core/overlap.h"

#include <vector>

namespace mollify {
namespace {

struct Place {
  ByteRange bytes;
  ConstImageView view;
  std::size_t image;
  bool is_written;
};

}  // namespace

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
