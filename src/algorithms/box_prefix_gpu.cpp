// box.any on GPUs by prefix sums: from one row to the next a window's sum changes by what enters and leaves below and above
// it. Groups add these differences up along whole strips in shared memory, so that those of any window are the difference of
// two places: two loads a pixel at any radius. What windows begin a band with comes from sums of cells, one more read of the
// image. Loses to corners where windows have more parts than differences of 16 bits are worth, and on floats, whose sums take more
// registers.
#include <algorithm>
#include <bit>
#include <cmath>

#include "algorithms/box_cells.h"

namespace mollify {
namespace {

using namespace gpu;
using Sums = BoxAnySums;

constexpr std::string_view kKernel = "box_prefix";

/// How the work is split.
struct Form {
  Sums sums = Sums::u32;
  std::int32_t channels = 4;
  std::int32_t pixels = 1;    ///< of a chunk
  std::int32_t chunks = 1;    ///< of a lane
  std::int32_t parts = 1;     ///< of a window, whose differences words can hold
  std::int32_t threads = 128;
  std::int32_t batch = 1;     ///< rows from one turn to the next
  std::int32_t strip = 1;     ///< columns that come out of a group
  std::int32_t beyond = 0;    ///< places behind a row's, where lanes that make nothing look
  bool has_cells = true;      ///< for what bands begin with, else they read their first windows
  std::int32_t pieces = 1;    ///< bands
  std::int32_t height = 1;    ///< rows of one
  double error = 0.0;
  [[nodiscard]] std::int32_t reach() const { return threads * pixels * chunks; }
  /// 32-bit words of a place in shared memory.
  [[nodiscard]] std::int32_t words() const { return sums == Sums::u16x2 ? 2 : channels == 1 ? 1 : 4; }
  [[nodiscard]] std::int64_t shared_bytes(std::int32_t subgroup_size) const {
    const std::int64_t places = reach() + reach() * words() / 32 + threads / subgroup_size * chunks;
    return 4 * words() * (batch * places + beyond);
  }
};

/// Windows whose packed differences, 255 codes for each column, are numbers of 16 bits with a sign.
constexpr std::int32_t kHalfColumns = 128;
/// Such windows that others are made of, before words of their own are cheaper.
constexpr std::int32_t kMostParts = 3;

/// Columns of a strip: no more than a group can make, and alike. The whole source decides, as sums of floats begin there.
std::int32_t strip_of(const Problem& p, const Form& form, std::int32_t window) {
  const std::int32_t most = (form.reach() - window - (form.pixels - 1)) / form.pixels * form.pixels;
  if (most <= 0) return 0;
  const std::int32_t strips = (p.src.width + most - 1) / most;
  return walk_length(p.src.width, strips, form.pixels);
}

/// As far as a window reaches from the last lane's last pixel, rounded up, so that few different kernels are compiled.
std::int32_t places_beyond(const Form& form, std::int32_t window) {
  const std::int32_t columns = window + form.pixels;
  return rounded_size(columns + columns * form.words() / 32 + 1);
}

/// Units of the roundoff, relative to full scale. Sums up to a place can be as large as all that a group reads; differences of
/// pixels twice as large as a pixel.
double growth(const PerAxis<BoxAxis>& box, const Form& form, std::int32_t subgroup_size) {
  const double wide = box.x.whole();
  const double high = box.y.whole();
  const double reach = form.reach();
  const double subgroups = static_cast<double>(form.threads) / subgroup_size * form.chunks;
  const auto halvings = [](double n) { return std::ceil(std::log2(std::max(n, 1.0))); };
  const double along = form.pixels + halvings(subgroup_size) + subgroups / subgroup_size + halvings(subgroup_size) + 4.0;
  const double column = form.has_cells ? kBoxRun + form.height / kBoxRun + std::floor(high / form.height) + 3.0 : high + 1.0;
  const double start = column + 2.0 * along * reach / wide + 1.0;
  const double a_row = 4.0 * along * reach / (wide * high) + 4.0 / high + 1.0;
  return start + form.height * a_row + 4.0;
}

double error_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  const double u = unit_roundoff(Accumulator::f32);
  if (is_integer(form.sums)) return 4.0 * u;  // the sum becomes a float, and is scaled and encoded
  return colour_gain(p.spec) * growth(box, form, p.device.gpu.subgroup_size) * u + colour_error(p.spec, Accumulator::f32);
}

/// Measured on an H200: of the formats with two words a place, only these have registers for two rows a turn, and gain by larger groups.
bool is_rgba8(const Form& form) { return form.words() == 2 && form.channels == 4; }

/// Windows, of columns or of rows, up to which small groups make enough, and first windows are sooner read than cut into cells. Measured on
/// an H200.
std::int32_t narrow(const Form& form) { return is_rgba8(form) ? 100 : 65; }

/// Whether bands of a few rows fill the device.
bool fills_device(const Problem& p) {
  constexpr double kFewRows = 16.0;
  constexpr double kPixelsOfLane = 4.0;
  const double bands = p.src.height / kFewRows * p.batch;
  return p.src.width / kPixelsOfLane * bands >= processors(p) * kThreadsAtOnce;
}

/// Threads of a group, in whole subgroups, with which groups read the fewest columns twice. Measured on an H200: time goes with what all
/// of them read; of more threads they wait a little longer for each other, and more where a processor has but one group.
std::int32_t least_reading(const Problem& p, Form form, std::int32_t window, std::int32_t largest) {
  constexpr double kLone = 1.2;
  std::int32_t best = largest;
  double least = HUGE_VAL;
  for (std::int32_t threads = 128; threads <= largest; threads += p.device.gpu.subgroup_size) {
    form.threads = threads;
    form.strip = strip_of(p, form, window);
    form.beyond = places_beyond(form, window);
    if (form.strip <= 0 || !check_shared(p, form.shared_bytes(p.device.gpu.subgroup_size))) continue;
    const std::int32_t strips = (p.src.width + form.strip - 1) / form.strip;
    const double waiting = (1.0 + threads / 4096.0) * (2 * threads > kThreadsAtOnce ? kLone : 1.0);
    if (strips * threads * waiting < least) {
      least = strips * threads * waiting;
      best = threads;
    }
  }
  return best;
}

/// As measured on an H200: so many that a group reads 512 columns, or 1024 where windows are not narrow, or two windows (four where places
/// are not two words). Wide windows of rgba8: what reads the least, or 512 columns and two windows where bands do not fill the device.
Result<std::int32_t> threads_of(const Problem& p, const Form& form, std::int32_t window) {
  const GpuInfo& gpu = p.device.gpu;
  const std::int32_t largest = std::min(gpu.max_group_invocations, gpu.max_group.x);
  const bool is_narrow = window <= narrow(form);
  if (is_rgba8(form) && !is_narrow && !gpu.is_software && fills_device(p)) {
    return box_threads(p, least_reading(p, form, window, largest));
  }
  const std::int64_t least = gpu.is_software ? 256 : is_narrow || is_rgba8(form) ? 512 : 1024;
  const std::int64_t windows = (form.words() == 2 && !gpu.is_software ? 2 : 4) * std::int64_t{window};
  const std::int64_t wanted = std::min<std::int64_t>(std::max(least, windows), std::int64_t{p.src.width} + window + form.pixels);
  std::int32_t threads = 64;
  while (2 * threads <= largest && std::int64_t{threads} * form.pixels * form.chunks < wanted) threads *= 2;
  return box_threads(p, threads);
}

Result<Form> form_with(const Problem& p, const PerAxis<BoxAxis>& box, Sums sums) {
  const GpuInfo& gpu = p.device.gpu;
  const std::int32_t window = box.x.whole();
  Form out;
  out.sums = sums;
  out.channels = info(p.src.format).channels;
  out.pixels = pixels_of_chunk(p.src.format);
  constexpr std::int32_t kPixelsOfLane = 4;
  out.chunks = gpu.is_software ? 1 : std::max(1, kPixelsOfLane / out.pixels);
  if (sums == Sums::u16x2) out.parts = (window + kHalfColumns - 1) / kHalfColumns;
  if (out.parts > kMostParts && !p.options.contains("sums")) return refusal("differences would not fit into 16 bits");

  const Result<std::int32_t> threads = threads_of(p, out, window);
  if (!threads) return threads.error();
  out.threads = *threads;
  out.strip = strip_of(p, out, window);
  if (out.strip <= 0) {
    return refusal("a window of " + std::to_string(window) + " columns reaches further than the " +
                   std::to_string(out.reach()) + " columns of a group");
  }
  out.beyond = places_beyond(out, window);
  // Measured on an H200: two rows a turn wait less often, but more registers leave a processor fewer groups, which wait more.
  const bool has_registers = is_rgba8(out) && window <= narrow(out) && !gpu.is_software;
  const Result<std::int32_t> batch = count(p, "batch", 16, has_registers ? 2 : 1);
  if (!batch) return batch.error();
  out.batch = *batch;
  if (Status fits = check_shared(p, out.shared_bytes(gpu.subgroup_size)); !fits) return fits.error();

  // A band begins with as many sums as these rows have. Measured on an H200: lanes of few pixels read the first window
  // sooner than an image is cut into cells, if it is low.
  out.has_cells = box.y.whole() > narrow(out);
  const double run_up = 4.0 * out.channels / out.words() + (out.has_cells ? 0.0 : 0.3 * box.y.whole());
  const std::int64_t strips = (p.src.width + out.strip - 1) / out.strip;
  const BoxWalks walks{strips, out.threads, box_threads_at_once(out.batch)};
  const std::int32_t usual =
      is_integer(sums) ? box_band(p, walks, run_up) : box_band_of_floats(p, box.y, strips * out.threads, run_up);
  const Result<std::int32_t> pieces = count(p, "vertical_groups", 1 << 16, (p.src.height + usual - 1) / usual);
  if (!pieces) return pieces.error();
  constexpr std::int32_t kHalfRows = 257;  // whose sums fit into half a word
  out.pieces = std::max(*pieces, sums == Sums::u16x2 ? (p.src.height + kHalfRows - 1) / kHalfRows : 1);
  out.height = walk_length(p.src.height, out.pieces, 1);
  out.error = error_of(p, box, out);
  return out;
}

/// What both passes agree on.
struct Steps {
  Form form;
  BoxCut x, y;  ///< only bands have cells
  double scale = 1.0;
  std::int32_t lanes = 1;  ///< that cut a strip of cells together
  /// In whole strips of cells.
  [[nodiscard]] std::int32_t columns() const {
    const std::int32_t strip = lanes * form.pixels;
    return ((x.count - 1) * x.cell + form.reach() + strip - 1) / strip * strip;
  }
  /// Where they begin in the source, a multiple of a lane's pixels.
  [[nodiscard]] std::int32_t left() const {
    const std::int32_t first = x.reach_origin();
    const std::int32_t remainder = first % form.pixels;
    return first - (remainder < 0 ? remainder + form.pixels : remainder);
  }
  [[nodiscard]] std::int64_t cell_words() const {
    return std::int64_t{2} * form.channels * y.cells() * columns();
  }
};

Pass cells_pass(const Problem& p, const Steps& s) {
  constexpr std::int32_t kThreads = 128;
  const std::int32_t threads = std::max(kThreads, p.device.gpu.subgroup_size);
  Pass pass = make_pass(kBoxCells, {s.columns(), s.y.reach()}, {threads * s.form.pixels, s.y.cell}, {threads, 1},
                        Storage::buffer);
  pass.destination = intermediate(0);
  pass.origin = {s.left(), s.y.reach_origin()};
  pass.constants.insert({{"sums", static_cast<std::int64_t>(s.form.sums)},
                         {"lanes", s.lanes},
                         {"pixels", s.form.pixels},
                         {"batch", box_rows_of_cells(p, s.lanes, s.form.pixels)},
                         {"has_rows", 0},
                         {"has_whole_chunks", 1},
                         {"part_x", 0},
                         {"part_y", s.y.part()},
                         {"height", s.y.cell}});
  pass.parameters["scale"] = is_integer(s.form.sums) ? 1.0 : s.scale;
  return pass;
}

Pass prefix_pass(const Problem& p, const Steps& s) {
  const Rect r = region(p);
  const PerAxis<std::int32_t> skip{r.x - s.x.origin, r.y - s.y.origin};
  Pass pass = make_pass(kKernel, {p.dst.width + skip.x, p.dst.height + skip.y}, {s.x.cell, s.y.cell}, {s.form.threads, 1},
                        Storage::buffer);
  pass.beside = s.form.has_cells ? intermediate(0) : kSource;
  pass.origin = {s.x.origin, s.y.origin};
  pass.extent = std::get<Box>(p.spec.kernel).extent;
  pass.constants.insert({{"sums", static_cast<std::int64_t>(s.form.sums)},
                         {"words", std::countr_zero(static_cast<unsigned>(s.form.words()))},
                         {"lanes", p.device.gpu.subgroup_size},
                         {"pixels", s.form.pixels},
                         {"chunks", s.form.chunks},
                         {"parts", s.form.parts},
                         {"beyond", s.form.beyond},
                         {"batch", s.form.batch},
                         {"has_whole_chunks", 1},
                         {"has_cells", s.form.has_cells ? 1 : 0},
                         {"ahead", p.device.gpu.is_software ? 1 : std::max(1, 4 / s.form.chunks)},
                         {"before_x", s.x.before},
                         {"before_y", s.y.before},
                         {"window_x", s.x.window},
                         {"window_y", s.y.window},
                         {"skip_x", skip.x},
                         {"skip_y", skip.y},
                         {"width", s.x.cell},
                         {"height", s.y.cell},
                         {"columns", s.columns()},
                         {"whole", s.y.whole()},
                         {"part", s.y.part()}});
  pass.parameters["scale"] = s.scale;
  return pass;
}

/// Of the last pass for each pixel, in multiply-adds of four numbers, as measured on an H200: four words a place take the
/// registers that other groups would have, and so do the long chunks of small pixels.
double operations_of(const Form& form) {
  if (form.words() == 4) return form.has_cells ? 80.0 : 60.0;
  return form.words() == 2 ? 10.0 + 1.5 * std::max(form.parts - 2, 0) : 10.0 + (form.has_cells ? 2.0 : 0.4) * form.pixels;
}

/// Of both passes. Loads are of a chunk.
double seconds_of(const Problem& p, const Steps& s) {
  const auto bytes = [&](double pixels) { return pixels * info(p.src.format).pixel_bytes(); };
  const auto of = [&](const Work& work) { return seconds(p.device, PixelFormat::rgba32f, work); };
  const double pixels = s.form.pixels;
  const double rows = s.form.has_cells ? s.y.reach() : static_cast<double>(s.y.count) * s.y.window;
  const double cells = static_cast<double>(s.columns()) * rows;
  const double read = static_cast<double>(s.x.count) * s.form.reach() * p.dst.height;
  Work first;  // cells, or the first windows of bands
  first.pixels = cells / pixels;
  first.loads = 1.0;
  first.operations = 2.0 * pixels;
  if (s.form.has_cells) first.bytes = bytes(cells) + 4.0 * static_cast<double>(s.cell_words());
  Work last;
  last.pixels = read / pixels;
  last.loads = 2.0;
  last.operations = operations_of(s.form) * pixels;
  last.shared_loads = 3.0 * pixels;
  last.barriers = 2.0 / (s.form.chunks * s.form.batch);
  last.bytes = bytes(read) + static_cast<double>(p.dst.payload_bytes());
  return of(first) + of(last);
}

}  // namespace

