#include "golden/devices.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "backends/cpu/pipeline.h"
#include "backends/cuda/kernels/ids.h"
#include "backends/vulkan/pipeline.h"

namespace mollify::golden {
namespace {

/// A set of pixel formats: bit i stands for PixelFormat i.
struct FormatSet {
  std::uint32_t& bits;
};

/// Calls `visit(name, value)` for each field of a device of this backend, in the order of the file.
template <class Visit>
void for_each_field(DeviceInfo& device, const Visit& visit) {
  visit("name", device.name);
  visit("driver", device.driver);
  if (device.backend == Backend::cpu) {
    visit("threads", device.threads);
    visit("l2_bytes", device.l2_bytes);
    visit("llc_bytes", device.llc_bytes);
    return;
  }
  GpuInfo& gpu = device.gpu;
  visit("is_software", gpu.is_software);
  visit("subgroup_size", gpu.subgroup_size);
  visit("quad_operations", gpu.quad_operations);
  visit("tf32_matrices", gpu.tf32_matrices);
  visit("float16_arithmetic", gpu.float16_arithmetic);
  visit("shuffle_operations", gpu.shuffle_operations);
  visit("matrix_operations", gpu.matrix_operations);
  visit("matrix_conversions", gpu.matrix_conversions);
  visit("small_matrices", gpu.small_matrices);
  visit("byte_matrices", gpu.byte_matrices);
  visit("halves_overflow_only", gpu.halves_overflow_only);
  visit("small_storage", gpu.small_storage);
  visit("shared_bytes", gpu.shared_bytes);
  visit("multiprocessors.count", gpu.multiprocessors.count);
  visit("multiprocessors.schedulers", gpu.multiprocessors.schedulers);
  visit("multiprocessors.subgroup_size", gpu.multiprocessors.subgroup_size);
  visit("multiprocessors.max_threads", gpu.multiprocessors.max_threads);
  visit("multiprocessors.registers", gpu.multiprocessors.registers);
  visit("multiprocessors.shared_bytes", gpu.multiprocessors.shared_bytes);
  visit("max_group_invocations", gpu.max_group_invocations);
  visit("max_group.x", gpu.max_group.x);
  visit("max_group.y", gpu.max_group.y);
  visit("max_group_count.x", gpu.max_group_count.x);
  visit("max_group_count.y", gpu.max_group_count.y);
  visit("max_image_length", gpu.max_image_length);
  visit("max_buffer_bytes", gpu.max_buffer_bytes);
  visit("max_uniform_bytes", gpu.max_uniform_bytes);
  visit("linear_fraction_bits", gpu.linear_fraction_bits);
  visit("sampled_formats", FormatSet{gpu.sampled_formats});
  visit("linear_formats", FormatSet{gpu.linear_formats});
  visit("storage_formats", FormatSet{gpu.storage_formats});
  visit("measured.bytes_per_second", gpu.measured.bytes_per_second);
  visit("measured.operations_per_second", gpu.measured.operations_per_second);
  visit("measured.launch_seconds", gpu.measured.launch_seconds);
  visit("measured.shared_per_second", gpu.measured.shared_per_second);
  visit("measured.waits_per_second", gpu.measured.waits_per_second);
}

std::string text_of(const std::string& value) {
  return value;
}
std::string text_of(bool value) {
  return value ? "yes" : "no";
}
std::string text_of(std::int64_t value) {
  return std::to_string(value);
}
std::string text_of(std::int32_t value) {
  return std::to_string(value);
}
std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}
std::string text_of(FormatSet set) {
  std::string text;
  for (const FormatInfo& format : formats()) {
    if ((set.bits >> static_cast<unsigned>(format.format) & 1U) == 0) continue;
    if (!text.empty()) text += " ";
    text += format.name;
  }
  return text;
}

[[noreturn]] void refuse(std::string_view value) {
  throw std::runtime_error("\"" + std::string(value) + "\" is not a value of this field");
}

void read(std::string_view text, std::string& value) {
  value = text;
}
void read(std::string_view text, bool& value) {
  if (text != "yes" && text != "no") refuse(text);
  value = text == "yes";
}
template <class Number>
requires std::is_arithmetic_v<Number>
void read(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse(text);
}
void read(std::string_view text, FormatSet set) {
  set.bits = 0;
  std::istringstream names{std::string(text)};
  for (std::string word; names >> word;) {
    bool is_known = false;
    for (const FormatInfo& format : formats()) {
      if (format.name != word) continue;
      set.bits |= 1U << static_cast<unsigned>(format.format);
      is_known = true;
    }
    if (!is_known) refuse(word);
  }
}

Backend backend_of(std::string_view text) {
  for (const Backend backend : {Backend::cpu, Backend::vulkan, Backend::cuda}) {
    if (name(backend) == text) return backend;
  }
  refuse(text);
}

std::vector<std::string> kernels_of(Backend backend) {
  if (backend == Backend::cuda) return {cuda::kKernelIds.begin(), cuda::kKernelIds.end()};
  return backend == Backend::cpu ? cpu::kernel_ids() : vulkan::kernel_ids();
}

void read_field(DeviceInfo& device, std::string_view field, std::string_view text) {
  if (field == "backend") {
    device.backend = backend_of(text);
    device.kernels = kernels_of(device.backend);
    return;
  }
  bool is_known = false;
  for_each_field(device, [&](std::string_view known, auto&& value) {
    if (known != field) return;
    read(text, value);
    is_known = true;
  });
  if (!is_known) throw std::runtime_error("a device of this backend has no field \"" + std::string(field) + "\"");
}

}  // namespace

std::vector<DescribedDevice> read_devices(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<DescribedDevice> devices;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string field = line.substr(0, space);
    const std::string text = line.substr(std::min(space + 1, line.size()));
    try {
      if (field == "device") {
        devices.push_back({text, {}});
      } else if (!devices.empty()) {
        read_field(devices.back().info, field, text);
      } else {
        throw std::runtime_error("the first line is not that of a device");
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(path + ": " + line + ": " + error.what());
    }
  }
  return devices;
}

std::string describe(const std::string& id, DeviceInfo device) {
  std::string text = "device " + id + "\nbackend " + std::string(name(device.backend)) + "\n";
  for_each_field(device, [&](std::string_view field, auto&& value) { text += std::string(field) + " " + text_of(value) + "\n"; });
  return text;
}

}  // namespace mollify::golden
