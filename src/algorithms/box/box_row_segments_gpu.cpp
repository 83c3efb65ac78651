// box.any on GPUs by segments: groups move down strips of columns with a running sum a lane, leave the sums of a few rows in shared
// memory, and slide along these rows there, all lanes, each a segment. Two loads a pixel at any radius. What windows begin a band with
// comes from their pixels where they are low, else from block sums, one more read of the image. Loses where windows are as wide as
// what a group reads, and to what lanes do in registers where they are narrow.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "algorithms/box/box_block_sums.h"
#include "algorithms/box/box_mend_gpu.h"
#include "algorithms/common/occupancy.h"
#include "box_block_sums_vec_arguments.h"
#include "box_row_segments_arguments.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;
using Sums = BoxAnySums;

constexpr std::string_view kKernel = glsl::BoxRowSegments::kKernel;
constexpr double kHalf = 65535.0;  // what half a word holds

/// How the work is split.
struct Form {
  Sums sums = Sums::u32;
  std::int32_t channels = 4;
  std::int32_t bits = 8;     ///< of a component
  bool is_code = true;       ///< which is no float
  std::int32_t span = 1;     ///< pixels that are fetched at once
  std::int32_t columns = 4;  ///< of a lane
  std::int32_t threads = 128;
  std::int32_t rows_in_flight = 1;  ///< rows from one step to the next
  std::int32_t strip = 1;           ///< columns that come out of a group
  bool has_block_sums = true;       ///< for what bands begin with, else they read their first windows
  std::int32_t chunks = 1;          ///< bands
  std::int32_t height = 1;          ///< rows of one
  double error = 0.0;
  [[nodiscard]] std::int32_t spans_per_thread() const { return columns / span; }
  [[nodiscard]] std::int32_t reach() const { return threads * columns; }
  /// Columns that a lane slides along.
  [[nodiscard]] std::int32_t segment() const { return rows_in_flight * columns; }
  /// Lanes that share a row.
  [[nodiscard]] std::int32_t segments() const { return threads / rows_in_flight; }
  /// 32-bit words of a column's sum in shared memory.
  [[nodiscard]] std::int32_t words() const {
    return static_cast<std::int32_t>(std::bit_ceil(static_cast<unsigned>(sums == Sums::u16x2 ? (channels + 1) / 2 : channels)));
  }
  /// Strips are so many columns or a multiple: what lanes store side by side, a column's sum in size, must not lie across their ends.
  [[nodiscard]] std::int32_t step() const {
    std::int32_t together = columns;
    while (together * channels * bits / 8 % (4 * words()) != 0) together *= 2;
    return together;
  }
  [[nodiscard]] bool is_byte() const { return channels == 1 && bits == 8; }
  /// Of codes, two whole words.
  [[nodiscard]] bool is_long_code() const { return is_code && channels * bits == 64; }
  /// Whether lanes that share a row are of one subgroup.
  [[nodiscard]] bool asks(std::int32_t subgroup_size) const { return subgroup_size % segments() == 0; }
  [[nodiscard]] std::int64_t shared_bytes(std::int32_t subgroup_size) const {
    const std::int64_t pitch = segment() + 1 - segment() % 2;
    const std::int64_t rows = (rows_in_flight * (segments() + std::int64_t{1}) + 1) * pitch * words();
    return 4 * (rows + 2 * 4 * (asks(subgroup_size) ? 1 : threads));
  }
};

/// Columns of a strip: no more than a group can make, and alike. The whole source decides, as sums of floats begin there.
std::int32_t strip_of(const Problem& p, const Form& form, std::int32_t window) {
  const std::int32_t most = form.reach() - (window - 1) - (form.span - 1);
  const std::int32_t step = most >= form.step() ? form.step() : form.columns;
  if (most < step) return 0;
  const std::int32_t widest = most / step * step;
  const std::int32_t strips = (p.src.width + widest - 1) / widest;
  return even_length(p.src.width, strips, step);
}

/// Units of the roundoff, relative to full scale: of a band's first sums of columns and of slides along rows, and what each row adds.
struct Growth {
  double start = 0.0;
  double row = 0.0;
};

