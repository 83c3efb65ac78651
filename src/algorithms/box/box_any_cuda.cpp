// box.any on CUDA: blocks of threads move down strips of columns, and make eight windows at a time of what these have in common and what
// they have not. Nothing is taken away from a sum of floats. One kernel, two loads a pixel, of which the second finds its row in cache.
#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/box/box_any.h"
#include "algorithms/common/occupancy.h"
#include "backends/cuda/kernels/box_any_shape.h"
#include "backends/cuda/kernels/box_division.h"
#include "base/places.h"
#include "model/gpu_model.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr double kRegisters = 128.0;  ///< of a thread

/// How a block of threads works.
struct Form {
  bool is_integer = false;
  bool is_any = false;  ///< a kernel for all images and windows
  std::int32_t threads = 256;
  std::int32_t four_bytes = 16;  ///< that four components of a result take in shared memory
  std::int32_t made = 0;         ///< pixels of a row of a strip
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
  const bool is_plain = p.src.format == p.dst.format && p.spec.alpha == AlphaMode::ignore && p.spec.transfer == TransferFunction::none &&
                        box.x.is_whole() && box.y.is_whole() && !format.is_unorm() && (format.channels == 1 || format.channels == 4);
  out.is_any = !out.is_integer && !is_plain;
  out.four_bytes = out.is_any ? 16 : 4 * format.component_bytes();
  if (!out.is_integer && cuda::box_runs(box.y.whole()) > cuda::kBoxMostRuns) {
    return refusal("windows of floats are at most " + std::to_string(cuda::kBoxRun * (cuda::kBoxMostRuns + 1) + cuda::kBoxLeastWindow - 1) +
                   " pixels high");
  }

  constexpr std::int64_t kLongestRow = std::int64_t{1} << 31;  // that the kernel counts in 32 bits
  if (p.src.row_payload_bytes() >= kLongestRow) return refusal("rows have at least 2^31 bytes");

  // So many threads that a strip is four times as wide as what it reads beside itself, if there are as many.
  const std::int32_t channels = format.channels;
  const std::int32_t most = std::min(cuda::kBoxMostThreads, p.device.gpu.max_group_invocations);
  std::int32_t usual = 128;
  while (2 * usual <= most && cuda::BoxShape(channels, usual, 4).made(box.x.taps()) < 4 * box.x.taps() &&
         cuda::BoxShape(channels, 2 * usual, out.four_bytes).shared_bytes() <= p.device.gpu.shared_bytes) {
    usual *= 2;
  }
  const Result<std::int32_t> threads = kBoxThreads.of(p, usual, most);
  if (!threads) return threads.error();
  out.threads = *threads;
  if (out.threads % 32 != 0 || out.threads > cuda::kBoxMostThreads)
    return refusal("threads are whole warps, at most " + std::to_string(cuda::kBoxMostThreads));
  const cuda::BoxShape shape(channels, out.threads, out.four_bytes);
  if (Status s = check_shared(p, shape.shared_bytes()); !s) return s.error();
  out.made = shape.made(box.x.taps());
  if (out.made < cuda::kBoxRun) {
    return refusal("a window of " + std::to_string(box.x.taps()) + " pixels is wider than a strip of " + std::to_string(shape.columns));
  }
  return out;
}

/// Of sums of f32, units of the roundoff, relative to the largest number: within a run, over runs, and of these with the ends.
double growth(const BoxAxis& axis) {
  constexpr double kOfRun = (cuda::kBoxRun + 1) / 2.0;
  constexpr double kOfEnds = 5.0;  // two additions of the whole, a fraction at either end, and the first number's own rounding
  return kOfRun + cuda::box_runs(axis.whole()) / 2.0 + kOfEnds;
}

double error_of(const Problem& p, const PerAxis<BoxAxis>& box, const Form& form) {
  constexpr double kLastScale = 2.0;
  if (form.is_integer) return 0.0;
  const double units = growth(box.x) + growth(box.y) + kLastScale;
  return colour_gain(p.spec) * units * unit_roundoff(Accumulator::f32) + colour_error(p.spec, Accumulator::f32);
}

/// A power of two that keeps sums of the largest numbers finite.
double lift_of(const Problem& p, double pixels) {
  const FormatInfo& format = info(p.src.format);
  return format.is_unorm() || format.bits < 32 ? 1.0 : std::exp2(-std::ceil(std::log2(pixels)));
}

