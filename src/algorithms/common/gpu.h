// What proposals for GPU backends share: options, limits, memory, the arithmetic of their errors, the cost model.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/common/propose.h"
#include "algorithms/common/separable.h"
#include "base/gpu_images.h"

namespace mollify::gpu {

// ---- Options that several algorithms have

inline constexpr std::array<std::string_view, 2> kStorages = {"buffer", "image"};
inline constexpr std::array<std::string_view, 3> kCaches = {"f32", "f16", "unorm8"};
inline constexpr std::array<std::string_view, 3> kLaneOrders = {"row", "z_curve", "rotating_z"};
inline constexpr std::array<std::string_view, 5> kIntermediates = {"same", "rgba8", "rgba16", "rgba16f", "rgba32f"};
inline constexpr std::array<std::string_view, 2> kPackings = {"struct", "packed"};
inline constexpr std::array<std::string_view, 2> kSampleBuffers = {"uniform", "storage"};

inline constexpr OptionInfo kStorageOption{"storage", kStorages, "image where its format has them, else buffer",
                                           "where pixels lie on the device"};
inline constexpr OptionInfo kCacheOption{"cache", kCaches, "the narrower of f32 and f16 within the error", "pixels in shared memory"};
inline constexpr OptionInfo kLaneOrderOption{"lane_order", kLaneOrders, "row", "which pixel of a group a lane makes"};
inline constexpr OptionInfo kIntermediateOption{"intermediate", kIntermediates, "rgba16, else rgba16f, else rgba32f, by the error",
                                                "what the first pass leaves for the second; channels as the source has"};
inline constexpr std::array<std::string_view, 2> kFloatIntermediates = {"rgba16f", "rgba32f"};

/// For what can lie outside 0 to 1 even where the source does not.
[[nodiscard]] constexpr OptionInfo float_intermediate_option(std::string_view summary) {
  return {"intermediate", kFloatIntermediates, "rgba16f where its error fits", summary};
}
/// "16x16": any two numbers within the limits of the device.
[[nodiscard]] constexpr OptionInfo group_option(std::span<const std::string_view> examples, std::string_view standard) {
  return {"group", examples, standard, "threads of a work group", true};
}

/// The index of an option's value, or of `otherwise` where it is not given.
[[nodiscard]] std::size_t choice(const Problem& p, std::string_view option, std::span<const std::string_view> values,
                                 std::string_view otherwise);

/// The option "group", or `standard`; a refusal where the device has no such groups.
[[nodiscard]] Result<PerAxis<std::int32_t>> group(const Problem& p, PerAxis<std::int32_t> standard);
/// As the option says it.
[[nodiscard]] std::string to_text(PerAxis<std::int32_t> group);

/// A whole number from 1 to `largest` that an open option gives, or `otherwise`.
[[nodiscard]] Result<std::int32_t> count(const Problem& p, std::string_view option, std::int32_t largest, std::int32_t otherwise);

/// lane_order needs tiles of its own shape.
[[nodiscard]] Status check_lane_order(std::size_t order, PerAxis<std::int32_t> tile);

// ---- What the device can do

using mollify::Storage;

/// The kernel is there, and the device can hold these images; "storage" as given, else the first that can: images, but for
/// batches buffers. `linear` asks for a linear sampler that treats the border as the spec does.
[[nodiscard]] Result<Storage> storage(const Problem& p, std::string_view kernel, std::span<const ImageDesc> intermediates = {},
                                      bool linear = false);

/// The other way round, for kernels that are faster on buffers: they load more than a pixel at once.
[[nodiscard]] Result<Storage> buffer_or_image(const Problem& p, std::string_view kernel, std::span<const ImageDesc> intermediates = {});

[[nodiscard]] Status check_shared(const Problem& p, std::int64_t bytes);
/// The room that kernels have for weights: "weights[]" of taps.glsl and its like.
inline constexpr std::int64_t kMostWeights = 4096;
[[nodiscard]] Status check_taps(const PerAxis<AxisTaps>& taps, std::string_view whose = "the kernel");
/// Of kernels that unroll all taps of a line: the refusal of more on an axis.
[[nodiscard]] Status check_taps_of_axes(const PerAxis<AxisTaps>& taps, std::size_t most);

/// Negative weights can bring alpha near zero where colours are not, and then dividing by it magnifies what an approximation
/// or a reduced precision has moved beyond any bound. Unorm destinations cut off what that makes.
[[nodiscard]] bool divides_unbounded(const Problem& p);
/// Refuses that for weights of which some are negative.
[[nodiscard]] Status check_division(const Problem& p, std::span<const double> weights);

/// Whether a multiply-add rounds once. Vulkan leaves open if its product is rounded, too: GPUs have instructions that do not, drivers
/// that run on the processor were seen to.
[[nodiscard]] inline bool fuses_multiply_adds(const DeviceInfo& device) {
  return !device.gpu.is_software;
}

// ---- Spans: neighbouring pixels that a lane reads or writes at once, as whole words; see spans.glsl

/// The refusal of spans that are no whole words.
[[nodiscard]] Status check_span(PixelFormat format, std::int32_t span);
[[nodiscard]] bool is_whole_words(PixelFormat format, std::int32_t span);

// ---- Errors, full-scale units

/// Of pixels rounded to this precision once: f32 0, f16, unorm8 (which must hold what is stored).
enum class Cache : std::uint8_t { f32, f16, unorm8 };
[[nodiscard]] std::int64_t cache_bytes(Cache cache);
[[nodiscard]] double rounding_step(Cache cache, PixelFormat source);

/// What rounding the pixels or weights of a sum by `step` comes to in the result: infinite where check_division() refuses.
[[nodiscard]] double rounding_between(const Problem& p, std::span<const double> weights, double step);
[[nodiscard]] double rounding_between(const Problem& p, const SeparableTaps& taps, double step);
/// Refuses an infinite one, which only an option can have asked for.
[[nodiscard]] Status check_rounding(double error);

/// What of the pixels the caller must see to for a reduced cache or intermediate.
inline constexpr Assumption kHalfRange{"pixels within +-65504, the range of f16", 65504.0};
/// The same for running sums and recursions: one that held a NaN or an infinity stays one.
inline constexpr Assumption kFinite{"finite pixels"};

/// What sums that are divided at their end ask of 32-bit floats.
[[nodiscard]] inline Assumption finite_sums(const Problem& p) {
  const FormatInfo& source = info(p.src.format);
  return !source.is_unorm() && source.bits == 32 ? Assumption{"pixels within +-1e36, whose sums are finite", 1e36} : Assumption();
}

/// Chosen by name, or the cheapest of f32 and f16 with `error(cache)` allowed.
template <class ErrorOf>
[[nodiscard]] Cache choose_cache(const Problem& p, ErrorOf error) {
  if (p.options.contains("cache")) return static_cast<Cache>(choice(p, "cache", kCaches, "f32"));
  const bool fits = info(p.src.format).bits < 32 && error(Cache::f16) <= p.allowed_error;
  return fits ? Cache::f16 : Cache::f32;
}

/// The format of an intermediate image: as the option says, else the narrowest whose rounding `error(format)` allows.
struct Intermediate {
  PixelFormat format = PixelFormat::rgba32f;
  std::string_view name;  ///< the option's value
  double error = 0.0;     ///< of rounding to it once
};
[[nodiscard]] Result<Intermediate> choose_intermediate(const Problem& p, const SeparableTaps& taps, Storage storage, double spent);

/// The format that a float_intermediate_option() asks for, else f16 where its error is allowed. Sets the option and, from
/// error(Cache), the proposal's error; `f32_assumption` is what f32 takes for granted of float pixels.
template <class ErrorOf>
[[nodiscard]] PixelFormat choose_float_intermediate(const Problem& p, ErrorOf error, Proposal& out, const Assumption& f32_assumption = {}) {
  const FormatInfo& source = info(p.src.format);
  const bool half = p.options.contains("intermediate") ? choice(p, "intermediate", kFloatIntermediates, "rgba32f") == 0
                                                       : source.bits < 32 && error(Cache::f16) <= p.allowed_error;
  out.error = error(half ? Cache::f16 : Cache::f32);
  if (!source.is_unorm()) out.assumption = half ? kHalfRange : f32_assumption;
  out.options["intermediate"] = kFloatIntermediates[half ? 0 : 1];
  return *find_format(ComponentClass::floating, half ? 16 : 32, source.channels);
}

// ---- Cost

struct Work {
  double pixels = 0.0;
  double loads = 0.0;         ///< pixels fetched from images or buffers, for each that is written
  double shared_loads = 0.0;  ///< from shared memory, a pixel
  double operations = 0.0;    ///< multiply-adds of whole pixels, a pixel
  double barriers = 0.0;      ///< that a group waits at, each
  double bytes = 0.0;         ///< to and from memory, all pixels
};
/// Rough seconds of one dispatch that reads pixels of this format.
[[nodiscard]] double seconds(const DeviceInfo& device, PixelFormat read, const Work& work);
/// What a pass reads where all intermediates have one format.
[[nodiscard]] PixelFormat read_format(const Problem& p, const Pass& pass, PixelFormat intermediates);

// ---- Passes

/// A pass with the constants of pixel.glsl and its group.
[[nodiscard]] Pass make_pass(std::string_view kernel, PerAxis<std::int32_t> size, PerAxis<std::int32_t> tile, PerAxis<std::int32_t> group,
                             Storage storage);

/// The same for a kernel whose groups begin at whole blocks of the source, wherever the region does, so that its pixels are added up in
/// the same order as those of the whole: see skip.glsl. A tile is of whole blocks.
[[nodiscard]] Pass make_pass_of_blocks(std::string_view kernel, const Rect& region, PerAxis<std::int32_t> block, PerAxis<std::int32_t> tile,
                                       PerAxis<std::int32_t> group, Storage storage);
/// What such a pass makes of a region: all of it, and the columns and rows before it that its first blocks begin with.
[[nodiscard]] PerAxis<std::int32_t> size_from_blocks(const Rect& region, PerAxis<std::int32_t> block);

/// Which pixels of the source a pass along one axis must leave for the pass along the other, whose taps may map to
/// anywhere in the image at its border.
struct Span {
  std::int32_t first = 0;
  std::int32_t length = 0;
};
[[nodiscard]] Span needed_span(std::int32_t source_length, std::int32_t first, std::int32_t length, std::int64_t before,
                               std::int64_t after);

/// The pixels of the source that the last pass works through: the region; with a stride, from the place of the destination's first pixel to
/// that of its last one, which may lie behind the source.
[[nodiscard]] Rect region(const Problem& p);

/// Bytes of the source's pixels that the region has: what lies around them and is read as well is left out.
[[nodiscard]] std::int64_t source_bytes(const Problem& p);

/// Bytes of passes that read the source once, write the destination once, and write and read each intermediate once.
[[nodiscard]] std::int64_t moved_bytes(const Problem& p, std::span<const ImageDesc> intermediates);

/// The size of a shared array of at least `size`: sizes are constants of a pipeline, so that few different ones are
/// compiled.
[[nodiscard]] std::int32_t rounded_size(std::int64_t size);
/// The same, but `size` itself where the rounded one does not fit beside `other_bytes` of shared memory.
[[nodiscard]] std::int32_t shared_size(const Problem& p, std::int64_t size, std::int64_t item_bytes, std::int64_t other_bytes = 0);

}  // namespace mollify::gpu