Growth growth(const PerAxis<BoxAxis>& box, const Form& form) {
  const double high = box.y.whole();
  const double column = form.has_block_sums ? kBoxRun + form.height / kBoxRun + std::floor(high / form.height) + 3.0 : high + 1.0;
  // A segment of the first window, segments of it, and two roundings a column, of a sum that is a part longer than a window's.
  const double segments = static_cast<double>(box.x.whole()) / form.segment();
  const double along = form.segment() + segments + 2.0 + 2.0 * form.segment() * (1.0 + 2.0 / box.x.whole());
  return {column + along + 4.0, 1.0 + 4.0 / high};
}

double error_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  if (is_integer(form.sums)) return box_means(p, box.x.length() * box.y.length()).error;
  const Growth of = growth(box, form);
  return (of.start + form.height * of.row) * unit_roundoff(Accumulator::f32) + colour_error(p.spec, Accumulator::f32);
}

/// Rows of first windows that are read; higher ones take longer than cutting the image into blocks. Measured, where first
/// windows of 32-bit numbers take two or three times as long as those of others, and cutting pixels of 12 bytes and more does, too.
std::int32_t most_read(const Form& form) {
  return form.bits == 32 && form.channels < 3 ? 64 : 160;
}

/// Registers that a thread takes at most, by how many groups were measured to run at once: these hold what rows of a step fetch and make,
/// and sums.
double registers_of(const Form& form) {
  constexpr std::int32_t kManyBytes = 32;  // of a column, in a step
  // As many as leave 256, 384, 512, 768 and 1024 threads of those of 64K, and the default.
  constexpr double kAll = 256.0;
  constexpr double kMany = 168.0;
  constexpr double kSome = 128.0;
  constexpr double kFew = 84.0;
  // Lanes with fewer columns have registers to spare, but where these are four floats.
  if (form.columns < 4) return form.words() == 4 ? kMany : form.channels > 1 ? kSome : form.bits == 32 ? kDefaultRegisters : kFew;
  const bool is_large = form.words() == 4 || form.rows_in_flight * form.channels * form.bits / 8 >= kManyBytes;
  const bool is_wide = form.threads >= 256;
  if (is_large || (is_wide && form.sums == Sums::u16x2 && form.rows_in_flight > 4)) return kAll;
  if (form.is_byte()) return form.rows_in_flight > 4 && !form.has_block_sums ? kSome : kFew;
  return is_wide || form.threads <= 64 ? kSome : kMany;
}

/// Groups that a processor runs at once.
std::int32_t groups_at_once(const Problem& p, const Form& form) {
  const GroupNeeds needs{form.threads, registers_of(form), form.shared_bytes(p.device.gpu.subgroup_size)};
  return static_cast<std::int32_t>(mollify::groups_at_once(gpu_model(p.device), needs));
}

std::int32_t strips_of(const Problem& p, const Form& form) {
  return (p.src.width + form.strip - 1) / form.strip;
}

/// Threads that a processor runs at once, on average, where bands are `form.height` high: what is left over for a second round takes as
/// long as the first.
double threads_at_once(const Problem& p, const Form& form) {
  const double bands = std::ceil(static_cast<double>(p.src.height) / form.height);
  const double groups = strips_of(p, form) * bands * p.batch / processors(p);
  return form.threads * groups / std::max(std::ceil(groups / groups_at_once(p, form)), 1.0);
}

double read_of(const Problem& p, const Form& form) {
  return static_cast<double>(strips_of(p, form)) * form.reach() / p.src.width;
}

/// Rows of first windows for each row of a band.
double first_rows(const PerAxis<BoxAxis>& box, const Form& form) {
  return form.has_block_sums ? 0.0 : static_cast<double>(box.y.whole()) / form.height;
}

/// Instructions of a pixel that is read, were there threads enough to hide all waiting. Fitted to timings, within a fifth of what most
/// plans take that are near the fastest of their window.
double instructions_of(const Form& form) {
  double count = (form.channels == 1 && form.bits == 32 ? 6.0 : 7.5) + 5.0 * form.channels;
  if (form.columns < 4 && form.words() < 4) count *= 1.1;  // what does not depend on columns
  if (form.channels < 3) return count;
  // Bytes that are summed two in a word, and numbers of 16 bits, save something. Pixels of three channels lie across what is moved
  // together, those of words less so.
  const double share = form.sums == Sums::u16x2 ? 0.57 : form.bits == 16 ? 0.82 : 1.0;
  return count * share * (form.channels == 4 ? 1.0 : form.bits == 32 ? 1.1 : 1.7);
}

