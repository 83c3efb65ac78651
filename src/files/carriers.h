// The places of files in which pictures are known to hide: who blurs a face does not want the sharp one to stay in the file. docs/files.md
// is made of this list, and a test plants a picture in each place.
#pragma once

#include <span>
#include <string_view>

namespace mollify::files {

struct Carrier {
  std::string_view place;
  std::string_view formats;  ///< one letter for each written format, in the order of FileFormat: X has such a place
  std::string_view outcome;  ///< in words
};
[[nodiscard]] std::span<const Carrier> carriers();

}  // namespace mollify::files
