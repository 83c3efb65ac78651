// The digest by which a JPEG file names the second part of a large XMP packet.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace mollify::files {

/// 32 hexadecimal digits in capitals.
[[nodiscard]] std::string md5_hex(std::span<const std::uint8_t> bytes);

}  // namespace mollify::files
