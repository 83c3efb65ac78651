// box.any on GPUs by corners: a window's sum differs from that of its neighbours by pixels at its four corners, so a pixel
// takes four loads whatever the radius. Strips of columns move down bands of rows, each by some lanes of a subgroup that
// add up along it; what the windows before a strip and a band are comes from block sums, one more read of the image.
// Loses to columns where windows are so small that the first sums outweigh the rest.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "algorithms/box/box_block_sums.h"
#include "algorithms/box/box_mend_gpu.h"
#include "algorithms/common/occupancy.h"
#include "box_block_sums_arguments.h"
#include "box_block_sums_vec_arguments.h"
#include "box_four_corner_arguments.h"
#include "box_four_corner_vec_arguments.h"
#include "box_seed_windows_arguments.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;
using Sums = BoxAnySums;

constexpr std::string_view kCorners = glsl::BoxFourCorner::kKernel;

/// Windows that follow from each other: few enough that as many blocks would be summed for the first of them alone.
std::int32_t run_of(std::int32_t window, std::int32_t block) {
  constexpr std::int32_t kFewBlocks = 4;
  return window / block <= kFewBlocks ? 1 : window / block;
}
std::int32_t run_of(const BoxCut& cut) {
  return run_of(cut.window, cut.block);
}
std::int32_t runs_of(const BoxCut& cut) {
  return (cut.windows() + run_of(cut) - 1) / run_of(cut);
}

/// Runs begin at the same windows whatever the region is.
BoxCut cut_of(const BoxAxis& box, std::int32_t block, std::int32_t begin, std::int32_t length) {
  BoxCut out = box_cut(box, block, begin, length);
  out.first = begin / block % run_of(out);
  return out;
}

/// How the work is split.
struct Form {
  Sums sums = Sums::u32;
  std::int32_t lanes = 1;   ///< of a strip
  std::int32_t pixels = 1;  ///< of a lane
  std::int32_t threads = 128;
  std::int32_t rows_in_flight = 1;
  bool is_plain = false;      ///< pixels are summed as they are stored
  std::int32_t chunks = 1;    ///< bands
  std::int32_t height = 1;    ///< rows of one
  std::int32_t together = 1;  ///< sums of columns that are fetched together
  double error = 0.0;
  std::int32_t block_sum_rows = 1;  ///< that are fetched together; a power of two, as lanes share them out among themselves
  [[nodiscard]] std::int32_t width() const { return lanes * pixels; }
};

/// Units of the roundoff, relative to full scale.
double growth(const PerAxis<BoxAxis>& box, const Form& form) {
  const double wide = box.x.whole();
  const double high = box.y.whole();
  const auto blocks = [](double window, double block) {
    const double whole = std::floor(window / block);
    return whole + 2.0 * run_of(static_cast<std::int32_t>(window), static_cast<std::int32_t>(block)) + 2.0;
  };
  const double lanes = std::bit_width(static_cast<unsigned>(form.lanes));
  const double along = form.pixels + lanes + 6.0;                       // additions from pixels to sums along a strip
  const double differences = 2.0 * form.width();                        // pixels that such a sum can come to
  const double row = form.pixels + lanes + blocks(wide, form.width());  // of a window of a row
  const double column = kBoxRun + form.height / kBoxRun + blocks(high, form.height);
  const double a_row = along * differences / (wide * high) + (2.0 * row + 3.0) / high + 1.0;
  const double start = column + wide / form.lanes + lanes + (along + column) * differences / wide;
  return start + form.height * a_row + 4.0;
}

double error_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  const double u = unit_roundoff(Accumulator::f32);
  if (is_integer(form.sums)) {
    constexpr double kMean = 4.0;  // the sum becomes a float, and is scaled and encoded
    return form.is_plain ? box_means(p, box.x.length() * box.y.length()).error : kMean * u;
  }
  return colour_gain(p.spec) * growth(box, form) * u + colour_error(p.spec, Accumulator::f32);
}

/// Lanes with few pixels of their own make many narrow strips.
bool is_narrow(const Form& form) {
  return form.pixels <= 2;
}

