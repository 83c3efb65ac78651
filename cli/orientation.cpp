#include "orientation.h"

#include <array>
#include <cstring>
#include <utility>

#include "metadata.h"

namespace mollify::cli {
namespace {

constexpr const char* kOrientation = "Orientation";

// Where the pixels of the upright picture are stored.
struct Turn {
  bool swaps = false;        ///< its rows are stored as columns
  bool from_right = false;   ///< stored columns are taken from the right to the left
  bool from_bottom = false;  ///< stored rows are taken from the bottom to the top
};

// In the order of the numbers 1 to 8 of Exif and TIFF.
constexpr std::array<Turn, 8> kTurns = {{
    {false, false, false},
    {false, true, false},
    {false, true, true},
    {false, false, true},
    {true, false, false},
    {true, false, true},
    {true, true, true},
    {true, true, false},
}};

// Cameras write 0, too, when they do not know.
Turn turn_of(const OIIO::ImageSpec& spec) {
  const int number = spec.get_int_attribute(kOrientation, 1);
  return number >= 1 && number <= std::ssize(kTurns) ? kTurns[number - 1] : Turn{};
}

void swap_floats(OIIO::ImageSpec& spec, const char* one, const char* other) {
  const float value = spec.get_float_attribute(one);
  const float other_value = spec.get_float_attribute(other);
  if (value > 0) spec.attribute(other, value);
  if (other_value > 0) spec.attribute(one, other_value);
}

}  // namespace

bool is_upright(const OIIO::ImageSpec& spec) {
  const Turn turn = turn_of(spec);
  return !turn.swaps && !turn.from_right && !turn.from_bottom;
}

void turn_upright(OIIO::ImageSpec& spec) {
  if (turn_of(spec).swaps) {
    std::swap(spec.width, spec.height);
    std::swap(spec.full_width, spec.full_height);
    std::swap(spec.tile_width, spec.tile_height);
    say_size(spec);
    swap_floats(spec, "XResolution", "YResolution");
    const float aspect = spec.get_float_attribute("PixelAspectRatio");
    if (aspect > 0) spec.attribute("PixelAspectRatio", 1 / aspect);
  }
  spec.erase_attribute(kOrientation);
}

PixelBytes turned_upright(const OIIO::ImageSpec& spec, const PixelBytes& stored) {
  const Turn turn = turn_of(spec);
  const auto pixel_bytes = static_cast<std::ptrdiff_t>(spec.pixel_bytes(true));
  const std::ptrdiff_t row_bytes = pixel_bytes * spec.width;
  const std::ptrdiff_t along_row = turn.from_right ? -pixel_bytes : pixel_bytes;
  const std::ptrdiff_t along_column = turn.from_bottom ? -row_bytes : row_bytes;
  const std::byte* first = stored.get() + (turn.from_right ? (spec.width - 1) * pixel_bytes : 0) +
                           (turn.from_bottom ? (spec.height - 1) * row_bytes : 0);
  const std::ptrdiff_t to_right = turn.swaps ? along_column : along_row;
  const std::ptrdiff_t down = turn.swaps ? along_row : along_column;
  const int width = turn.swaps ? spec.height : spec.width;
  const int height = turn.swaps ? spec.width : spec.height;

  PixelBytes upright = allocate_pixels(spec.image_bytes(true));
  std::byte* out = upright.get();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x, out += pixel_bytes) {
      std::memcpy(out, first + y * down + x * to_right, static_cast<std::size_t>(pixel_bytes));
    }
  }
  return upright;
}

}  // namespace mollify::cli
