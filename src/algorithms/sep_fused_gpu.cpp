// sep.fused on GPUs: groups walk down strips of columns, filter rows out of shared memory and sum them up in registers.
// The image is read once, but for what strips share, and written once: (taps_x + taps_y) multiply-adds a component, about
// taps_x / span + 1 shared loads, one barrier for a batch of rows. Registers end it: sums of all taps_y rows lie in them.
#include <array>

#include "algorithms/sep_fused.h"
#include "algorithms/sep_gpu.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = "sep_fused";
constexpr std::int32_t kMostTaps = 45;        // sums of more rows do not fit into registers
constexpr std::int32_t kMostTapsOfFour = 25;  // ... nor those of so many, four pixels wide
constexpr std::array<std::string_view, 3> kSpans = {"1", "2", "4"};

/// How one group works.
struct Shape {
  std::int32_t channels = 1;
  std::int32_t span = 4;       ///< neighbouring pixels of one channel that a lane makes
  std::int32_t threads = 128;
  std::int32_t batch = 2;      ///< rows from one turn to the next
  std::int32_t width = 0;      ///< columns that come out
  [[nodiscard]] std::int32_t reach() const { return threads / channels * span; }
  [[nodiscard]] std::int64_t shared_bytes() const {
    return static_cast<std::int64_t>(sizeof(float)) * batch * channels * (reach() + width);
  }
};

Result<Shape> shape(const Problem& p, const Separable& s) {
  Shape out;
  out.channels = info(p.src.format).channels;
  const bool is_tall = s.ny() > kMostTapsOfFour;
  out.span = 1 << choice(p, "span", kSpans, is_tall ? "2" : "4");
  const std::int32_t usual = is_tall || s.nx() > kMostTapsOfFour ? 256 : 128;
  const Result<std::int32_t> threads =
      count(p, "threads", p.device.gpu.max_group_invocations, usual / out.channels * out.channels);
  if (!threads) return threads.error();
  out.threads = *threads;
  if (const Result<PerAxis<std::int32_t>> fits = group(p, {out.threads, 1}); !fits) return fits.error();
  out.width = out.reach() - (s.nx() - 1 + out.span - 1) / out.span * out.span;
  if (out.width <= 0) {
    return refusal(std::to_string(s.nx()) + " taps reach further than the columns of a group of " +
                   std::to_string(out.threads) + " threads");
  }
  const Result<std::int32_t> batch = count(p, "batch", 16, 2);
  if (!batch) return batch.error();
  out.batch = *batch;
  if (Status fits = check_shared(p, out.shared_bytes()); !fits) return fits.error();
  return out;
}

}  // namespace

Result<Proposal> propose_sep_fused_gpu(const Problem& p) {
  if (Status s = only_options(p, {"storage", "span", "threads", "batch", "vertical_groups"}); !s) return s.error();
  const Result<Separable> s = separable(p, kKernel, Storage::buffer);
  if (!s) return s.error();
  if (s->nx() > kMostTaps || s->ny() > kMostTaps) {
    return refusal("the kernel has " + std::to_string(s->nx()) + "x" + std::to_string(s->ny()) + " taps, more than " +
                   std::to_string(kMostTaps) + " on an axis");
  }
  const Result<Shape> form = shape(p, *s);
  if (!form) return form.error();

  const std::int64_t across = (p.dst.width + form->width - 1) / form->width;
  const Result<std::int32_t> pieces =
      count(p, "vertical_groups", 1 << 16, pieces_to_fill(p, across * form->threads / 256 + 1, p.dst.height, s->ny()));
  if (!pieces) return pieces.error();
  const std::int32_t segment = walk_length(p.dst.height, *pieces, form->batch);

  Proposal out;
  out.error = s->error;
  out.options = {{"storage", std::string(kStorages[static_cast<std::size_t>(s->storage)])},
                 {"span", std::to_string(form->span)},
                 {"threads", std::to_string(form->threads)},
                 {"batch", std::to_string(form->batch)},
                 {"vertical_groups", std::to_string(*pieces)}};
  Pass pass = make_pass(kKernel, {p.dst.width, p.dst.height}, {form->width, segment}, {form->threads, 1}, s->storage);
  pass.origin = {s->region.x, s->region.y};
  pass.taps = s->taps.taps;
  pass.constants["span"] = form->span;
  pass.constants["batch"] = form->batch;
  pass.constants["segment"] = segment;

  const double rows = (segment + s->ny() - 1.0) / segment;
  const double columns = static_cast<double>(form->reach()) / form->width;
  Work work;
  work.pixels = static_cast<double>(p.dst.width) * p.dst.height;
  work.loads = rows * columns;
  work.load_bytes = info(p.src.format).pixel_bytes();
  work.shared_loads = rows * columns * (2.0 + static_cast<double>(s->nx()) / form->span);
  work.operations = rows * columns * (s->nx() + s->ny());
  work.barriers = rows / form->batch;
  out.moved_bytes = static_cast<std::int64_t>(static_cast<double>(p.src.payload_bytes()) * rows * columns) + p.dst.payload_bytes();
  work.bytes = static_cast<double>(out.moved_bytes);
  out.seconds = seconds(p.device, work);
  out.scratch_bytes = scratch_bytes(p, {});
  out.passes.push_back(std::move(pass));
  return out;
}

}  // namespace mollify
