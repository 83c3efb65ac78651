// vulkan::Recorder on batches: images at equal distances in one dispatch, all others in one each, and the same bits as alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vulkan_engine_support.h"
#include "vulkan_spy.h"

namespace mollify::test {
namespace {

/// Where the images of a batch lie in one buffer, in pixels.
struct Layout {
  std::int32_t row_gap = 0;     ///< between rows, on both sides
  std::int64_t source_gap = 0;  ///< between images
  std::int64_t result_gap = 0;
  std::vector<std::size_t> shifted{};  ///< whose results lie 64 pixels later than the others'
};

/// Sources and results of a batch in one buffer of the host, poison everywhere else.
class HostBatch {
 public:
  HostBatch(Engine& engine, const ImageDesc& desc, std::size_t count, const Layout& layout)
      : desc_(desc), count_(count), layout_(layout), host_(engine, bytes()), expected_(bytes(), kPoison) {
    std::memcpy(host_.pixels, expected_.data(), bytes());
    for (std::size_t i = 0; i < count; ++i) {
      sources_.push_back(Pixels::random(desc, i + 1));
      put(sources_[i], source(i), host_.pixels);
      put(sources_[i], source(i), expected_.data());
    }
  }

  [[nodiscard]] std::vector<vulkan::Target> targets() const {
    std::vector<vulkan::Target> batch;
    const std::int64_t row = row_pixels() * pixel();
    for (std::size_t i = 0; i < count_; ++i) {
      batch.push_back({vulkan::BufferResource{host_.buffer, source(i), row}, vulkan::BufferResource{host_.buffer, result(i), row}});
    }
    return batch;
  }

  /// Every byte of the buffer is what blurring each image alone makes it, or what it was.
  void expect_blurred_by(const Executable& executable) {
    for (std::size_t i = 0; i < count_; ++i) put(run(executable, sources_[i]), result(i), expected_.data());
    const auto wrong = std::mismatch(expected_.begin(), expected_.end(), host_.pixels).first - expected_.begin();
    EXPECT_EQ(static_cast<VkDeviceSize>(wrong), bytes()) << "first wrong byte; results begin at byte " << result(0);
  }

 private:
  static constexpr std::byte kPoison{0x77};

  [[nodiscard]] std::int64_t pixel() const { return info(desc_.format).pixel_bytes(); }
  [[nodiscard]] std::int64_t row_pixels() const { return desc_.width + layout_.row_gap; }
  [[nodiscard]] VkDeviceSize place(std::size_t i, std::int64_t gap) const {
    return static_cast<VkDeviceSize>(static_cast<std::int64_t>(i) * (row_pixels() * desc_.height + gap) * pixel());
  }
  [[nodiscard]] VkDeviceSize source(std::size_t i) const { return place(i, layout_.source_gap); }
  [[nodiscard]] VkDeviceSize result(std::size_t i) const {
    const VkDeviceSize begin = (source(count_) + 4095) / 4096 * 4096;
    const VkDeviceSize shift = std::ranges::count(layout_.shifted, i) * 64 * pixel();
    return begin + place(i, layout_.result_gap) + shift;
  }
  [[nodiscard]] VkDeviceSize bytes() const { return result(count_) + 4096; }

  void put(const Pixels& pixels, VkDeviceSize at, std::byte* to) const {
    for (std::int32_t y = 0; y < desc_.height; ++y) {
      std::memcpy(to + at + y * row_pixels() * pixel(), pixels.view().row(y), static_cast<std::size_t>(desc_.row_payload_bytes()));
    }
  }

