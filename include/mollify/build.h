// What this build of the library leaves out.
#pragma once

#include <string_view>
#include <vector>

namespace mollify {

/// An algorithm that this build of the library does not have.
struct AbsentAlgorithm {
  std::string_view id;      ///< as in AlgorithmInfo
  std::string_view reason;  ///< "built without ...", and the option of CMake that adds it; one reason for all
};

/// The algorithms that algorithms() lacks in this build. A plan that asks for one of them is refused with the reason.
[[nodiscard]] std::vector<AbsentAlgorithm> absent_algorithms();

}  // namespace mollify
