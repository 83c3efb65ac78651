// Tuning tables as lines of text, and back.
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"
#include "mollify/tuning.h"

namespace mollify {
namespace {

constexpr std::string_view kFirstLine = "mollify tuning 1";

/// The lines of a text, counted from one; comments and empty lines are passed over.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::optional<std::string_view> next() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty() && line.front() != '#') return line;
    }
    return std::nullopt;
  }
  [[nodiscard]] Error error(const std::string& message) const {
    return {ErrorCode::invalid_argument, "line " + std::to_string(number_) + " " + message, {}};
  }

 private:
  std::string_view rest_;
  int number_ = 0;
};

template <class T>
bool read(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

bool read_ratio(std::string_view text, double& value) {
  return read(text, value) && std::isfinite(value) && value > 0.0;
}

bool read_range(std::string_view text, std::int32_t& first, std::int32_t& last) {
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && read(text.substr(0, dash), first) && read(text.substr(dash + 1), last) && first >= 1 &&
         first <= last;
}

constexpr std::string_view kRates = "rates";

/// A number of a line of rates.
struct RatesField {
  std::string_view name;  ///< with what stands before its value
  double GpuRates::*value;
};
/// In the order of the line. Files of the first versions end after those that are always there.
constexpr std::array<RatesField, 5> kRatesFields = {{{" bytes_per_second=", &GpuRates::bytes_per_second},
                                                     {" operations_per_second=", &GpuRates::operations_per_second},
                                                     {" launch_seconds=", &GpuRates::launch_seconds},
                                                     {" shared_per_second=", &GpuRates::shared_per_second},
                                                     {" waits_per_second=", &GpuRates::waits_per_second}}};
constexpr std::size_t kFirstRates = 3;  ///< that are always there

/// Without those at the end that were not measured.
std::span<const RatesField> fields_of(const GpuRates& rates) {
  const bool has_all = rates.shared_per_second != 0.0 && rates.waits_per_second != 0.0;
  return std::span(kRatesFields).first(has_all ? kRatesFields.size() : kFirstRates);
}

/// The line that to_text() writes of them, in its order.
bool read_rates(std::string_view line, GpuRates& rates) {
  line.remove_prefix(kRates.size());
  for (const RatesField& field : kRatesFields) {
    const std::string_view name = field.name;
    double* const value = &(rates.*field.value);
    if (line.empty() && &field == &kRatesFields[kFirstRates]) return true;
    if (!line.starts_with(name)) return false;
    line.remove_prefix(name.size());
    const std::size_t end = line.find(' ');
    if (!read_ratio(line.substr(0, end), *value)) return false;
    line.remove_prefix(end == std::string_view::npos ? line.size() : end);
  }
  return line.empty();
}

/// One `name=value` of a row, by its name.
bool read_field(std::string_view field, TuningRow& row) {
  const std::size_t equals = field.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = field.substr(0, equals);
  const std::string_view value = field.substr(equals + 1);
  if (name == "bytes") {
    return read(value, row.pixel_bytes) && (row.pixel_bytes == 4 || row.pixel_bytes == 8 || row.pixel_bytes == 16);
  }
  if (name == "taps") return read_range(value, row.min_taps, row.max_taps);
  if (name == "pixels") return read(value, row.min_pixels) && row.min_pixels >= 1;
  if (name == "gain") return read_ratio(value, row.gain);
  if (name == "cost") return read_ratio(value, row.cost);
  return false;
}

/// All five fields in the order in which they are written, so that none is missing or there twice.
std::optional<TuningRow> read_row(std::string_view line) {
  constexpr std::array<std::string_view, 5> kFields = {"bytes=", "taps=", "pixels=", "gain=", "cost="};
  std::size_t space = line.find(' ');
  const Result<AlgorithmChoice> choice = parse_algorithm(line.substr(0, space));
  if (!choice) return std::nullopt;
  TuningRow row;
  row.algorithm = choice->id;
  row.options = choice->options;
  for (const std::string_view name : kFields) {
    if (space == std::string_view::npos) return std::nullopt;
    line.remove_prefix(space + 1);
    space = line.find(' ');
    const std::string_view field = line.substr(0, space);
    if (!field.starts_with(name) || !read_field(field, row)) return std::nullopt;
  }
  return space == std::string_view::npos ? std::optional(row) : std::nullopt;
}

}  // namespace

std::string to_text(const TuningTable& table) {
  std::string text =
      std::string(kFirstLine) + "\ndevice " + table.device + "\ndriver " + table.driver + "\nmollify " + table.version + "\n";
  const GpuRates& rates = table.rates;
  if (rates != GpuRates{}) {
    text += kRates;
    for (const RatesField& field : fields_of(rates)) text += std::string(field.name) + number(rates.*field.value, 4);
    text += "\n";
  }
  for (const TuningRow& row : table.rows) {
    text += to_string(AlgorithmChoice{row.algorithm, row.options}) + " bytes=" + std::to_string(row.pixel_bytes) +
            " taps=" + std::to_string(row.min_taps) + "-" + std::to_string(row.max_taps) + " pixels=" + std::to_string(row.min_pixels) +
            " gain=" + number(row.gain, 3) + " cost=" + number(row.cost, 3) + "\n";
  }
  return text;
}

Result<TuningTable> parse_tuning(std::string_view text) {
  Lines lines(text);
  if (lines.next() != kFirstLine) return lines.error("is not \"" + std::string(kFirstLine) + "\"");
  TuningTable table;
  const std::array<std::pair<std::string_view, std::string*>, 3> header = {
      {{"device ", &table.device}, {"driver ", &table.driver}, {"mollify ", &table.version}}};
  for (const auto& [name, value] : header) {
    const auto line = lines.next();
    if (!line || !line->starts_with(name)) return lines.error("does not start with \"" + std::string(name) + "\"");
    *value = line->substr(name.size());
  }
  while (const auto line = lines.next()) {
    if (table.rows.empty() && table.rates == GpuRates{} && line->starts_with(std::string(kRates) + " ")) {
      if (!read_rates(*line, table.rates)) return lines.error("is no rates: " + std::string(line->substr(0, 80)));
      continue;
    }
    std::optional<TuningRow> row = read_row(*line);
    if (!row) return lines.error("is no row: " + std::string(line->substr(0, 80)));
    table.rows.push_back(std::move(*row));
  }
  return table;
}

}  // namespace mollify
