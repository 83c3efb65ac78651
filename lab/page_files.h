// The files that the report's page is made of, built into the tool.
#pragma once

#include <string_view>

namespace mollify::lab {

/// By its name, as in lab/page/; empty if there is none.
[[nodiscard]] std::string_view page_file(std::string_view name);

}  // namespace mollify::lab
