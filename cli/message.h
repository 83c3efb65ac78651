// Lines for people: whatever a file or a library puts into them, each stays one line that a terminal shows as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mollify::cli {

/// With control characters, and bytes that are no UTF-8, written as escapes: "\n", "\x1b".
[[nodiscard]] std::string printable(std::string_view text);

/// Printable and of 300 characters at most: what is too long loses its middle, since the reason is at the end.
[[nodiscard]] std::string message_line(std::string_view text);

/// "mollify: <message>" on stderr.
void complain(std::string_view message);

/// "2.0 GB", "512 MB": powers of 1024.
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

}  // namespace mollify::cli
