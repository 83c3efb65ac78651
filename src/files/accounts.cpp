#include "files/accounts.h"

namespace mollify::files {

Outcome Accounts::account(ItemKind kind, const std::string& details) const {
  const ContractRow& row = contract_row(kind);
  const std::string format(name_of(to_));
  const std::string what = std::string(row.name) + (details.empty() ? "" : " (" + details + ")");
  const Outcome result = outcome_of(kind);
  switch (result) {
    case Outcome::kept:
      break;
    case Outcome::converted:
      messages_.add(what + ": " + std::string(row.how));
      break;
    case Outcome::dropped:
      messages_.add(what + " left out for " + format + ": " + std::string(row.how));
      break;
    case Outcome::absent:
    case Outcome::refused:
      throw FileError("has " + what + ", which " + format + " files cannot hold");
  }
  return result;
}

}  // namespace mollify::files
