#include "files/orientation.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

namespace mollify::files {
namespace {

/// Where the pixels of the upright picture are stored.
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
Turn turn_of(Orientation orientation) {
  return orientation >= 1 && orientation <= static_cast<int>(kTurns.size()) ? kTurns[static_cast<std::size_t>(orientation - 1)] : Turn{};
}

}  // namespace

void turn_upright(Page& page) {
  if (turn_of(page.orientation).swaps) {
    std::swap(page.width, page.height);
    std::swap(page.tile_width, page.tile_height);
    if (page.resolution) std::swap(page.resolution->x, page.resolution->y);
  }
  page.orientation = 1;
}

void turn_upright(const Page& page, const std::uint8_t* stored, std::uint8_t* upright) {
  const Turn turn = turn_of(page.orientation);
  const auto pixel_bytes = static_cast<std::ptrdiff_t>(page.pixel_bytes());
  const std::ptrdiff_t row_bytes = pixel_bytes * page.width;
  const std::ptrdiff_t along_row = turn.from_right ? -pixel_bytes : pixel_bytes;
  const std::ptrdiff_t along_column = turn.from_bottom ? -row_bytes : row_bytes;
  const std::uint8_t* first =
      stored + (turn.from_right ? (page.width - 1) * pixel_bytes : 0) + (turn.from_bottom ? (page.height - 1) * row_bytes : 0);
  const std::ptrdiff_t to_right = turn.swaps ? along_column : along_row;
  const std::ptrdiff_t down = turn.swaps ? along_row : along_column;
  const std::int32_t width = turn.swaps ? page.height : page.width;
  const std::int32_t height = turn.swaps ? page.width : page.height;
  for (std::int32_t y = 0; y < height; ++y) {
    for (std::int32_t x = 0; x < width; ++x, upright += pixel_bytes) {
      std::memcpy(upright, first + y * down + x * to_right, static_cast<std::size_t>(pixel_bytes));
    }
  }
}

}  // namespace mollify::files
