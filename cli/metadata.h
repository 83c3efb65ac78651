// What a file says about its alpha and colour, and what of its metadata goes into the result.
#pragma once

#include <OpenImageIO/imageio.h>

#include <string>
#include <string_view>

namespace mollify::cli {

enum class ColourEncoding { srgb, linear, unnamed, other };

/// What the stored colour numbers mean.
[[nodiscard]] ColourEncoding colour_encoding(const OIIO::ImageSpec& spec);
/// As the file calls it: "sRGB", "GammaCorrected 1.8"; empty when it says nothing.
[[nodiscard]] std::string colour_name(const OIIO::ImageSpec& spec);

/// Whether the channels are inks, such as cyan, magenta, yellow and black.
[[nodiscard]] bool holds_ink(const OIIO::ImageSpec& spec);
/// Whether they were in the file, and the reader made RGB of them: OpenImageIO's does so of JPEG files.
[[nodiscard]] bool was_ink(const OIIO::ImageSpec& spec);

/// Whether the numbers are likely encoded, where the file says nothing: whole numbers are, floats are not.
[[nodiscard]] bool is_probably_srgb(const OIIO::ImageSpec& spec);
/// Makes the colour space say what the stored numbers now are.
void set_colour_name(OIIO::ImageSpec& spec, const char* name);

/// What the colour profile is for, as its header says: "RGB", "GRAY", "CMYK", "Lab"; empty without a profile.
[[nodiscard]] std::string profile_space(const OIIO::ImageSpec& spec);
/// Whether the channels are what the profile is for. They are not where the reader has converted them.
[[nodiscard]] bool profile_fits(const OIIO::ImageSpec& spec);
void drop_profile(OIIO::ImageSpec& spec);
/// For PNG, whose writer adds sRGB's gamma and primaries to any profile where the reader has named or guessed sRGB.
void leave_srgb_to_profile(OIIO::ImageSpec& spec);

[[nodiscard]] bool has_unassociated_alpha(const OIIO::ImageSpec& spec);

/// Removes what the blur makes untrue, and what only makes sense to the format that the file no longer has.
void drop_stale_metadata(OIIO::ImageSpec& spec, bool same_format);

/// Says the resolution in a unit that OpenImageIO's writer of the format ("png", "jpeg") writes and others understand.
void set_resolution_unit(OIIO::ImageSpec& spec, const std::string& format);

/// Makes the stored pixels the whole picture.
void set_size(OIIO::ImageSpec& spec, int width, int height);
/// Where Exif has the size, too: that of the stored pixels.
void say_size(OIIO::ImageSpec& spec);

/// Whether the picture extends beyond the stored pixels or the other way round.
[[nodiscard]] bool has_display_window(const OIIO::ImageSpec& spec);

}  // namespace mollify::cli
