// What proposals for GPU backends share: options, limits, memory, the arithmetic of their errors, the cost model.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/common/options.h"
#include "algorithms/common/propose.h"
#include "algorithms/common/separable.h"
#include "base/gpu_images.h"
#include "base/pass_arguments.h"

namespace mollify::gpu {

// ---- Options that several algorithms have

using mollify::Storage;

/// The precision of pixels that were rounded to it once; unorm8 must hold what is stored.
enum class Cache : std::uint8_t { f32, f16, unorm8 };
enum class LaneOrder : std::uint8_t { row, z_curve, rotating_z };
enum class Between : std::uint8_t { same, rgba8, rgba16, rgba16f, rgba32f };
enum class Packing : std::uint8_t { separate, packed };
enum class SampleBuffer : std::uint8_t { uniform, storage };

inline constexpr EnumOption<Storage> kStorage("storage", {"buffer", "image"}, "image where its format has them, else buffer",
                                              "where pixels lie on the device", {.tuned = Tuned::never});
/// Where buffers are faster.
inline constexpr OptionInfo kBufferOrImage = kStorage.info_as("buffer where the device has them, else image", "GPU: where pixels lie");
inline constexpr EnumOption<Cache> kCache("cache", {"f32", "f16", "unorm8"}, "the narrower of f32 and f16 within the error",
                                          "pixels in shared memory", {.tuned = Tuned::where_exact});
inline constexpr EnumOption<LaneOrder> kLaneOrder("lane_order", {"row", "z_curve", "rotating_z"}, "row",
                                                  "which pixel of a group a lane makes");
inline constexpr EnumOption<Between> kIntermediate("intermediate", {"same", "rgba8", "rgba16", "rgba16f", "rgba32f"},
                                                   "rgba16, else rgba16f, else rgba32f, by the error",
                                                   "what the first pass leaves for the second; channels as the source has",
                                                   {.tuned = Tuned::where_exact});
/// For what can lie outside 0 to 1 even where the source does not.
[[nodiscard]] constexpr OptionInfo float_intermediate_info(std::string_view summary) {
  return kIntermediate.info_as("rgba16f where its error fits", summary, static_cast<std::size_t>(Between::rgba16f));
}
inline constexpr EnumOption<Packing> kPacking("packing", {"struct", "packed"}, "struct",
                                              "samples as 16 bytes or as 4, their weights then in f16");
inline constexpr EnumOption<SampleBuffer> kSamples("samples", {"uniform", "storage"}, "uniform where they fit",
                                                   "which kind of buffer holds them");

inline constexpr std::array<std::string_view, 15> kTunedChunks = {"1",  "2",  "4",  "8",   "12",  "16",  "24", "32",
                                                                  "48", "64", "96", "128", "192", "256", "384"};
inline constexpr NumberOption kChunks("chunks", {"1", "3", "16"}, 1 << 16, "enough to fill the device",
                                      "chunks that the rows are split into, one for each work group", {.tuned_values = kTunedChunks});

inline constexpr OptionInfo kChunksOfGroups =
    kChunks.info_as("enough to fill the device", "GPU: chunks that the rows are split into, one for each work group");
inline constexpr std::int32_t kAnyThreads = 1 << 16;  ///< the device allows fewer

/// Threads of a work group, across and down: "16x16", any two numbers within the limits of the device.
class GroupOption : public Option {
 public:
  /// The first of the examples is the default.
  constexpr explicit GroupOption(std::initializer_list<std::string_view> examples)
      : GroupOption(examples, *examples.begin(), "threads of a work group") {}
  constexpr GroupOption(std::initializer_list<std::string_view> examples, std::string_view default_value, std::string_view summary)
      : Option("group", examples, default_value, summary, true, {.tuned_values = kTuned}) {}
  /// Refuses what the device does not have.
  [[nodiscard]] Result<std::optional<PerAxis<std::int32_t>>> given(const Problem& p) const;
  /// Or the first of the examples.
  [[nodiscard]] Result<PerAxis<std::int32_t>> of(const Problem& p) const;
  [[nodiscard]] Options::value_type as(PerAxis<std::int32_t> value) const;

 private:
  static constexpr std::array<std::string_view, 18> kTuned = {"8x8",  "16x8", "8x16", "16x16", "32x8",  "8x32",  "32x16", "16x32", "32x32",
                                                              "64x4", "4x64", "64x1", "128x2", "2x128", "128x1", "256x1", "256x2", "512x1"};
};

/// Refuses groups that the device does not have.
[[nodiscard]] Status check_group(const Problem& p, PerAxis<std::int32_t> group);
/// As the option says it.
[[nodiscard]] std::string to_text(PerAxis<std::int32_t> group);

/// lane_order needs tiles of its own shape.
[[nodiscard]] Status check_lane_order(LaneOrder order, PerAxis<std::int32_t> tile);

// ---- What the device can do

/// The kernel is there, and the device can hold these images; "storage" as given, else the first that can: images, but for
/// batches buffers. `linear` asks for a linear sampler that treats the border as the spec does.
[[nodiscard]] Result<Storage> storage(const Problem& p, std::string_view kernel, std::span<const ImageDesc> intermediates = {},
                                      bool linear = false);

/// The other way round, for kernels that are faster on buffers: they load more than a pixel at once.
[[nodiscard]] Result<Storage> buffer_or_image(const Problem& p, std::string_view kernel, std::span<const ImageDesc> intermediates = {});

[[nodiscard]] Status check_shared(const Problem& p, std::int64_t bytes);
/// For kernels that count what a row has in 32 bits.
[[nodiscard]] Status check_rows(const Problem& p);
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

[[nodiscard]] std::int64_t cache_bytes(Cache cache);
/// Of rounding once.
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
  const bool fits = info(p.src.format).bits < 32 && !kCache.is_given(p) && error(Cache::f16) <= p.allowed_error;
  return kCache.of(p, fits ? Cache::f16 : Cache::f32);
}