/// Threads of a processor that make an image: as many as it runs at once, or twice that. Measured, us at radius 128 by so many
/// groups of 128 a processor: `rgba8` 125, 110, 103 and 112 by 3, 4, 6 and 7, `rgb8` 138 and 128 by 6 and 8, `r32f` 83, 78 and 91 by 6, 8
/// and 12, and of narrow strips `rgba16f` 216, 198, 178 and 184 by 6, 8, 12 and 14.
std::int32_t threads_that_make(const Problem& p, const Form& form) {
  const FormatInfo& format = info(p.src.format);
  const bool is_light = format.bits == 32 ? format.channels < 3 : format.bits == 8 && format.channels == 3;
  const std::int32_t at_once = threads_at_once(gpu_model(p.device), is_light ? kDefaultRegisters : 84.0);
  return is_narrow(form) ? 2 * at_once : at_once;
}

std::int32_t default_height(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  // The first sums take as many loads as these rows do, each of a column or a row in blocks and in windows.
  const double channels = info(p.src.format).channels;
  const double run_up = 8.0 + channels * box.x.whole() / (4.0 * form.pixels * form.lanes);
  const std::int64_t lanes = (std::int64_t{p.src.width} + form.pixels - 1) / form.pixels;
  const std::int64_t groups = (lanes + form.threads - 1) / form.threads;
  if (form.is_plain) {
    const std::int32_t height = box_band(p, {groups, form.threads, threads_that_make(p, form)}, run_up);
    return is_narrow(form) ? box_band_of_windows(box.y, height) : height;
  }
  if (!is_integer(form.sums)) return box_band_of_floats(p, box.y, lanes, run_up);
  return box_band(p, {groups, form.threads, box_threads_at_once(p, form.rows_in_flight)}, run_up);
}

Result<Form> form_with(const Problem& p, const PerAxis<BoxAxis>& box, Sums sums) {
  Form out;
  out.sums = sums;
  const GpuInfo& gpu = p.device.gpu;
  out.pixels = decodes_slowly(p) ? 1 : pixels_of_vector(p.src.format);
  out.lanes = lanes_of_block_sums(p);
  out.is_plain = box_of_stored(p, BoxForm::four_corner).ok();
  // Halves of words hold differences of four pixels over so many columns.
  constexpr std::int32_t kHalfColumns = 64;
  while (sums == Sums::u16x2 && out.width() > kHalfColumns) out.lanes /= 2;

  constexpr std::int32_t kThreads = 128;
  const Result<std::int32_t> threads = box_threads(p, kThreads);
  if (!threads) return threads.error();
  out.threads = *threads;
  const Result<std::int32_t> rows_in_flight = kBoxRowsInFlight.of(p, gpu.is_software || decodes_slowly(p) ? 1 : 2);
  if (!rows_in_flight) return rows_in_flight.error();
  out.rows_in_flight = *rows_in_flight;

  // A driver that runs on the processor takes seconds to compile what more unrolls to.
  out.together = gpu.is_software ? 1 : 8;
  out.block_sum_rows = block_sum_rows(p, out.lanes, out.pixels);
  // Measured: 71 us instead of 77 for `r16` at radius 128.
  const FormatInfo& source = info(p.src.format);
  if (out.is_plain && source.channels == 1 && source.bits > 8) out.block_sum_rows = std::min(out.block_sum_rows, 2);

  const bool is_given = kChunks.is_given(p);
  const std::int32_t usual = default_height(p, box, out);
  const Result<std::int32_t> chunks = kChunks.of(p, (p.src.height + usual - 1) / usual);
  if (!chunks) return chunks.error();
  constexpr std::int32_t kHalfRows = 257;  // whose sums fit into half a word
  out.chunks = *chunks;
  if (sums == Sums::u16x2) out.chunks = std::max(out.chunks, (p.src.height + kHalfRows - 1) / kHalfRows);
  const auto tile = tile_of_whole(p, sums);
  const auto set_height = [&] {
    out.height = tile ? tile->y : chunk_length(p, p.src.height, out.chunks, 1, {kShortLoops, box.y.whole()});
    out.error = error_of(p, box, out);
  };
  set_height();
  constexpr std::int32_t kLeastRows = 8;
  while (!is_given && !tile && !is_integer(sums) && out.error > p.allowed_error && out.height >= 2 * kLeastRows) {
    out.chunks *= 2;
    set_height();
  }
  return out;
}

