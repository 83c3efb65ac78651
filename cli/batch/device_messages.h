// What workers ask of the process that owns the GPU, and what it answers.
#pragma once

#include <cstdint>

#include "image_blur.h"
#include "json/json.h"

namespace mollify::cli {

/// An image in a block of shared memory.
struct SharedImage {
  ImageDesc desc;
  std::int64_t row_bytes = 0;
  std::int64_t offset = 0;  ///< of its first pixel in the block
};

/// Answers to what went wrong hold this instead of the result.
inline constexpr const char* kErrorKey = "error";
/// Questions for a plan have their specification here.
inline constexpr const char* kPlanKey = "plan";
/// Those for a device here.
inline constexpr const char* kChooseKey = "choose";
/// And those about a blur in strips here, a StripQuestion. The others are for the blur of an image.
inline constexpr const char* kStripsKey = "strips";

/// Functions of StripBlur, but for the first and the last.
enum class StripQuestion : std::uint8_t {
  prepare,
  open_stream,
  close_stream,
  source_rows,
  most_source_rows,
  most_new_rows,
  rows_at_once,
  scratch_bytes,
  reserve,
  run,
  end,
};

[[nodiscard]] Json to_json(const ImageDesc& desc);
[[nodiscard]] Json to_json(const SharedImage& image);
[[nodiscard]] Json to_json(const ImageSpec& spec);
[[nodiscard]] Json to_json(const Error& error);
[[nodiscard]] Json to_json(const BlurOutcome& outcome);
[[nodiscard]] Json to_json(const DeviceChoice& choice);

// Throw where the message is not of that kind.
[[nodiscard]] ImageDesc image_desc_of(const Json& message);
[[nodiscard]] SharedImage shared_image_of(const Json& message);
[[nodiscard]] ImageSpec image_spec_of(const Json& message);
[[nodiscard]] Error error_of(const Json& message);
[[nodiscard]] BlurOutcome outcome_of(const Json& message);
[[nodiscard]] DeviceChoice choice_of(const Json& message);

}  // namespace mollify::cli