/// And of a pixel that is cut into blocks. Fitted to timings.
double instructions_of_block_sums(const Form& form) {
  constexpr std::array kBlockSums = {30.0, 45.0, 55.0, 35.0};
  constexpr double kLongCode = 80.0;
  if (form.is_long_code()) return kLongCode;
  const double share = form.bits * form.channels < 64 ? 1.0 : form.channels == 4 ? 0.5 : 0.85;
  return kBlockSums[static_cast<std::size_t>(form.channels - 1)] * share;
}

/// The same of a pixel that comes out, as long as they take with the threads that there are. Fitted to timings.
double operations_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  constexpr double kThreadsToHideHalf = 500.0;  // of a processor
  constexpr double kStep = 1.3;                 // waiting for barriers, in rows
  // And each time that twice as many subgroups share a row, of which windows span a part.
  const double others = 1.1 + 0.4 * box.x.whole() / form.reach();
  // Of a row of first windows, which is not walked along; see most_read() for those of 32 bits.
  double first = form.channels == 4 ? 0.28 : form.is_byte() ? 0.4 : 0.5;
  if (form.bits == 16 && form.is_code) first = form.is_long_code() ? 2.0 : 0.9;
  if (form.bits == 32 && form.channels < 4) first = 2.4;
  if (form.columns < 4) first = std::min(first, 0.4);
  double operations = instructions_of(form) * read_of(p, form) * (1.0 + first * first_rows(box, form));
  // Bytes gain nothing from more rows than four.
  const std::int32_t rows = form.is_byte() ? std::min(form.rows_in_flight, 4) : form.rows_in_flight;
  operations *= (1.0 + kThreadsToHideHalf / threads_at_once(p, form)) * (1.0 + kStep / rows);
  for (std::int32_t lanes = form.segments(); lanes > p.device.gpu.subgroup_size; lanes /= 2) operations *= others;
  return operations;
}

/// Rows of a band. The whole source decides, and the error: sums of floats begin with bands.
std::int32_t default_height(const Problem& p, const PerAxis<BoxAxis>& box, Form form) {
  const std::int32_t strips = strips_of(p, form);
  const double run_up = form.has_block_sums ? 4.0 : 0.3 * box.y.whole();
  std::int32_t best = 1;
  double least = HUGE_VAL;
  for (std::int32_t at_once = 1; at_once <= groups_at_once(p, form); ++at_once) {
    form.height = box_band(p, {strips, form.threads, at_once * form.threads}, run_up, form.has_block_sums);
    if (!is_integer(form.sums)) {
      const Growth of = growth(box, form);
      form.height = box_rows_within(p, of.start, of.row, form.height);
    }
    const double operations = operations_of(p, box, form);
    if (operations < least) {
      least = operations;
      best = form.height;
    }
  }
  return best;
}

/// On a processor, which waits for nothing and hides nothing: what the threads of whole bands do, and words of buffers are loaded one by
/// one.
double seconds_on_processor(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form, double pixels) {
  constexpr double kPutAside = 1.6;  // what threads hold while they wait, as measured beside box.running
  const double bands = std::ceil(static_cast<double>(p.src.height) / form.height);
  const double read = read_of(p, form);
  const double words = info(p.src.format).pixel_bytes() / 4.0;
  Work work;
  work.pixels = pixels;
  work.covered = bands * form.height / p.src.height;
  work.loads = words * read * (2.0 + first_rows(box, form));
  work.stores = words;
  work.shared_loads = read * 3.0 + 2.0;  // a column's sum, those that enter and leave windows, and what is made of them
  work.operations = read * 10.0;
  work.barriers = read / (form.columns * form.rows_in_flight);
  work.waiters = 3.0;
  const double seconds = kPutAside * gpu::seconds(p.device, p.src.format, work);
  if (!form.has_block_sums) return seconds;
  return seconds + gpu::seconds(p.device, p.src.format, {.pixels = pixels, .loads = words, .stores = 0.0, .operations = 4.0});
}

