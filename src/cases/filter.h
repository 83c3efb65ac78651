// Selecting cases by name.
#pragma once

#include <string_view>

namespace mollify::cases {

/// `*` stands for any text, `?` for one character. A pattern without either matches wherever it occurs in the name.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

}  // namespace mollify::cases
