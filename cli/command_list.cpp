// mollify list: what there is to choose from.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "commands.h"
#include "json/json.h"
#include "mollify/build.h"
#include "mollify/mollify.h"

namespace mollify::cli {
namespace {

Json algorithms_json() {
  Json rows = Json::array();
  for (const AlgorithmInfo& algorithm : algorithms()) {
    Json options = Json::array();
    for (const OptionInfo& option : algorithm.options) {
      options.push_back({{"name", option.name},
                         {"values", std::vector<std::string>(option.values.begin(), option.values.end())},
                         {"open", option.open},
                         {"default", option.default_value},
                         {"summary", option.summary}});
    }
    rows.push_back({{"id", algorithm.id}, {"summary", algorithm.summary}, {"source", algorithm.source}, {"options", std::move(options)}});
  }
  return rows;
}

void print_algorithms() {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    fmt::print("{}\n    {}\n    source: {}\n", algorithm.id, algorithm.summary, algorithm.source);
    for (const OptionInfo& option : algorithm.options) {
      const std::string values =
          option.values.empty() ? "N" : fmt::format("{}{}", fmt::join(option.values, "|"), option.open ? "|..." : "");
      fmt::print("    :{}={}  {} [{}]\n", option.name, values, option.summary, option.default_value);
    }
  }
  // All are absent for one reason.
  if (const std::vector<AbsentAlgorithm> absent = absent_algorithms(); !absent.empty()) fmt::print("{}\n", absent.front().reason);
}

std::string_view name_of(ComponentClass component) {
  constexpr std::array<std::string_view, 4> kNames = {"unorm", "float", "int", "uint"};
  return kNames[static_cast<std::size_t>(component)];
}

Json formats_json() {
  Json rows = Json::array();
  for (const FormatInfo& format : formats()) {
    rows.push_back({{"name", format.name},
                    {"class", name_of(format.component_class)},
                    {"bits", format.bits},
                    {"channels", format.channels},
                    {"pixel_bytes", format.pixel_bytes()},
                    {"default_max_error", default_max_error(format.format)},
                    {"exact_max_error", exact_max_error(format.format)}});
  }
  return rows;
}

void print_formats() {
  fmt::print("{:<8} {:>8}  {:<16} {:>5}  {}\n", "name", "channels", "component", "bytes", "allowed error by default");
  for (const FormatInfo& format : formats()) {
    const std::string component = fmt::format("{} {} bit", name_of(format.component_class), format.bits);
    fmt::print("{:<8} {:>8}  {:<16} {:>5}  {:.2g}\n", format.name, format.channels, component, format.pixel_bytes(),
               default_max_error(format.format));
  }
}

Json borders_json() {
  Json rows = Json::array();
  for (const BorderModeInfo& border : border_modes()) {
    rows.push_back({{"name", border.name}, {"pattern", border.pattern}});
  }
  return rows;
}

void print_borders() {
  for (const BorderModeInfo& border : border_modes()) fmt::print("{:<9} {}\n", border.name, border.pattern);
}

Json devices_json() {
  Json rows = Json::array();
  for (const DeviceEntry& entry : list_devices()) {
    rows.push_back({{"open_name", entry.open_name},
                    {"backend", name(entry.info.backend)},
                    {"name", entry.info.name},
                    {"driver", entry.info.driver},
                    {"threads", entry.info.threads},
                    {"kernels", entry.info.kernels}});
  }
  return rows;
}

void print_devices() {
  for (const DeviceEntry& entry : list_devices()) {
    const bool is_cpu = entry.info.backend == Backend::cpu;
    const std::string threads = is_cpu ? fmt::format(", {} threads", entry.info.threads) : "";
    fmt::print("{:<10} {}, {}{}\n", entry.open_name, entry.info.name, entry.info.driver, threads);
  }
}

struct Table {
  const char* name;
  const char* summary;
  Json (*json)();
  void (*print)();
};

constexpr Table kTables[] = {
    {"algorithms", "How a blur can be computed, with the options of each", algorithms_json, print_algorithms},
    {"formats", "Pixel formats of the library", formats_json, print_formats},
    {"borders", "Where pixels outside the image come from", borders_json, print_borders},
    {"devices", "What can run a blur on this machine", devices_json, print_devices},
};

}  // namespace

void add_list(Command& app) {
  Command list = app.add_command("list", "Show algorithms, formats, borders or devices");
  list.require_command();
  for (const Table& table : kTables) {
    Command command = list.add_command(table.name, table.summary);
    const auto json = std::make_shared<bool>(false);
    add_json_flag(command, *json);
    command.on_run([&table, json] {
      if (*json)
        fmt::print("{}\n", table.json().dump(2));
      else
        table.print();
    });
  }
}

}  // namespace mollify::cli
