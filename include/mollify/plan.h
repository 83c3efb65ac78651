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

enum class Backend : std::uint8_t { cpu, vulkan, cuda };
[[nodiscard]] std::string_view name(Backend backend);

/// What the planner knows of a device. A plain value: tests make devices that do not exist.
struct DeviceInfo {
  Backend backend = Backend::cpu;
  std::string name;                  ///< as the maker calls it
  std::string driver;                ///< what runs the kernels: "highway AVX3", a Vulkan driver and its version
  std::int32_t threads = 1;          ///< CPU: worker threads of one run
  std::int64_t l2_bytes = 1 << 20;   ///< CPU: cache of one core
  std::int64_t llc_bytes = 8 << 20;  ///< CPU: last-level cache
  std::vector<std::string> kernels;  ///< ids of the kernels that the backend has
  [[nodiscard]] bool has_kernel(std::string_view id) const;
  bool operator==(const DeviceInfo&) const = default;
};

/// Algorithm options by name: `accumulator=f64`.
using Options = std::map<std::string, std::string, std::less<>>;

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
  in_place,  ///< they may: the plan keeps a scratch copy of the source
};

struct PlanOptions {
  std::optional<AlgorithmChoice> algorithm;  ///< force this one; unset: the planner chooses
  Overlap overlap = Overlap::none;
  bool operator==(const PlanOptions&) const = default;
};

/// Where a pass reads from and writes to.
enum class Binding : std::uint8_t { source, destination, scratch };

/// One launch of one kernel. `constants` are numbers fixed for the pipeline; the taps and matrix are bulk data.
struct Pass {
  std::string kernel;                            ///< id of the kernel, "sep_fused"
  std::map<std::string, std::int64_t, std::less<>> constants;
  PerAxis<AxisTaps> taps;                        ///< 1-D weights, for kernels that take them
  Matrix matrix;                                 ///< 2-D weights, for kernels that take them
  PerAxis<BoxExtent> extent{{0, 0}, {0, 0}};     ///< for kernels that take a window
  Binding source = Binding::source;
  Binding destination = Binding::destination;
  PerAxis<std::int32_t> size;                    ///< what the pass writes: pixels, or cells of an intermediate grid
  PerAxis<std::int32_t> tile;                    ///< of them, in one task or work group
  bool operator==(const Pass&) const = default;
};

/// Why an algorithm was not chosen.
struct Refusal {
  std::string algorithm;
  std::string reason;
  bool operator==(const Refusal&) const = default;
};

struct Plan {
  BlurSpec spec;
  ImageDesc src;
  ImageDesc dst;
  DeviceInfo device;
  Overlap overlap = Overlap::none;

  AlgorithmChoice algorithm;          ///< with every option resolved
  std::vector<Pass> passes;
  std::int64_t scratch_bytes = 0;     ///< of one Workspace
  std::int64_t intermediate_bytes = 0;  ///< of that, what one pass leaves for the next
  std::int64_t min_bytes = 0;         ///< source region read once + destination written once
  std::int64_t moved_bytes = 0;       ///< what the passes read and write by design, caches aside
  double predicted_error = 0.0;       ///< an upper bound, in the units of Accuracy
  double allowed_error = 0.0;         ///< what the accuracy asked for came to
  double predicted_seconds = 0.0;     ///< rough; only the order between algorithms matters
  double predicted_copy_ratio = 0.0;  ///< predicted time over the time of copying min_bytes, rough
  std::vector<Refusal> refusals;      ///< every algorithm that was not chosen
  bool operator==(const Plan&) const = default;
};

[[nodiscard]] Result<Plan> make_plan(const BlurSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                     const DeviceInfo& device, const PlanOptions& options = {});

/// A few lines for people: algorithm, passes, bytes, promised error, why the others were not chosen.
[[nodiscard]] std::string explain(const Plan& plan);

}  // namespace mollify
