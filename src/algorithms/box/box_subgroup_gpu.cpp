// box.any on GPUs by lanes: from one row to the next a window's sum changes by what enters and leaves below and above it. Lanes
// of a subgroup add these differences up along a strip of columns by shuffles, so that those of any window are the difference of
// two places: two loads a pixel, no shared memory, no barrier. Loses where windows are so wide that most lanes only hold the halo.
#include <algorithm>
#include <cmath>

#include "algorithms/box/box_block_sums.h"
#include "algorithms/box/box_mend_gpu.h"
#include "algorithms/common/occupancy.h"
#include "model/tuning.h"

namespace mollify {
namespace {

using namespace gpu;
using Sums = BoxAnySums;

constexpr std::string_view kKernel = "box_subgroup";
constexpr double kHalf = 65535.0;  // what half a word holds

/// How one subgroup works.
struct Form {
  Sums sums = Sums::u32;
  std::int32_t pixels_per_thread = 4;  ///< neighbouring pixels of a lane
  std::int32_t shift = 0;              ///< pixels from where a lane's results begin to its own
  std::int32_t lanes_left = 0;         ///< that only hold the halo
  std::int32_t strip = 0;              ///< columns that come out of a subgroup
  std::int32_t threads = 128;
  std::int32_t rows_in_flight = 1;  ///< rows on their way
  std::int32_t chunks = 1;          ///< bands
  std::int32_t height = 1;          ///< rows of one
  double error = 0.0;
};

/// Of a lane: what fills 16 bytes, more where half the lanes would only hold the halo. Measured on an H200: 65 us for 4 bytes at radius 4,
/// where 32 bytes take 74. Drivers that run on the processor take seconds to compile as much.
std::int32_t default_pixels_per_thread(const Problem& p, std::int32_t window) {
  constexpr std::int32_t kMost = 16;
  const std::int32_t bytes = info(p.src.format).pixel_bytes();
  const auto wider = [&](std::int32_t pixels_per_thread) { return 2 * pixels_per_thread <= kMost && 2 * pixels_per_thread * bytes <= 64; };
  std::int32_t pixels_per_thread = 1;
  while (!is_whole_words(p.src.format, pixels_per_thread)) pixels_per_thread *= 2;
  if (p.device.gpu.is_software) return pixels_per_thread;
  while (wider(pixels_per_thread) && (2 * pixels_per_thread * bytes <= 16 || 2 * window > p.device.gpu.subgroup_size * pixels_per_thread))
    pixels_per_thread *= 2;
  return pixels_per_thread;
}

/// Units of the roundoff, relative to full scale: of a band's first windows, and what each of its rows adds.
struct Growth {
  double start = 0.0;
  double row = 0.0;
};

/// Sums up to a place can be as large as all that a subgroup reads; differences of pixels twice as large as a pixel.
Growth growth(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  const double wide = box.x.whole();
  const double high = box.y.whole();
  const double reach = static_cast<double>(p.device.gpu.subgroup_size) * form.pixels_per_thread;
  const double along = form.pixels_per_thread + std::log2(p.device.gpu.subgroup_size) + 2.0;
  const double start = high + 1.0 + 2.0 * along * reach / wide + 1.0 + 4.0;
  return {start, 6.0 / high + 4.0 * along * reach / (wide * high) + 1.0};
}

double error_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  if (is_integer(form.sums)) return box_means(p, box.x.length() * box.y.length()).error;
  const Growth of = growth(p, box, form);
  return (of.start + form.height * of.row) * unit_roundoff(Accumulator::f32) + colour_error(p.spec, Accumulator::f32);
}

/// Bands. The whole source decides, and the error: sums of floats begin with bands.
std::int32_t default_chunks(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  const double run_up = box.y.whole();
  const std::int64_t strips = (p.src.width + form.strip - 1) / form.strip;
  const std::int64_t lanes = strips * p.device.gpu.subgroup_size;
  if (is_integer(form.sums)) return box_chunks(p, {(lanes + form.threads - 1) / form.threads, form.threads}, run_up);
  const std::int32_t height = box_band_of_floats(p, box.y, lanes, run_up);
  const Growth of = growth(p, box, form);
  const std::int32_t rows = box_rows_within(p, of.start, of.row, height);
  return (p.src.height + rows - 1) / rows;
}

Result<Form> form_with(const Problem& p, const PerAxis<BoxAxis>& box, Sums sums) {
  const std::int32_t lanes = p.device.gpu.subgroup_size;
  Form out;
  out.sums = sums;
  if (sums == Sums::u16x2 && (2.0 * 255.0 * box.x.whole() > kHalf || 255.0 * box.y.whole() > kHalf)) {
    return refusal("sums of " + std::to_string(box.x.whole()) + " columns or " + std::to_string(box.y.whole()) +
                   " rows would not fit into 16 bits");
  }
  const Result<std::int32_t> pixels_per_thread = count(p, "pixels_per_thread", 16, default_pixels_per_thread(p, box.x.whole()));
  if (!pixels_per_thread) return pixels_per_thread.error();
  out.pixels_per_thread = *pixels_per_thread;
  if (Status s = check_span(p.src.format, out.pixels_per_thread); !s) return s.error();
  out.shift = box.x.after % out.pixels_per_thread;
  // A number that shares its word with one that is needed must be one, too: codes of a word are added up.
  const FormatInfo& source = info(p.src.format);
  const bool splits_word = source.bits == 16 && source.is_unorm() && out.shift * source.channels % 2 != 0;
  const std::int32_t of_next_lane = out.shift - (splits_word ? 1 : 0);
  out.lanes_left = (std::max(box.x.whole() - 1 - of_next_lane, 0) + out.pixels_per_thread - 1) / out.pixels_per_thread;
  out.strip = (lanes - out.lanes_left - (out.shift > 0 ? 1 : 0)) * out.pixels_per_thread;
  if (out.strip <= 0) {
    return refusal("a window of " + std::to_string(box.x.whole()) + " columns reaches further than the lanes of a subgroup");
  }
  const Result<std::int32_t> threads = box_threads(p, std::max(128, lanes));
  if (!threads) return threads.error();
  out.threads = *threads;
  const Result<std::int32_t> rows_in_flight = count(p, "rows_in_flight", 4, p.device.gpu.is_software ? 1 : 2);
  if (!rows_in_flight) return rows_in_flight.error();
  out.rows_in_flight = *rows_in_flight;
  const Result<std::int32_t> chunks = count(p, "chunks", 1 << 16, default_chunks(p, box, out));
  if (!chunks) return chunks.error();
  out.chunks = *chunks;
  const auto tile = tile_of_whole(p, sums);
  out.height = tile ? tile->y : chunk_length(p, p.src.height, out.chunks, 1, {kShortLoops, box.y.whole()});
  out.error = error_of(p, box, out);
  return out;
}

Pass pass_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  const Rect r = region(p);
  const std::int32_t subgroup = p.device.gpu.subgroup_size;
  const PerAxis<std::int32_t> skip{r.x % form.strip, r.y % form.height};
  Pass pass = make_pass(kKernel, {p.dst.width + skip.x, p.dst.height + skip.y}, {form.threads / subgroup * form.strip, form.height},
                        {form.threads, 1}, Storage::buffer);
  pass.origin = {r.x - skip.x, r.y - skip.y};
  pass.extent = std::get<Box>(p.spec.kernel).extent;
  const double window = box.x.length() * box.y.length();
  const bool are_short = is_integer(form.sums) && box_means(p, window).sums_are_short;
  const bool are_packed = are_short && form.sums == Sums::u16x2 && window * info(p.src.format).unit() <= kHalf;
  pass.constants.insert({{"sums", static_cast<std::int64_t>(form.sums)},
                         {"subgroup_size", subgroup},
                         {"span", form.pixels_per_thread},
                         {"lanes_left", form.lanes_left},
                         {"lanes_back", (box.x.whole() - 1) / form.pixels_per_thread},
                         {"rest", (box.x.whole() - 1) % form.pixels_per_thread},
                         {"shift", form.shift},
                         {"rows_in_flight", form.rows_in_flight},
                         {"sums_are_packed", are_packed ? 1 : 0},
                         {"sums_are_short", are_short ? 1 : 0},
                         {"before_x", box.x.before},
                         {"before_y", box.y.before},
                         {"window_x", box.x.whole()},
                         {"window_y", box.y.whole()},
                         {"skip_x", skip.x},
                         {"skip_y", skip.y},
                         {"height", form.height}});
  const double reach = static_cast<double>(subgroup) * form.pixels_per_thread;  // of what adds up along a strip
  const double lift = box_lift(p, box, 1.0 + 2.0 * reach / box.x.whole());
  pass.parameters["scale"] = lift / window;
  pass.parameters["gain"] = 1.0 / lift;
  return pass;
}