/// What the three passes agree on.
struct Steps {
  Form form;
  BoxCut x, y;
  std::int32_t channels = 1;
  double scale = 1.0;
  double lift = 1.0;  ///< of floats
  [[nodiscard]] std::int64_t block_words() const {
    return 2 * box_planes(form.sums, channels) * (std::int64_t{y.blocks()} * x.reach() + std::int64_t{x.blocks()} * y.reach());
  }
  [[nodiscard]] std::int64_t window_words() const {
    return channels * (std::int64_t{y.windows()} * x.reach() + std::int64_t{x.windows()} * y.reach());
  }
  /// Pixels from whole spans to those that leave a strip's windows first, and to those that enter them.
  [[nodiscard]] std::int32_t shift_left() const { return form.pixels - 1 - x.before % form.pixels; }
  [[nodiscard]] std::int32_t shift_right() const { return (shift_left() + x.window) % form.pixels; }
  [[nodiscard]] std::int32_t strips_of_group() const { return form.threads / form.lanes; }
};

Pass block_sums_pass(const Steps& s) {
  const PerAxis<std::int32_t> size{s.x.reach(), s.y.reach()}, tile{s.strips_of_group() * s.x.block, s.y.block}, group{s.form.threads, 1};
  const PerAxis<std::int32_t> part{s.x.part(), s.y.part()};
  const double scale = is_integer(s.form.sums) ? 1.0 : s.lift * s.scale;
  Pass pass = s.form.is_plain ? make_pass(glsl::BoxBlockSumsVec{.has_rows = true,
                                                                .height = s.y.block,
                                                                .kinds = part.x > 0 ? 2 : 1,
                                                                .lanes = s.form.lanes,
                                                                .part = part,
                                                                .rest = part.x % s.form.pixels,
                                                                .rows_in_flight = s.form.block_sum_rows,
                                                                .scale = scale,
                                                                .shift = s.shift_left(),
                                                                .span = s.form.pixels,
                                                                .sums = s.form.sums,
                                                                .sums_are_short = false},
                                          size, tile, group, Storage::buffer)
                              : make_pass(glsl::BoxBlockSums{.height = s.y.block,
                                                             .lanes = s.form.lanes,
                                                             .part = part,
                                                             .pixels = s.form.pixels,
                                                             .rows_in_flight = s.form.block_sum_rows,
                                                             .scale = scale,
                                                             .sums = s.form.sums},
                                          size, tile, group, Storage::buffer);
  pass.destination = intermediate(0);
  pass.origin = {s.x.reach_origin(), s.y.reach_origin()};
  return pass;
}

Pass windows_pass(const Steps& s) {
  constexpr std::int32_t kThreads = 128;
  const std::int32_t planes = box_planes(s.form.sums, s.channels);
  const std::int32_t widest = planes * std::max(s.x.reach(), s.y.reach());
  const glsl::BoxSeedWindows arguments{.blocks = {2 * s.y.blocks() * planes * s.x.reach(), 0},
                                       .made = {s.channels * s.y.reach(), s.channels * s.x.reach()},
                                       .numbers = {planes * s.y.reach(), planes * s.x.reach()},
                                       .part = {s.x.part(), s.y.part()},
                                       .run = {run_of(s.x), run_of(s.y)},
                                       .runs_down = runs_of(s.y),
                                       .sums = s.form.sums,
                                       .whole = {s.x.whole(), s.y.whole()},
                                       .windows = {s.x.windows(), s.y.windows()}};
  Pass pass = make_pass(arguments, {widest, runs_of(s.y) + runs_of(s.x)}, {kThreads, 1}, {kThreads, 1}, std::nullopt);
  pass.source = intermediate(0);
  pass.destination = intermediate(1);
  return pass;
}

