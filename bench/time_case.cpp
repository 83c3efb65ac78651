#include "bench/time_case.h"

#include <utility>

#include "bench/time_group.h"

namespace mollify::bench {

Result<Timing> time_case(const Device& device, const cases::Case& c, const TimingOptions& options) {
  Result<GroupTiming> timed = time_group(device, {&c, 1}, {.seconds = options.seconds, .batch = options.batch, .peers = options.peers});
  if (!timed) return timed.error();
  CaseTiming& own = timed->cases.front();
  if (!own.record) return own.record.error();

  Timing timing{.records = {std::move(own.record).value()}, .notes = std::move(timed->notes)};
  timing.records.insert(timing.records.end(), timed->peers.begin(), timed->peers.end());
  if (device.info().backend != Backend::cpu) {
    timing.notes.emplace_back("times are the device's own, with the images on it; copies are of the same bytes on the device");
  }
  return timing;
}

}  // namespace mollify::bench
