// box.running and box.scan: a window's sum follows from its neighbour's by the pixel that enters and the one that
// leaves, first along rows, then along columns. One lane walks alone (running), or 16 share a column and sum their
// changes as prefixes (scan); two loads a pixel and pass at any radius. Loses to taps at the smallest radii, and
// wherever so few lanes leave the device idle. Source: "Reverse Engineering MPS Box Blur"; the scan is derived here,
// as no code of it is public.
#include <array>
#include <bit>
#include <cmath>

#include "algorithms/box/box_gpu.h"
#include "algorithms/box/box_mend_gpu.h"
#include "box_running_arguments.h"
#include "box_scan_arguments.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kRunning = glsl::BoxRunning::kKernel;
constexpr std::string_view kScan = glsl::BoxScan::kKernel;
constexpr std::int32_t kLanes = 32;
constexpr std::int32_t kScanLanes = 16;
constexpr std::int64_t kScanShared = (2 * kScanLanes + 2) * kScanLanes * 16;
constexpr std::int32_t kLongestSegment = 1 << 24;
constexpr double kExactInFloat = 0x1p24;
constexpr std::int32_t kSeedBlock = 128;  ///< pixels of a first sum that are added up by themselves

/// What a lane sums in, in the order of the kernel's axis.
enum class Sum : std::uint8_t { i32, f32, f16 };

constexpr std::array<std::string_view, 6> kTunedSegments = {"64", "128", "256", "512", "1024", "4096"};
constexpr NumberOption kSegment("segment", {"64", "1024", "65536"}, kLongestSegment, "four windows, or as few as the error allows",
                                "pixels that one lane walks; float sums then begin anew", {.tuned_values = kTunedSegments});
constexpr ListedNumberOption kUnroll("unroll", {"1", "2", "4", "8", "12", "16", "24", "32"}, "8", "pixels a step", {.most_in_software = 8});
constexpr EnumOption<Sum> kAccumulator("accumulator", {"i32", "f32", "f16"}, "i32 where the sums fit, else f32", "precision of the sums",
                                       {.tuned = Tuned::where_exact});
constexpr std::array kRunningOptions = {kStorage.info(), kUnroll.info(), kAccumulator.info(), kIntermediate.info(), kSegment.info()};
constexpr std::array kScanOptions = {
    kStorage.info(), kIntermediate.info_as("rgba32f", "what the first pass leaves for the second; channels as the source has"),
    kSegment.info()};

/// Why integers cannot hold the sums of the first pass, or nothing.
std::string integer_obstacle(const Problem& p, const PerAxis<BoxAxis>& box) {
  const FormatInfo& source = info(p.src.format);
  if (!source.is_unorm()) return "integer sums need an integer format";
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return "integer sums cannot handle alpha or transfer functions";
  }
  if (!box.x.is_whole() || !box.y.is_whole()) return "integer sums need a whole radius";
  if (box.x.whole() * source.unit() >= 0x1p31) {
    return "sums over " + std::to_string(box.x.whole()) + " pixels exceed 31 bits";
  }
  return {};
}

/// Pixels that a first sum reads, however often a window that is wider than the image holds them.
double pixels_of_seed(const BoxAxis& axis, BorderMode mode, std::int64_t length) {
  const std::int64_t taps = axis.taps();
  if (mode == BorderMode::clamp || mode == BorderMode::constant) return static_cast<double>(std::min(taps, length + 2));
  const std::int64_t period = mode == BorderMode::wrap ? length : 2 * length;
  return static_cast<double>(taps < period ? taps : std::min(taps, 2 * period));
}

/// Whether every window holds every pixel.
bool holds_all(const BoxAxis& axis, BorderMode mode, std::int64_t length) {
  if (mode == BorderMode::clamp || mode == BorderMode::constant) return std::min(axis.before, axis.after) >= length - 1;
  return axis.whole() >= (mode == BorderMode::wrap ? length : 2 * length);
}

bool holds_all(const Problem& p, const PerAxis<BoxAxis>& box) {
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  return holds_all(box.x, mode.x, p.src.width) && holds_all(box.y, mode.y, p.src.height);
}

/// Of one pass that walks `steps` pixels from a fresh sum of so many, full-scale units. Each step rounds the sum, a mean, once,
/// and both of the pixels that change it, which are parts of it, twice.
double sliding_error(Sum sum, const BoxAxis& axis, double steps, double pixels) {
  if (sum == Sum::i32) return 0.0;
  const double step = 1.0 + 4.0 / axis.length();
  constexpr double kOfPixelsAndCopies = 8.0;  // rounded scale and product of each, and products with how often pixels are held
  const double blocks = std::ceil(pixels / kSeedBlock);
  const double growth = (std::min(pixels, double{kSeedBlock}) + blocks) / 2.0 + kOfPixelsAndCopies;
  const double seed = growth * unit_roundoff(Accumulator::f32);
  if (sum == Sum::f32) return steps * step * unit_roundoff(Accumulator::f32) + seed;
  return (steps * step + 1.0) * 0x1p-11 + seed;
}

