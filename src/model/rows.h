// Which tuning rows hold for a request. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mollify/tuning.h"

namespace mollify {

/// The rows for one request: the device's own first, then those that are shipped.
class TuningRows {
 public:
  /// What holds for these images: neither region nor threads may matter, or they would change bits of the result.
  TuningRows(const BlurSpec& spec, const ImageDesc& src, const DeviceInfo& device);
  /// None at all.
  TuningRows() = default;

  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::vector<const TuningRow*> of(std::string_view algorithm) const;
  /// What the cost model's seconds of an algorithm with its own choice of options are to be multiplied by: as measured;
  /// for an algorithm that was not measured as is typical of those that were, so that nothing gains by being measured.
  [[nodiscard]] double cost(std::string_view algorithm) const;

 private:
  std::vector<TuningRow> rows_;
  double typical_cost_ = 1.0;
};

}  // namespace mollify
