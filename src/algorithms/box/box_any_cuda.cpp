// box.any on CUDA: blocks of threads move down strips of columns, and make eight windows at a time of what these have in common and what
// they have not. Nothing is taken away from a sum of floats. One kernel, two loads a pixel, of which the second finds its row in cache.
// Boxes of pixels of four bytes, halves or floats slide along segments of rows instead.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/box/box_any.h"
#include "algorithms/common/occupancy.h"
#include "backends/cuda/kernels/box_any_shape.h"
#include "backends/cuda/kernels/box_division.h"
#include "backends/cuda/kernels/box_segments_shape.h"
#include "backends/cuda/kernels/pass_arguments.h"
#include "base/places.h"
#include "math/decimation.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr double kRegisters = 128.0;  ///< of a thread
constexpr std::string_view kSegments = "box_segments";

/// What is summed up, and how.
struct Form {
  bool is_integer = false;
  bool is_plain = false;         ///< floats that are only blurred, in whole windows
  bool is_any = false;           ///< strips take kernels for all images and windows
  std::int32_t four_bytes = 16;  ///< that four components of a result take in shared memory
};

/// How a block of threads makes a strip.
struct Strip {
  std::int32_t threads = 256;
  std::int32_t columns = 0;  ///< that it reads
  std::int32_t made = 0;     ///< pixels of a row
  std::int32_t shared_bytes = 0;
};

/// Why sums are not of integers, or nothing.
std::string integer_obstacle(const Problem& p, const PerAxis<BoxAxis>& box) {
  if (p.src.format != p.dst.format) return "integer sums are stored as what they are sums of";
  if (std::string reason = box_any_obstacle(p, box, BoxAnySums::u32); !reason.empty()) return reason;
  const std::int64_t window = std::int64_t{box.x.whole()} * box.y.whole();
  const auto largest = static_cast<std::int64_t>(info(p.src.format).unit());
  if (!cuda::box_division(window, largest).is_exact(window, largest)) {
    return "sums of " + std::to_string(window) + " pixels are not divided exactly";
  }
  return {};
}

Result<Form> form_of(const Problem& p, const PerAxis<BoxAxis>& box) {
  Form out;
  const std::optional<BoxAnySums> given = kBoxSums.given(p);
  if (given == BoxAnySums::u16x2 || given == BoxAnySums::f32x2) return refusal("on CUDA sums are u32 or f32");
  const std::string obstacle = integer_obstacle(p, box);
  if (given == BoxAnySums::u32 && !obstacle.empty()) return refusal(obstacle);
  out.is_integer = obstacle.empty() && given != BoxAnySums::f32;
  const FormatInfo& format = info(p.src.format);
  out.is_plain = is_only_blurred(p) && box.x.is_whole() && box.y.is_whole() && !format.is_unorm();
  out.is_any = !out.is_integer && !(out.is_plain && format.channels == 1);
  out.four_bytes = out.is_any ? 16 : 4 * format.component_bytes();
  if (Status s = check_rows(p); !s) return s.error();
  return out;
}

/// So many threads that a strip is `times` as wide as what it reads beside itself, if there are as many.
template <class Shape>
Result<Strip> strip_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form, std::int32_t times) {
  const std::int32_t channels = info(p.src.format).channels;
  const std::int32_t most = std::min(cuda::kBoxMostThreads, p.device.gpu.max_group_invocations);
  const auto shape_of = [&](std::int32_t threads) { return Shape(channels, threads, form.four_bytes); };
  std::int32_t usual = 128;
  while (2 * usual <= most && shape_of(usual).made(box.x.taps()) < times * box.x.taps() &&
         shape_of(2 * usual).shared_bytes() <= p.device.gpu.shared_bytes) {
    usual *= 2;
  }
  const Result<std::int32_t> threads = kBoxThreads.of(p, usual, most);
  if (!threads) return threads.error();
  if (*threads % 32 != 0 || *threads > cuda::kBoxMostThreads) {
    return refusal("threads are whole warps, at most " + std::to_string(cuda::kBoxMostThreads));
  }
  const Shape shape = shape_of(*threads);
  if (Status s = check_shared(p, shape.shared_bytes()); !s) return s.error();
  const Strip out{*threads, shape.columns, shape.made(box.x.taps()), shape.shared_bytes()};
  if (out.made < cuda::kBoxRun) {
    return refusal("a window of " + std::to_string(box.x.taps()) + " pixels is wider than a strip of " + std::to_string(out.columns));
  }
  return out;
}