/// What images of so many channels take of what is reckoned for them: measured of one, three and four.
double share_of(const FormatInfo& format, bool is_integer) {
  constexpr std::array kOfIntegers = {0.42, 0.6, 1.3, 0.7};
  constexpr std::array kOfFloats = {0.9, 1.1, 1.3, 1.25};
  return (is_integer ? kOfIntegers : kOfFloats).at(static_cast<std::size_t>(format.channels - 1));
}

}  // namespace

Result<Proposal> propose_box_any_cuda(const Problem& p) {
  if (Status s = only_options(p, {kBoxSums, kBoxThreads}); !s) return s.error();
  if (has_stride(p.spec)) return refusal("it makes all pixels of a region");
  const Result<PerAxis<BoxAxis>> axes = box_any_axes(p);
  if (!axes) return axes.error();
  const BoxAxis &x = axes->x, &y = axes->y;
  if (std::min(x.whole(), y.whole()) < cuda::kBoxLeastWindow) {
    return refusal("windows have at least " + std::to_string(cuda::kBoxLeastWindow) + " pixels along either axis");
  }
  const Result<Form> form = form_of(p, *axes);
  if (!form) return form.error();

  const Rect r = region(p);
  // Sums of floats round by where runs begin, so these have their places in the whole image.
  constexpr std::int32_t kRun = cuda::kBoxRun;
  const PerAxis<std::int32_t> skip{r.x % kRun, r.y % kRun};
  const PerAxis<std::int32_t> size{r.width + skip.x, r.height + skip.y};
  const std::int64_t across = (size.x + form->made - 1) / form->made;
  const cuda::BoxShape shape(info(p.src.format).channels, form->threads, form->four_bytes);
  const GpuModel model = gpu_model(p.device);
  const auto at_once = static_cast<double>(groups_at_once(model, {form->threads, kRegisters, shape.shared_bytes()}));
  const std::int32_t fewest = std::min((y.taps() / kRun + 1) * kRun, (size.y + kRun - 1) / kRun * kRun);
  const std::int32_t rows = rows_of_chunk(p, across, size.y, at_once, kRun, fewest);
  Pass pass = make_pass("box_any", size, {form->made, rows}, {form->threads, 1}, Storage::buffer);
  const double pixels_of_window = x.length() * y.length();
  const double lift = lift_of(p, pixels_of_window);
  pass.constants = {{"integer", form->is_integer ? 1 : 0},
                    {"any", form->is_any ? 1 : 0},
                    {"four_bytes", form->four_bytes},
                    {"window_x", x.whole()},
                    {"window_y", y.whole()},
                    {"before_x", x.before},
                    {"before_y", y.before},
                    {"skip_x", skip.x},
                    {"skip_y", skip.y}};
  pass.parameters = {{"before_fraction_x", x.before_fraction},
                     {"after_fraction_x", x.after_fraction},
                     {"before_fraction_y", y.before_fraction},
                     {"after_fraction_y", y.after_fraction},
                     {"lift", lift},
                     {"scale", 1.0 / (pixels_of_window * lift)}};
  pass.origin = {r.x - skip.x, r.y - skip.y};
  pass.extent = *box_extents(p);

  Proposal out;
  out.error = error_of(p, *axes, *form);
  out.options = {kBoxSums.as(form->is_integer ? BoxAnySums::u32 : BoxAnySums::f32), kBoxThreads.as(form->threads)};
  const double reads = static_cast<double>(shape.columns) / form->made;
  const double first_sums = static_cast<double>(y.taps()) / rows;
  const double pixels = static_cast<double>(size.x) * size.y;
  const int channels = info(p.src.format).channels;
  out.seconds = share_of(info(p.src.format), form->is_integer) *
                seconds(p.device, p.src.format,
                        {.pixels = pixels,
                         .loads = reads * (2.0 + first_sums),
                         .shared_loads = reads * 2.0 + 3.0 + cuda::box_runs(x.whole()) / 8.0,
                         .operations = (reads * (6.0 + first_sums) + 8.0) * channels / 4.0,
                         .barriers = 3.0 / kRun * reads,
                         .bytes = static_cast<double>(source_bytes(p)) * (1.0 + first_sums) + static_cast<double>(p.dst.payload_bytes())});
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(source_bytes(p)) * (1.0 + first_sums)) + p.dst.payload_bytes();
  // Runs of rows are put together in as many as a window has between its ends, counted from the first row of the whole.
  out.window_blocks = {kRun, kRun * std::max(form->is_integer ? 1 : cuda::box_runs(y.whole()), 1)};
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace mollify
