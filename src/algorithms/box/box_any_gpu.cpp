// box.any on GPUs: which of its forms, and what they have to know.
#include <algorithm>
#include <utility>

#include "algorithms/box/box_any.h"

namespace mollify {

BoxMeans box_means(const Problem& p, double window) {
  const FormatInfo& source = info(p.src.format);
  const double u = unit_roundoff(Accumulator::f32);
  // The sum becomes a float, and is scaled and encoded; bytes are rounded as 1024 more than a code, to 2^-14 of one, which is 4.1 units.
  const BoxMeans usual{false, (source.bits == 8 ? 7.0 : 4.0) * u};
  if (window * source.unit() >= 0x1p23) return usual;
  BoxMeans brief{true, usual.error};
  if (source.bits == 8) {
    // One multiply-add scales and takes away what 2^23 comes to, which of larger windows is rounded to half as much as above. Where it
    // rounds its product, that is 2^23 and the sum, to a step of the sum.
    if (window > 0x1p14) brief.error += 3.0 * u;
    if (!gpu::fuses_multiply_adds(p.device)) brief.error += 1.0 / (window * source.unit());
  }
  return brief.error <= p.allowed_error ? brief : usual;
}

Result<Proposal> propose_box_any_gpu(const Problem& p) {
  constexpr std::array kPropose = {// in the order of BoxForm
                                   propose_box_columns, propose_box_four_corner, propose_box_row_segments};
  if (const std::optional<BoxForm> form = kBoxForm.given(p)) return kPropose.at(static_cast<std::size_t>(*form))(p);
  if (kBoxPixelsPerThread.is_given(p)) return propose_box_row_segments(p);
  Result<Proposal> best = propose_box_columns(p);
  const auto order = [](const Proposal& proposal) { return std::pair(!proposal.only_on_request.empty(), proposal.seconds); };
  const auto consider = [&](Result<Proposal> other) {
    if (!other || (best && other->error > p.allowed_error)) return;
    if (!best || best->error > p.allowed_error || order(*other) < order(*best)) best = std::move(other);
  };
  consider(propose_box_four_corner(p));
  consider(propose_box_row_segments(p));
  return best;
}

}  // namespace mollify
