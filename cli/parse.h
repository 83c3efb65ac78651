// Texts of the command line into values. What cannot be read is wrong usage; `option` names the culprit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mollify/image.h"
#include "mollify/spec.h"

namespace mollify::cli {

/// The text in quotes, shortened and with all but plain characters replaced, fit for an error line.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Wrong usage where a name of a file or folder is empty, as that of a variable of a shell that was not set.
void require_name(std::string_view name, std::string_view option);

/// The whole text as a number, "nan" and "inf" included; nothing when it is none.
[[nodiscard]] std::optional<double> to_number(std::string_view text);

[[nodiscard]] double parse_number(std::string_view text, std::string_view option);
[[nodiscard]] std::vector<double> parse_numbers(std::string_view text, std::string_view option);  // "0,0.5,1"
/// "3" means the same on both axes, "3x2" is x, then y.
[[nodiscard]] PerAxis<double> parse_number_pair(std::string_view text, std::string_view option);
[[nodiscard]] PerAxis<std::int32_t> parse_whole_pair(std::string_view text, std::string_view option);
[[nodiscard]] PerAxis<std::int32_t> parse_size(std::string_view text, std::string_view option);   // "640x480"
[[nodiscard]] PerAxis<std::int32_t> parse_point(std::string_view text, std::string_view option);  // "1,2"
[[nodiscard]] Rect parse_rect(std::string_view text, std::string_view option);                    // "64x48+10+20"
[[nodiscard]] PixelFormat parse_format_name(std::string_view text);                               // "rgba8"

}  // namespace mollify::cli
