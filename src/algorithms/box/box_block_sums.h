// box.any on GPUs where windows follow from block sums: how strips and bands cut the image. And what
// forms that read pixels as they are stored, lanes among them, ask of a problem and say of themselves alike.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/box/box_any.h"
#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"

namespace mollify {

/// Strips or bands, of which windows are counted in blocks.
struct BoxCut {
  std::int32_t window = 1;  ///< pixels
  std::int32_t before = 0;  ///< of them, before a window's own
  std::int32_t block = 1;   ///< pixels of a strip or a band
  std::int32_t origin = 0;  ///< where the first block that is made lies in the source, a multiple of `block`
  std::int32_t count = 1;   ///< blocks that are made
  std::int32_t first = 0;   ///< of these, among those that have a window before them
  [[nodiscard]] std::int32_t whole() const { return window / block; }
  [[nodiscard]] std::int32_t part() const { return window % block; }
  [[nodiscard]] std::int32_t windows() const { return first + count; }
  [[nodiscard]] std::int32_t blocks() const { return windows() + whole() + (part() > 0 ? 1 : 0); }
  /// What windows reach, pixels.
  [[nodiscard]] std::int32_t reach() const { return blocks() * block; }
  [[nodiscard]] std::int32_t reach_origin() const { return origin - first * block - before - 1; }
};

[[nodiscard]] inline BoxCut box_cut(const BoxAxis& box, std::int32_t block, std::int32_t begin, std::int32_t length) {
  BoxCut out{box.whole(), box.before, block, begin - begin % block, 0, 0};
  out.count = (begin + length - out.origin + block - 1) / block;
  return out;
}

/// Each pixel takes a hundred instructions, which should not be there many times.
[[nodiscard]] inline bool decodes_slowly(const Problem& p) {
  return p.spec.transfer != TransferFunction::none;
}

/// As many pixels as 16 bytes hold, 12 of three channels: what is fetched and added up at once.
[[nodiscard]] inline std::int32_t pixels_of_vector(PixelFormat format) {
  const FormatInfo& f = info(format);
  return (f.channels == 3 ? 12 : 16) / f.pixel_bytes();
}

/// 32-bit words of the sums of a column's or a row's channels.
[[nodiscard]] constexpr std::int32_t box_planes(BoxAnySums sums, std::int32_t channels) {
  return sums == BoxAnySums::u16x2 ? (channels + 1) / 2 : channels;
}
/// Lanes of a subgroup that make a strip, a power of two.
[[nodiscard]] std::int32_t lanes_of_block_sums(const Problem& p);
/// Rows that are fetched together to be cut into blocks; a power of two, as lanes share them out among themselves.
[[nodiscard]] std::int32_t block_sum_rows(const Problem& p, std::int32_t lanes, std::int32_t pixels);
/// Threads that a processor runs at once: several rows a step take more registers.
[[nodiscard]] std::int32_t box_threads_at_once(const Problem& p, std::int32_t rows_in_flight);

/// Groups that work side by side.
struct BoxGroups {
  std::int64_t groups_across = 1;
  std::int32_t threads = 128;  ///< of a group
  std::int32_t at_once = 128;  ///< threads of a processor
};
/// Chunks that begin with what `run_up` rows take: as many as run at once, or so few that they do not fill half of the
/// device. Measured: what is left over for a second round takes as long as the first.
[[nodiscard]] std::int32_t box_chunks(const Problem& p, const BoxGroups& groups, double run_up);
/// Rows of a band: box_chunks() of the whole source, within limits; bands that are cut into blocks are no higher than their sums allow.
[[nodiscard]] std::int32_t box_band(const Problem& p, const BoxGroups& groups, double run_up, bool has_block_sums = true);
/// About `height`: a window that is a number of bands high takes in a row when one below gives it up, and memory sees both as one read.
[[nodiscard]] std::int32_t box_band_of_windows(const BoxAxis& y, std::int32_t height);
/// Of floats, which begin anew with every band: the whole source decides, so that a region has the bits of the whole.
[[nodiscard]] std::int32_t box_band_of_floats(const Problem& p, const BoxAxis& y, std::int64_t threads_across, double run_up);

/// Of a band of floats, at most `most`: so few that the error allowed holds them, where a band begins with so many units of the roundoff
/// and each row adds some.
[[nodiscard]] std::int32_t box_rows_within(const Problem& p, double start, double row, std::int32_t most);

/// Rows that are summed by themselves when blocks are made of floats; see kRun of box_block_sums.comp and box_block_sums_vec.comp.
inline constexpr double kBoxRun = 16.0;

/// The box, whose windows follow from differences of rows: whole pixels, by lanes that ask each other. `form`: who refuses all else;
/// `has_spans`: whether it has the option pixels_per_thread.
[[nodiscard]] Result<PerAxis<BoxAxis>> box_of_whole_pixels(const Problem& p, std::string_view kernel, BoxForm form, bool has_spans = false);
/// Groups of whole subgroups, as many threads as the option says.
[[nodiscard]] Result<std::int32_t> box_threads(const Problem& p, std::int32_t usual);
/// Refuses what pixels are decoded for, or stored as something else for, and destinations of every n-th pixel. `form`: who refuses.
[[nodiscard]] Status box_of_stored(const Problem& p, BoxForm form);
/// Storage in buffers, whatever else the device has.
[[nodiscard]] Status box_buffers(const Problem& p, std::string_view kernel, std::span<const ImageDesc> intermediates);
/// A list of numbers, as an image.
[[nodiscard]] inline ImageDesc box_words(std::int64_t count) {
  return {static_cast<std::int32_t>(count), 1, PixelFormat::r32f};
}
/// Refuses more words of block sums than shaders count.
[[nodiscard]] Status check_block_sums(std::int64_t words);

/// The first sums, of those allowed, that hold the window within the error: `form(sums)` and its error. Not two floats.
template <class FormOf>
[[nodiscard]] auto first_box_sums(const Problem& p, const PerAxis<BoxAxis>& box, FormOf form) -> decltype(form(BoxAnySums::u32)) {
  const std::optional<BoxAnySums> given = kBoxSums.given(p);
  if (given == BoxAnySums::f32x2) return refusal("sums of two floats are for the form columns");
  decltype(form(BoxAnySums::u32)) out = refusal("no sums hold it");
  for (const BoxAnySums sums : {BoxAnySums::u16x2, BoxAnySums::u32, BoxAnySums::f32}) {
    if (given && sums != *given) continue;
    if (const std::string reason = box_any_obstacle(p, box, sums); !reason.empty()) {
      out = refusal(reason);
      continue;
    }
    out = form(sums);
    if (out && out->error <= p.allowed_error) break;
  }
  return out;
}

/// What the proposals of forms on buffers begin with: all but passes and what these cost.
template <class Form>
[[nodiscard]] Result<Proposal> box_proposal(const Problem& p, std::string_view kernel, BoxForm which, const Form& form,
                                            std::vector<ImageDesc> intermediates = {}) {
  Proposal out;
  out.intermediates = std::move(intermediates);
  if (Status fits = box_buffers(p, kernel, out.intermediates); !fits) return fits.error();
  out.error = form.error;
  out.options = {kBoxForm.as(which),           gpu::kStorage.as(gpu::Storage::buffer),   kBoxSums.as(form.sums),
                 kBoxThreads.as(form.threads), kBoxRowsInFlight.as(form.rows_in_flight), gpu::kChunks.as(form.chunks)};
  return out;
}

}  // namespace mollify
