#include "support.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "backends/cuda/kernels/ids.h"
#include "cases/source.h"
#include "reference/pixel.h"
#ifdef MOLLIFY_VULKAN
#include "backends/vulkan/pipeline.h"
#endif

namespace mollify::test {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

}  // namespace

Pixels::Pixels(const ImageDesc& desc) : desc_(desc), bytes_(static_cast<std::size_t>(desc.payload_bytes())) {}

Pixels Pixels::random(const ImageDesc& desc, std::uint64_t seed, const BlurSpec& spec) {
  Pixels pixels(desc);
  cases::fill_random(pixels.view(), spec, seed);
  return pixels;
}

Pixels Pixels::constant(const ImageDesc& desc, double value) {
  Pixels pixels(desc);
  for (std::int32_t y = 0; y < desc.height; ++y) {
    for (std::int32_t x = 0; x < desc.width; ++x) {
      for (int c = 0; c < info(desc.format).channels; ++c) pixels.set(x, y, c, value);
    }
  }
  return pixels;
}

double Pixels::at(std::int32_t x, std::int32_t y, int channel) const {
  const FormatInfo& format = info(desc_.format);
  return reference::load_pixel(format, view().row(y) + std::ptrdiff_t{x} * format.pixel_bytes())[channel];
}

void Pixels::set(std::int32_t x, std::int32_t y, int channel, double value) {
  cases::store(view(), x, y, channel, value);
}

const Device& cpu(std::int32_t threads) {
  static std::mutex mutex;
  static std::map<std::int32_t, Device> devices;
  const std::lock_guard lock(mutex);
  const auto found = devices.find(threads);
  if (found != devices.end()) return found->second;
  return devices.emplace(threads, must(Device::open("cpu", {threads}))).first->second;
}

DeviceInfo fake_gpu(bool is_software) {
  DeviceInfo device;
  device.backend = Backend::vulkan;
  device.name = is_software ? "Imaginary software GPU" : "Imaginary GPU";
  device.driver = "none";
  GpuInfo& gpu = device.gpu;
  gpu.is_software = is_software;
  gpu.subgroup_size = 8;
  gpu.quad_operations = true;
  gpu.shuffle_operations = true;
  gpu.float16_arithmetic = true;
  gpu.small_storage = true;
  gpu.shared_bytes = 32 << 10;
  gpu.max_group_invocations = 1024;
  gpu.max_group = {1024, 1024};
  gpu.max_group_count = {65535, 65535};
  gpu.max_image_length = 16384;
  gpu.max_buffer_bytes = 128 << 20;
  gpu.max_uniform_bytes = 64 << 10;
  gpu.linear_fraction_bits = 8;
  for (const FormatInfo& format : formats()) {
    if (format.channels != 3 && !format.is_wide()) gpu.sampled_formats |= 1U << static_cast<unsigned>(format.format);
  }
  gpu.linear_formats = gpu.storage_formats = gpu.sampled_formats;
#ifdef MOLLIFY_VULKAN
  device.kernels = vulkan::kernel_ids();
#endif
  return device;
}

DeviceInfo fake_matrix_gpu() {
  DeviceInfo device = fake_gpu(false);
  device.name = "Imaginary GPU with matrices";
  device.gpu.subgroup_size = 32;
  device.gpu.matrix_operations = true;
  device.gpu.matrix_conversions = true;
  device.gpu.small_matrices = true;
  device.gpu.byte_matrices = true;
  device.gpu.shared_bytes = 48 << 10;
  return device;
}

DeviceInfo fake_h200() {
  DeviceInfo device = fake_matrix_gpu();
  device.name = "NVIDIA H200";
  device.gpu.max_buffer_bytes = std::int64_t{1} << 30;
  return device;
}

DeviceInfo fake_cuda() {
  DeviceInfo device;
  device.backend = Backend::cuda;
  device.name = "NVIDIA H200";
  device.driver = "CUDA 13.0";
  device.kernels.assign(cuda::kKernelIds.begin(), cuda::kKernelIds.end());
  device.gpu.subgroup_size = 32;
  device.gpu.small_storage = true;
  device.gpu.tf32_matrices = true;
  device.gpu.shared_bytes = 227 << 10;
  device.gpu.max_group_invocations = 1024;
  device.gpu.max_group = {1024, 1024};
  device.gpu.max_group_count = {1 << 30, 1 << 30};
  device.gpu.max_buffer_bytes = std::int64_t{140} << 30;
  device.gpu.multiprocessors = {132, 4, 32, 2048, 65536, 228 << 10};
  return device;
}

Executable prepared(const BlurSpec& spec, const ImageDesc& src, const How& how) {
  PlanOptions options;
  if (!how.algorithm.id.empty()) options.algorithm = how.algorithm;
  const Device& device = cpu(how.threads);
  const Plan plan = must(make_plan(spec, src, destination_desc(spec, src, how.format), device.info(), options));
  return must(device.prepare(plan));
}

Pixels blurred(const BlurSpec& spec, const ConstImageView& src, const How& how) {
  const Executable executable = prepared(spec, src.desc, how);
  Workspace workspace = must(executable.make_workspace());
  Pixels result(executable.plan().dst);
  if (Status status = executable.run(src, result.view(), workspace); !status) {
    throw std::runtime_error(status.error().message);
  }
  return result;
}

Pixels cropped(const Pixels& image, const Rect& rect) {
  Pixels result({rect.width, rect.height, image.desc().format});
  const ConstImageView from = crop(image.view(), rect);
  for (std::int32_t y = 0; y < rect.height; ++y) {
    std::memcpy(result.view().row(y), from.row(y), static_cast<std::size_t>(result.desc().row_payload_bytes()));
  }
  return result;
}

void expect_pass(const cases::Case& c, const Device& device) {
  const cases::CaseResult result = cases::run_case(device, c);
  EXPECT_EQ(result.outcome, cases::Outcome::pass) << cases::name(c) << "\n  " << result.message;
}

std::vector<KernelSpec> sample_kernels() {
  return {Gaussian{{1.5, 3.0}, {}, {}},
          Box::of_radius(3, 2),
          Box{{{1.5, 2.0}, {0.25, 3.0}}},
          Tent{{2.0, 3.5}},
          Taps{{{-0.25, 1.5, -0.25, 0.5}, 1}, {{0.5, 0.75, -0.25}, 2}, Normalization::none},
          Matrix{3, 2, {1, 2, 3, -1, 5, 2}, {2, 0}, Normalization::unit_sum}};
}

BlurSpec spec_of(const KernelSpec& kernel, BorderMode mode) {
  BlurSpec spec;
  spec.kernel = kernel;
  spec.border.mode = {mode, mode};
  return spec;
}

}  // namespace mollify::test
