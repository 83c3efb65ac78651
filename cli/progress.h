// A progress bar with rate and time left, on terminals only.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace mollify::cli {

class ProgressBar {
 public:
  /// Draws nothing when not `wanted` or when stderr is no terminal.
  ProgressBar(std::size_t total, bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` of the total are finished; `label` is being worked on.
  void show(std::size_t done, const std::string& label);
  /// Removes the bar, so that a line can be printed; the next show() draws it again.
  void clear();

 private:
  std::size_t total_;
  bool active_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "12.3/s, 0:45 left"
[[nodiscard]] std::string rate_text(std::size_t done, std::size_t total, double seconds);

}  // namespace mollify::cli
