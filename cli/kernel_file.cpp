#include "kernel_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "failure.h"
#include "parse.h"

namespace mollify::cli {
namespace {

// Far above any kernel that makes sense, far below what a mistaken path to a video would fill the memory with.
constexpr std::size_t kMaxWeights = std::size_t{1} << 22;
constexpr std::size_t kLongestLine = 32 * kMaxWeights;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8

std::vector<double> read_row(std::string_view line, const std::string& where) {
  constexpr std::string_view kSeparators = " \t,;";
  std::vector<double> row;
  line = line.substr(0, line.find('#'));
  while (true) {
    const std::size_t begin = line.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return row;
    const std::size_t end = std::min(line.find_first_of(kSeparators, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    const std::optional<double> number = to_number(word);
    if (!number) fail(fmt::format("{}: {} is not a number", where, quoted(word)));
    if (!std::isfinite(*number)) fail(fmt::format("{}: a weight must be finite, not {}", where, word));
    row.push_back(*number);
    line.remove_prefix(end);
  }
}

/// Ended by a line feed, a carriage return, or both, or after more than any kernel needs.
bool next_line(std::istream& file, std::string& line) {
  line.clear();
  for (int c = file.get(); c != EOF; c = file.get()) {
    if (c == '\r' && file.peek() == '\n') file.get();
    if (c == '\r' || c == '\n') return true;
    line.push_back(static_cast<char>(c));
    if (line.size() > kLongestLine) return true;
  }
  return !line.empty();
}

}  // namespace

KernelTable read_kernel_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) fail(fmt::format("{}: is a folder, not a kernel file", path));
  std::ifstream file(path);
  if (!file) fail(fmt::format("{}: {}", path, std::strerror(errno)));

  KernelTable table;
  std::string line;
  for (int number = 1; next_line(file, line); ++number) {
    if (line.size() > kLongestLine) fail(fmt::format("{}: line {} is longer than {} characters", path, number, kLongestLine));
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    const std::string where = fmt::format("{}: line {}", path, number);
    const std::vector<double> row = read_row(line, where);
    if (row.empty()) continue;
    if (table.height > 0 && std::ssize(row) != table.width) {
      fail(fmt::format("{}: {} numbers, the first row has {}", where, row.size(), table.width));
    }
    table.width = static_cast<int>(row.size());
    table.height += 1;
    table.weights.insert(table.weights.end(), row.begin(), row.end());
    if (table.weights.size() > kMaxWeights) fail(fmt::format("{}: more than {} weights", path, kMaxWeights));
  }
  if (table.height == 0) fail(fmt::format("{}: no numbers in the kernel file", path));
  return table;
}

}  // namespace mollify::cli
