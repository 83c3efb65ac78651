// box.any on GPUs by columns: groups move down strips of columns with a running sum a lane, and along the rows of these sums in
// shared memory. One dispatch, two loads a pixel at any radius, of which the second finds its row in cache. Loses where
// a window is so wide that the columns which neighbouring strips share outweigh their own.
#include <algorithm>
#include <array>
#include <string>

#include "algorithms/box/box_any.h"
#include "algorithms/box/box_gpu.h"
#include "algorithms/box/box_mend_gpu.h"
#include "algorithms/common/occupancy.h"
#include "algorithms/common/separable_gpu.h"
#include "box_column_sums_arguments.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::BoxColumnSums::kKernel;
constexpr std::int64_t kSharedBytes = 8;  // of a column, a row and a plane: a sum and a mean

using Sums = BoxAnySums;

/// Why sums of columns do not fit, or nothing.
std::string column_obstacle(const PerAxis<BoxAxis>& box, Sums sums) {
  if (sums != Sums::u16x2 || box.y.whole() * 255.0 < 0x1p16) return {};
  return "sums over " + std::to_string(box.y.whole()) + " pixels exceed 16 bits";
}

/// Columns that a mean takes in. Where there are fractions the kernel looks at the pixels beyond both ends.
std::int32_t reach(const PerAxis<BoxAxis>& box) {
  return box.x.whole() + (box.x.is_whole() && box.y.is_whole() ? 0 : 2);
}

/// How one group works.
struct Shape {
  Sums sums = Sums::u32;
  std::int32_t planes = 1;  ///< words of a column's sum
  std::int32_t threads = 128;
  std::int32_t rows_in_flight = 1;    ///< rows from one step to the next
  std::int32_t lanes_per_row = 1;     ///< that slide along a row
  std::int32_t columns_per_lane = 0;  ///< that one of these makes
  std::int32_t chunks = 1;            ///< of the rows
  std::int32_t chunk_rows = 0;        ///< rows of one
  double error = 0.0;                 ///< full-scale units
  [[nodiscard]] std::int32_t strip() const { return lanes_per_row * columns_per_lane; }
  [[nodiscard]] std::int64_t shared_bytes() const { return kSharedBytes * rows_in_flight * planes * (threads + lanes_per_row); }
};

/// Of a walk of `steps` pixels, units of the roundoff, relative to its window: each step rounds the sum twice.
double sliding_growth(const BoxAxis& axis, std::int32_t steps, Sums sums) {
  const double additions = 2.0 * steps + axis.taps();
  // What additions lose is summed up, too; that loses of a sum of that many roundoffs.
  if (sums == Sums::f32x2) return 4.0 + additions * additions * unit_roundoff(Accumulator::f32);
  return additions * (1.0 + 2.0 / axis.length()) + 4.0;
}

double error_of(const Problem& p, const PerAxis<BoxAxis>& box, const Shape& shape) {
  const double u = unit_roundoff(Accumulator::f32);
  if (is_integer(shape.sums)) {
    // The sum becomes a float, and is scaled and encoded. Halves of a word hold means as the destination stores them.
    const bool is_coded = shape.sums == Sums::u16x2 && !info(p.dst.format).is_unorm();
    return 4.0 * u + (is_coded ? u + 0.5 / 65535.0 : 0.0);
  }
  const double growth = sliding_growth(box.x, shape.columns_per_lane, shape.sums) + sliding_growth(box.y, shape.chunk_rows, shape.sums);
  return colour_gain(p.spec) * growth * u + colour_error(p.spec, Accumulator::f32);
}

/// Threads such that a quarter of them or less hold what only the window reaches, if the device has so many and as much
/// shared memory.
std::int32_t default_threads(const Problem& p, std::int32_t reach, std::int32_t planes) {
  const std::int32_t largest = std::min(p.device.gpu.max_group_invocations, p.device.gpu.max_group.x);
  std::int32_t threads = 128;
  while (threads < 4 * (reach - 1) && 2 * threads <= largest) threads *= 2;
  constexpr std::int64_t kWholeSubgroups = 64;
  const std::int64_t most = p.device.gpu.shared_bytes / (kSharedBytes * planes) - 1;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(most / kWholeSubgroups * kWholeSubgroups, 128, threads));
}