/// Of an image of which so many pixels come out.
double seconds_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form, double pixels) {
  const GpuModel device = gpu_model(p.device);
  if (device.is_processor) return seconds_on_processor(p, box, form, pixels);
  const double bytes = info(p.src.format).pixel_bytes();
  const double first = first_rows(box, form);
  // What is read again comes from the second cache where that holds all images.
  const bool is_cached = source_bytes(p) * p.batch <= device.cached_bytes;
  const double read = !is_cached ? read_of(p, form) * (1.0 + first) : 1.0;
  const double moved = pixels * bytes * (1.0 + read) / device.bytes_per_second;
  double seconds = device.launch_seconds + std::hypot(moved, pixels * operations_of(p, box, form) / device.operations_per_second);
  if (form.has_block_sums) {
    seconds += device.launch_seconds + std::hypot(pixels * (bytes + 2.0) / device.bytes_per_second,
                                                  pixels * instructions_of_block_sums(form) / device.operations_per_second);
  }
  return std::max(seconds, seconds_of_chunks(p, 0.0, form.height * (form.has_block_sums ? 2.0 : 1.0 + first / 4.0)));
}

Result<Form> form_of_lanes(const Problem& p, const PerAxis<BoxAxis>& box, Form out) {
  const std::int32_t bytes = info(p.src.format).pixel_bytes();
  while (!is_whole_words(p.src.format, out.span)) out.span *= 2;
  while (2 * out.span <= out.columns && 2 * out.span * bytes <= 16) out.span *= 2;
  if (out.columns % out.span != 0) {
    return refusal(std::to_string(out.columns) + " columns of a thread are no whole number of the " + std::to_string(out.span) +
                   " that it fetches at once");
  }
  if (out.threads % (out.rows_in_flight * out.spans_per_thread()) != 0 || out.segment() * out.channels * out.bits / 32 % out.words() != 0) {
    return refusal(std::to_string(out.threads) + " threads cannot share out " + std::to_string(out.rows_in_flight) + " rows of " +
                   std::string(info(p.src.format).name));
  }
  const auto tile = tile_of_whole(p, out.sums);
  out.strip = tile ? tile->x : strip_of(p, out, box.x.whole());
  if (out.strip <= 0) {
    return refusal("a window of " + std::to_string(box.x.whole()) + " columns reaches further than the " + std::to_string(out.reach()) +
                   " columns of a group");
  }
  if (Status fits = check_shared(p, out.shared_bytes(p.device.gpu.subgroup_size)); !fits) return fits.error();
  const std::int32_t height = default_height(p, box, out);
  const Result<std::int32_t> chunks = kChunks.of(p, (p.src.height + height - 1) / height);
  if (!chunks) return chunks.error();
  out.chunks = *chunks;
  out.height = tile ? tile->y : chunk_length(p, p.src.height, out.chunks, 1, {kShortLoops, box.y.whole()});
  out.error = error_of(p, box, out);
  return out;
}

/// What a group may be like.
struct Lanes {
  std::int32_t columns = 4;
  std::int32_t rows = 4;
  std::int32_t threads = 128;
  bool is_last_resort = false;  ///< where nothing before fits
};

/// Measured. More rows a step wait less often, as long as what is fetched of them leaves registers to other groups. Of `rg32f`
/// and `rgb32f` two rows take as long as four, or less. Lanes of two columns keep half as much of what leaves in the second cache, and
/// registers for twice as many rows: where windows are no wider than half of what their group reads, a quarter where sums lie two in a
/// word, of pixels of 2 to 8 bytes.
std::vector<Lanes> default_lanes(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  const GpuInfo& gpu = p.device.gpu;
  const int bytes = info(p.src.format).pixel_bytes();
  const std::int32_t largest = std::min(gpu.max_group_invocations, gpu.max_group.x);
  const std::int32_t least = std::max(gpu.is_software ? 64 : 128, gpu.subgroup_size);
  const bool are_wide = form.bits == 32 && form.channels > 1;
  const std::int32_t most_rows = bytes <= 2 ? 8 : are_wide ? 2 : 4;
  const std::int32_t least_rows = bytes >= 8 ? 2 : 4;
  std::vector<Lanes> out;
  const auto add_all = [&](std::int32_t first_rows, std::int32_t last_rows, bool is_last_resort) {
    for (std::int32_t rows = first_rows; rows >= last_rows; rows /= 2) {
      for (std::int32_t threads = least; threads <= std::max(largest, least); threads *= 2) {
        out.push_back({4, rows, threads, is_last_resort});
      }
    }
  };
  add_all(most_rows, least_rows, false);
  const bool is_single = form.channels == 1;
  const bool is_small = form.bits == 8 && form.channels < 4;
  const std::int32_t threads = is_single ? 256 : 128;
  const std::int32_t widest = form.sums == Sums::u16x2 ? threads / 2 + 1 : threads + 1;
  const bool is_narrow = box.x.whole() <= widest && !form.has_block_sums;
  if (is_narrow && !is_small && form.channels != 3 && bytes <= 8 && !gpu.is_software) {
    constexpr std::int32_t kFewColumns = 13;
    const bool is_middling = kFewColumns < box.x.whole() && box.x.whole() <= 65;
    const bool has_many = bytes <= 4 || (form.bits < 32 && is_middling);
    out.push_back({2, has_many ? 8 : 4, std::min(threads, largest)});
  }
  add_all(least_rows / 2, 1, true);
  return out;
}

