#include "metadata.h"

#include <OpenImageIO/strutil.h>
#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace mollify::cli {
namespace {

// A gamma of 1/0.45455 is how PNG files approximate sRGB.
bool is_about_srgb_gamma(float gamma) {
  return std::abs(gamma - 2.2F) < 0.05F;
}

// "GammaCorrected" or, of PNG files, "Gamma2.2"; the number is in another attribute as well.
bool names_gamma(const std::string& space) {
  return OIIO::Strutil::istarts_with(space, "Gamma");
}

constexpr const char* kProfile = "ICCProfile";

// What the header of the profile says, in words; a reader of the result derives them again.
void drop_profile_texts(OIIO::ImageSpec& spec) {
  spec.erase_attribute(std::string(kProfile) + ":.*");
}

// "jpeg:subsampling", "tiff:RowsPerStrip"
bool is_about_a_format(const OIIO::ParamValue& attribute) {
  const std::string& name = attribute.name().string();
  const std::size_t colon = name.find(':');
  return colon != std::string::npos && OIIO::is_imageio_format_name(name.substr(0, colon));
}

constexpr double kInchesPerCentimetre = 1 / 2.54;
constexpr double kInchesPerMetre = 100 * kInchesPerCentimetre;

// Nothing when it is no length. The readers use names and, of Exif, numbers.
std::optional<double> inches_per_unit(const OIIO::ImageSpec& spec) {
  using OIIO::Strutil::iequals;
  const OIIO::ParamValue* attribute = spec.find_attribute("ResolutionUnit");
  if (attribute == nullptr) return 1.0;  // as Exif and TIFF have it
  const std::string unit = attribute->get_string();
  if (iequals(unit, "in") || iequals(unit, "inch") || unit == "2") return 1.0;
  if (iequals(unit, "cm") || unit == "3") return kInchesPerCentimetre;
  if (iequals(unit, "m") || iequals(unit, "meter")) return kInchesPerMetre;
  return std::nullopt;
}

void set_resolution(OIIO::ImageSpec& spec, double x, double y, const char* unit) {
  spec.attribute("XResolution", static_cast<float>(x));
  spec.attribute("YResolution", static_cast<float>(y));
  spec.attribute("ResolutionUnit", unit);
}

}  // namespace

ColourEncoding colour_encoding(const OIIO::ImageSpec& spec) {
  using OIIO::Strutil::iequals;
  using OIIO::Strutil::istarts_with;
  const std::string space = spec.get_string_attribute("oiio:ColorSpace");
  if (space.empty()) return ColourEncoding::unnamed;
  if (istarts_with(space, "lin") || iequals(space, "scene_linear") || iequals(space, "ACEScg")) {
    return ColourEncoding::linear;
  }
  if (iequals(space, "sRGB")) return ColourEncoding::srgb;
  if (names_gamma(space) && is_about_srgb_gamma(spec.get_float_attribute("oiio:Gamma"))) {
    return ColourEncoding::srgb;
  }
  return ColourEncoding::other;
}

std::string colour_name(const OIIO::ImageSpec& spec) {
  const std::string space = spec.get_string_attribute("oiio:ColorSpace");
  const float gamma = spec.get_float_attribute("oiio:Gamma");
  return names_gamma(space) && gamma > 0 ? fmt::format("gamma {:.3g}", gamma) : space;
}

bool holds_ink(const OIIO::ImageSpec& spec) {
  constexpr int kTiffSeparated = 5;
  return spec.get_int_attribute("tiff:PhotometricInterpretation") == kTiffSeparated;
}

bool was_ink(const OIIO::ImageSpec& spec) {
  const std::string space = spec.get_string_attribute("jpeg:ColorSpace");
  return space == "CMYK" || space == "YCCK";
}

bool is_probably_srgb(const OIIO::ImageSpec& spec) {
  return !spec.format.is_floating_point();
}

void set_colour_name(OIIO::ImageSpec& spec, const char* name) {
  spec.erase_attribute("oiio:Gamma");
  spec.attribute("oiio:ColorSpace", name);
}