/// As many lanes walk as a subgroup has, unless the first sums of so many walks outweigh the rest by far.
std::int32_t default_lanes_per_row(const Shape& shape, std::int32_t columns, std::int32_t reach) {
  constexpr std::int32_t kSlidingLanes = 32;
  std::int32_t lanes_per_row = std::clamp(kSlidingLanes / (shape.rows_in_flight * shape.planes), 1, columns);
  while (lanes_per_row > 1 && 2 * lanes_per_row * reach > 3 * columns) lanes_per_row /= 2;
  return lanes_per_row;
}

Result<Shape> shape(const Problem& p, const PerAxis<BoxAxis>& box, Sums sums) {
  Shape out;
  out.sums = sums;
  const std::int32_t channels = info(p.src.format).channels;
  out.planes = sums == Sums::u16x2 ? (channels + 1) / 2 : channels;
  const std::int32_t window = reach(box);
  const Result<std::int32_t> threads = kBoxThreads.of(p, default_threads(p, window, out.planes), p.device.gpu.max_group_invocations);
  if (!threads) return threads.error();
  out.threads = *threads;
  if (Status fits = check_group(p, {out.threads, 1}); !fits) return fits.error();
  const std::int32_t columns = out.threads - (window - 1);
  if (columns < 1) {
    return refusal("a window of " + std::to_string(window) + " columns reaches further than the " + std::to_string(out.threads) +
                   " threads of a group");
  }

  // Eight rows of words keep enough loads in flight, and let many groups share a processor's memory.
  constexpr std::int32_t kRowsOfWords = 8;
  const Result<std::int32_t> rows_in_flight = kBoxRowsInFlight.of(p, kRowsOfWords / out.planes);
  if (!rows_in_flight) return rows_in_flight.error();
  out.rows_in_flight = *rows_in_flight;
  out.lanes_per_row = default_lanes_per_row(out, columns, window);
  while (!kBoxRowsInFlight.is_given(p) && out.rows_in_flight > 1 && out.shared_bytes() > p.device.gpu.shared_bytes) {
    out.rows_in_flight /= 2;
    out.lanes_per_row = default_lanes_per_row(out, columns, window);
  }
  const Result<std::int32_t> lanes_per_row = kBoxLanesPerRow.of(p, out.lanes_per_row, columns);
  if (!lanes_per_row) return lanes_per_row.error();
  out.lanes_per_row = *lanes_per_row;
  if (std::int64_t{out.rows_in_flight} * out.planes * out.lanes_per_row > out.threads) {
    return refusal(std::to_string(out.rows_in_flight * out.planes * out.lanes_per_row) + " sliding lanes are more than the " +
                   std::to_string(out.threads) + " threads of a group");
  }
  if (Status fits = check_shared(p, out.shared_bytes()); !fits) return fits.error();
  out.columns_per_lane = columns / out.lanes_per_row;
  // Lanes an even number of words apart would read from the same banks.
  if (out.lanes_per_row > 1 && out.columns_per_lane > 1 && out.columns_per_lane % 2 == 0) --out.columns_per_lane;
  return out;
}