Result<Proposal> propose_box_prefix(const Problem& p) {
  const Result<PerAxis<BoxAxis>> box = box_of_cells(p, kKernel, "prefix sums");
  if (!box) return box.error();
  if (decodes_slowly(p)) return refusal("prefix sums read each pixel twice, which transfer functions are too slow for");
  const Result<Form> form = first_box_sums(p, *box, [&](Sums sums) { return form_with(p, *box, sums); });
  if (!form) return form.error();

  const Rect r = region(p);
  Steps s{*form, box_cut(box->x, form->strip, r.x, r.width), box_cut(box->y, form->height, r.y, r.height)};
  s.lanes = box_lanes(p);
  s.scale = 1.0 / (box->x.length() * box->y.length() * (is_integer(form->sums) ? info(p.src.format).unit() : 1.0));
  constexpr std::int64_t kMostWords = 1 << 30;
  if (s.cell_words() > kMostWords) return refusal("sums of cells would take " + std::to_string(4 * s.cell_words()) + " bytes");

  Proposal out;
  if (form->has_cells) out.intermediates = {box_words(s.cell_words())};
  if (Status fits = box_buffers(p, kKernel, out.intermediates); !fits) return fits.error();
  out.error = form->error;
  if (!info(p.src.format).is_unorm()) out.assumption = kFinite;
  out.options = {{"form", "prefix"},
                 {"storage", "buffer"},
                 {"sums", std::string(name_of(form->sums))},
                 {"threads", std::to_string(form->threads)},
                 {"batch", std::to_string(form->batch)},
                 {"vertical_groups", std::to_string(form->pieces)}};
  out.seconds = seconds_of(p, s);
  out.moved_bytes = moved_bytes(p, out.intermediates) + (form->has_cells ? p.src.payload_bytes() : 0);
  if (form->has_cells) out.passes.push_back(cells_pass(p, s));
  out.passes.push_back(prefix_pass(p, s));
  return out;
}

}  // namespace mollify
