// What the tests of the Vulkan backend share: the first Vulkan device there is, which ctest makes a software driver under
// the validation layer, and one small blur to run on it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/gpu_model.h"
#include "support.h"

namespace mollify::test {

inline constexpr std::array kStorages = {"nxn.direct:storage=image", "nxn.direct:storage=buffer"};
inline const ImageDesc kDesc{61, 47, PixelFormat::rgba8};
inline const BlurSpec kSpec = spec_of(Gaussian{{1.0, 1.5}, {}, {}});

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? "no error" : result.error().message;
}

inline PlanOptions with(std::string_view algorithm, Overlap overlap = Overlap::none) {
  PlanOptions options;
  if (!algorithm.empty()) options.algorithm = must(parse_algorithm(algorithm));
  options.overlap = overlap;
  return options;
}

/// Groups of a pass for each processor of the device.
inline double groups_a_processor(const Pass& pass, const DeviceInfo& device) {
  const auto count = [](std::int32_t size, std::int32_t tile) { return (size + tile - 1) / tile; };
  return static_cast<double>(count(pass.size.x, pass.tile.x)) * count(pass.size.y, pass.tile.y) / gpu_model(device).multiprocessors.count;
}

inline const Device& gpu() {
  static const Device kDevice = must(Device::open("vulkan"));
  return kDevice;
}

inline Executable prepared_on(const Device& device, std::string_view algorithm, const BlurSpec& spec = kSpec, const ImageDesc& desc = kDesc,
                              Overlap overlap = Overlap::none) {
  const ImageDesc dst = destination_desc(spec, desc, desc.format);
  return must(device.prepare(must(make_plan(spec, desc, dst, device.info(), with(algorithm, overlap)))));
}

inline Pixels run(const Executable& executable, const Pixels& src) {
  Workspace workspace = must(executable.make_workspace());
  Pixels result(executable.plan().dst);
  if (Status s = executable.run(src.view(), result.view(), workspace); !s) throw std::runtime_error(s.error().message);
  return result;
}

/// A case as `mollify verify` names it.
inline void expect_case_passes(const std::string& text) {
  const Result<cases::Case> c = cases::parse_case(text);
  ASSERT_TRUE(c.ok()) << text << ": " << message_of(c);
  expect_pass(*c, gpu());
}

}  // namespace mollify::test