/// Rows of a group. Where sums round, they must not depend on the region: the whole image decides.
Status split_rows(const Problem& p, const PerAxis<BoxAxis>& box, Shape& form) {
  const Rect r = region(p);
  const auto [width, height] = is_integer(form.sums) ? std::pair(r.width, r.height) : std::pair(p.src.width, p.src.height);
  const std::int64_t across = (width + form.strip() - 1) / form.strip();
  // A row of the first sums takes one load of two, and nobody slides along it.
  const double run_up = box.y.taps() / 3.0;
  const double usual = chunks_ending_soonest(p, across * form.threads, height, run_up);
  const std::int32_t even = std::min(even_chunks_of_threads(p, across, form.threads, usual), height);
  const Result<std::int32_t> chunks = kChunks.of(p, even);
  if (!chunks) return chunks.error();
  form.chunks = *chunks;
  // In a step a lane slides along no more numbers than there are threads.
  form.chunk_rows = chunk_length(p, height, *chunks, form.rows_in_flight, {form.threads + 1, box.y.taps() / form.rows_in_flight});
  if (const auto tile = tile_of_whole(p, form.sums)) form.chunk_rows = tile->y;
  return {};
}

/// The first sums, of those allowed, that hold the window within the error.
Result<Shape> choose_shape(const Problem& p, const PerAxis<BoxAxis>& box) {
  const std::optional<Sums> given = kBoxSums.given(p);
  Result<Shape> out = refusal("no sums hold it");
  for (const Sums sums : {Sums::u16x2, Sums::u32, Sums::f32, Sums::f32x2}) {
    if (given && sums != *given) continue;
    std::string reason = box_any_obstacle(p, box, sums);
    if (reason.empty()) reason = column_obstacle(box, sums);
    if (!reason.empty()) {
      out = refusal(reason);
      continue;
    }
    out = shape(p, box, sums);
    if (!out) continue;
    if (Status s = split_rows(p, box, *out); !s) return s.error();
    out->error = error_of(p, box, *out);
    if (out->error <= p.allowed_error) break;
  }
  return out;
}

/// Images are not read back.
bool is_mended(const Problem& p, Storage where) {
  return where == Storage::buffer && can_mend_box(p).ok();
}

Pass pass_of(const Problem& p, const PerAxis<BoxAxis>& box, const Shape& form, Storage where) {
  const Rect r = region(p);
  const bool is_aligned = !is_integer(form.sums);
  const PerAxis<std::int32_t> skip{is_aligned ? r.x % form.strip() : 0, is_aligned ? r.y % form.chunk_rows : 0};
  const bool mends = is_mended(p, where);
  const double lift = mends ? box_lift(p, box, 1.0) : 1.0;
  const double along = mends ? box_scale_along_rows(p, box.x.taps()) : 1.0;
  glsl::BoxColumnSums arguments{
      .after = {box.x.after, box.y.after},
      .after_fraction = {box.x.after_fraction, box.y.after_fraction},
      .along = along,
      .before = {box.x.before, box.y.before},
      .before_fraction = {box.x.before_fraction, box.y.before_fraction},
      .chunk_rows = form.chunk_rows,
      .columns_per_lane = form.columns_per_lane,
      .gain = 1.0 / (lift * along),
      .lanes_per_row = form.lanes_per_row,
      .rows_in_flight = form.rows_in_flight,
      .scale = lift / (box.x.length() * box.y.length() * (is_integer(form.sums) ? info(p.src.format).unit() : 1.0)),
      .skip = skip,
      .strip = form.strip(),
      .sums = form.sums == Sums::f32x2 ? Sums::f32 : form.sums,
      .unroll = 8};
  if (!is_integer(form.sums)) {
    arguments.is_whole = box.x.is_whole() && box.y.is_whole();
    arguments.is_compensated = form.sums == Sums::f32x2;
  }
  Pass pass = make_pass(arguments, {r.width + skip.x, r.height + skip.y}, {form.strip(), form.chunk_rows}, {form.threads, 1}, where);
  pass.origin = {r.x - skip.x, r.y - skip.y};
  pass.extent = *box_extents(p);
  return pass;
}