/// Of sums of f32, units of the roundoff, relative to the largest number: within a run, over so many sums of runs, and with the ends.
double growth(std::int32_t runs) {
  constexpr double kOfRun = (cuda::kBoxRun + 1) / 2.0;
  constexpr double kOfEnds = 5.0;  // two additions of the whole, a fraction at either end, and the first number's own rounding
  return kOfRun + runs / 2.0 + kOfEnds;
}

double error_of(const Problem& p, const Form& form, double units) {
  constexpr double kLastScale = 2.0;
  if (form.is_integer) return 0.0;
  return colour_gain(p.spec) * (units + kLastScale) * unit_roundoff(Accumulator::f32) + colour_error(p.spec, Accumulator::f32);
}

/// A power of two that keeps sums of the largest numbers finite.
double lift_of(const Problem& p, double pixels) {
  const FormatInfo& format = info(p.src.format);
  return format.is_unorm() || format.bits < 32 ? 1.0 : std::exp2(-std::ceil(std::log2(pixels)));
}

/// Measured time divided by what seconds() says, by channels: of integers with one, three and four, of floats with one and four.
double share_of(const FormatInfo& format, bool is_integer) {
  constexpr std::array kOfIntegers = {0.42, 0.6, 1.3, 0.7};
  constexpr std::array kOfFloats = {0.9, 1.1, 1.3, 1.25};
  return (is_integer ? kOfIntegers : kOfFloats).at(static_cast<std::size_t>(format.channels - 1));
}

/// `across`: column of the image that an image of sums begins with.
cuda::BoxArguments box_arguments(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form, PerAxis<std::int32_t> skip,
                                 std::int32_t across = 0) {
  const double pixels = box.x.length() * box.y.length();
  const double lift = lift_of(p, pixels);
  return {.integer = form.is_integer,
          .any = form.is_any,
          .four_bytes = form.four_bytes,
          .window = {box.x.whole(), box.y.whole()},
          .before = {box.x.before, box.y.before},
          .skip = {skip.x, skip.y},
          .across = across,
          .before_fraction = {box.x.before_fraction, box.y.before_fraction},
          .after_fraction = {box.x.after_fraction, box.y.after_fraction},
          .lift = lift,
          .scale = 1.0 / (pixels * lift)};
}

/// Rows of a chunk of strips.
std::int32_t chunk_rows(const Problem& p, const BoxAxis& y, const Strip& strip, PerAxis<std::int32_t> size) {
  constexpr std::int32_t kRun = cuda::kBoxRun;
  const GpuModel model = gpu_model(p.device);
  const auto at_once = static_cast<double>(groups_at_once(model, {strip.threads, kRegisters, strip.shared_bytes}));
  const std::int32_t fewest = std::min((y.taps() / kRun + 1) * kRun, (size.y + kRun - 1) / kRun * kRun);
  return rows_of_chunk(p, (size.x + strip.made - 1) / strip.made, size.y, at_once, kRun, fewest);
}

/// Runs of rows are put together in as many as a window has between its ends, counted from the first row of the whole.
std::int32_t rows_of_queue(const BoxAxis& y, const Form& form) {
  return cuda::kBoxRun * std::max(form.is_integer ? 1 : cuda::box_runs(y.whole()), 1);
}

