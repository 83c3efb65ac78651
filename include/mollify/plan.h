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

/// There are no devices of CUDA yet.
enum class Backend : std::uint8_t { cpu, vulkan, cuda };
[[nodiscard]] std::string_view name(Backend backend);

/// What the planner knows of a GPU; of no meaning for other backends.
struct GpuInfo {
  bool is_software = false;                ///< a driver that runs on the CPU
  std::int32_t subgroup_size = 0;
  bool quad_operations = false;            ///< quad swaps in compute shaders, whose subgroups can be asked to be full
  bool float16_arithmetic = false;
  bool shuffle_operations = false;         ///< and votes, among lanes of a subgroup in compute shaders, which can be asked to be full
  bool matrix_operations = false;          ///< cooperative matrices of f16, 16x16 by 16x8, summed in f32, by whole subgroups
  bool matrix_conversions = false;         ///< sums of cooperative matrices become operands of others
  bool small_matrices = false;             ///< and operands are of 16x8 and 8x8, too
  bool byte_matrices = false;              ///< cooperative matrices of 8-bit integers, 16x32 times 32x16, summed in 32 bits
  bool halves_overflow_only = false;       ///< images of f16 store infinities as NaN, and 65536 as an infinity
  bool small_storage = false;              ///< 8- and 16-bit numbers in storage buffers, f16 rounded to the nearest
  std::int64_t shared_bytes = 0;           ///< of one work group
  std::int32_t max_group_invocations = 0;
  PerAxis<std::int32_t> max_group;
  PerAxis<std::int32_t> max_group_count;   ///< work groups of one dispatch
  std::int32_t max_image_length = 0;       ///< pixels, either axis
  std::int64_t max_buffer_bytes = 0;       ///< that one storage buffer binding can see
  std::int64_t max_uniform_bytes = 0;
  std::int32_t linear_fraction_bits = 0;   ///< of the position between two texels that a linear sampler distinguishes
  std::uint32_t sampled_formats = 0;       ///< bit i: images of PixelFormat i can be read
  std::uint32_t linear_formats = 0;        ///< ... through a linear sampler
  std::uint32_t storage_formats = 0;       ///< ... written by shaders
  bool operator==(const GpuInfo&) const = default;
};

/// Algorithm options by name: `accumulator=f64`.
using Options = std::map<std::string, std::string, std::less<>>;

/// Who measured a TuningRow.
enum class TuningOrigin : std::uint8_t {
  user,     ///< `mollify tune` on this machine
  shipped,  ///< the authors, on a device of that name; part of the library
};

/// What was measured of an algorithm on a device, for requests of a kind: see mollify/tuning.h.
struct TuningRow {
  std::string algorithm;
  std::int32_t pixel_bytes = 4;  ///< of the source: 4 for up to 4 bytes, 8 for 5 to 8, 16 for more
  std::int32_t min_taps = 1;     ///< of the kernel's longer axis, inclusive
  std::int32_t max_taps = 1;     ///< inclusive
  std::int64_t min_pixels = 1;   ///< of the whole source; larger images behave alike
  Options options;               ///< faster than what the algorithm would choose itself; may be none
  double gain = 1.0;             ///< time with the algorithm's own choice over time with these options
  double cost = 1.0;             ///< time with the algorithm's own choice over the time that its cost model predicts
  TuningOrigin origin = TuningOrigin::user;
  bool operator==(const TuningRow&) const = default;
};

/// What the planner knows of a device. A plain value: tests make devices that do not exist.
struct DeviceInfo {
  Backend backend = Backend::cpu;
  std::string name;                  ///< as the maker calls it
  std::string driver;                ///< what runs the kernels: "highway AVX3", a Vulkan driver and its version
  std::int32_t threads = 1;          ///< CPU: worker threads of one run
  std::int64_t l2_bytes = 1 << 20;   ///< CPU: cache of one core
  std::int64_t llc_bytes = 8 << 20;  ///< CPU: last-level cache
  GpuInfo gpu;
  std::vector<std::string> kernels;  ///< ids of the kernels that the backend has
  std::vector<TuningRow> tuning;     ///< measured here; they come before those that the library ships
  [[nodiscard]] bool has_kernel(std::string_view id) const;
  bool operator==(const DeviceInfo&) const = default;
};

/// One option that an algorithm understands.
struct OptionInfo {
  std::string_view name;
  std::span<const std::string_view> values;
  std::string_view default_value;
  std::string_view summary;
  bool open = false;  ///< `values` are examples: the algorithm takes others of their form
};

struct AlgorithmInfo {
  std::string_view id;       ///< "sep.fused": the name everywhere
  std::string_view summary;
  std::string_view source;   ///< paper, post or "this project"
  std::span<const OptionInfo> options;
};

/// Every algorithm of the library, in order of the registry.
[[nodiscard]] std::vector<AlgorithmInfo> algorithms();

struct AlgorithmChoice {
  std::string id;
  Options options;
  bool operator==(const AlgorithmChoice&) const = default;
};
/// "box.any" or "box.any:key=value,key=value".
[[nodiscard]] Result<AlgorithmChoice> parse_algorithm(std::string_view text);
[[nodiscard]] std::string to_string(const AlgorithmChoice& choice);

enum class Overlap : std::uint8_t {
  none,      ///< source and destination share no byte
  in_place,  ///< they may: where they do, the result is made aside and copied over the source
};

