// The suites. Sizes, widths and radii are those of the articles whose charts they reproduce, see docs/benchmarking.md.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "lab/candidates.h"
#include "lab/suite.h"

namespace mollify::lab {
namespace {

using enum PixelFormat;

constexpr double kLoose = 0.02;  // of full scale: lets reduced caches and intermediates run, which declare less

bool starts_with_any(std::string_view id, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return id.starts_with(prefix); });
}

/// Wide enough for three sigma on each side.
KernelSpec gaussian_of_width(std::int32_t width) {
  const std::int32_t radius = width / 2;
  return Gaussian{{radius / 3.0, radius / 3.0}, {{radius, radius}}, {}};
}

KernelSpec open_gaussian(double sigma) {
  return Gaussian{{sigma, sigma}, {}, {}};
}

void append(std::vector<Group>& groups, Group group) {
  if (!group.cases.empty()) groups.push_back(std::move(group));
}

/// The ends first, then the middle, the middles of the halves and so on: what a run has that is cut short spans everything.
template <class T>
std::vector<T> coarse_to_fine(const std::vector<T>& values) {
  std::vector<T> ordered{values.front(), values.back()};
  std::vector<std::pair<std::size_t, std::size_t>> gaps{{0, values.size() - 1}};
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto [low, high] = gaps[i];
    if (high - low < 2) continue;
    const std::size_t middle = std::midpoint(low, high);
    ordered.push_back(values[middle]);
    gaps.insert(gaps.end(), {{low, middle}, {middle, high}});
  }
  return ordered;
}

std::vector<std::int32_t> numbers(std::int32_t first, std::int32_t last, std::int32_t step) {
  std::vector<std::int32_t> all;
  for (std::int32_t number = first; number <= last; number += step) all.push_back(number);
  return all;
}

std::vector<Group> blurs(const DeviceInfo& device) {
  const Variants variants{.takes_part = [](std::string_view id) { return starts_with_any(id, {"sep.", "nxn."}); }, .max_errors = {kLoose}};
  std::vector<Group> groups;
  for (const std::int32_t width : coarse_to_fine(numbers(3, 19, 2))) {
    for (const std::int32_t size : {4096, 512, 1024, 2048}) {
      for (const PixelFormat format : {rgba8, rgba16f, rgba32f}) {
        append(groups, make_group({gaussian_of_width(width), {size, size}, format}, variants, device));
      }
    }
  }
  return groups;
}

std::vector<Group> box(const DeviceInfo& device) {
  const Variants variants{.takes_part = [](std::string_view id) { return id.starts_with("box."); },
                          .combined = {"unroll", "intermediate"},
                          .max_errors = {kLoose}};
  std::vector<Group> groups;
  for (const std::int32_t radius : coarse_to_fine(numbers(1, 63, 1))) {
    append(groups, make_group({Box::of_radius(radius, radius), {3024, 4032}, rgba8}, variants, device));
  }
  return groups;
}

std::vector<Group> quad(const DeviceInfo& device) {
  const Variants variants{.takes_part =
                              [](std::string_view id) {
                                return starts_with_any(id, {"quad.3x3", "nxn."});
                              },
                          .max_errors = {kLoose}};
  const Matrix matrix{3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, {1, 1}, Normalization::unit_sum};
  std::vector<Group> groups;
  for (const std::int32_t size : {4096, 512, 1024, 2048}) {
    for (const PixelFormat format : {r8, rgba8, r16f, rgba16f, r32f, rgba32f}) {
      append(groups, make_group({matrix, {size, size}, format}, variants, device));
    }
  }
  return groups;
}

bool is_gaussian(std::string_view id) {
  return starts_with_any(id, {"sep.", "gauss.", "kawase."});
}

std::vector<Group> gauss(const DeviceInfo& device) {
  const Variants variants{.takes_part = is_gaussian, .options = false, .max_errors = {0.0, 1e-3, 1e-2, 0.1}, .every_accuracy = true};
  const std::vector sigmas = {0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 100.0};
  std::vector<Group> groups;
  for (const double sigma : coarse_to_fine(sigmas)) {
    for (const PixelFormat format : {rgba8, rgba32f}) {
      append(groups, make_group({open_gaussian(sigma), {2048, 2048}, format}, variants, device));
    }
  }
  return groups;
}

/// Bytes of an image that can still be verified and timed: sources, results, their copies and rotating buffers.
std::int64_t largest_image_bytes() {
  constexpr std::int64_t kCopies = 12;
  return static_cast<std::int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE) / kCopies;
}

std::vector<Group> scale(const DeviceInfo& device) {
  const auto everybody = [](std::string_view id) {
    return starts_with_any(id, {"sep.", "gauss.", "box.", "kawase."}) && !id.starts_with("box.nxn");
  };
  const Variants variants{.takes_part = everybody, .options = false, .max_errors = {kLoose, 0.1}};
  const std::int64_t most_bytes = largest_image_bytes();
  const std::int32_t longest = device.backend == Backend::cpu ? 1 << 16 : device.gpu.max_image_length;
  std::vector<Group> groups;
  for (std::int32_t size = 64; size <= longest; size *= 2) {
    for (const PixelFormat format : {rgba8, rgba32f}) {
      if (ImageDesc{size, size, format}.payload_bytes() > most_bytes) continue;
      for (const KernelSpec& kernel : {gaussian_of_width(9), open_gaussian(8.0), KernelSpec(Box::of_radius(9, 9))}) {
        append(groups, make_group({kernel, {size, size}, format}, variants, device));
      }
    }
  }
  return groups;
}

bool is_fused(std::string_view id) {
  return id == "sep.fused" || id == "gauss.decimate" || id == "box.any";
}