/// Both axes in one kernel.
Result<Proposal> in_one_pass(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  constexpr std::int32_t kTimes = 4;
  const Result<Strip> strip = strip_of<cuda::BoxShape>(p, box, form, kTimes);
  if (!strip) return strip.error();
  const BoxAxis &x = box.x, &y = box.y;
  const Rect r = region(p);
  // Sums of floats round by where runs begin, so these have their places in the whole image.
  constexpr std::int32_t kRun = cuda::kBoxRun;
  const PerAxis<std::int32_t> skip{r.x % kRun, r.y % kRun};
  const PerAxis<std::int32_t> size{r.width + skip.x, r.height + skip.y};
  const std::int32_t rows = chunk_rows(p, y, *strip, size);
  Pass pass = make_pass("box_any", box_arguments(p, box, form, skip), size, {strip->made, rows}, {strip->threads, 1}, std::nullopt);
  pass.origin = {r.x - skip.x, r.y - skip.y};
  pass.extent = *box_extents(p);

  Proposal out;
  const double units = growth(cuda::box_runs(x.whole())) + growth(cuda::box_runs(y.whole()));
  out.error = error_of(p, form, units);
  out.options = {kBoxSums.as(form.is_integer ? BoxAnySums::u32 : BoxAnySums::f32), kBoxThreads.as(strip->threads)};
  const double reads = static_cast<double>(strip->columns) / strip->made;
  const double first_sums = static_cast<double>(y.taps()) / rows;
  const double bytes = static_cast<double>(source_bytes(p)) * (1.0 + first_sums) + static_cast<double>(p.dst.payload_bytes());
  out.seconds = share_of(info(p.src.format), form.is_integer) *
                seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(size.x) * size.y,
                         .loads = reads * (2.0 + first_sums),
                         .shared_loads = reads * 2.0 + 3.0 + cuda::box_runs(x.whole()) / 8.0,
                         .operations = (reads * (6.0 + first_sums) + 8.0) * info(p.src.format).channels / 4.0,
                         .barriers = 3.0 / kRun * reads,
                         .bytes = bytes});
  out.moved_bytes = static_cast<std::int64_t>(bytes);
  out.window_blocks = {kRun, rows_of_queue(y, form)};
  out.passes.push_back(std::move(pass));
  return out;
}