/// The same for prefixes over 16 rows: four sums of changes, each of which is the difference of two windows, and the
/// window carried on.
double scan_error(const BoxAxis& axis, double steps) {
  const double chunk = 9.0 + 4.0 * kScanLanes / axis.length();
  const double seed = axis.growth() / kScanLanes + 9.0;
  return ((steps / kScanLanes + 1.0) * chunk + seed) * unit_roundoff(Accumulator::f32);
}

/// How the two passes sum, and the numbers between them.
struct RunningSums {
  PerAxis<BoxAxis> box;
  Storage storage;
  Intermediate between;
  PerAxis<Sum> sum;
  bool is_scan = false;      ///< the second pass
  bool leaves_sums = false;  ///< the first pass leaves whole sums, not means
  std::int32_t segment = 0;
  double error = 0.0;
};

double error_of(const Problem& p, const RunningSums& w, std::int32_t segment) {
  const auto steps = [&](std::int32_t length) { return static_cast<double>(std::min(segment, length)); };
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const double first = sliding_error(w.sum.x, w.box.x, steps(p.src.width), pixels_of_seed(w.box.x, mode.x, p.src.width));
  const double rows = steps(p.src.height);
  const double second =
      w.is_scan ? scan_error(w.box.y, rows) : sliding_error(w.sum.y, w.box.y, rows, pixels_of_seed(w.box.y, mode.y, p.src.height));
  const bool is_integer = w.sum.x == Sum::i32 && w.sum.y == Sum::i32;
  const double u = unit_roundoff(Accumulator::f32);
  // Integers round when they become floats, are scaled twice, and before a reduced intermediate once more each.
  const double ends = is_integer ? (w.leaves_sums ? 4.0 : 8.0) * u : 4.0 * u + colour_error(p.spec, Accumulator::f32);
  return colour_gain(p.spec) * (first + second) + w.between.error + ends;
}

/// "segment" as given, else a multiple of the window that makes first sums cheap and leaves lanes enough, shorter where
/// the error asks for it.
Result<std::int32_t> choose_segment(const Problem& p, const RunningSums& w) {
  if (kSegment.is_given(p)) {
    const Result<std::int32_t> given = kSegment.of(p, 1);
    if (given && w.is_scan && *given % kScanLanes != 0) {
      return refusal("segments of a scan are multiples of " + std::to_string(kScanLanes) + " pixels");
    }
    return given;
  }
  const auto longest = static_cast<std::uint32_t>(4 * std::max(w.box.x.taps(), w.box.y.taps()));
  auto segment = static_cast<std::int32_t>(std::bit_ceil(std::max(longest, 256U)));
  while (segment > kScanLanes && error_of(p, w, segment) > p.allowed_error) segment /= 2;
  if (w.is_scan) return segment;
  // Where a region begins, a lane may walk two segments.
  const std::int64_t most = gpu_model(p.device).max_iterations / 2;
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const auto first_sum =
      static_cast<std::int64_t>(std::max(pixels_of_seed(w.box.x, mode.x, p.src.width), pixels_of_seed(w.box.y, mode.y, p.src.height)));
  while (segment > kScanLanes && first_sum + segment > most) segment /= 2;
  if (first_sum + segment <= most) return segment;
  return refusal("a first sum of " + std::to_string(first_sum) + " pixels is longer than loops of the driver");
}

