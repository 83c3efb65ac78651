// Which pixels of a result what is planted in the source can act on, as its plan says.
#pragma once

#include <vector>

#include "mollify/mollify.h"

namespace mollify::cases {

class Reached {
 public:
  /// `planted` are pixels of the source.
  Reached(const Plan& plan, const std::vector<PerAxis<std::int32_t>>& planted);

  /// For a pixel of the destination.
  [[nodiscard]] bool operator()(std::int32_t x, std::int32_t y) const;

 private:
  std::vector<PerAxis<std::vector<bool>>> columns_and_rows_;  ///< of the destination, for each planted pixel
};

}  // namespace mollify::cases