Pass corners_pass(const Problem& p, const Steps& s) {
  const Rect r = region(p);
  const PerAxis<std::int32_t> skip{r.x - s.x.origin, r.y - s.y.origin};
  const PerAxis<std::int32_t> size{r.width + skip.x, r.height + skip.y}, tile{s.strips_of_group() * s.x.block, s.y.block};
  const auto made_by = [&](auto arguments) {
    arguments.bands = s.y.windows();
    arguments.before = {s.x.before, s.y.before};
    arguments.columns = s.x.reach();
    arguments.first = {s.x.first, s.y.first};
    arguments.gain = 1.0 / s.lift;
    arguments.height = s.y.block;
    arguments.lanes = s.form.lanes;
    arguments.rows = s.y.reach();
    arguments.rows_in_flight = s.form.rows_in_flight;
    arguments.scale = s.lift * s.scale;
    arguments.skip = skip;
    arguments.sums = s.form.sums;
    arguments.together = s.form.together;
    arguments.window = {s.x.window, s.y.window};
    return make_pass(arguments, size, tile, {s.form.threads, 1}, Storage::buffer);
  };
  Pass pass;
  if (s.form.is_plain) {
    const double window = static_cast<double>(s.x.window) * s.y.window;
    glsl::BoxFourCornerVec of_stored{};
    of_stored.shift_left = s.shift_left();
    of_stored.shift_right = s.shift_right();
    of_stored.span = s.form.pixels;
    of_stored.sums_are_short = is_integer(s.form.sums) && box_means(p, window).sums_are_short;
    pass = made_by(of_stored);
  } else {
    glsl::BoxFourCorner of_decoded{};
    of_decoded.pixels = s.form.pixels;
    pass = made_by(of_decoded);
  }
  pass.auxiliary = intermediate(1);
  pass.origin = {s.x.origin, s.y.origin};
  pass.extent = *box_extents(p);
  return pass;
}

/// Operations of a pixel beyond what moving it takes, of all three passes. Fitted to timings at radius 128: what is widened and added up,
/// and with fewer channels more pixels of a lane that wait for each other.
double operations_of(const FormatInfo& format) {
  using OfChannels = std::array<double, 4>;
  constexpr OfChannels kBytes = {56.0, 70.0, 84.0, 52.0};
  constexpr OfChannels kCodes = {35.0, 53.0, 107.0, 97.0};
  constexpr OfChannels kHalves = {32.0, 50.0, 89.0, 74.0};
  constexpr OfChannels kFloats = {21.0, 45.0, 106.0, 82.0};
  const OfChannels& of = format.bits == 8 ? kBytes : format.bits == 32 ? kFloats : format.is_unorm() ? kCodes : kHalves;
  return of[static_cast<std::size_t>(format.channels - 1)];
}

double area_of(const Pass& pass) {
  return static_cast<double>(pass.size.x) * pass.size.y;
}

/// Of all three passes, of pixels as they are stored.
double seconds_of_stored(const Problem& p, const Steps& s) {
  constexpr double kShareOfBlockSums = 0.35;  // of the operations
  const GpuModel device = gpu_model(p.device);
  const double bytes = info(p.src.format).pixel_bytes();
  const double blocks = area_of(block_sums_pass(s));
  const double made = area_of(corners_pass(p, s));
  const double moved = bytes * (blocks + 2.0 * made);
  const double operations = operations_of(info(p.src.format)) * (kShareOfBlockSums * blocks + (1.0 - kShareOfBlockSums) * made);
  const double filled = moved / device.bytes_per_second + operations / device.operations_per_second;
  // What a band takes that is not one of many: measured on images too small to fill the device.
  return 2.0 * device.launch_seconds + std::max(device.launch_seconds + filled, seconds_of_chunks(p, 0.0, 3.75 * s.y.block));
}

/// Of all three passes on a processor, which waits for nothing and hides nothing: what their threads do, those beyond the image among them.
double seconds_on_processor(const Problem& p, const Steps& s) {
  const auto of = [&](const Work& work) { return seconds(p.device, p.src.format, work); };
  const Pass blocks = block_sums_pass(s);
  const Pass made = corners_pass(p, s);
  const double pixels = s.form.pixels;
  const double planes = box_planes(s.form.sums, s.channels);
  // Words of buffers are loaded one by one. What begins at any pixel takes two loads of 16 bytes, but for one of so many times.
  const double words = info(p.src.format).pixel_bytes() / 4.0;
  const double fetches = words * (2.0 - words / 4.0);
  // Each step asks another lane for a row's sums.
  const double steps = std::bit_width(static_cast<unsigned>(s.form.lanes)) - 1.0;
  Work first;
  first.pixels = area_of(blocks);
  first.loads = fetches;
  first.stores = 0.0;  // few
  first.shared_loads = steps * planes / s.channels / pixels;
  first.operations = 10.0;
  first.covered = covered(blocks);
  Work between;
  between.pixels = static_cast<double>(s.window_words()) / s.channels;
  between.loads = 5.0;  // of blocks
  Work last;
  last.pixels = area_of(made);
  last.loads = 4.0 * fetches;
  last.shared_loads = (steps * planes + s.channels) / s.channels / pixels;
  last.operations = 20.0;
  last.covered = covered(made);
  return of(first) + of(between) + of(last);
}

