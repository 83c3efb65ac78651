#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mollify::cli {
namespace {

constexpr std::size_t kBarWidth = 24;

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

std::string rate_text(std::size_t done, std::size_t total, double seconds) {
  if (done == 0 || seconds <= 0.0) return "";
  const double rate = static_cast<double>(done) / seconds;
  const auto left = static_cast<long>(std::ceil(static_cast<double>(total - done) / rate));
  const std::string clock =
      left >= 3600 ? fmt::format("{}:{:02}:{:02}", left / 3600, left / 60 % 60, left % 60) : fmt::format("{}:{:02}", left / 60, left % 60);
  return fmt::format("{:.3g}/s, {} left", rate, clock);
}

ProgressBar::ProgressBar(std::size_t total, bool wanted) : total_(total), active_(wanted && ::isatty(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() {
  clear();
}

void ProgressBar::show(std::size_t done, const std::string& label) {
  if (!active_) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const std::size_t filled = total_ == 0 ? kBarWidth : kBarWidth * done / total_;
  std::string line = fmt::format("[{}{}] {}/{}  {}  {}", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), done, total_,
                                 rate_text(done, total_, seconds), label);
  line.resize(std::min(line.size(), terminal_columns() - 1));  // a line that wraps could not be drawn over
  fmt::print(stderr, "\r\033[K{}", line);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!active_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace mollify::cli
