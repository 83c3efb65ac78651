#include "files/accounts.h"

#include <algorithm>
#include <cstddef>

namespace mollify::files {

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

std::string name_of(const Item& item) {
  const std::string row(contract_row(item.kind).name);
  return item.name.empty() || item.name == row ? row : row + " (" + item.name + ")";
}

Outcome Accounts::account(ItemKind kind, const std::string& details) const {
  const ContractRow& row = contract_row(kind);
  const std::string format(name_of(to_));
  const std::string what = std::string(row.name) + (details.empty() ? "" : " (" + details + ")");
  const Outcome result = outcome_of(kind);
  switch (result) {
    case Outcome::kept:
      break;
    case Outcome::converted:
      messages_.add(what + ": " + std::string(row.how_converted()));
      break;
    case Outcome::dropped:
      messages_.add(what + " left out for " + format + ": " + std::string(row.how_dropped()));
      break;
    case Outcome::absent:
    case Outcome::refused:
      throw FileError("has " + what + ", which " + format + " files cannot hold");
  }
  return result;
}

}  // namespace mollify::files
