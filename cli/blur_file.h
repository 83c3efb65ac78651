// One image file to another: read, decide what the result holds, blur, write.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conventions/conventions.h"
#include "files/result.h"
#include "image_blur.h"
#include "mollify/mollify.h"

namespace mollify::cli {

/// What the components of the result are.
struct ComponentType {
  files::NumberType type = files::NumberType::u8;
  std::optional<int> channels{};  ///< set: the source must have that many
};
/// "u8", "i16", "f32", ..., or the name of a pixel format.
[[nodiscard]] ComponentType parse_component_type(const std::string& text);

/// What a file is going through, for whoever watches over it.
enum class BlurStage : std::uint8_t { blurring, reading, writing };
/// Called at the begin of each stage, and as often within as there is progress. `bytes` of pixels are to be read or written until the
/// next call.
using StageObserver = std::function<void(BlurStage stage, std::int64_t bytes)>;

/// Called while a file is streamed: pixels of the result that are blurred, of all that it will have.
using ProgressObserver = std::function<void(std::int64_t done, std::int64_t all)>;

struct BlurRequest {
  BlurSpec spec;                            ///< alpha, transfer function, region and border values are set for each file
  std::optional<conventions::Peer> like{};  ///< set: the kernel is meant as this library means it
  std::vector<double> border_values;        ///< none, one for all channels, or one a channel
  PlanOptions plan;
  files::ResultRequest result;  ///< its format is set for each file
  bool grow = false;            ///< the data window of OpenEXR files grows by what the kernel reaches
  files::WriteOptions write;
  bool replaces = false;                                                 ///< the result a file that has its name
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();  ///< that one file may take
  std::int64_t max_pixels = std::numeric_limits<std::int64_t>::max();    ///< of one page
  ProgressObserver on_progress{};                                        ///< unset: nobody watches
  StageObserver on_stage{};                                              ///< unset: nobody watches
};

struct BlurReport {
  std::string source_format;  ///< "JPEG"
  std::string result_format;
  int width = 0;  ///< of the first image of the result
  int height = 0;
  int channels = 0;
  std::string components;  ///< "8-bit integers", or "mixed"
  int images = 0;          ///< pages, parts, frames and smaller copies
  std::set<std::string> algorithms;
  std::set<std::string> devices;  ///< of which the blurrer has chosen, where it does
  double predicted_error = 0.0;   ///< the largest of all channels and images
  double read_seconds = 0.0;
  double blur_seconds = 0.0;
  double write_seconds = 0.0;
  std::vector<std::string> notes;  ///< what was decided, changed and left out
};

/// Where a blur reads and writes. Names stand in messages also where open files take the place of files with these names.
struct BlurFiles {
  std::string in;
  std::string out;
  int source = -1;                            ///< an open file that is read
  int result = -1;                            ///< an open file that is written, and empty where the blur fails
  std::optional<files::FileFormat> format{};  ///< of the result; unset: that of its name
};

/// What blur_file() would do, as far as headers tell. Throws what it would throw.
[[nodiscard]] BlurReport examine_file(const BlurFiles& files, const BlurRequest& request, ImageBlurrer& blurrer);

/// Throws Failure, or MemoryFailure where `memory_bytes` does not suffice; what had the name of the result then is as it was.
[[nodiscard]] BlurReport blur_file(const BlurFiles& files, const BlurRequest& request, ImageBlurrer& blurrer);

}  // namespace mollify::cli