/// Instructions that a lane spends on a pixel that comes out, by count: those of integers have half the rate of those of floats.
double instructions(const Problem& p, const Form& form) {
  const double channels = info(p.src.format).channels;
  const double words = form.sums == Sums::u16x2 ? std::ceil(channels / 2.0) : channels;
  const double steps = std::log2(p.device.gpu.subgroup_size);
  const double rate = is_integer(form.sums) ? 2.0 : 1.0;
  const double shuffles = words * (1.0 + steps / form.pixels_per_thread);
  const double sums =
      words * (8.0 + steps / form.pixels_per_thread) + (form.sums == Sums::u16x2 ? 2.0 : 1.0) * channels + 10.0 / form.pixels_per_thread;
  const double store = (is_integer(form.sums) ? 3.0 : 1.5) * channels;
  return rate * sums + 4.0 * shuffles + store;
}

}  // namespace

Result<Proposal> propose_box_subgroup(const Problem& p) {
  const Result<PerAxis<BoxAxis>> box = box_of_whole_pixels(p, kKernel, "subgroup", true);
  if (!box) return box.error();
  if (Status stored = box_of_stored(p, "subgroup"); !stored) return stored.error();
  const Result<Form> form = first_box_sums(p, *box, [&](Sums sums) { return form_with(p, *box, sums); });
  if (!form) return form.error();

  Result<Proposal> out = box_proposal(p, kKernel, "subgroup", *form);
  if (!out) return out.error();
  out->options["pixels_per_thread"] = std::to_string(form->pixels_per_thread);
  const GpuTuning& device = gpu_tuning(p.device);
  const double read = static_cast<double>(p.device.gpu.subgroup_size) * form->pixels_per_thread / form->strip;
  const double first_sums = static_cast<double>(box->y.whole()) / form->height;
  out->moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * read * (1.0 + first_sums)) + p.dst.payload_bytes();
  const double pixels = static_cast<double>(p.dst.width) * p.dst.height;
  const double computed = pixels * read * (1.0 + first_sums / 4.0) * instructions(p, *form) / device.operations_per_second;
  // Measured on an H200: less than the count, but for few channels, whose lanes hold many pixels.
  const std::int32_t channels = info(p.src.format).channels;
  const double by_time = channels == 1 ? 2.2 : channels == 2 ? 1.6 : channels == 3 ? 1.05 : 0.62;
  const double filled = by_time * std::hypot(static_cast<double>(out->moved_bytes) / device.bytes_per_second, computed);
  const double threads = pixels * read / form->pixels_per_thread / form->height;
  out->seconds = std::max(device.launch_seconds + filled, seconds_of_chunks(p, threads, form->height + box->y.whole()));
  out->passes.push_back(pass_of(p, *box, *form));
  set_box_blocks(*box, form->sums, {form->strip, form->height}, *out);
  if (Status mends = mend_box(p, *box, form->height, *out); !mends) return mends.error();
  return out;
}

}  // namespace mollify
