// Signatures of pictures and videos within other bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mollify::files {

struct PictureInside {
  std::size_t offset = 0;
  std::optional<std::size_t> end;  ///< where it ends, if that can be told
};

/// What is searched for. A block of Exif is itself a TIFF, and maker notes hold others.
enum class Signatures : std::uint8_t { all, all_but_tiff };

/// The first picture or video at `from` or behind it, as bytes or in base64.
[[nodiscard]] std::optional<PictureInside> find_picture(std::span<const std::uint8_t> bytes, std::size_t from, Signatures signatures);

}  // namespace mollify::files
