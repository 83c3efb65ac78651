// Where tuning rows come from: the user's cache folder, and the tables in rows/ that the build embeds.
#include "model/stored.h"

#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "model/shipped.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

Error unusable(const std::string& path, const std::string& why) {
  return {ErrorCode::unsupported, path + ": " + why, {}};
}

/// Letters and digits of a name, the rest as single dashes.
std::string file_name_part(std::string_view name) {
  std::string part;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      part += c;
    else if (!part.empty() && part.back() != '-')
      part += '-';
  }
  while (part.ends_with('-')) part.pop_back();
  return part;
}

/// A table of the library that cannot be read is left out; a test sees to it that there is none.
std::vector<TuningTable> parse_shipped() {
  std::vector<TuningTable> tables;
  for (const std::string_view text : shipped_tuning_texts()) {
    Result<TuningTable> table = parse_tuning(text);
    if (!table) continue;
    for (TuningRow& row : table->rows) row.origin = TuningOrigin::shipped;
    tables.push_back(std::move(*table));
  }
  return tables;
}

/// Whether a shipped table is for the device: its names, separated by commas, are parts of the device's.
bool is_for(std::string_view names, std::string_view device) {
  constexpr std::string_view kSeparator = ", ";
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = names.find(kSeparator);
    if (device.find(names.substr(0, end)) != std::string_view::npos) return true;
    if (end != std::string_view::npos) names.remove_prefix(end + kSeparator.size());
  }
  return false;
}

}  // namespace

TuningTable empty_tuning(const DeviceInfo& device) {
  return {device.name, device.driver, std::string(version()), {}, device.gpu.measured};
}

std::string stored_path(std::string_view cache_folder, std::string_view purpose, const DeviceInfo& device) {
  const std::string file = std::string(purpose) + "-" + std::string(name(device.backend)) + "-" + file_name_part(device.name) + ".txt";
  return (std::filesystem::path(cache_folder) / file).string();
}

bool replace_file(const std::string& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::string fresh = path + "." + std::to_string(::getpid());
  std::ofstream file(fresh, std::ios::binary);
  file << text;
  file.close();
  error.clear();
  if (file) std::filesystem::rename(fresh, path, error);
  const bool is_written = file && !error;
  std::filesystem::remove(fresh, error);
  return is_written;
}

std::string tuning_path(std::string_view cache_folder, const DeviceInfo& device) {
  return stored_path(cache_folder, "tuning", device);
}

Result<TuningTable> stored_table(std::string_view cache_folder, const DeviceInfo& device) {
  TuningTable here = empty_tuning(device);
  here.rates = {};
  if (cache_folder.empty()) return here;
  const std::string path = tuning_path(cache_folder, device);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return here;
  if (std::filesystem::is_directory(path, error)) return unusable(path, "is a folder");
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return unusable(path, "cannot be read");
  Result<TuningTable> table = parse_tuning(text);
  if (!table) return unusable(path, "damaged: " + table.error().message);
  if (table->device != here.device) return unusable(path, "of another device, " + table->device);
  if (table->driver != here.driver) return unusable(path, "measured with another driver, " + table->driver);
  if (table->version != here.version) return unusable(path, "measured with another version of mollify, " + table->version);
  return std::move(*table);
}

Result<std::vector<TuningRow>> stored_tuning(std::string_view cache_folder, const DeviceInfo& device) {
  Result<TuningTable> table = stored_table(cache_folder, device);
  if (!table) return table.error();
  return std::move(table->rows);
}

std::vector<TuningRow> shipped_tuning(const DeviceInfo& device) {
  static const auto& tables = *new std::vector<TuningTable>(parse_shipped());  // never destroyed: see blur.cpp
  for (const TuningTable& table : tables) {
    if (is_for(table.device, device.name)) return table.rows;
  }
  return {};
}

}  // namespace mollify
