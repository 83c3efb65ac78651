// What box.any by corners and by segments share on GPUs: block sums, and how bands are cut.
#include <bit>
#include <cmath>

#include "algorithms/box/box_block_sums.h"
#include "algorithms/common/occupancy.h"
#include "base/places.h"
#include "model/gpu_model.h"

namespace mollify {

using namespace gpu;

std::int32_t lanes_of_block_sums(const Problem& p) {
  constexpr std::int32_t kMost = 32;
  return std::min<std::int32_t>(kMost, static_cast<std::int32_t>(std::bit_floor(static_cast<unsigned>(p.device.gpu.subgroup_size))));
}

std::int32_t block_sum_rows(const Problem& p, std::int32_t lanes, std::int32_t pixels) {
  // A driver that runs on the processor takes seconds to compile what more unrolls to.
  return std::min(lanes, decodes_slowly(p) ? 1 : p.device.gpu.is_software ? 2 : pixels == 1 ? 8 : 4);
}

namespace {

constexpr std::int32_t kLeastRows = 16;
constexpr std::int32_t kMostRows = 256;  // of which u16x2 can hold the sums

}  // namespace

std::int32_t box_threads_at_once(const Problem& p, std::int32_t rows_in_flight) {
  return threads_at_once(gpu_model(p.device), rows_in_flight == 1 ? kDefaultRegisters : 100.0);
}

std::int32_t box_chunks(const Problem& p, const BoxGroups& groups, double run_up) {
  const std::int32_t chunks = chunks_ending_soonest(p, groups.groups_across * groups.threads, p.src.height, run_up);
  const double groups_at_once = processors(p) * std::max(groups.at_once / groups.threads, 1);
  const double round = groups_at_once / static_cast<double>(groups.groups_across * p.batch);
  return chunks < 0.5 * round ? chunks : std::clamp(static_cast<std::int32_t>(round), 1, p.src.height);
}

std::int32_t box_band(const Problem& p, const BoxGroups& groups, double run_up, bool has_block_sums) {
  const std::int32_t height = even_length(p.src.height, box_chunks(p, groups, run_up), 1);
  return std::clamp(height, kLeastRows, has_block_sums ? kMostRows : std::max(p.src.height, kLeastRows));
}

std::int32_t box_band_of_floats(const Problem& p, const BoxAxis& y, std::int64_t threads_across, double run_up) {
  std::int32_t height = even_length(p.src.height, chunks_ending_soonest(p, threads_across, p.src.height, run_up), 1);
  return box_band_of_windows(y, std::clamp(height, kLeastRows, kMostRows));
}

std::int32_t box_band_of_windows(const BoxAxis& y, std::int32_t height) {
  const std::int32_t bands = (y.whole() + height / 2) / height;
  return bands == 0 ? height : std::clamp((y.whole() + bands - 1) / bands, kLeastRows, kMostRows);
}

std::int32_t box_rows_within(const Problem& p, double start, double row, std::int32_t most) {
  const double units = (p.allowed_error - colour_error(p.spec, Accumulator::f32)) / unit_roundoff(Accumulator::f32) - start;
  return static_cast<std::int32_t>(std::clamp(std::floor(units / row), 1.0, static_cast<double>(most)));
}

Result<PerAxis<BoxAxis>> box_of_whole_pixels(const Problem& p, std::string_view kernel, BoxForm form, bool has_spans) {
  if (Status known = not_options(p, {kBoxAccumulator}); !known) return known.error();
  if (kBoxLanesPerRow.is_given(p)) return refusal("the option lanes_per_row is for the form column_sums");
  if (kBoxPixelsPerThread.is_given(p) && !has_spans) return refusal("the option pixels_per_thread is for the form row_segments");
  if (!p.device.has_kernel(kernel)) return refusal_without_kernel(p, kernel);
  if (!p.device.gpu.shuffle_operations) return refusal("the device's compute shaders cannot shuffle among lanes");
  const std::string whose = "the form " + std::string(kBoxForm.name_of(form));
  if (kStorage.of(p, Storage::buffer) != Storage::buffer) {
    return refusal(whose + " reads pixels from buffers only");
  }
  Result<PerAxis<BoxAxis>> box = box_any_axes(p);
  if (box && (!box->x.is_whole() || !box->y.is_whole())) return refusal(whose + " is for windows of whole pixels");
  return box;
}

Result<std::int32_t> box_threads(const Problem& p, std::int32_t usual) {
  const GpuInfo& gpu = p.device.gpu;
  const Result<std::int32_t> threads = kBoxThreads.of(p, std::max(usual, gpu.subgroup_size), gpu.max_group_invocations);
  if (!threads) return threads.error();
  if (Status fits = check_group(p, {*threads, 1}); !fits) return fits.error();
  if (*threads % gpu.subgroup_size != 0) {
    return refusal("groups of " + std::to_string(*threads) + " threads are no number of subgroups of " + std::to_string(gpu.subgroup_size));
  }
  return threads;
}

Status check_block_sums(std::int64_t words) {
  constexpr std::int64_t kMostWords = 1 << 30;
  if (words > kMostWords) return refusal("sums of blocks would take " + std::to_string(4 * words) + " bytes");
  return {};
}

Status box_of_stored(const Problem& p, BoxForm form) {
  const std::string whose = "the form " + std::string(kBoxForm.name_of(form));
  if (p.dst.format != p.src.format) return refusal(whose + " writes the format that it reads");
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal(whose + " sums pixels as they are stored");
  }
  if (has_stride(p.spec)) return refusal(whose + " writes all pixels of a region");
  return {};
}

Status box_buffers(const Problem& p, std::string_view kernel, std::span<const ImageDesc> intermediates) {
  Problem wish = p;
  wish.options.insert_or_assign(std::string(kStorage), "buffer");
  const Result<Storage> where = storage(wish, kernel, intermediates);
  return where ? Status() : Status(where.error());
}

}  // namespace mollify
