#include "model/hosts.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

constexpr std::string_view kThreads = "threads=";
constexpr std::string_view kBus = "bus_bytes_per_second=";
constexpr std::string_view kGpuCall = "gpu_call_seconds=";
constexpr std::string_view kSeconds = "seconds_for_predicted=";
constexpr std::string_view kCpuCall = "cpu_call_seconds=";
constexpr std::string_view kProcessor = "processor=";  // the last one, since names have spaces

std::string header(const DeviceInfo& gpu) {
  return "mollify hosts 3\ndevice " + gpu.name + "\ndriver " + gpu.driver + "\nmollify " + std::string(version()) + "\n";
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
  if (!take(line, kThreads, host.threads) || !take(line, kBus, host.bus_bytes_per_second) || !take(line, kGpuCall, host.gpu_call_seconds) ||
      !take(line, kSeconds, host.seconds_for_predicted) || !take(line, kCpuCall, host.cpu_call_seconds) || !line.starts_with(kProcessor)) {
    return std::nullopt;
  }
  host.processor = line.substr(kProcessor.size());
  const auto is_positive = [](double figure) { return std::isfinite(figure) && figure > 0.0; };
  const bool makes_sense = host.threads > 0 && is_positive(host.bus_bytes_per_second) && is_positive(host.gpu_call_seconds) &&
                           is_positive(host.seconds_for_predicted) && is_positive(host.cpu_call_seconds);
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
    text += std::string(kThreads) + std::to_string(host.threads);
    for (const auto& [name, figure] : {std::pair(kBus, host.bus_bytes_per_second), std::pair(kGpuCall, host.gpu_call_seconds),
                                       std::pair(kSeconds, host.seconds_for_predicted), std::pair(kCpuCall, host.cpu_call_seconds)}) {
      text += " " + std::string(name) + number(figure, kDigits);
    }
    text += " " + std::string(kProcessor) + host.processor + "\n";
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
