// How a blur will run: make_plan() chooses among the algorithms and explains itself. Pure: no device, no clock, no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mollify/algorithm.h"
#include "mollify/device_info.h"
#include "mollify/experimental/pass.h"
#include "mollify/image.h"
#include "mollify/result.h"
#include "mollify/spec.h"

namespace mollify {

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

/// How far the source pixels lie that an output pixel can depend on, on one axis.
struct Reach {
  std::int32_t before = 0;  ///< Pixels before the output pixel's place.
  std::int32_t after = 0;   ///< Pixels after the output pixel's place.
  bool operator==(const Reach&) const = default;
};

/// How far a run reads the source beyond one side of a rectangle, on one axis. Coarse grids, blocks and segments have fixed places in the
/// whole source, so a run starts at the first pixel of a block.
struct HaloEdge {
  std::int64_t pixels = 0;  ///< Pixels that it reads beyond the first pixel of the block that holds the rectangle's edge.
  std::int64_t block = 1;   ///< Pixels of a block.
  std::int64_t offset = 0;  ///< Blocks begin at multiples of `block` plus this.
  bool operator==(const HaloEdge&) const = default;
};

/// How far a run reads the source beyond a rectangle, on one axis.
struct Halo {
  HaloEdge before;  ///< On the side of smaller coordinates.
  HaloEdge after;   ///< On the side of larger coordinates.
  bool operator==(const Halo&) const = default;
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
  std::int64_t cached_bytes = 0;         ///< The largest destination that a CPU leaves in its caches. It writes larger ones past them.
  std::int64_t scratch_bytes = 0;        ///< Bytes of one Workspace.
  /// Bytes that passes leave for later ones, for each image in flight. They are part of scratch_bytes.
  std::int64_t intermediate_bytes = 0;
  std::int64_t min_bytes = 0;    ///< Bytes of the source's region and of the destination: the least that any algorithm moves.
  std::int64_t moved_bytes = 0;  ///< Bytes that the passes read and write by design, as if there were no caches.
  double predicted_error = 0.0;  ///< The promised bound of the error, in the units of Accuracy.
  /// How far a pixel can act. Beyond that, even a NaN or an infinity changes no output pixel by more than rounding. Pixels beyond the image
  /// count as the pixels that the border repeats.
  PerAxis<Reach> reach;
  /// How far a run reads beyond a rectangle, which source_region() goes by. Unset: the algorithm cannot run on windows on this device.
  std::optional<PerAxis<Halo>> halo;
  std::string assumption;             ///< What the bound takes for granted of the pixels. Empty if it is nothing.
  double allowed_error = 0.0;         ///< The largest error that Accuracy allows for these formats.
  double predicted_seconds = 0.0;     ///< A rough time. Only the order between algorithms matters.
  double predicted_copy_ratio = 0.0;  ///< The rough time, divided by the time of copying min_bytes.
  std::vector<Refusal> refusals;      ///< Every algorithm that was not chosen, and why.

  /// The source pixels that a run reads to make this rectangle of the destination: one rectangle, or up to four where a border wraps. Fails
  /// with ErrorCode::invalid_argument if the rectangle is not in the destination, and with ErrorCode::unsupported if the plan cannot run on
  /// windows.
  [[nodiscard]] Result<std::vector<Rect>> source_region(const Rect& destination) const;
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

/// Windows that make up the destination, from top to bottom. A window, the source pixels that it needs and a workspace for it take `bytes`
/// bytes at most. The windows are strips as wide as the destination, or tiles if strips would be lower than the halo that they share. Fails
/// with ErrorCode::out_of_memory if a window of one pixel takes more.
[[nodiscard]] Result<std::vector<Rect>> windows(const Plan& plan, std::int64_t bytes);

/// The plan in a few lines for people: algorithm, passes, bytes, promised error, and why the other algorithms were not chosen.
[[nodiscard]] std::string explain(const Plan& plan);

}  // namespace mollify
