// How segments of applications begin.
#pragma once

#include <string_view>

namespace mollify::files::jpeg {

using namespace std::string_view_literals;
inline constexpr std::string_view kJfif = "JFIF\0"sv;
inline constexpr std::string_view kJfxx = "JFXX\0"sv;
inline constexpr std::string_view kExif = "Exif\0\0"sv;
inline constexpr std::string_view kXmp = "http://ns.adobe.com/xap/1.0/\0"sv;
inline constexpr std::string_view kXmpExtension = "http://ns.adobe.com/xmp/extension/\0"sv;
inline constexpr std::string_view kIcc = "ICC_PROFILE\0"sv;
inline constexpr std::string_view kMpf = "MPF\0"sv;
inline constexpr std::string_view kGainMap = "urn:iso:std:iso:ts:21496"sv;
inline constexpr std::string_view kPhotoshop = "Photoshop 3.0\0"sv;
inline constexpr std::string_view kAdobe = "Adobe"sv;

}  // namespace mollify::files::jpeg
