// The contract of files: what becomes of everything that a file can hold, for each pair of formats. docs/files.md is made of it.
#pragma once

#include <span>
#include <string_view>

#include "files/document.h"

namespace mollify::files {

enum class Outcome : std::uint8_t {
  absent,  ///< the format has no such thing
  kept,
  converted,  ///< with a message
  dropped,    ///< with a message
  refused,    ///< an error: the result could not be true
};

/// One letter for each written format, in the order of FileFormat: K kept, C converted, D dropped, R refused, - absent.
struct ContractRow {
  ItemKind kind;
  std::string_view name;   ///< in words, for messages and docs
  std::string_view same;   ///< within a format
  std::string_view other;  ///< in a result of that format, from a source of another
  std::string_view how;    ///< what conversion is here; and why things are dropped, behind "; " where both are said

  [[nodiscard]] std::string_view how_converted() const { return how.substr(0, how.find("; ")); }
  [[nodiscard]] std::string_view how_dropped() const {
    const std::size_t end = how.find("; ");
    return end == std::string_view::npos ? how : how.substr(end + 2);
  }
};

/// One row for each ItemKind, in its order.
[[nodiscard]] std::span<const ContractRow> contract();
[[nodiscard]] const ContractRow& contract_row(ItemKind kind);
[[nodiscard]] Outcome outcome(ItemKind kind, FileFormat from, FileFormat to);

}  // namespace mollify::files