/// Of pixels that are decoded. Loads and stores are of a lane's pixels together, up to 16 bytes.
double seconds_of_decoded(const Problem& p, const Steps& s) {
  const auto bytes = [&](double pixels) { return pixels * info(p.src.format).pixel_bytes(); };
  const auto of = [&](const Work& work) { return seconds(p.device, PixelFormat::rgba32f, work); };
  const double pixels = s.form.pixels;
  // Measured: packed sums of bytes take more instructions than a pixel of floats.
  const double operations = info(p.src.format).bits == 8 ? 50.0 : 10.0;
  // What begins at any pixel takes two loads of 16 bytes, but for one of so many times.
  const double fetches = 2.0 - info(p.src.format).pixel_bytes() / 16.0;
  const double blocks = area_of(block_sums_pass(s));
  const double made = area_of(corners_pass(p, s));
  Work first;
  first.pixels = blocks / pixels;
  first.loads = fetches;
  first.operations = 10.0 * pixels;
  first.bytes = bytes(blocks) + 4.0 * static_cast<double>(s.block_words());
  Work between;
  between.bytes = 4.0 * static_cast<double>(s.block_words() + s.window_words());
  Work last;
  last.pixels = made / pixels;
  last.loads = 4.0 * fetches;
  last.operations = operations * pixels;
  last.bytes = bytes(made) + static_cast<double>(p.dst.payload_bytes()) + 8.0 * static_cast<double>(s.window_words());
  const double filled = of(first) + of(between) + of(last);
  // Two rows are cut into blocks, and four loads wait for each other: measured on images too small to fill the device.
  return std::max(filled, 2.0 * gpu_model(p.device).launch_seconds + seconds_of_chunks(p, 0.0, 6.0 * s.y.block));
}

}  // namespace

Result<Proposal> propose_box_four_corner(const Problem& p) {
  const Result<PerAxis<BoxAxis>> box = box_of_whole_pixels(p, kCorners, BoxForm::four_corner);
  if (!box) return box.error();
  const Result<Form> form = first_box_sums(p, *box, [&](Sums sums) { return form_with(p, *box, sums); });
  if (!form) return form.error();

  const Rect r = region(p);
  Steps s{*form, cut_of(box->x, form->width(), r.x, r.width), cut_of(box->y, form->height, r.y, r.height)};
  s.channels = info(p.src.format).channels;
  const bool is_of_codes = is_integer(form->sums) && !form->is_plain;
  s.scale = 1.0 / (box->x.length() * box->y.length() * (is_of_codes ? info(p.src.format).unit() : 1.0));
  // What adds up along a strip, or down a band.
  s.lift = box_lift(p, *box, (1.0 + 2.0 * form->width() / box->x.whole()) * std::max(1.0, 1.0 * form->height / box->y.whole()));
  if (Status few = check_block_sums(s.block_words()); !few) return few.error();

  Result<Proposal> out = box_proposal(p, kCorners, BoxForm::four_corner, *form, {box_words(s.block_words()), box_words(s.window_words())});
  if (!out) return out.error();
  out->seconds = gpu_model(p.device).is_processor ? seconds_on_processor(p, s)
                 : form->is_plain                 ? seconds_of_stored(p, s)
                                                  : seconds_of_decoded(p, s);
  out->moved_bytes = moved_bytes(p, out->intermediates) + source_bytes(p);
  out->passes = {block_sums_pass(s), windows_pass(s), corners_pass(p, s)};
  set_box_blocks(*box, form->sums, {run_of(s.x) * s.x.block, run_of(s.y) * s.y.block}, *out);
  if (Status mends = mend_box(p, *box, form->height, *out); !mends) return mends.error();
  return out;
}

}  // namespace mollify
