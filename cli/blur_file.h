// One image file to another: which channels, which alpha, which colour, all taken from what the file says of itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mollify/mollify.h"

namespace mollify::cli {

enum class AlphaChoice : std::uint8_t {
  automatic,    ///< unassociated alpha is multiplied in around the blur, associated alpha is so already
  ignore,       ///< alpha is a channel like the others
  premultiply,  ///< the file's alpha is unassociated, whatever the file says
};

/// What the components of the result are; the number of channels is the source's.
struct ComponentType {
  ComponentClass component_class = ComponentClass::unorm;
  int bits = 8;
  std::optional<int> channels;  ///< set: the source must have that many
};
/// "u8", "u16", "f16", "f32", or the name of a pixel format.
[[nodiscard]] ComponentType parse_component_type(const std::string& text);

/// What a file is going through, for whoever watches over it.
enum class BlurStage : std::uint8_t { blurring, reading, writing };
/// Said at the begin of each stage, and as often within as there is progress. `bytes` of pixels are to be read or written until it is said again.
using StageObserver = std::function<void(BlurStage stage, std::int64_t bytes)>;

struct BlurRequest {
  BlurSpec spec;                      ///< alpha, transfer function and border values are set for each file
  std::vector<double> border_values;  ///< none, one for all channels, or one a channel
  PlanOptions plan;
  AlphaChoice alpha = AlphaChoice::automatic;
  bool linear = false;                ///< decode sRGB to linear light around the blur
  std::optional<ComponentType> type;  ///< unset: each channel keeps its own
  bool replaces = false;              ///< the result a file that has its name
  std::int64_t memory_bytes = 0;      ///< that one file may take, beyond the program itself: MemoryFailure; 0: no limit
  std::int64_t max_pixels = 0;        ///< of all images of a file together: Failure; 0: no limit
  StageObserver on_stage{};           ///< unset: nobody watches
};

struct BlurReport {
  int width = 0;  ///< of the first image of the result
  int height = 0;
  int channels = 0;
  std::string components;  ///< "uint8", or "mixed"
  int images = 0;          ///< pages, parts and mip levels
  std::set<std::string> algorithms;
  double predicted_error = 0.0;  ///< the largest of all channels and images
  double read_seconds = 0.0;
  double blur_seconds = 0.0;
  double write_seconds = 0.0;
  std::vector<std::string> notes;  ///< what was decided from the file's metadata
};

/// Throws Failure; `out` then is as it was.
[[nodiscard]] BlurReport blur_file(const std::string& in, const std::string& out, const BlurRequest& request,
                                   const Device& device);

}  // namespace mollify::cli
