#include "lab/report.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "lab/page_files.h"
#include "mollify/image.h"
#include "mollify/spec.h"

namespace mollify::lab {
namespace {

/// What the charts need of a record; the file that it came from has the rest.
constexpr std::array kFields = {"case",      "algorithm",       "options",       "backend",        "device",     "driver",   "width",
                                "height",    "kernel",          "sigma",         "radius",         "border",     "threads",  "time_ns",
                                "copy_ns",   "submit_ns",       "end_to_end_ns", "dispatch_ns",    "nothing_ns", "unstable", "attempts",
                                "max_error", "predicted_error", "peer",          "realized_sigma", "note",       "suite",    "chosen",
                                "clocks",    "measured_at",     "command",       "src_format",     "dst_format", "batch"};

/// Things that many records share are kept once.
class Shared {
 public:
  std::size_t index_of(const Json& value) {
    const auto [position, fresh] = positions_.try_emplace(value.dump(), values_.size());
    if (fresh) values_.push_back(value);
    return position->second;
  }
  [[nodiscard]] const Json& values() const { return values_; }

 private:
  std::map<std::string, std::size_t> positions_;
  Json values_ = Json::array();
};

/// The load changes from record to record; the rest of an environment is the same for a whole run.
Json environment_of(const Json& record) {
  Json environment = record.value("environment", Json::object());
  environment.erase("load_average");
  return environment;
}

bool has_time(const Json& record) {
  const Json* time = record.find("time_ns");
  return time != nullptr && time->is_object() && time->value("median", 0.0) > 0.0;
}

Json page_record(const Json& record, Shared& environments) {
  Json kept = Json::object();
  for (const char* field : kFields) {
    const Json* found = record.find(field);
    if (found != nullptr && !found->is_null()) kept[field] = *found;
  }
  if (const auto format = parse_format(record.value("src_format", "")); format) {
    kept["pixel_bits"] = info(*format).pixel_bytes() * 8;
    kept["channels"] = info(*format).channels;
  }
  if (const auto format = parse_format(record.value("dst_format", "")); format) kept["default_error"] = default_max_error(*format);
  if (const Json* plan = record.find("plan"); plan != nullptr && plan->is_object()) {
    Json kernels = Json::array();
    for (const Json& pass : plan->value("passes", Json::array())) kernels.push_back(pass.value("kernel", ""));
    kept["kernels"] = std::move(kernels);
    kept["moved_bytes"] = plan->value("moved_bytes", 0);
  }
  kept["environment"] = environments.index_of(environment_of(record));
  return kept;
}

/// Nobody measures more digits.
void shorten_numbers(Json& value) {
  constexpr int kDigits = 6;
  if (value.is_float()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", kDigits, value.get<double>());
    value = std::strtod(text, nullptr);
  } else if (value.is_array()) {
    for (Json& element : value.elements()) shorten_numbers(element);
  } else if (value.is_object()) {
    for (auto& [key, member] : value.members()) shorten_numbers(member);
  }
}

/// Objects as rows under one head: {"fields": [name...], "rows": [[value or null...]...]}. The names are most of the text otherwise.
Json table_of(const std::vector<Json>& objects) {
  std::vector<std::string> fields;
  std::map<std::string, std::size_t> columns;
  for (const Json& object : objects) {
    for (const auto& [field, value] : object.members()) {
      if (columns.try_emplace(field, fields.size()).second) fields.push_back(field);
    }
  }
  Json rows = Json::array();
  for (const Json& object : objects) {
    Json row(std::vector<Json>(fields.size()));
    for (const auto& [field, value] : object.members()) row[columns.at(field)] = value;
    shorten_numbers(row);
    rows.push_back(std::move(row));
  }
  return {{"fields", fields}, {"rows", std::move(rows)}};
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

/// The table of published times, a row an object; numbers as numbers.
Json published() {
  std::istringstream table{std::string(page_file("published_timings.csv"))};
  std::string line;
  std::getline(table, line);
  const std::vector<std::string> names = split(line);
  Json rows = Json::array();
  while (std::getline(table, line)) {
    const std::vector<std::string> fields = split(line);
    Json row = Json::object();
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
      char* end = nullptr;
      const double number = std::strtod(fields[i].c_str(), &end);
      if (fields[i].empty()) continue;
      row[names[i]] = *end == '\0' ? Json(number) : Json(fields[i]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// As the contents of a <script>: no "</script>" and no "<!--" can occur in it.
std::string script_text(const Json& json) {
  std::string text;
  for (const char c : json.dump()) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

/// {{NAME}} in the page stands for a file, or for the data.
std::string fill_in(std::string_view page, const std::string& data) {
  std::string out;
  while (true) {
    const std::size_t open = page.find("{{");
    out += page.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    out += name == "data" ? std::string_view(data) : page_file(name);
    page.remove_prefix(close + 2);
  }
}

}  // namespace

std::string report_page(std::span<const Json> records) {
  Shared environments;
  std::vector<Json> kept;
  std::map<std::string, int> left_out;
  for (const Json& record : records) {
    std::string outcome = record.value("outcome", "timed");
    if (outcome == "timed" && !has_time(record)) outcome = "without a time";
    if (outcome == "timed") {
      kept.push_back(page_record(record, environments));
    } else {
      ++left_out[outcome];
    }
  }
  const Json data{{"records", table_of(kept)}, {"environments", environments.values()}, {"left_out", left_out}, {"published", published()}};
  return fill_in(page_file("index.html"), script_text(data));
}

}  // namespace mollify::lab
