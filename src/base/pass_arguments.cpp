#include "base/pass_arguments.h"

#include <algorithm>

namespace mollify::pass_arguments {
namespace {

/// The first name that one of them does not have, or has with another number; null if there is none.
const std::string* first_difference(const auto& a, const auto& b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  if (in_a != a.end() && (in_b == b.end() || in_a->first <= in_b->first)) return &in_a->first;
  return in_b != b.end() ? &in_b->first : nullptr;
}

}  // namespace

Status check_all_read(const Pass& pass, const Pass& read) {
  const std::string* name = first_difference(pass.constants, read.constants);
  if (name == nullptr) name = first_difference(pass.parameters, read.parameters);
  if (name == nullptr) return {};
  return Error{ErrorCode::internal, "the pass does not tell " + pass.kernel + " exactly what it takes, see " + *name, {}};
}

}  // namespace mollify::pass_arguments
