#include "files/metadata.h"

namespace mollify::files {

bool correct_xmp(Bytes&, const Corrections&, Messages&) { return false; }

}  // namespace mollify::files
