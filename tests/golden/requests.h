// What the planner is asked: a case on a device, alone or in a batch, with or without tuning rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cases/cases.h"

namespace mollify::golden {

/// One question to the planner. name() and parse_request() are inverses:
///
///   [batch=N/][tuning=none/]CASE
struct Request {
  cases::Case blur;
  std::int32_t batch = 1;  ///< as PlanOptions has it
  Tuning tuning = Tuning::measured;
};

[[nodiscard]] std::string name(const Request& request);
[[nodiscard]] Result<Request> parse_request(std::string_view text);

/// What is recorded of a device: names in order, each once. Some come from the case list, some are blurs of real image sizes that the
/// case list, whose reference is slow, cannot have. The list depends on what the planner answers, so a recording keeps it.
[[nodiscard]] std::vector<std::string> requests_of(const DeviceInfo& device);

}  // namespace mollify::golden