/// What runs as fast as memory does, in each of its forms, also those that no plan takes by itself. The kernels are those of
/// tools/gpu_table.py.
std::vector<Group> fused(const DeviceInfo& device) {
  const Variants variants{
      .takes_part = is_fused, .options = false, .combined = {"math", "form", "blur", "exchange"}, .max_errors = {kLoose}};
  std::vector<KernelSpec> kernels;
  for (const std::int32_t radius : {1, 2, 4, 9}) kernels.push_back(gaussian_of_width(2 * radius + 1));
  for (const double sigma : {5, 8, 10, 20, 50, 100}) kernels.push_back(open_gaussian(sigma));
  for (const double radius : {1, 4, 16, 32, 64, 128, 256}) kernels.push_back(Box::of_radius(radius, radius));
  std::vector<Group> groups;
  for (const std::int32_t size : {4096, 512}) {
    if (device.gpu.is_software && size > 512) continue;  // minutes for a group
    for (const KernelSpec& kernel : kernels) {
      for (const PixelFormat format : {rgba8, rgba16f, rgba32f}) {
        append(groups, make_group({kernel, {size, size}, format}, variants, device));
      }
    }
  }
  return groups;
}

/// Common Gaussians and boxes as the planner makes them, large enough that memory bounds them: the tables of speed, and what other
/// libraries take for the same.
std::vector<Group> speed(const DeviceInfo& device) {
  const bool on_gpu = device.backend != Backend::cpu;
  const Variants chosen_only{.takes_part = [](std::string_view) { return false; }};
  const std::int32_t size = device.gpu.is_software ? 512 : 4096;
  std::vector<KernelSpec> kernels;
  for (const std::int32_t radius : on_gpu ? std::vector{1, 2, 4, 9} : std::vector{1, 4, 9, 32, 64}) {
    kernels.push_back(gaussian_of_width(2 * radius + 1));
  }
  for (const std::int32_t radius : on_gpu ? std::vector{1, 4, 16, 32, 64, 128, 256} : std::vector{1, 9, 64, 128, 512}) {
    kernels.push_back(Box::of_radius(radius, radius));
  }
  for (const double sigma : on_gpu ? std::vector{5, 8, 10, 20, 50, 100} : std::vector{5, 10, 40, 200})
    kernels.push_back(open_gaussian(sigma));
  std::vector<Group> groups;
  for (const PixelFormat format : on_gpu ? std::vector{rgba8, rgba32f, rgba16f} : std::vector{rgba8, rgba32f}) {
    for (const KernelSpec& kernel : kernels) append(groups, make_group({kernel, {size, size}, format}, chosen_only, device));
  }
  return groups;
}

/// A little of everything, the most telling first: time may run out on a slow device.
std::vector<Group> quick(const DeviceInfo& device) {
  const Variants exact{.takes_part =
                           [](std::string_view id) {
                             return starts_with_any(id, {"sep.", "nxn.", "box.sep", "box.running", "box.any"});
                           },
                       .options = false};
  const Variants any{.takes_part = is_gaussian, .options = false, .max_errors = {1e-3, 0.1}, .every_accuracy = true};
  // What runs on the processor gets pictures that it can finish in time.
  const std::int32_t size = device.gpu.is_software ? 128 : device.backend == Backend::cpu ? 512 : 2048;
  std::vector<Group> groups;
  for (const std::int32_t width : {3, 9, 19}) {
    append(groups, make_group({gaussian_of_width(width), {size, size}, rgba8}, exact, device));
  }
  append(groups, make_group({open_gaussian(8.0), {size, size}, rgba8}, any, device));
  append(groups, make_group({Box::of_radius(9, 9), {size, size}, rgba8}, exact, device));
  for (const std::int32_t width : {3, 9, 19}) {
    append(groups, make_group({gaussian_of_width(width), {size, size}, rgba32f}, exact, device));
  }
  append(groups, make_group({gaussian_of_width(9), {2 * size, 2 * size}, rgba8}, exact, device));
  append(groups, make_group({gaussian_of_width(9), {size / 4, size / 4}, rgba8}, exact, device));
  append(groups, make_group({open_gaussian(24.0), {size, size}, rgba8}, any, device));
  append(groups, make_group({Box::of_radius(32, 32), {size, size}, rgba8}, exact, device));
  return groups;
}

constexpr std::array kSuites = {
    Suite{"quick", "a little of everything in under a minute", 0.05, 5, 30.0, quick},
    Suite{"speed", "common Gaussians and boxes of 4096x4096 as they are planned, beside other libraries", 0.25, 9, {}, speed},
    Suite{"blurs", "kernels of 3 to 19 pixels, 32 to 128 bits, 512 to 4096 pixels: every technique and option", 0.3, 9, {}, blurs},
    Suite{"box", "box blurs of radius 1 to 63 at 3024x4032: implementations, unrolling, intermediates", 0.3, 10, {}, box},
    Suite{"quad", "3x3 kernels of 1 and 4 channels: quad exchange beside direct and shared loads", 0.3, 9, {}, quad},
    Suite{"gauss", "Gaussians of sigma 0.5 to 100: time against measured error", 0.3, 9, {}, gauss},
    Suite{"scale", "64x64 to what the memory holds", 0.3, 9, {}, scale},
    Suite{"fused", "what runs as fast as memory does, 4096x4096 and 512x512: each form of its kernels", 0.1, 9, {}, fused},
};

}  // namespace

std::span<const Suite> suites() {
  return kSuites;
}

const Suite* find_suite(std::string_view name) {
  const auto* const found = std::ranges::find(kSuites, name, &Suite::name);
  return found == kSuites.end() ? nullptr : found;
}

}  // namespace mollify::lab
