// Which channels of an image are blurred together: the library takes one to four of one format at a time.
#pragma once

#include <OpenImageIO/imageio.h>

#include <vector>

namespace mollify::cli {

enum class ChannelRole { colour, alpha, data };

/// One role a channel. A layer `diffuse.R diffuse.G diffuse.A` has an alpha of its own.
[[nodiscard]] std::vector<ChannelRole> channel_roles(const OIIO::ImageSpec& spec);

struct ChannelGroup {
  std::vector<int> channels;  ///< of the image, 1 to 4
  bool has_alpha = false;     ///< the last channel is the alpha of the others, which are 1 or 3
  bool is_colour = false;     ///< the channels other than alpha are colour
  int stored = 0;             ///< so many of the first channels are new; an alpha that was already stored is not
};

enum class Grouping {
  uniform,            ///< every channel is treated alike
  colour_apart,       ///< colour needs other treatment than alpha and data
  colour_with_alpha,  ///< colour cannot be treated without its alpha
};

/// Every channel of the image is stored by exactly one group. All channels of a group without alpha have one type.
[[nodiscard]] std::vector<ChannelGroup> group_channels(const OIIO::ImageSpec& spec, Grouping grouping);

}  // namespace mollify::cli