/// For windows wider than a strip: sums down columns become an image of 32-bit numbers.
Result<Proposal> in_two_passes(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  constexpr std::int32_t kTimes = 1;
  const Result<Strip> strip = strip_of<cuda::BoxAlongShape>(p, box, form, kTimes);
  if (!strip) return strip.error();
  const BoxAxis &x = box.x, &y = box.y;
  const Rect r = region(p);
  const FormatInfo& format = info(p.src.format);
  // Along rows, runs are put together by their places in a strip.
  constexpr std::int32_t kRun = cuda::kBoxRun, kFour = 4;
  const PerAxis<std::int32_t> skip{r.x % strip->made, r.y % kRun};
  const gpu::Span needed = needed_span(p.src.width, r.x - skip.x, r.width + skip.x, x.reach_before(), x.reach_after());
  const std::int32_t first = needed.first / kFour * kFour;
  const PerAxis<std::int32_t> sums{(needed.first + needed.length - first + kFour - 1) / kFour * kFour, r.height + skip.y};
  const ImageDesc between{sums.x, p.dst.height, *find_format(ComponentClass::floating, 32, format.channels)};

  const std::int32_t columns = 4 * cuda::kBoxDownThreads / format.channels;
  const std::int32_t rows = chunk_rows(p, y, {cuda::kBoxDownThreads, columns, columns, 0}, sums);
  const cuda::BoxArguments arguments = box_arguments(p, box, form, skip, first);
  Pass down = make_pass("box_down", arguments, sums, {columns, rows}, {cuda::kBoxDownThreads, 1}, std::nullopt);
  down.origin = {0, r.y - skip.y};
  down.destination = intermediate(0);
  Pass along = make_pass("box_along", arguments, {r.width + skip.x, p.dst.height}, {strip->made, 1}, {strip->threads, 1}, std::nullopt);
  along.origin = {r.x - skip.x, 0};
  along.source = intermediate(0);

  Proposal out;
  const std::int32_t groups = cuda::box_runs(x.whole()) / kRun + 2 * kRun;  // and runs before and after them
  out.error = error_of(p, form, growth(groups) + (kRun + 1) / 2.0 + growth(cuda::box_runs(y.whole())));
  out.options = {kBoxSums.as(form.is_integer ? BoxAnySums::u32 : BoxAnySums::f32), kBoxThreads.as(strip->threads)};
  const double first_sums = static_cast<double>(y.taps()) / rows;
  const double reads = static_cast<double>(strip->columns) / strip->made;
  const double channels = format.channels / 4.0;
  const auto between_bytes = static_cast<double>(between.payload_bytes());
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(sums.x) * sums.y,
                         .loads = (2.0 + first_sums) * channels,
                         .operations = (6.0 + first_sums) * channels,
                         .bytes = static_cast<double>(source_bytes(p)) * (1.0 + first_sums) + between_bytes}) +
                seconds(p.device, between.format,
                        {.pixels = static_cast<double>(r.width) * p.dst.height,
                         .loads = reads * channels,
                         .shared_loads = (reads * 2.0 + 4.0) * channels,
                         .operations = (reads * 3.0 + 8.0) * channels,
                         .barriers = 4.0 / strip->made,
                         .bytes = between_bytes * reads + static_cast<double>(p.dst.payload_bytes())});
  const std::array intermediates{between};
  out.moved_bytes = moved_bytes(p, intermediates);
  out.reach = PerAxis<Reach>{{x.reach_before(), x.reach_after()}, {y.reach_before(), y.reach_after()}};
  out.window_blocks = {strip->made, rows_of_queue(y, form)};
  out.intermediates = {between};
  out.passes = {std::move(down), std::move(along)};
  return out;
}

/// The blocks of threads that slide along segments: of the narrowest strips that make most of what they read, of those with memory.
Result<std::size_t> form_of_segments(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  const FormatInfo& format = info(p.src.format);
  const bool is_of_bytes = form.is_integer && format.bits == 8;
  if (format.channels != 4 || (!is_of_bytes && !form.is_plain)) return refusal("segments are of four bytes, halves or floats a pixel");
  if (has_stride(p.spec)) return refusal("segments do not take a stride");
  if (p.whole != nullptr && p.whole->passes.back().kernel != kSegments) return refusal("the whole image has no segments");
  const bool has_many_rows = is_of_bytes && box.y.whole() > cuda::kBoxSegmentsHigh;
  constexpr double kLeastMade = 0.7;  // of what a strip reads; a wider block of threads is faster below that
  const std::int64_t pixels = std::int64_t{box.x.whole()} * box.y.whole();
  const std::span<const cuda::BoxSegments> shapes = cuda::box_segments_of(format.pixel_bytes());
  std::size_t best = shapes.size();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (is_of_bytes && has_many_rows != (shapes[i].sums_bytes == 16)) continue;
    if (is_of_bytes && !cuda::has_integer_means(static_cast<std::int64_t>(i)) && !cuda::may_be_float_means(pixels)) continue;
    if (!check_shared(p, shapes[i].shared_bytes(1, box.y.whole()))) continue;
    best = i;
    if (shapes[i].made(box.x.whole()) >= kLeastMade * shapes[i].reach()) break;
  }
  constexpr double kLeast = 0.3;  // below that two passes are faster
  if (best == shapes.size() || shapes[best].made(box.x.whole()) < kLeast * shapes[best].reach()) {
    return refusal("the window is wider than most of a strip");
  }
  // Plans say how many threads a block has; asked for so many, they are the same. Others are for strips.
  const Result<std::int32_t> threads = kBoxThreads.of(p, shapes[best].threads, cuda::kBoxMostThreads);
  if (!threads) return threads.error();
  if (*threads != shapes[best].threads) {
    return refusal("blocks of " + std::to_string(shapes[best].threads) + " threads slide along segments of this box");
  }
  return best;
}

