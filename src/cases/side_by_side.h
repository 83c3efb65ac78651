// Work on many things that do not need each other, such as cases, on some threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace mollify::cases {

/// Calls `work` with 0 to count - 1, each once, from `threads` threads of which the caller is one. No more are begun once a
/// call has returned false. Were all true?
template <class Work>
bool side_by_side(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> goes_on = true;
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count && goes_on; i = next++) {
      if (!work(i)) goes_on = false;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(take_turns);
    take_turns();
  }
  return goes_on;
}

}  // namespace mollify::cases