  ImageDesc desc_;
  std::size_t count_;
  Layout layout_;
  HostBuffer host_;
  std::vector<std::byte> expected_;
  std::vector<Pixels> sources_;
};

using Layers = std::vector<std::uint32_t>;

/// Blurs the batch by one recorder, in scratch of as much as it says it needs, and gives the layers of its dispatches.
Layers run_batch(Engine& engine, const Executable& executable, std::span<const vulkan::Target> targets) {
  const vulkan::ScratchNeeds needs = must(vulkan::scratch_needs(executable, static_cast<std::int32_t>(targets.size())));
  vulkan::Scratch scratch;
  if (needs.size > 0) scratch.memory = engine.allocate({needs.size, needs.alignment, needs.memory_type_bits}, 0);
  const vulkan::Recorder recorder = must(vulkan::Recorder::create(executable, targets, scratch));
  Spy::look();
  engine.run([&](VkCommandBuffer commands) {
    recorder.record(commands);
    host_barrier(engine, commands);
  });
  return Spy::look();
}

struct BatchWay {
  std::string algorithm;
  TransferFunction transfer = TransferFunction::none;
  std::optional<KernelSpec> kernel{};  ///< else the first that the algorithm takes
};

/// Every algorithm, and forms whose kernels are others.
std::vector<BatchWay> ways_on_buffers() {
  std::vector<BatchWay> ways;
  for (const AlgorithmInfo& algorithm : algorithms()) ways.push_back({std::string(algorithm.id) + ":storage=buffer"});
  for (const char* form : {"box.any:form=column_sums,sums=u32", "box.any:form=column_sums,sums=f32", "box.any:form=four_corner",
                           "box.any:form=four_corner,sums=f32", "box.any:form=row_segments", "sep.fused:exchange=shuffle",
                           "sep.fused:math=half", "gauss.decimate:read_pixels=4,write_pixels=4", "gauss.decimate:blur=tiles",
                           "gauss.decimate:blur=upsample", "gauss.decimate:blur=strips"}) {
    ways.push_back({form});
  }
  // Pixels that are decoded have kernels of their own.
  for (const char* form : {"gauss.decimate:storage=buffer", "box.any:form=four_corner"}) ways.push_back({form, TransferFunction::srgb});
  // Bands begin with their own pixels, or with cells.
  for (const char* sums : {"u16x2", "u32", "f32"}) {
    for (const double radius : {1.0, 90.0}) {
      const std::string algorithm = std::string("box.any:form=row_segments,sums=") + sums;
      ways.push_back({algorithm, TransferFunction::none, Box::of_radius(2, radius)});
    }
  }
  return ways;
}

/// Of the first blur that the way can take, made for so many images.
Result<Plan> plan_of(const BatchWay& way, const ImageDesc& desc, const DeviceInfo& device, std::int32_t images) {
  Result<Plan> plan = Error{};
  std::vector<KernelSpec> kernels{Box::of_radius(1, 1), Gaussian{{5.0, 5.0}, {}, {}},
                                  Matrix{3, 3, {1, 0, 2, 0, 3, 0, 2, 0, 1}, {1, 1}, Normalization::unit_sum}};
  if (way.kernel) kernels = {*way.kernel};
  for (const KernelSpec& kernel : kernels) {
    BlurSpec spec = spec_of(kernel, BorderMode::mirror);
    spec.accuracy.max_error = 0.5;
    spec.transfer = way.transfer;
    PlanOptions options = with(way.algorithm);
    options.batch = images;
    plan = make_plan(spec, desc, desc, device, options);
    if (plan) break;
  }
  return plan;
}

class Batches : public testing::TestWithParam<PixelFormat> {};

/// Images with gaps of any number of pixels between them, which begin in the middle of words and spans; some rows are whole
/// spans and some are not. Their plans are made for one image or for as many as there are.
TEST_P(Batches, AreOneDispatchAPass) {
  Engine engine;
  const Spy spy(engine);
  const Device device = must(vulkan::adopt(engine.lent));
  // These read images, multiply matrices, which no software driver does, or have no images at all.
  std::set<std::string> missing(device.info().kernels.begin(), device.info().kernels.end());
  for (const char* kernel : {"box_nxn_linear", "box_sep_linear", "gauss_linear", "gauss_decimate_coopmat", "sep_fused_coopmat",
                             "sep_fused_coopmat_direct", "copy"}) {
    missing.erase(kernel);
  }
  // Sums of integers need no mending. Those of floats behind a transfer function cannot be mended, so corners are refused there, and whole
  // spans of pixels have kernels of their own.
  if (info(GetParam()).is_unorm()) {
    missing.erase("box_mend");
  } else {
    missing.erase("box_block_sums");
    missing.erase("box_four_corner");
  }
  struct Images {
    ImageDesc desc;
    Layout layout;
    std::int32_t planned;
  };
  for (const BatchWay& way : ways_on_buffers()) {
    for (const auto& [desc, layout, planned] :
         {Images{{61, 47, GetParam()}, {3, 5, 7, {}}, 3}, Images{{1104, 16, GetParam()}, {0, 6, 34, {}}, 1}}) {
      const Result<Plan> plan = plan_of(way, desc, device.info(), planned);
      if (!plan) continue;
      SCOPED_TRACE(way.algorithm + ", " + std::to_string(desc.width) + " wide");
      const Executable executable = must(device.prepare(*plan));
      HostBatch batch(engine, desc, 3, layout);
      EXPECT_EQ(run_batch(engine, executable, batch.targets()), Layers(plan->passes.size(), 3));
      batch.expect_blurred_by(executable);
      for (const Pass& pass : plan->passes) missing.erase(pass.kernel);
    }
  }
  EXPECT_EQ(missing, std::set<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Vulkan, Batches,
                         testing::Values(PixelFormat::r8, PixelFormat::rgb8, PixelFormat::rgba8, PixelFormat::rgba16f,
                                         PixelFormat::rgba32f),
                         [](const auto& test) { return std::string(mollify::info(test.param).name); });

/// The layers of the dispatches of `count` images, which must come out right.
Layers layers_of(Engine& engine, const Executable& executable, std::size_t count, const Layout& layout) {
  HostBatch batch(engine, kDesc, count, layout);
  Layers layers = run_batch(engine, executable, batch.targets());
  batch.expect_blurred_by(executable);
  return layers;
}

constexpr std::string_view kOnePass = "nxn.direct:storage=buffer";
constexpr std::string_view kTwoPasses = "sep.direct:storage=buffer,intermediate=rgba16";
/// Pixels after an image of kDesc, or of rows that are two pixels longer, so that any device can bind the next one.
constexpr std::int64_t kToAlign = 2880 - 61 * 47;
constexpr std::int64_t kToAlignLonger = 3008 - 63 * 47;

TEST(VulkanBatch, EqualDistancesShareADispatch) {
  Engine engine;
  const Spy spy(engine);
  const Executable executable = prepared_on(must(vulkan::adopt(engine.lent)), kTwoPasses);
  const auto layers = [&](std::size_t count, const Layout& layout) { return layers_of(engine, executable, count, layout); };
  EXPECT_EQ(layers(1, {}), (Layers{1, 1}));
  EXPECT_EQ(layers(5, {0, 5, kToAlign, {}}), (Layers{5, 5}));
  EXPECT_EQ(layers(5, {0, kToAlign, kToAlign + 64, {3, 4}}), (Layers{3, 2, 3, 2}));
  EXPECT_EQ(layers(4, {0, kToAlign, kToAlign + 64, {1}}), (Layers{2, 2, 2, 2}));
}

TEST(VulkanBatch, WhatHasNoDistanceInPixelsDoesNotShareADispatch) {
  Engine engine;
  const Spy spy(engine);
  const Device device = must(vulkan::adopt(engine.lent));
  const Executable executable = prepared_on(device, kOnePass);
  const std::vector<vulkan::Target> targets = HostBatch(engine, kDesc, 4, {2, kToAlignLonger, kToAlignLonger, {}}).targets();
  EXPECT_EQ(run_batch(engine, executable, targets), (Layers{4}));
  std::vector<vulkan::Target> changed = targets;
  std::get<vulkan::BufferResource>(changed[2].source).row_bytes -= 4;
  EXPECT_EQ(run_batch(engine, executable, changed), (Layers{2, 1, 1}));
  changed = targets;
  std::ranges::reverse(changed);
  EXPECT_EQ(run_batch(engine, executable, changed), (Layers{1, 1, 1, 1}));
  const ImageDesc three_bytes{61, 47, PixelFormat::rgb8};
  changed = HostBatch(engine, three_bytes, 3, {0, kToAlign, kToAlign, {}}).targets();
  for (std::size_t i = 0; i < changed.size(); ++i) std::get<vulkan::BufferResource>(changed[i].source).offset = i * 8704;
  EXPECT_EQ(run_batch(engine, prepared_on(device, kOnePass, kSpec, three_bytes), changed), (Layers{1, 1, 1}));
}

/// What no grid or no binding of the device can hold goes into several dispatches.
TEST(VulkanBatch, LimitsOfTheDeviceAreKept) {
  Engine engine;
  const Spy spy(engine);
  const auto layers = [&](std::string_view algorithm, const Layout& layout) {
    return layers_of(engine, prepared_on(must(vulkan::adopt(engine.lent)), algorithm), 5, layout);
  };
  const Layout aligned{0, kToAlign, kToAlign, {}};
  Spy::limits.maxComputeWorkGroupCount[2] = 2;
  EXPECT_EQ(layers(kOnePass, aligned), (Layers{2, 2, 1}));
  EXPECT_EQ(layers(kTwoPasses, aligned), (Layers{2, 2, 1, 2, 2, 1}));
  Spy::limits.maxComputeWorkGroupCount[2] = 65535;

  // Four images, or two of twice the size between passes.
  Spy::limits.maxStorageBufferRange = 4 * 2880 * 4 + 2048;
  EXPECT_EQ(layers(kOnePass, aligned), (Layers{4, 1}));
  EXPECT_EQ(layers(kTwoPasses, aligned), (Layers{2, 2, 1, 2, 2, 1}));
  Spy::limits.maxStorageBufferRange = 3 * 2880 * 4;
  EXPECT_EQ(layers(kOnePass, aligned), (Layers{3, 2}));
  // Only every other image can begin a binding.
  Spy::limits.minStorageBufferOffsetAlignment = 64;
  EXPECT_EQ(layers(kOnePass, {0, kToAlign - 8, kToAlign, {}}), (Layers{2, 3}));
}

/// Where a grid ends, the next dispatch begins with an image that can: the 64th, though the grid takes 70.
TEST(VulkanBatch, GridsEndWhereTheNextCanBegin) {
  Engine engine;
  const Spy spy(engine);
  Spy::limits.minStorageBufferOffsetAlignment = 64;
  Spy::limits.maxComputeWorkGroupCount[2] = 70;
  const Device device = must(vulkan::adopt(engine.lent));
  EXPECT_EQ(layers_of(engine, prepared_on(device, kOnePass), 80, {}), (Layers{64, 16}));
  EXPECT_EQ(layers_of(engine, prepared_on(device, kTwoPasses), 80, {}), (Layers{64, 16, 64, 16}));
}

TEST(VulkanBatch, WhereADispatchBeginsIsAligned) {
  Engine engine;
  const Spy spy(engine);
  Spy::limits.minStorageBufferOffsetAlignment = 64;
  const Executable executable = prepared_on(must(vulkan::adopt(engine.lent)), kOnePass);
  std::vector<vulkan::Target> targets = HostBatch(engine, kDesc, 3, {0, kToAlign - 8, kToAlign, {}}).targets();
  EXPECT_EQ(message_of(vulkan::Recorder::create(executable, targets)), "no error");
  std::ranges::reverse(targets);
  EXPECT_EQ(message_of(vulkan::Recorder::create(executable, targets)),
            "the source begins at byte 11488, which is no multiple of the device's 64");
}

/// Of image i of a batch in one buffer: sources in its lower half, results in the upper.
vulkan::Target target(const HostBuffer& host, VkDeviceSize i) {
  return {vulkan::BufferResource{host.buffer, i << 14, 0}, vulkan::BufferResource{host.buffer, (1 << 16) + (i << 14), 0}};
}

TEST(VulkanBatch, PipelinesSayWhetherAccessesAreChecked) {
  Engine engine;
  const Spy spy(engine);
  VkPhysicalDeviceFeatures2 enabled = *engine.lent.enabled_features;
  VkPhysicalDevicePipelineRobustnessFeaturesEXT robustness{};
  robustness.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT;
  robustness.pipelineRobustness = VK_TRUE;
  robustness.pNext = std::exchange(enabled.pNext, &robustness);
  engine.lent.enabled_features = &enabled;
  const auto checks_of = [&](std::string_view algorithm) {
    Spy::checks.clear();
    const Device device = must(vulkan::adopt(engine.lent));
    EXPECT_EQ(message_of(device.prepare(must(make_plan(spec_of(Box::of_radius(5, 5)), kDesc, kDesc, device.info(), with(algorithm))))),
              "no error");
    return std::set(Spy::checks.begin(), Spy::checks.end());
  };
  const std::set checked{VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT};
  const std::set unchecked{VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT};
  std::set both = checked;
  both.insert(unchecked.begin(), unchecked.end());
  EXPECT_EQ(checks_of("box.any:form=four_corner"), both) << "corners are checked, cells are not";
  EXPECT_EQ(checks_of("sep.direct:storage=buffer"), unchecked);
  robustness.pipelineRobustness = VK_FALSE;
  EXPECT_TRUE(checks_of("sep.direct:storage=buffer").empty()) << "the device has no such choice";
}

TEST(VulkanBatch, BatchesAreBlurredAsTheirImagesAre) {
  Engine engine;
  const Device device = must(vulkan::adopt(engine.lent));
  for (const std::string& algorithm : {std::string(kStorages[1]), algorithm_with_intermediates(device.info())}) {
    SCOPED_TRACE(algorithm);
    const Executable executable = prepared_on(device, algorithm);
    const HostBuffer host(engine);
    const auto bytes = static_cast<std::size_t>(kDesc.payload_bytes());
    std::vector<vulkan::Target> batch;
    std::vector<Pixels> sources;
    for (std::size_t i = 0; i < 3; ++i) {
      sources.push_back(Pixels::random(kDesc, i + 1));
      std::memcpy(host.pixels + (i << 14), sources[i].view().row(0), bytes);
      batch.push_back(target(host, i));
    }
    const vulkan::Recorder recorder = must(vulkan::Recorder::create(executable, batch));
    engine.run([&](VkCommandBuffer commands) {
      recorder.record(commands);
      host_barrier(engine, commands);
    });
    for (std::size_t i = 0; i < 3; ++i) {
      Pixels result(kDesc);
      std::memcpy(result.view().row(0), host.pixels + (1 << 16) + (i << 14), bytes);
      EXPECT_EQ(result, run(prepared_on(gpu(), algorithm), sources[i])) << "image " << i;
    }
    EXPECT_EQ(must(vulkan::scratch_needs(executable, 3)).size > 0, !executable.plan().intermediates.empty());
  }
}

TEST(VulkanBatch, BatchesMustNotOverlap) {
  Engine engine;
  const Device device = must(vulkan::adopt(engine.lent));
  const Executable executable = prepared_on(device, kStorages[1]);
  const HostBuffer host(engine);
  const auto error = [&](const std::vector<vulkan::Target>& batch) { return message_of(vulkan::Recorder::create(executable, batch)); };
  EXPECT_EQ(error({}), "a batch has one image at least");
  EXPECT_EQ(error({target(host, 0), target(host, 1)}), "no error");
  EXPECT_EQ(error({target(host, 0), {target(host, 1).source, target(host, 0).destination}}), "two destinations of a batch overlap");
  EXPECT_EQ(error({target(host, 0), {target(host, 2).source, target(host, 0).source}}),
            "source and destination overlap; a recorder copies neither");
  EXPECT_EQ(message_of(vulkan::scratch_needs(executable, 0)), "a recorder has one image at least, not 0");
}

}  // namespace
}  // namespace mollify::test
