// How a blur will run: make_plan() chooses among the algorithms and explains itself. Pure: no device, no clock, no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mollify/image.h"
#include "mollify/result.h"
#include "mollify/spec.h"

namespace mollify {

/// What runs a plan. There are no devices of CUDA yet.
enum class Backend : std::uint8_t { cpu, vulkan, cuda };
/// The name that the command line uses, such as "cpu".
[[nodiscard]] std::string_view name(Backend backend);

/// What the planner knows of a GPU. Other backends leave it as it is.
struct GpuInfo {
  bool is_software = false;         ///< Whether the driver computes on the CPU.
  std::int32_t subgroup_size = 0;   ///< Threads of a subgroup (CUDA: warp).
  bool quad_operations = false;     ///< Whether compute shaders have quad swaps and can ask for full subgroups.
  bool float16_arithmetic = false;  ///< Whether shaders can compute with half floats.
  bool shuffle_operations = false;  ///< Whether compute shaders have subgroup shuffles and votes and can ask for full subgroups.
  bool matrix_operations = false;   ///< Whether subgroups have cooperative matrices of f16, 16x16 times 16x8, summed in f32.
  bool matrix_conversions = false;  ///< Whether sums of cooperative matrices can become operands (VK_NV_cooperative_matrix2).
  bool small_matrices = false;      ///< Whether cooperative matrices of 16x8 times 8x8 are there as well.
  /// Whether there are cooperative matrices of 8-bit integers, 16x32 times 32x16, summed in 32 bits.
  bool byte_matrices = false;
  bool halves_overflow_only = false;       ///< Whether images of f16 store infinities as NaN, and 65536 as an infinity.
  bool small_storage = false;              ///< Whether storage buffers hold 8- and 16-bit numbers, and f16 is rounded to the nearest.
  std::int64_t shared_bytes = 0;           ///< Bytes of shared memory that one work group can have.
  std::int32_t max_group_invocations = 0;  ///< The most threads of one work group.
  PerAxis<std::int32_t> max_group;         ///< The most threads of one work group along each axis.
  PerAxis<std::int32_t> max_group_count;   ///< The most work groups of one dispatch along each axis.
  std::int32_t max_image_length = 0;       ///< The most pixels of an image along either axis.
  std::int64_t max_buffer_bytes = 0;       ///< The most bytes that one binding of a storage buffer can see.
  std::int64_t max_uniform_bytes = 0;      ///< The most bytes of a uniform buffer.
  std::int32_t linear_fraction_bits = 0;   ///< How many bits of the position between two texels a linear sampler distinguishes.
  std::uint32_t sampled_formats = 0;       ///< Bit i says whether images of PixelFormat i can be read by shaders.
  std::uint32_t linear_formats = 0;        ///< Bit i says whether images of PixelFormat i can be read through a linear sampler.
  std::uint32_t storage_formats = 0;       ///< Bit i says whether images of PixelFormat i can be written by shaders.
  bool operator==(const GpuInfo&) const = default;
};

/// The options of an algorithm: values by name, such as "f64" for "accumulator".
using Options = std::map<std::string, std::string, std::less<>>;

/// Who measured a TuningRow.
enum class TuningOrigin : std::uint8_t {
  user,     ///< It was measured by `mollify tune` on this machine.
  shipped,  ///< It is part of the library and was measured on a device of that name.
};

/// What was measured of one algorithm on one device, for requests of one kind. See mollify/tuning.h.
struct TuningRow {
  std::string algorithm;         ///< The algorithm's id.
  std::int32_t pixel_bytes = 4;  ///< The source's pixels: 4 for up to 4 bytes, 8 for 5 to 8 bytes, 16 for more.
  std::int32_t min_taps = 1;     ///< The fewest taps, on the kernel's longer axis, that the row holds for.
  std::int32_t max_taps = 1;     ///< The most taps, on the kernel's longer axis, that the row holds for.
  std::int64_t min_pixels = 1;   ///< The fewest pixels of the source that the row holds for.
  Options options;               ///< Options that are faster than what the algorithm chooses by itself. Empty where nothing is faster.
  double gain = 1.0;             ///< Time with the algorithm's own choice, divided by time with these options.
  double cost = 1.0;             ///< Time with the algorithm's own choice, divided by the time that its cost model predicts.
  TuningOrigin origin = TuningOrigin::user;  ///< Who measured it.
  bool operator==(const TuningRow&) const = default;
};

/// What the planner knows of a device. It is a plain value, so that plans can be made for devices that are not there.
struct DeviceInfo {
  Backend backend = Backend::cpu;    ///< What runs the plans.
  std::string name;                  ///< The name that the maker gave the device.
  std::string driver;                ///< What runs the kernels, such as "highway AVX3", or a Vulkan driver and its version.
  std::int32_t threads = 1;          ///< Worker threads of one run, on a CPU.
  std::int64_t l2_bytes = 1 << 20;   ///< Bytes of the second-level cache of one core of a CPU.
  std::int64_t llc_bytes = 8 << 20;  ///< Bytes of the last-level cache of a CPU.
  GpuInfo gpu;                       ///< What the planner knows of a GPU.
  std::vector<std::string> kernels;  ///< Ids of the compute kernels that the backend has.
  std::vector<TuningRow> tuning;     ///< Rows measured on this machine. They come before those that the library ships.
  /// Whether the backend has this compute kernel.
  [[nodiscard]] bool has_kernel(std::string_view id) const;
  bool operator==(const DeviceInfo&) const = default;
};

/// One option that an algorithm understands.
struct OptionInfo {
  std::string_view name;                     ///< The name, such as "accumulator".
  std::span<const std::string_view> values;  ///< The values that it can have, or examples of them.
  std::string_view default_value;            ///< The value that it has if nobody sets it.
  std::string_view summary;                  ///< What it does, in one line.
  bool open = false;                         ///< Whether `values` are examples and the algorithm takes others of the same form.
};

/// What is known of an algorithm before it plans anything.
struct AlgorithmInfo {
  std::string_view id;                  ///< The name that is used everywhere, such as "sep.fused".
  std::string_view summary;             ///< What it does, in one line.
  std::string_view source;              ///< The paper or post that it comes from, or "this project".
  std::span<const OptionInfo> options;  ///< The options that it understands.
};

/// Every algorithm of the library, in order of the registry.
[[nodiscard]] std::vector<AlgorithmInfo> algorithms();

/// An algorithm with options.
struct AlgorithmChoice {
  std::string id;   ///< The algorithm's id.
  Options options;  ///< Options by name. Those that are not named are the algorithm's choice.
  bool operator==(const AlgorithmChoice&) const = default;
};
/// Reads "box.any" or "box.any:key=value,key=value". The error says what is wrong with the form; it is not checked whether there is such an
/// algorithm.
[[nodiscard]] Result<AlgorithmChoice> parse_algorithm(std::string_view text);
/// The text that parse_algorithm() reads.
[[nodiscard]] std::string to_string(const AlgorithmChoice& choice);

/// Whether the source and the destination may share memory.
enum class Overlap : std::uint8_t {
  none,      ///< They share no byte.
  in_place,  ///< They may share bytes. If they do, the result is made in scratch memory and copied over the source.
};

/// Whether a plan goes by measurements.
enum class Tuning : std::uint8_t {
  measured,  ///< Options and times come from tuning rows if there are any for the request.
  none,      ///< Options and times are those of the algorithms and their cost models.
};

/// How a plan is made.
struct PlanOptions {
  std::optional<AlgorithmChoice> algorithm{};  ///< The algorithm to use. Where it is not set, the planner chooses.
  Overlap overlap = Overlap::none;             ///< Whether the source and the destination may share memory.
  Tuning tuning = Tuning::measured;            ///< Whether the plan goes by measurements.
  /// Tunes a plan for a GPU to this many images per dispatch, see vulkan::Recorder. The plan stays correct for other numbers. Tuning rows
  /// were measured on single images, so their options are ignored for batches.
  std::int32_t batch = 1;
  bool operator==(const PlanOptions&) const = default;
};

/// What a pass reads from or writes to.
struct Binding {
  /// Whether it is an image of the caller or one that passes leave for later ones.
  enum class Kind : std::uint8_t { source, destination, intermediate };
  Kind kind = Kind::source;  ///< Whether it is the source, the destination or an intermediate image.
  std::int32_t index = 0;    ///< The place in Plan::intermediates on a GPU.
  bool operator==(const Binding&) const = default;
};
/// The image that is blurred.
inline constexpr Binding kSource{Binding::Kind::source};
/// The image that the blur writes.
inline constexpr Binding kDestination{Binding::Kind::destination};
/// An image that passes leave for later ones.
[[nodiscard]] constexpr Binding intermediate(std::int32_t index = 0) {
  return {Binding::Kind::intermediate, index};
}

/// One launch of one compute kernel.
struct Pass {
  std::string kernel;                                          ///< The kernel's id, such as "sep_fused".
  std::map<std::string, std::int64_t, std::less<>> constants;  ///< Whole numbers that the kernel is made for, by name.
  std::map<std::string, double, std::less<>> parameters;       ///< Other numbers that the kernel is given, by name.
  PerAxis<AxisTaps> taps;                                      ///< 1-D weights, for kernels that take them.
  Matrix matrix;                                               ///< 2-D weights, for kernels that take them.
  PerAxis<BoxExtent> extent{{0, 0}, {0, 0}};                   ///< The window, for kernels that take one.
  Binding source = kSource;                                    ///< What the pass reads.
  Binding destination = kDestination;                          ///< What the pass writes.
  std::optional<Binding> beside;                               ///< A second buffer that the pass reads, on a GPU.
  PerAxis<std::int32_t> origin;                                ///< Where the first pixel that the pass writes lies in what it reads.
  /// The extent that the pass writes, in pixels, or coarse samples for an intermediate grid. For a region it is rounded up to whole blocks.
  PerAxis<std::int32_t> size;
  PerAxis<std::int32_t> tile;         ///< The part of `size` that one task or work group makes.
  PerAxis<std::int32_t> group{1, 1};  ///< Threads of one work group, on a GPU.
  bool linear = false;                ///< Whether the pass reads through a linear sampler that knows the border, on a GPU.
  double outside_gain = 1.0;          ///< The factor that earlier passes gave the border's constant value, on a GPU.
  bool operator==(const Pass&) const = default;
};

/// How far the source pixels lie that an output pixel can depend on, on one axis.
struct Reach {
  std::int32_t before = 0;  ///< Pixels before the output pixel's place.
  std::int32_t after = 0;   ///< Pixels after the output pixel's place.
  bool operator==(const Reach&) const = default;
};

/// Why an algorithm was not chosen.
struct Refusal {
  std::string algorithm;     ///< The algorithm's id.
  std::string reason;        ///< Why not, in one line with numbers.
  bool is_gpu_only = false;  ///< Whether the reason is that it runs on GPUs only and the plan is for a CPU.
  bool operator==(const Refusal&) const = default;
};

/// How a blur will run: a value that can be printed, compared and tested. make_plan() makes it.
struct Plan {
  BlurSpec spec;                    ///< What is blurred.
  ImageDesc src;                    ///< The shape of the source.
  ImageDesc dst;                    ///< The shape of the destination.
  DeviceInfo device;                ///< The device that it is for.
  Overlap overlap = Overlap::none;  ///< Whether the source and the destination may share memory.