/// Of sums of floats that slide, units of the roundoff: those of a chunk's first row, and what each row adds.
struct Growth {
  double first = 0.0;
  double row = 0.0;
};

/// Measured time divided by what seconds() says.
double share_of_segments(std::int32_t pixel_bytes) {
  return pixel_bytes == 4 ? 0.5 : pixel_bytes == 8 ? 0.7 : 0.9;
}

/// `partial`: prefix sums along a row are so many times as large as the sum of a window.
Growth growth_of_segments(const PerAxis<BoxAxis>& box, const cuda::BoxSegments& shape, bool has_blocks, double partial) {
  const double wide = box.x.whole(), high = box.y.whole();
  constexpr double kOfWarps = 16.0;  // sums of lanes and of warps
  // In groups of rows; of block sums the warps of a block of threads share these.
  const double seed = has_blocks ? 2.0 * cuda::kBoxBlockRows + kOfWarps + high / (4.0 * cuda::kBoxBlockRows)
                                 : shape.seed_rows() + high / shape.seed_rows() + 1.0;
  const double along = (shape.segment() + kOfWarps) * partial + 2.0 * shape.segment() * (1.0 + 2.0 / wide);
  return {seed + along, 1.0 + 4.0 / high};
}

/// Of pixels that are made anew.
double growth_of_mended(const PerAxis<BoxAxis>& box, const cuda::BoxSegments& shape) {
  constexpr double kRun = 8.0, kOfParts = 4.0;
  const double down = shape.step_rows + kRun + box.y.whole() / kRun + kOfParts;
  const double along = 3.0 * shape.segment() + static_cast<double>(box.x.whole()) / shape.segment() + kOfParts;
  return down + along;
}