/// By what is asked for of lanes, or that with which the whole image takes the least time.
Result<Form> form_with(const Problem& p, const PerAxis<BoxAxis>& box, Sums sums) {
  const FormatInfo& source = info(p.src.format);
  Form form;
  form.sums = sums;
  form.channels = source.channels;
  form.bits = source.bits;
  form.is_code = source.is_unorm();
  if (sums == Sums::u16x2 && 255.0 * box.y.whole() > kHalf) {
    return refusal("sums of " + std::to_string(box.y.whole()) + " rows would not fit into 16 bits");
  }
  form.has_block_sums = box.y.whole() > most_read(form);

  std::optional<Result<Form>> best;
  double best_seconds = HUGE_VAL;
  for (const Lanes& lanes : default_lanes(p, box, form)) {
    if (lanes.is_last_resort && best && best->ok()) break;
    const Result<std::int32_t> columns = kBoxPixelsPerThread.of(p, lanes.columns);
    const Result<std::int32_t> rows_in_flight = kBoxRowsInFlight.of(p, lanes.rows);
    const Result<std::int32_t> threads = box_threads(p, lanes.threads);
    if (!columns) return columns.error();
    if (!rows_in_flight) return rows_in_flight.error();
    if (!threads) return threads.error();
    form.columns = *columns;
    form.rows_in_flight = *rows_in_flight;
    form.threads = *threads;
    const Result<Form> made = form_of_lanes(p, box, form);
    const double seconds = made ? seconds_of(p, box, *made, static_cast<double>(p.src.width) * p.src.height) : HUGE_VAL;
    if (best && seconds >= best_seconds) continue;
    best = made;
    best_seconds = seconds;
  }
  return *best;
}

/// What both passes agree on.
struct Steps {
  Form form;
  BoxCut x, y;  ///< only bands have blocks
  double scale = 1.0;
  double lift = 1.0;        ///< of floats
  std::int32_t lanes = 1;   ///< that cut a strip of blocks together,
  std::int32_t pixels = 1;  ///< each so many
  [[nodiscard]] std::int32_t lead() const { return (form.span - x.before % form.span) % form.span; }
  /// Where what is read begins in the source, and where blocks do: multiples of a span and of a lane's pixels.
  [[nodiscard]] std::int32_t first() const { return x.origin - x.before - lead(); }
  [[nodiscard]] std::int32_t left() const {
    const std::int32_t remainder = first() % pixels;
    return first() - (remainder < 0 ? remainder + pixels : remainder);
  }
  /// In whole strips of blocks.
  [[nodiscard]] std::int32_t columns() const {
    const std::int32_t strip = lanes * pixels;
    return ((x.count - 1) * x.block + form.reach() + first() - left() + strip - 1) / strip * strip;
  }
  [[nodiscard]] std::int64_t block_words() const { return std::int64_t{2} * box_planes(form.sums, form.channels) * y.blocks() * columns(); }
};

Pass block_sums_pass(const Problem& p, const Steps& s) {
  constexpr std::int32_t kThreads = 128;
  const std::int32_t threads = std::max(kThreads, p.device.gpu.subgroup_size);
  Pass pass = make_pass(glsl::BoxBlockSumsVec{.has_rows = false,
                                              .height = s.y.block,
                                              .kinds = 1,
                                              .lanes = s.lanes,
                                              .part = {0, s.y.part()},
                                              .rest = 0,
                                              .rows_in_flight = block_sum_rows(p, s.lanes, s.pixels),
                                              .scale = is_integer(s.form.sums) ? 1.0 : s.lift * s.scale,
                                              .shift = 0,
                                              .span = s.pixels,
                                              .sums = s.form.sums,
                                              .sums_are_short = false},
                        {s.columns(), s.y.reach()}, {threads * s.pixels, s.y.block}, {threads, 1}, Storage::buffer);
  pass.destination = intermediate(0);
  pass.origin = {s.left(), s.y.reach_origin()};
  return pass;
}

