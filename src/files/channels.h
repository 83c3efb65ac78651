// Which channels of a page are blurred together: the library takes one to four of one format at a time.
#pragma once

#include <string_view>
#include <vector>

#include "files/document.h"

namespace mollify::files {

/// "diffuse" of "diffuse.R"; empty for channels without a layer.
[[nodiscard]] std::string_view layer_of(std::string_view channel);

/// Of all channels those that a format of pictures can hold: the colours of a layer, the one without a name before others, and their
/// alpha; or a single channel.
[[nodiscard]] std::vector<int> channels_of_picture(const Page& page);

struct ChannelGroup {
  std::vector<int> channels;  ///< of the page, 1 to 4
  bool has_alpha = false;     ///< the last channel is the alpha of the others, which are 1 or 3
  bool is_colour = false;     ///< the channels other than alpha are colour
  int stored = 0;             ///< so many of the first channels are new; an alpha that another group stores is not
};

enum class Grouping : std::uint8_t {
  uniform,            ///< every channel is treated alike
  colour_apart,       ///< colour needs other treatment than alpha and data
  colour_with_alpha,  ///< colour cannot be treated without its alpha
};

/// Every channel of the page but those that are kept is stored by exactly one group. All channels of a group have one type.
[[nodiscard]] std::vector<ChannelGroup> group_channels(const Page& page, Grouping grouping);

}  // namespace mollify::files