/// Pixels of four channels, both axes in one kernel: sums down columns slide in registers, and windows along segments of rows of these.
Result<Proposal> in_segments(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  const Result<std::size_t> which = form_of_segments(p, box, form);
  if (!which) return which.error();
  const FormatInfo& format = info(p.src.format);
  const cuda::BoxSegments& shape = cuda::box_segments_of(format.pixel_bytes())[*which];
  const std::int32_t most = shape.made(box.x.whole());

  const BoxAxis &x = box.x, &y = box.y;
  const Rect r = region(p);
  // Sums of floats round by where strips and chunks begin, so these have their places in the whole image.
  const BoxAnySums sums = form.is_integer ? BoxAnySums::u32 : BoxAnySums::f32;
  const PerAxis<std::int32_t> whole = form.is_integer ? PerAxis{r.width, r.height} : PerAxis{p.src.width, p.src.height};
  const auto tile = tile_of_whole(p, sums);
  const std::int32_t strips = (whole.x + most - 1) / most;
  const std::int32_t made = tile ? tile->x : even_length(whole.x, strips, 4);
  // Rows of first windows: measured, of 65 they are faster than blocks of bytes, of 129 slower; of floats, of 129 and 257. Where chunks
  // would fill the device if they were a quarter of a window, they are no longer than that: a 512x512 image of bytes of 129 rows took 70 us
  // without blocks and 19 with them.
  const double at_once = shape.at_once * shape.rounds;
  const std::int32_t most_read = form.is_integer ? 96 : 160;
  const std::int32_t to_fill = rows_of_chunk(p, strips, whole.y, at_once, shape.step_rows, shape.step_rows);
  const bool is_high = y.whole() > most_read || (y.whole() > 64 && y.whole() >= 4 * to_fill);
  const bool has_blocks = p.whole != nullptr ? p.whole->passes.size() > 1 : is_high;
  constexpr std::int32_t kMostBlocks = 32;  // of a window: a chunk begins with a row of sums of each
  const double widest_run = shape.is_of_warp() ? shape.segment() : 32.0 * shape.segment();
  const double partial = 1.0 + widest_run / x.whole();  // sums along a row, of those of windows
  const Growth growth = growth_of_segments(box, shape, has_blocks, partial);
  std::int32_t rows = std::max(to_fill, has_blocks ? y.whole() / kMostBlocks : std::min(y.whole(), whole.y));
  rows = std::min(rows, cuda::kBoxSegmentsRows);
  if (!form.is_integer) {
    const double units = (p.allowed_error - colour_error(p.spec, Accumulator::f32)) / unit_roundoff(Accumulator::f32) - growth.first;
    rows = static_cast<std::int32_t>(std::clamp(units / growth.row, 1.0, static_cast<double>(rows)));
  }
  rows = tile ? tile->y : std::max(rows / shape.step_rows, 1) * shape.step_rows;
  if (Status s = check_shared(p, shape.shared_bytes(rows, y.whole())); !s) return s.error();

  const PerAxis<std::int32_t> skip = form.is_integer ? PerAxis{0, 0} : PerAxis{r.x % made, r.y % rows};
  const PerAxis<std::int32_t> size{r.width + skip.x, r.height + skip.y};
  cuda::BoxSegmentsArguments arguments{.box = box_arguments(p, box, form, skip), .form = *which, .first_block = {}};
  const double pixels = x.length() * y.length();
  if (!form.is_integer) {
    const double blocks_of_window = has_blocks ? static_cast<double>(rows) / y.whole() : 1.0;
    arguments.box.lift = box_lift(p, box, std::max(partial, blocks_of_window)) * std::exp2(-std::ceil(std::log2(pixels)));
    arguments.box.scale = 1.0 / (pixels * arguments.box.lift);
  }
  Pass pass = make_pass(kSegments, size, {made, rows}, {shape.threads, 1}, std::nullopt);
  pass.origin = {r.x - skip.x, r.y - skip.y};
  pass.extent = *box_extents(p);

  Proposal out;
  if (has_blocks) {
    const auto floor_of = [](std::int32_t v, std::int32_t step) { return static_cast<std::int32_t>(floor_div(v, step)) * step; };
    const std::int32_t columns = cuda::box_block_columns(format.pixel_bytes());
    const std::int32_t first = pass.origin.x - x.before;
    const std::int32_t begin = floor_of(first, columns);
    arguments.first_block = floor_of(first, shape.alignment()) - begin;
    const std::int32_t strips_made = (size.x + made - 1) / made;
    const std::int32_t width =
        (static_cast<std::int32_t>(*arguments.first_block) + (strips_made - 1) * made + shape.reach() + columns - 1) / columns * columns;
    const std::int32_t chunks = (size.y + rows - 1) / rows;
    const std::int32_t blocks = chunks + (y.whole() + rows - 1) / rows;
    Pass block_sums = make_pass(
        "box_blocks",
        cuda::BoxBlocksArguments{.part = y.whole() % rows, .many = form.is_integer && shape.sums_bytes == 16, .lift = arguments.box.lift},
        {width, blocks * rows}, {cuda::box_block_reach(format.pixel_bytes()), rows}, {cuda::kBoxBlockThreads, 1}, Storage::buffer);
    block_sums.origin = {begin, pass.origin.y - y.before - 1};
    block_sums.destination = intermediate(0);
    pass.auxiliary = intermediate(0);
    out.intermediates = {{width, 2 * blocks, shape.sums_bytes == 8 ? PixelFormat::rg32f : PixelFormat::rgba32f}};
    out.passes.push_back(std::move(block_sums));
  }
  write_arguments(arguments, pass);
  const double of_blocks = has_blocks ? static_cast<double>(y.whole()) / rows : 0.0;  // which are added one by one
  const double units = std::max(growth.first + of_blocks + rows * growth.row, growth_of_mended(box, shape));
  out.error = error_of(p, form, units);
  out.options = {kBoxSums.as(sums), kBoxThreads.as(shape.threads)};
  const double reads = static_cast<double>(shape.reach()) / made;
  const double first_sums = has_blocks ? 0.0 : static_cast<double>(y.whole()) / rows;
  const double bytes = static_cast<double>(source_bytes(p)) * (1.0 + first_sums) + static_cast<double>(p.dst.payload_bytes());
  const double made_pixels = static_cast<double>(size.x) * size.y;
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = made_pixels,
                         .loads = reads * (2.0 + first_sums),
                         .shared_loads = reads + 3.0,
                         .operations = reads * (2.0 + first_sums) + 4.0,
                         .barriers = 2.0 / shape.step_rows * reads,
                         .bytes = bytes});
  if (has_blocks) {
    out.seconds += seconds(p.device, p.src.format,
                           {.pixels = made_pixels, .loads = 1.0, .operations = 1.0, .bytes = static_cast<double>(source_bytes(p))});
  }
  out.seconds *= share_of_segments(format.pixel_bytes());
  out.moved_bytes = static_cast<std::int64_t>(bytes) + (has_blocks ? source_bytes(p) : 0);
  set_box_blocks(box, sums, {made, rows}, out);
  out.reach = PerAxis<Reach>{{x.reach_before(), x.reach_after()}, {y.reach_before(), y.reach_after()}};
  out.passes.push_back(std::move(pass));
  return out;
}