std::string profile_space(const OIIO::ImageSpec& spec) {
  constexpr int kOffset = 16;
  constexpr int kLength = 4;
  const OIIO::ParamValue* profile = spec.find_attribute(kProfile);
  if (profile == nullptr) return {};
  if (profile->datasize() < kOffset + kLength) return "unreadable";
  const std::string_view space(static_cast<const char*>(profile->data()) + kOffset, kLength);
  return std::string(space.substr(0, space.find_last_not_of(' ') + 1));
}

bool profile_fits(const OIIO::ImageSpec& spec) {
  const std::string space = profile_space(spec);
  if (holds_ink(spec)) return space.starts_with("CMY") || space.ends_with("CLR");
  return space == (spec.nchannels < 3 ? "GRAY" : "RGB");
}

void drop_profile(OIIO::ImageSpec& spec) {
  spec.erase_attribute(kProfile);
  drop_profile_texts(spec);
}

void leave_srgb_to_profile(OIIO::ImageSpec& spec) {
  const bool says_srgb = OIIO::Strutil::iequals(spec.get_string_attribute("oiio:ColorSpace"), "sRGB");
  if (says_srgb && spec.find_attribute(kProfile) != nullptr) spec.erase_attribute("oiio:ColorSpace");
}

bool has_unassociated_alpha(const OIIO::ImageSpec& spec) {
  return spec.alpha_channel >= 0 && spec.get_int_attribute("oiio:UnassociatedAlpha") != 0;
}

void drop_stale_metadata(OIIO::ImageSpec& spec, bool same_format) {
  // Fingerprints of the old pixels, and a sample width narrower than what is written.
  for (const char* name : {"oiio:SHA-1", "oiio:AverageColor", "oiio:ConstantColor", "oiio:BitsPerSample"}) {
    spec.erase_attribute(name);
  }
  if (OIIO::Strutil::istarts_with(spec.get_string_attribute("compression"), "ccitt")) {
    spec.erase_attribute("compression");  // for black and white only, which a blur does not leave
  }
  if (spec.find_attribute(kProfile) != nullptr) drop_profile_texts(spec);
  // The same fact under two names: the writers of OpenImageIO would join the two to "Ann; Ann".
  if (spec.get_string_attribute("IPTC:Creator") == spec.get_string_attribute("Artist")) {
    spec.erase_attribute("IPTC:Creator");
  }
  if (same_format) return;
  spec.erase_attribute("compression");
  std::erase_if(spec.extra_attribs, is_about_a_format);
}

void set_resolution_unit(OIIO::ImageSpec& spec, const std::string& format) {
  const double x = spec.get_float_attribute("XResolution");
  const double y = spec.get_float_attribute("YResolution");
  if (x <= 0 || y <= 0) return;
  // The readers and writers disagree which way round this is; only these two need it besides the resolution.
  spec.erase_attribute("PixelAspectRatio");
  if (format == "tiff" || format == "openexr") spec.attribute("PixelAspectRatio", static_cast<float>(y / x));

  const std::optional<double> inches = inches_per_unit(spec);
  if (!inches) return;
  if (format == "png") {  // whole numbers, which the writer cuts off instead of rounding them
    const double factor = kInchesPerMetre / *inches;
    set_resolution(spec, std::round(x * factor), std::round(y * factor), "m");
  } else if (format == "tiff" && *inches == kInchesPerCentimetre) {
    set_resolution(spec, x, y, "cm");
  } else {  // The others write no unit, which means inches; OpenEXR's would divide where it has to multiply.
    set_resolution(spec, x / *inches, y / *inches, "in");
  }
}

void set_size(OIIO::ImageSpec& spec, int width, int height) {
  spec.x = spec.y = spec.full_x = spec.full_y = 0;
  spec.width = spec.full_width = width;
  spec.height = spec.full_height = height;
  say_size(spec);
}

void say_size(OIIO::ImageSpec& spec) {
  const auto say = [&](const char* name, int size) {
    if (spec.find_attribute(name) != nullptr) spec.attribute(name, size);
  };
  say("Exif:PixelXDimension", spec.width);
  say("Exif:PixelYDimension", spec.height);
}

bool has_display_window(const OIIO::ImageSpec& spec) {
  return spec.full_x != spec.x || spec.full_y != spec.y || spec.full_width != spec.width ||
         spec.full_height != spec.height;
}

}  // namespace mollify::cli
