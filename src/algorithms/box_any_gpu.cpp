// box.any on GPUs: which of its two forms, and what both have to know.
#include <algorithm>

#include "algorithms/box_any.h"

namespace mollify {

std::string box_any_obstacle(const Problem& p, const PerAxis<BoxAxis>& box, BoxAnySums sums) {
  if (!is_integer(sums)) return {};
  const FormatInfo& source = info(p.src.format);
  if (!source.is_unorm()) return "integer sums need an integer format";
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return "integer sums cannot handle alpha or transfer functions";
  }
  if (!box.x.is_whole() || !box.y.is_whole()) return "integer sums need a whole radius";
  if (sums == BoxAnySums::u16x2 && source.bits != 8) return "pixels of 16 bits leave no room for sums in 16";
  if (sums == BoxAnySums::u16x2 && source.channels == 1) return "one channel needs no second half of a word";
  if (static_cast<double>(box.y.whole()) * box.x.whole() * source.unit() >= 0x1p32) {
    return "sums over " + std::to_string(box.x.whole()) + "x" + std::to_string(box.y.whole()) +
           " pixels exceed 32 bits";
  }
  return {};
}

Result<PerAxis<BoxAxis>> box_any_axes(const Problem& p) {
  constexpr std::int64_t kImages = 4;
  constexpr std::int64_t kAlways = 4096;
  const std::int64_t shorter = std::min(p.src.width, p.src.height);
  return box_axes(p, kImages * std::min<std::int64_t>(shorter, 1 << 24) + kAlways);
}

Result<Proposal> propose_box_any_gpu(const Problem& p) {
  const auto form = p.options.find("form");
  if (form != p.options.end()) return form->second == "corners" ? propose_box_corners(p) : propose_box_columns(p);
  Result<Proposal> columns = propose_box_columns(p);
  Result<Proposal> corners = propose_box_corners(p);
  if (!corners || !columns) return corners ? std::move(corners) : std::move(columns);
  if (corners->error > p.allowed_error) return columns;
  return columns->error > p.allowed_error || corners->seconds < columns->seconds ? corners : columns;
}

}  // namespace mollify
