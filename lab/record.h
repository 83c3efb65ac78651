// From what the benchmark measured to a record of the lab.
#pragma once

#include "bench/environment.h"
#include "bench/report.h"
#include "lab/results.h"
#include "lab/suite.h"

namespace mollify::lab {

/// What all records of a run share.
struct Context {
  std::string suite;
  std::string device_name;   ///< as the command line names it
  std::string device_flags;  ///< what else it says of the device
  std::string driver;
  bench::Environment environment;
};

/// The benchmark's fields and the lab's. `plan` is null for peers; `chosen`: the planner's own choice.
[[nodiscard]] Json to_record(const bench::Record& record, const Plan* plan, bool chosen, const std::string& group, const Json& clocks,
                             const Context& context);

/// A case that could not be timed.
[[nodiscard]] Json to_record(const cases::Case& c, const Error& error, const DeviceInfo& device, const std::string& group,
                             const Context& context);

}  // namespace mollify::lab