/// Strips that fit into the memory of a block of threads.
Result<Proposal> in_strips(const Problem& p) {
  const Result<PerAxis<BoxAxis>> box = box_any_axes(p);
  if (!box) return box.error();
  const Result<Form> form = form_of(p, *box);
  if (!form) return form.error();
  if (Result<Proposal> segments = in_segments(p, *box, *form); segments && segments->error <= p.allowed_error) return segments;
  if (std::min(box->x.whole(), box->y.whole()) < cuda::kBoxLeastWindow) {
    return refusal("strips are of windows of at least " + std::to_string(cuda::kBoxLeastWindow) + " pixels along either axis");
  }
  if (!form->is_integer && cuda::box_runs(box->y.whole()) > cuda::kBoxMostRuns) {
    return refusal("windows of floats are at most " + std::to_string(cuda::kBoxRun * (cuda::kBoxMostRuns + 1) + cuda::kBoxLeastWindow - 1) +
                   " pixels high");
  }
  Result<Proposal> one = in_one_pass(p, *box, *form);
  // Measured: where strips make fewer of the pixels that they read, two passes are faster.
  constexpr double kLeastMade = 0.3;
  const auto is_fast = [&](const Pass& pass) { return pass.tile.x >= kLeastMade * (pass.tile.x + box->x.taps()); };
  if (one && is_fast(one->passes.front())) return one;
  Result<Proposal> two = in_two_passes(p, *box, *form);
  return two || !one ? std::move(two) : std::move(one);
}

}  // namespace

Result<Proposal> propose_box_any_cuda(const Problem& p) {
  if (Status s = only_options(p, {kBoxSums, kBoxThreads}); !s) return s.error();
  const bool is_asked = kBoxSums.given(p) == BoxAnySums::f64;
  const bool can_choose = !kBoxSums.given(p) && !kBoxThreads.is_given(p);
  if (!is_asked) {
    const bool is_wide = info(p.src.format).is_wide() || info(p.dst.format).is_wide();
    Result<Proposal> strips = is_wide ? refusal("strips are not of wide formats") : in_strips(p);
    if ((strips && strips->error <= p.allowed_error) || !can_choose) return strips;
  }
  if (is_asked && kBoxThreads.is_given(p)) return refusal("blocks of threads of sums of f64 have one size");
  return propose_box_passes_cuda(p);
}

}  // namespace mollify
