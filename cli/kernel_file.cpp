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

// "0,5 0,25" is two numbers for some and four for others. A comma between digits is a separator only in rows without other separators.
bool is_ambiguous_comma(std::string_view line, std::size_t at) {
  const auto is_digit = [&](std::size_t i) { return i < line.size() && line[i] >= '0' && line[i] <= '9'; };
  if (at >= line.size() || line[at] != ',' || at == 0 || !is_digit(at - 1) || !is_digit(at + 1)) return false;
  const std::size_t first = line.find_first_not_of(" \t");
  const std::size_t last = line.find_last_not_of(" \t\r");
  return line.substr(first, last - first + 1).find_first_of(" \t;") != std::string_view::npos;
}

std::vector<double> read_row(std::string_view line, const std::string& where) {
  constexpr std::string_view kSeparators = " \t,;";
  std::vector<double> row;
  line = line.substr(0, line.find('#'));
  while (true) {
    const std::size_t begin = line.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return row;
    const std::size_t end = std::min(line.find_first_of(kSeparators, begin), line.size());
    if (is_ambiguous_comma(line, end))
      fail(fmt::format("{}: {} may be one number or two; write 0.5 or put a blank behind the comma", where,
                       in_quotes(line.substr(begin, line.find_first_of(" \t;", begin) - begin))));
    const std::string_view word = line.substr(begin, end - begin);
    const std::optional<double> number = to_number(word);
    if (!number) fail(fmt::format("{}: {} is not a number", where, in_quotes(word)));
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

namespace {

// The table of a kernel that came from a file: a row, a column, or a matrix.
KernelTable table_of(const KernelSpec& kernel) {
  if (const auto* matrix = std::get_if<Matrix>(&kernel)) return {matrix->width, matrix->height, matrix->weights};
  const auto* taps = std::get_if<Taps>(&kernel);
  if (taps == nullptr) return {};
  const bool is_row = taps->y.weights.size() <= 1;  // an axis without a kernel has the single weight 1
  const std::vector<double>& weights = is_row ? taps->x.weights : taps->y.weights;
  const auto count = static_cast<int>(weights.size());
  return is_row ? KernelTable{count, 1, weights} : KernelTable{1, count, weights};
}

bool divides_by_sum(const KernelSpec& kernel) {
  const auto* matrix = std::get_if<Matrix>(&kernel);
  const auto* taps = std::get_if<Taps>(&kernel);
  return (matrix != nullptr && matrix->normalization == Normalization::unit_sum) ||
         (taps != nullptr && taps->normalization == Normalization::unit_sum);
}

}  // namespace

std::string kernel_text(const KernelSpec& kernel) {
  const KernelTable table = table_of(kernel);
  std::string text;
  for (std::size_t i = 0; i < table.weights.size(); ++i) {
    text += fmt::format("{}{}", table.weights[i], (i + 1) % static_cast<std::size_t>(table.width) == 0 ? '\n' : ' ');
  }
  return text;
}

std::string note_on_kernel(const KernelSpec& kernel) {
  constexpr double kRounding = 1e-4;  // of weights that were written with a few digits
  const KernelTable table = table_of(kernel);
  double sum = 0.0;
  for (const double weight : table.weights) sum += weight;
  if (table.weights.empty() || divides_by_sum(kernel) || std::abs(sum - 1.0) <= kRounding) return "";
  return fmt::format("the weights of the kernel sum to {:.6g}, so brightness changes by that factor; --normalize divides them by it", sum);
}

}  // namespace mollify::cli