Work work_of(const Problem& p, const PerAxis<BoxAxis>& box, const Shape& form, PerAxis<std::int32_t> size) {
  const double channels = info(p.src.format).channels;
  const double share = form.planes / channels;  // of the numbers of a pixel, in words
  const double reads = static_cast<double>(form.threads) / form.strip();
  const double first_sums = (box.y.taps() + 1.0) / form.chunk_rows;
  const double first_along = static_cast<double>(box.x.taps()) / form.columns_per_lane;
  Work work;
  work.pixels = static_cast<double>(size.x) * size.y;
  work.loads = reads * (2.0 + first_sums);
  work.shared_loads = share * (2.0 + reads + 2.0 + first_along);
  // Taking a pixel apart, four additions, making a pixel again; keeping what an addition loses takes six more, which wait for each other.
  work.operations = reads * (2.0 + first_sums) + 2.0 + first_along + 2.0;
  if (form.sums == Sums::f32x2) work.operations *= 8.0;
  work.barriers = reads / form.rows_in_flight;
  work.waiters = 2.0;
  work.bytes = static_cast<double>(source_bytes(p)) * reads * (1.0 + first_sums) + static_cast<double>(p.dst.payload_bytes());
  return work;
}

}  // namespace

Result<Proposal> propose_box_columns(const Problem& p) {
  if (Status known = not_options(p, {kBoxAccumulator}); !known) return known.error();
  if (kBoxPixelsPerThread.is_given(p)) return refusal("the option pixels_per_thread is for the form row_segments");
  const Result<Storage> where = buffer_or_image(p, kKernel);
  if (!where) return where.error();
  const Result<PerAxis<BoxAxis>> box = box_any_axes(p);
  if (!box) return box.error();
  const Result<Shape> form = choose_shape(p, *box);
  if (!form) return form.error();

  Proposal out;
  out.error = form->error;
  out.options = {kBoxForm.as(BoxForm::column_sums),
                 kStorage.as(*where),
                 kBoxSums.as(form->sums),
                 kBoxThreads.as(form->threads),
                 kBoxRowsInFlight.as(form->rows_in_flight),
                 kBoxLanesPerRow.as(form->lanes_per_row),
                 kChunks.as(form->chunks)};
  Pass pass = pass_of(p, *box, *form, *where);
  Work work = work_of(p, *box, *form, pass.size);
  work.covered = covered(pass);
  // All threads of a group wait for the few that walk. Measured from 128 threads to 1024, and with sums of one
  // word to four.
  const double waiting = form->lanes_per_row < 4 && form->planes > 1 ? 1.35 : 1.0;
  // The same on processors, beside box.running.
  constexpr double kPutAside = 2.2;
  // Also measured: how fast pixels come and go is known of four channels. Fewer take less, but those of three lie across words
  // where they are no whole ones.
  constexpr std::array kShares = {0.47, 0.63, 1.1, 1.0};
  const FormatInfo& source = info(p.src.format);
  const double share = gpu_model(p.device).is_processor            ? kPutAside
                       : source.channels == 3 && source.bits == 32 ? 0.87
                                                                   : kShares[static_cast<std::size_t>(source.channels - 1)];
  const double filled = share * seconds(p.device, p.src.format, work) * waiting * (1.0 + std::max(form->threads - 128, 0) / 512.0);
  // A row of first windows takes half as long as others, as measured where images are too small to fill the device.
  out.seconds = std::max(filled, seconds_of_chunks(p, 0.0, form->chunk_rows + box->y.taps() / 2.0));
  out.moved_bytes = static_cast<std::int64_t>(work.bytes);
  out.passes.push_back(std::move(pass));
  set_box_blocks(*box, form->sums, {form->strip(), form->chunk_rows}, out);
  if (!is_mended(p, *where)) {
    if (box_can_spoil(p)) out.assumption = kFinite;
    // Where there are fractions the pixels beyond both ends are weighed, some by nothing, and nothing times a NaN is one.
    const std::int32_t edge = box->x.is_whole() && box->y.is_whole() ? 0 : 1;
    leave_box_spoiled(p, *box, {{form->columns_per_lane + edge, edge}, {form->chunk_rows + edge, edge}}, out);
  } else if (Status mends = mend_box(p, *box, form->chunk_rows, out); !mends) {
    return mends.error();
  }
  return out;
}

}  // namespace mollify
