// What the planner answers, in one line of plain words and numbers.
#pragma once

#include <string>

#include "golden/requests.h"

namespace mollify::golden {

/// A plan without its texts and times, or "refused" and the code of the error. Fields are separated by spaces, lists by commas:
///
///   ALGORITHM[:OPTION=VALUE,...] moved=BYTES scratch=BYTES between=BYTES error=E reach=B+AxB+A [image=WxH:FORMAT ...]
///   | KERNEL size=WxH tile=WxH groups=WxH threads=WxH [taps=...] [matrix=...] [window=...] from=BINDING to=BINDING [and=BINDING]
///     [origin=XxY] [linear] [outside_gain=G] [constants:NAME=N,...] [parameters:NAME=N,...] | ...
///
/// Numbers that are not whole have six significant digits.
[[nodiscard]] std::string decision(const Request& request, const DeviceInfo& device);

}  // namespace mollify::golden
