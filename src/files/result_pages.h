// Which pages of a source its result holds.
#pragma once

#include <string>
#include <vector>

#include "files/accounts.h"
#include "files/result.h"

namespace mollify::files {

struct PageChoice {
  std::vector<bool> stays;      ///< for each page of the source
  bool is_one_of_many = false;  ///< one picture of a source with several
};
/// Throws FileError where there is no page as --page asks for.
[[nodiscard]] PageChoice choose_pages(const Document& source, const ResultRequest& request, const Accounts& accounts, Messages& messages);

/// " of page 2; --page N takes another alone", where a source has several pictures: `index` is that of one of its pages.
[[nodiscard]] std::string page_text(const Document& source, int index);

}  // namespace mollify::files