/// The format of an intermediate image: as the option says, else the narrowest whose rounding `error(format)` allows.
struct Intermediate {
  PixelFormat format = PixelFormat::rgba32f;
  Between value = Between::rgba32f;  ///< the option's
  double error = 0.0;                ///< of rounding to it once
};
[[nodiscard]] Result<Intermediate> choose_intermediate(const Problem& p, const SeparableTaps& taps, Storage storage, double spent);

/// The format that a float_intermediate_info() asks for, else f16 where its error is allowed. Sets the option and, from
/// error(Cache), the proposal's error; `f32_assumption` is what f32 takes for granted of float pixels.
template <class ErrorOf>
[[nodiscard]] PixelFormat choose_float_intermediate(const Problem& p, ErrorOf error, Proposal& out, const Assumption& f32_assumption = {}) {
  const FormatInfo& source = info(p.src.format);
  const std::optional<Between> given = kIntermediate.given(p);
  const bool half = given ? *given == Between::rgba16f : source.bits < 32 && error(Cache::f16) <= p.allowed_error;
  out.error = error(half ? Cache::f16 : Cache::f32);
  if (!source.is_unorm()) out.assumption = half ? kHalfRange : f32_assumption;
  out.options.insert(kIntermediate.as(half ? Between::rgba16f : Between::rgba32f));
  return *find_format(ComponentClass::floating, half ? 16 : 32, source.channels);
}

// ---- Cost

struct Work {
  double pixels = 0.0;
  double loads = 0.0;         ///< pixels fetched from images or buffers, for each that is written
  double stores = 1.0;        ///< pixels stored, for each
  double shared_loads = 0.0;  ///< from shared memory, a pixel
  double swaps = 0.0;         ///< pixels that lanes of a quad exchange, each
  double operations = 0.0;    ///< multiply-adds of whole pixels, a pixel
  double barriers = 0.0;      ///< that a group waits at, each
  double waiters = 1.0;       ///< threads at barriers for each of these: those that make one pixel, at all barriers of a step
  double covered = 1.0;       ///< pixels of whole tiles for each that is written, see covered()
  double bytes = 0.0;         ///< to and from memory, all pixels
};
/// How many pixels the tiles of a pass have for each that comes out: threads beyond the image work as the others do.
[[nodiscard]] double covered(const Pass& pass);
/// Rough seconds of one dispatch that reads pixels of this format.
[[nodiscard]] double seconds(const DeviceInfo& device, PixelFormat read, const Work& work);
/// How many times as long shared loads take whose threads lie pixels of this size apart and so meet in the same banks. Measured.
[[nodiscard]] double slowness_of_strides(const DeviceInfo& device, Cache cache);
/// What a pass reads where all intermediates have one format.
[[nodiscard]] PixelFormat read_format(const Problem& p, const Pass& pass, PixelFormat intermediates);

// ---- Passes

/// A pass with its group. `storage`: where the pixels lie that it reads and writes, of kernels that are told.
[[nodiscard]] Pass make_pass(std::string_view kernel, PerAxis<std::int32_t> size, PerAxis<std::int32_t> tile, PerAxis<std::int32_t> group,
                             std::optional<Storage> storage);

/// The same with what else its shader is told, a struct of NAME_arguments.h.
template <class Arguments, class = decltype(Arguments::kKernel)>
[[nodiscard]] Pass make_pass(const Arguments& arguments, PerAxis<std::int32_t> size, PerAxis<std::int32_t> tile,
                             PerAxis<std::int32_t> group, std::optional<Storage> storage) {
  Pass pass = make_pass(Arguments::kKernel, size, tile, group, storage);
  arguments.put_into(pass);
  return pass;
}

/// The same of a kernel of the CUDA backend, a struct of backends/cuda/kernels/pass_arguments.h.
template <class Arguments>
[[nodiscard]] Pass make_pass(std::string_view kernel, const Arguments& arguments, PerAxis<std::int32_t> size, PerAxis<std::int32_t> tile,
                             PerAxis<std::int32_t> group, std::optional<Storage> storage) {
  Pass pass = make_pass(kernel, size, tile, group, storage);
  write_arguments(arguments, pass);
  return pass;
}

/// What a pass makes whose groups begin at whole blocks of the source, wherever the region does, so that its pixels are added up in the
/// same order as those of the whole: the region, and the columns and rows before it that its first blocks begin with. See skip.glsl.
struct WholeBlocks {
  PerAxis<std::int32_t> skip;
  PerAxis<std::int32_t> size;  ///< with what is skipped
  WholeBlocks(const Rect& region, PerAxis<std::int32_t> block)
      : skip{region.x % block.x, region.y % block.y}, size{region.width + skip.x, region.height + skip.y} {}
  [[nodiscard]] bool skips() const { return skip.x > 0 || skip.y > 0; }
};

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