enum class Tuning : std::uint8_t {
  measured,  ///< options and times as tuning rows have them, where there are any
  none,      ///< what the algorithms and their cost models say without measurement
};

struct PlanOptions {
  std::optional<AlgorithmChoice> algorithm{};  ///< force this one; unset: the planner chooses
  Overlap overlap = Overlap::none;
  Tuning tuning = Tuning::measured;
  /// GPU: images that each dispatch is to make, see vulkan::Recorder. Work is split, and algorithms are ranked, for so many; the
  /// plan is right for any number. Rows of tuning, which are of single images, give no options then.
  std::int32_t batch = 1;
  bool operator==(const PlanOptions&) const = default;
};

/// What a pass reads from or writes to.
struct Binding {
  enum class Kind : std::uint8_t { source, destination, intermediate };
  Kind kind = Kind::source;
  std::int32_t index = 0;  ///< of Plan::intermediates, for GPU backends
  bool operator==(const Binding&) const = default;
};
inline constexpr Binding kSource{Binding::Kind::source};
inline constexpr Binding kDestination{Binding::Kind::destination};
[[nodiscard]] constexpr Binding intermediate(std::int32_t index = 0) { return {Binding::Kind::intermediate, index}; }

/// One launch of one kernel. `constants` are whole numbers, `parameters` others; taps and matrix are bulk data.
struct Pass {
  std::string kernel;                            ///< id of the kernel, "sep_fused"
  std::map<std::string, std::int64_t, std::less<>> constants;
  std::map<std::string, double, std::less<>> parameters;
  PerAxis<AxisTaps> taps;                        ///< 1-D weights, for kernels that take them
  Matrix matrix;                                 ///< 2-D weights, for kernels that take them
  PerAxis<BoxExtent> extent{{0, 0}, {0, 0}};     ///< for kernels that take a window
  Binding source = kSource;
  Binding destination = kDestination;
  std::optional<Binding> beside;                 ///< GPU: a buffer that it reads, too
  PerAxis<std::int32_t> origin;                  ///< where (0, 0) of what the pass writes lies in what it reads
  PerAxis<std::int32_t> size;                    ///< what the pass writes: pixels, or cells of an intermediate grid; of a region all whole blocks
  PerAxis<std::int32_t> tile;                    ///< of them, in one task or work group
  PerAxis<std::int32_t> group{1, 1};             ///< GPU: threads of one work group
  bool linear = false;                           ///< GPU: reads through a linear sampler that knows the border
  double outside_gain = 1.0;                     ///< GPU: what earlier passes made of the border's constant value
  bool operator==(const Pass&) const = default;
};

/// Source pixels before and after the one at an output pixel's place that its value can depend on, on one axis.
struct Reach {
  std::int32_t before = 0;
  std::int32_t after = 0;
  bool operator==(const Reach&) const = default;
};

/// Why an algorithm was not chosen.
struct Refusal {
  std::string algorithm;
  std::string reason;
  bool is_gpu_only = false;  ///< the algorithm runs on GPUs only, and the plan is for a CPU
  bool operator==(const Refusal&) const = default;
};

struct Plan {
  BlurSpec spec;
  ImageDesc src;
  ImageDesc dst;
  DeviceInfo device;
  Overlap overlap = Overlap::none;

  AlgorithmChoice algorithm;          ///< with every option resolved
  std::optional<TuningRow> tuning;    ///< where options came from a measurement: from this one
  std::vector<Pass> passes;
  std::vector<ImageDesc> intermediates;  ///< GPU: images that passes leave for later ones
  std::int64_t scratch_bytes = 0;     ///< of one Workspace
  std::int64_t intermediate_bytes = 0;  ///< of that, for each image in flight, what one pass leaves for the next
  std::int64_t min_bytes = 0;         ///< source region read once + destination written once
  std::int64_t moved_bytes = 0;       ///< what the passes read and write by design, caches aside
  double predicted_error = 0.0;       ///< an upper bound, in the units of Accuracy
  /// How far a pixel can act: beyond, a NaN or an infinity changes no output pixel by more than rounding. Borders count as the pixels that
  /// they repeat.
  PerAxis<Reach> reach;
  std::string assumption;             ///< what the bound takes for granted of the pixels; empty: nothing
  double allowed_error = 0.0;         ///< what the accuracy asked for came to
  double predicted_seconds = 0.0;     ///< rough; only the order between algorithms matters
  double predicted_copy_ratio = 0.0;  ///< predicted time over the time of copying min_bytes, rough
  std::vector<Refusal> refusals;      ///< every algorithm that was not chosen
  bool operator==(const Plan&) const = default;
};

/// The plan that is predicted to be fastest of those whose error is allowed. An Error of code `unsupported` has a line for each
/// algorithm in Error::reasons; those that only GPUs have share one on CPUs. Thread-safe; takes some 10 us to 10 ms, and seconds
/// for sigmas beyond 10^4 or so and for the widest cut kernels: not what a frame should wait for. A plan is run as it was
/// made: what somebody changes in it is not looked at again.
[[nodiscard]] Result<Plan> make_plan(const BlurSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                     const DeviceInfo& device, const PlanOptions& options = {});

/// A few lines for people: algorithm, passes, bytes, promised error, why the others were not chosen.
[[nodiscard]] std::string explain(const Plan& plan);

}  // namespace mollify
