// What the contract says of one pair of formats, and the messages that follow from it.
#pragma once

#include <string>
#include <vector>

#include "files/codec.h"
#include "files/contract.h"

namespace mollify::files {

/// The first few of many names: "Z, id and 3 more".
[[nodiscard]] std::string listed(const std::vector<std::string>& names);
/// In messages: "texts (Comment)".
[[nodiscard]] std::string name_of(const Item& item);

class Accounts {
 public:
  Accounts(FileFormat from, FileFormat to, Messages& messages) : from_(from), to_(to), messages_(messages) {}

  [[nodiscard]] Outcome outcome_of(ItemKind kind) const { return outcome(kind, from_, to_); }
  /// Takes the outcome of something that the source has, and says it where it is not kept. Throws FileError where it is refused.
  Outcome account(ItemKind kind, const std::string& details = {}) const;

 private:
  FileFormat from_, to_;
  Messages& messages_;
};

}  // namespace mollify::files