Result<RunningSums> running_sums(const Problem& p, bool is_scan) {
  RunningSums w;
  w.is_scan = is_scan;
  Result<Storage> where = storage(p, kRunning);
  if (where && is_scan) where = storage(p, kScan);
  if (!where) return where.error();
  constexpr std::int64_t kAnyLength = std::int64_t{1} << 22;  // twice what a request may be
  const Result<PerAxis<BoxAxis>> box = box_axes(p, is_scan ? longest_windows(p.src) : PerAxis<std::int64_t>{kAnyLength, kAnyLength});
  if (!box) return box.error();
  w.box = *box;

  const std::string obstacle = is_scan ? "its sums are floats" : integer_obstacle(p, *box);
  const bool wants_integers = kAccumulator.given(p) == Sum::i32;
  if (wants_integers && !obstacle.empty()) return refusal(obstacle);
  const Sum sum = is_scan ? Sum::f32 : kAccumulator.of(p, obstacle.empty() ? Sum::i32 : Sum::f32);
  if (sum == Sum::f16 && !p.device.gpu.float16_arithmetic) return refusal("the device has no arithmetic in f16");
  w.sum = {sum, sum};

  // What is spent before the intermediate is chosen: the shortest segment's error.
  const Result<Intermediate> between = choose_intermediate(p, box_taps(*box), *where, error_of(p, w, kScanLanes));
  if (!between) return between.error();
  w.between = *between;
  if (divides_unbounded(p) && info(w.between.format).is_unorm()) {
    // Alpha asks for sums of floats. An alpha below a code becomes nothing, and what sums of floats leave of it and of colours has any
    // ratio.
    if (kIntermediate.is_given(p)) {
      return refusal("float sums of codes that are divided by their alpha have no bounded error as float colours");
    }
    w.between = {*find_format(ComponentClass::floating, 32, info(p.src.format).channels), Between::rgba32f, 0.0};
  }
  const TwoPasses passes = two_passes(p, box->y, w.between.format);
  where = storage(p, is_scan ? kScan : kRunning, std::array{passes.between});
  if (!where) return where.error();
  w.storage = *where;

  if (sum == Sum::i32) {
    const FormatInfo& format = info(w.between.format);
    const double row = box->x.whole() * info(p.src.format).unit();
    const double column = format.is_unorm() ? format.unit() : row;
    const bool is_exact = format.is_unorm() || (format.bits == 32 && row < kExactInFloat);
    const bool fits = column * box->y.whole() < 0x1p31;
    if (is_exact && !fits && wants_integers) {
      return refusal("sums over " + std::to_string(box->x.whole()) + "x" + std::to_string(box->y.whole()) + " pixels exceed 31 bits");
    }
    w.sum.y = is_exact && fits ? Sum::i32 : Sum::f32;
    w.leaves_sums = is_exact && fits && !format.is_unorm();
  }
  const Result<std::int32_t> segment = choose_segment(p, w);
  if (!segment) return segment.error();
  w.segment = *segment;
  w.error = error_of(p, w, w.segment);
  return w;
}

/// The first pass's rows when sums of the second begin at multiples of the segment: from the one that the region is in.
TwoPasses aligned_passes(const Problem& p, const RunningSums& w) {
  TwoPasses out = two_passes(p, w.box.y, w.between.format);
  if (w.sum.y == Sum::i32) return out;
  const Rect r = region(p);
  const std::int32_t begin = r.y / w.segment * w.segment;
  // A scan sums the window above its first row.
  out.rows = needed_span(p.src.height, begin, r.y + r.height - begin, w.box.y.reach_before() + (w.is_scan ? 1 : 0), w.box.y.reach_after());
  out.between.height = out.rows.length;
  out.first_origin.y = out.rows.first;
  out.second_origin.y = r.y - out.rows.first;
  return out;
}