  AlgorithmChoice algorithm;             ///< The algorithm that runs, with a value for every option.
  std::optional<TuningRow> tuning;       ///< The measurement that options come from, if they come from one.
  std::vector<Pass> passes;              ///< What runs, in this order.
  std::vector<ImageDesc> intermediates;  ///< Images that passes leave for later ones, on a GPU.
  std::int64_t scratch_bytes = 0;        ///< Bytes of one Workspace.
  /// Bytes that passes leave for later ones, for each image in flight. They are part of scratch_bytes.
  std::int64_t intermediate_bytes = 0;
  std::int64_t min_bytes = 0;    ///< Bytes of the source's region and of the destination: the least that any algorithm moves.
  std::int64_t moved_bytes = 0;  ///< Bytes that the passes read and write by design, as if there were no caches.
  double predicted_error = 0.0;  ///< The promised bound of the error, in the units of Accuracy.
  /// How far a pixel can act. Beyond that, even a NaN or an infinity changes no output pixel by more than rounding. Pixels beyond the image
  /// count as the pixels that the border repeats.
  PerAxis<Reach> reach;
  std::string assumption;             ///< What the bound takes for granted of the pixels. Empty if it is nothing.
  double allowed_error = 0.0;         ///< The largest error that Accuracy allows for these formats.
  double predicted_seconds = 0.0;     ///< A rough time. Only the order between algorithms matters.
  double predicted_copy_ratio = 0.0;  ///< The rough time, divided by the time of copying min_bytes.
  std::vector<Refusal> refusals;      ///< Every algorithm that was not chosen, and why.
  bool operator==(const Plan&) const = default;
};

/// Makes the plan that is predicted to be the fastest of those whose error is allowed. If there is none, the error has the code
/// ErrorCode::unsupported, and Error::reasons has a line for each algorithm; on a CPU those that only GPUs have share one.
///
/// It needs no device, and several threads may call it. It takes some 10 us to 10 ms, and seconds for a sigma beyond 10^4 or so and for the
/// widest truncated kernels, so do not call it for each frame. Treat a Plan as immutable: Device::prepare() does not check an edited plan
/// again.
[[nodiscard]] Result<Plan> make_plan(const BlurSpec& spec, const ImageDesc& src, const ImageDesc& dst, const DeviceInfo& device,
                                     const PlanOptions& options = {});

/// The plan in a few lines for people: algorithm, passes, bytes, promised error, and why the other algorithms were not chosen.
[[nodiscard]] std::string explain(const Plan& plan);

}  // namespace mollify
