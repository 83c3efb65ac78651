#include "model/hosts.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

constexpr std::string_view kThreads = "threads=";
constexpr std::string_view kBus = "bus_bytes_per_second=";
constexpr std::string_view kSeconds = "seconds_for_predicted=";
constexpr std::string_view kProcessor = "processor=";  // the last one, since names have spaces

std::string header(const DeviceInfo& gpu) {
  return "mollify hosts 1\ndevice " + gpu.name + "\ndriver " + gpu.driver + "\nmollify " + std::string(version()) + "\n";
}

/// Takes `name` and the number behind it off the line, and the space behind that.
template <class T>
bool take(std::string_view& line, std::string_view name, T& value) {
  if (!line.starts_with(name)) return false;
  const char* const begin = line.data() + name.size();
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop == end || *stop != ' ') return false;
  line.remove_prefix(static_cast<std::size_t>(stop + 1 - line.data()));
  return true;
}

std::optional<HostRates> read_host(std::string_view line) {
  HostRates host;
  if (!take(line, kThreads, host.threads) || !take(line, kBus, host.bus_bytes_per_second) ||
      !take(line, kSeconds, host.seconds_for_predicted) || !line.starts_with(kProcessor)) {
    return std::nullopt;
  }
  host.processor = line.substr(kProcessor.size());
  const bool makes_sense = host.threads > 0 && std::isfinite(host.bus_bytes_per_second) && host.bus_bytes_per_second > 0.0 &&
                           std::isfinite(host.seconds_for_predicted) && host.seconds_for_predicted > 0.0;
  return makes_sense ? std::optional(std::move(host)) : std::nullopt;
}

}  // namespace

std::string host_name(const DeviceInfo& cpu) {
  return cpu.name + ", " + cpu.driver;
}

std::string to_text(const std::vector<HostRates>& hosts, const DeviceInfo& gpu) {
  constexpr int kDigits = 4;  // as other measured rates have
  std::string text = header(gpu);
  for (const HostRates& host : hosts) {
    text += std::string(kThreads) + std::to_string(host.threads) + " " + std::string(kBus) + number(host.bus_bytes_per_second, kDigits) +
            " " + std::string(kSeconds) + number(host.seconds_for_predicted, kDigits) + " " + std::string(kProcessor) + host.processor +
            "\n";
  }
  return text;
}

std::optional<std::vector<HostRates>> parse_hosts(std::string_view text, const DeviceInfo& gpu) {
  const std::string wanted = header(gpu);
  if (!text.starts_with(wanted)) return std::nullopt;
  text.remove_prefix(wanted.size());
  std::vector<HostRates> hosts;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::optional<HostRates> host = read_host(text.substr(0, end));
    if (!host) return std::nullopt;
    hosts.push_back(*std::move(host));
    text.remove_prefix(end + 1);
  }
  return hosts;
}

}  // namespace mollify