Result<Proposal> proposal(const Problem& p, const RunningSums& w) {
  const TwoPasses passes = aligned_passes(p, w);
  const std::int32_t unroll = w.is_scan ? 1 : kUnroll.of(p, 8);
  const PerAxis<BoxExtent>& extent = std::get<Box>(p.spec.kernel).extent;

  Proposal out;
  out.intermediates = {passes.between};
  out.error = w.error;
  out.options = {kStorage.as(w.storage), kIntermediate.as(w.between.value), kSegment.as(w.segment)};
  if (!w.is_scan) out.options.insert({kUnroll.as(unroll), kAccumulator.as(w.sum.x)});
  const bool source_is_float = !info(p.src.format).is_unorm();
  const bool is_half = w.sum.x == Sum::f16 || (w.between.format != p.src.format && info(w.between.format).bits == 16);
  const bool is_spoiled = source_is_float && (w.is_scan || !holds_all(p, w.box));
  if (source_is_float && is_half) {
    out.assumption = kHalfRange;
  } else if (is_spoiled) {
    out.assumption = kFinite;
  }

  const PerAxis<std::int32_t> between{passes.between.width, passes.between.height};
  const auto running = [&](bool is_vertical, Sum sum, double unit_of_sum, double gain) {
    const BoxAxis& axis = is_vertical ? w.box.y : w.box.x;
    const bool is_integer = sum == Sum::i32;
    return glsl::BoxRunning{.accumulator = sum,
                            .after = axis.after,
                            .after_fraction = axis.after_fraction,
                            .base = is_vertical ? passes.rows.first : 0,
                            .before = axis.before,
                            .before_fraction = axis.before_fraction,
                            .in_scale = is_integer ? unit_of_sum : 1.0 / axis.length(),
                            .is_vertical = is_vertical,
                            .is_whole = axis.is_whole(),
                            .out_scale = is_integer ? gain : 1.0,
                            .seed_block = kSeedBlock,
                            .segment = w.segment,
                            .unroll = unroll};
  };
  const double unit = info(p.src.format).unit();
  const double row = w.box.x.whole() * unit;
  Pass first =
      make_pass(running(false, w.sum.x, unit, w.leaves_sums ? 1.0 : 1.0 / row), between, {w.segment, kLanes}, {kLanes, 1}, w.storage);
  first.destination = intermediate();
  first.origin = passes.first_origin;
  first.extent = {extent.x, {0, 0}};

  const PerAxis<std::int32_t> size{p.dst.width, p.dst.height};
  const double between_unit = w.leaves_sums ? 1.0 : info(w.between.format).unit();
  const auto scanning = [&] {
    return make_pass(glsl::BoxScan{.after = w.box.y.after,
                                   .after_fraction = w.box.y.after_fraction,
                                   .base = passes.rows.first,
                                   .before = w.box.y.before,
                                   .before_fraction = w.box.y.before_fraction,
                                   .in_scale = 1.0 / w.box.y.length(),
                                   .segment = w.segment},
                     size, {kScanLanes, w.segment}, {kScanLanes, kScanLanes}, w.storage);
  };
  Pass second =
      w.is_scan ? scanning()
                : make_pass(running(true, w.sum.y, between_unit, 1.0 / ((w.leaves_sums ? row : 1.0) * (w.box.y.whole() * between_unit))),
                            size, {kLanes, w.segment}, {kLanes, 1}, w.storage);
  second.source = intermediate();
  second.origin = passes.second_origin;
  second.extent = {{0, 0}, extent.y};
  if (w.leaves_sums) second.outside_gain = row;

  out.window_blocks = {w.segment, w.segment};
  out.moved_bytes = moved_bytes(p, out.intermediates);
  const std::int64_t between_bytes = passes.between.payload_bytes();
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  const auto cost = [&](const Pass& pass, double seed_pixels, std::int64_t bytes, bool scans) {
    const double pixels = static_cast<double>(pass.size.x) * pass.size.y;
    const std::int32_t length = scans || pass.source.kind == Binding::Kind::intermediate ? pass.size.y : pass.size.x;
    const std::int32_t segment = std::min(w.segment, length);
    // Measured: first sums miss the caches where segments are as short as those of floats, and one step of a walk
    // takes so long however few there are.
    constexpr double kShortSeeds = 4.5;
    const double step_seconds = 0.77 * gpu_model(p.device).step_seconds;
    const bool is_integer = info(p.src.format).is_unorm();
    const double seed = (is_integer ? 1.0 : kShortSeeds) * seed_pixels / segment;
    const double rate = seconds(p.device, read_format(p, pass, w.between.format),
                                {.pixels = pixels,
                                 .loads = 2.0 + seed,
                                 .shared_loads = scans ? 9.0 : 0.0,
                                 .operations = (scans ? 7.0 : 3.0) + seed,
                                 .barriers = scans ? 4.0 : 0.0,
                                 .bytes = static_cast<double>(bytes)});
    if (scans || p.device.gpu.is_software) return rate;
    return std::max(rate, step_seconds * (static_cast<double>(segment) + seed_pixels));
  };
  out.seconds = cost(first, pixels_of_seed(w.box.x, mode.x, p.src.width), source_bytes(p) + between_bytes, false) +
                cost(second, pixels_of_seed(w.box.y, mode.y, p.src.height), between_bytes + p.dst.payload_bytes(), w.is_scan);
  out.passes = {std::move(first), std::move(second)};
  // Up to the end of a segment, where sums begin anew.
  if (is_spoiled) leave_box_spoiled(p, w.box, {{w.segment, 0}, {w.segment, 0}}, out);
  return out;
}

Result<Proposal> propose_running(const Problem& p) {
  const Result<RunningSums> w = running_sums(p, false);
  if (!w) return w.error();
  return proposal(p, *w);
}

Result<Proposal> propose_scan(const Problem& p) {
  Problem wish = p;
  wish.options.insert(kIntermediate.as(Between::rgba32f));
  const Result<RunningSums> w = running_sums(wish, true);
  if (!w) return w.error();
  if (Status s = check_shared(p, kScanShared); !s) return s.error();
  if (Status has = check_group(p, {kScanLanes, kScanLanes}); !has) return has.error();
  return proposal(p, *w);
}

}  // namespace

constinit const Algorithm kBoxRunning = {
    {"box.running", "running sums along rows, then columns; one lane a walk", "Reverse Engineering MPS Box Blur", kRunningOptions},
    propose_running};

constinit const Algorithm kBoxScan = {
    {"box.scan", "running sums along rows, then 16 lanes a column by prefix sums", "Reverse Engineering MPS Box Blur", kScanOptions},
    propose_scan};

}  // namespace mollify