Pass segments_pass(const Problem& p, const Steps& s) {
  const Rect r = region(p);
  const Form& form = s.form;
  const PerAxis<std::int32_t> skip{r.x - s.x.origin, r.y - s.y.origin};
  const double window = static_cast<double>(s.x.window) * s.y.window;
  const double along = box_scale_along_rows(p, std::max(s.x.window, form.segment()));
  Pass pass = make_pass(glsl::BoxRowSegments{.along = along,
                                             .before = {s.x.before, s.y.before},
                                             .columns = s.columns(),
                                             .first_column = s.first() - s.left(),
                                             .gain = 1.0 / (s.lift * along),
                                             .has_block_sums = form.has_block_sums,
                                             .height = s.y.block,
                                             .lead = s.lead(),
                                             .part = s.y.part(),
                                             .rest = s.x.window % form.segment(),
                                             .rows_in_flight = form.rows_in_flight,
                                             .scale = s.lift * s.scale,
                                             .seed_rows_in_flight = p.device.gpu.is_software ? 1 : std::max(1, 8 / form.spans_per_thread()),
                                             .segments_of_window = s.x.window / form.segment(),
                                             .skip = skip,
                                             .span = form.span,
                                             .spans_per_thread = form.spans_per_thread(),
                                             .subgroup_size = p.device.gpu.subgroup_size,
                                             .sums = form.sums,
                                             .sums_are_short = is_integer(form.sums) && box_means(p, window).sums_are_short,
                                             .whole = s.y.whole(),
                                             .width = s.x.block,
                                             .window = {s.x.window, s.y.window},
                                             .words = std::countr_zero(static_cast<unsigned>(form.words()))},
                        {p.dst.width + skip.x, p.dst.height + skip.y}, {s.x.block, s.y.block}, {form.threads, 1}, Storage::buffer);
  pass.auxiliary = form.has_block_sums ? intermediate(0) : kSource;
  pass.origin = {s.x.origin, s.y.origin};
  pass.extent = std::get<Box>(p.spec.kernel).extent;
  return pass;
}

}  // namespace

Result<Proposal> propose_box_row_segments(const Problem& p) {
  const Result<PerAxis<BoxAxis>> box = box_of_whole_pixels(p, kKernel, BoxForm::row_segments, true);
  if (!box) return box.error();
  if (Status stored = box_of_stored(p, BoxForm::row_segments); !stored) return stored.error();
  const Result<Form> form = first_box_sums(p, *box, [&](Sums sums) { return form_with(p, *box, sums); });
  if (!form) return form.error();

  const Rect r = region(p);
  Steps s{*form, box_cut(box->x, form->strip, r.x, r.width), box_cut(box->y, form->height, r.y, r.height)};
  s.lanes = lanes_of_block_sums(p);
  s.pixels = pixels_of_vector(p.src.format);
  s.scale = 1.0 / (box->x.length() * box->y.length());
  const double of_segments = static_cast<double>(form->segment()) / box->x.whole();
  const double of_blocks = form->has_block_sums ? static_cast<double>(form->height) / box->y.whole() : 0.0;
  s.lift = box_lift(p, *box, std::max(of_segments, of_blocks));
  if (Status few = check_block_sums(s.block_words()); !few) return few.error();

  std::vector<ImageDesc> blocks;
  if (form->has_block_sums) blocks.push_back(box_words(s.block_words()));
  Result<Proposal> out = box_proposal(p, kKernel, BoxForm::row_segments, *form, std::move(blocks));
  if (!out) return out.error();
  out->options.insert(kBoxPixelsPerThread.as(form->columns));
  out->seconds = seconds_of(p, *box, *form, static_cast<double>(p.dst.width) * p.dst.height);
  out->moved_bytes = moved_bytes(p, out->intermediates) + (form->has_block_sums ? source_bytes(p) : 0);
  if (form->has_block_sums) out->passes.push_back(block_sums_pass(p, s));
  out->passes.push_back(segments_pass(p, s));
  set_box_blocks(*box, form->sums, {form->strip, form->height}, *out);
  if (Status mends = mend_box(p, *box, form->height, *out); !mends) return mends.error();
  return out;
}

}  // namespace mollify
