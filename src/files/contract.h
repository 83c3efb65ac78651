// The contract of files: what becomes of everything that a file can hold, for each pair of formats. docs/files.md is made of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "files/codec.h"
#include "files/document.h"

namespace mollify::files {

enum class Outcome : std::uint8_t {
  kept,
  converted,  ///< with a message
  dropped,    ///< with a message
  refused,    ///< an error: the result could not be true
};

struct ContractRow {
  ItemKind kind;
  std::string_view name;      ///< in words, for messages and docs
  std::string_view same;      ///< one letter a written format, in the order of FileFormat: what becomes of it within the format; '-' it has none
  std::string_view other;     ///< one letter a written format: what becomes of it in a result of that format, from another
  std::string_view how;       ///< what "converted" and "dropped" mean here: the message
};
[[nodiscard]] std::vector<ContractRow> contract();
[[nodiscard]] Outcome outcome(ItemKind kind, FileFormat from, FileFormat to);

}  // namespace mollify::files
