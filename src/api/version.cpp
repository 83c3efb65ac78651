#include "mollify/mollify.h"

namespace mollify {

std::string_view version() {
  return MOLLIFY_VERSION;
}

}  // namespace mollify
