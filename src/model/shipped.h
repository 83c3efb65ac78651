// The tables of rows/, embedded by the build.
#pragma once

#include <span>
#include <string_view>

namespace mollify {

[[nodiscard]] std::span<const std::string_view> shipped_tuning_texts();

}  // namespace mollify
