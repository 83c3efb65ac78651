// What the contract says of one pair of formats, and the messages that follow from it.
#pragma once

#include <string>

#include "files/codec.h"
#include "files/contract.h"

namespace mollify::files {

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
