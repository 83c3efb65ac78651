// mollify/vulkan.h: devices, images, buffers and command buffers of others.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backends/vulkan/matrices.h"
#include "vulkan_engine_support.h"

namespace mollify::test {
namespace {

TEST(VulkanEngine, ALentDeviceIsChecked) {
  Engine engine;
  using vulkan::LentDevice;
  const auto error = [&](auto change) {
    LentDevice lent = engine.lent;
    change(lent);
    return message_of(vulkan::adopt(lent));
  };
  EXPECT_EQ(error([](LentDevice&) {}), "no error");
  EXPECT_EQ(error([](LentDevice& l) { l.get_instance_proc_addr = nullptr; }), "the lent device lacks its vkGetInstanceProcAddr");
  EXPECT_EQ(error([](LentDevice& l) { l.device = VK_NULL_HANDLE; }), "the lent device lacks one of instance, physical device and device");
  EXPECT_EQ(error([](LentDevice& l) { l.queue_family = 50; }), "queue family 50 of the lent device does not compute");
  EXPECT_EQ(error([](LentDevice& l) { l.enabled_features = nullptr; }), "the lent device was made without uniformBufferStandardLayout");
}

TEST(VulkanEngine, ALentDeviceDoesWhatAnOwnOneDoes) {
  Engine engine;
  const Device device = must(vulkan::adopt(engine.lent));
  EXPECT_EQ(device.info(), gpu().info());
  const vulkan::Handles handles = must(vulkan::handles(device));
  EXPECT_EQ(handles.device, engine.lent.device);
  EXPECT_EQ(handles.queue, engine.lent.queue);
  for (const std::string_view algorithm : kStorages) {
    const Pixels src = Pixels::random(kDesc);
    EXPECT_EQ(run(prepared_on(device, algorithm), src), run(prepared_on(gpu(), algorithm), src));
  }
}

TEST(VulkanEngine, FeaturesThatAreNotEnabledAreNotUsed) {
  Engine engine;
  engine.features.features.shaderStorageImageWriteWithoutFormat = VK_FALSE;
  EXPECT_EQ(must(vulkan::adopt(engine.lent)).info().gpu.storage_formats, 0U);
  engine.v12.storageBuffer8BitAccess = VK_FALSE;
  EXPECT_FALSE(must(vulkan::adopt(engine.lent)).info().gpu.small_storage);
}

/// The structures are only read, so a device without matrices does.
TEST(VulkanEngine, MatricesAreConvertedWhereTheInstanceAllowsTheirModules) {
  Engine engine;
  vulkan::MatrixFeatures matrices;
  matrices.cooperativeMatrix = VK_TRUE;
  vulkan::MatrixConversionFeatures conversions;
  conversions.cooperativeMatrixConversions = VK_TRUE;
  conversions.pNext = engine.v12.pNext;
  matrices.pNext = &conversions;
  engine.v12.pNext = &matrices;
  engine.v12.vulkanMemoryModel = engine.v12.shaderFloat16 = VK_TRUE;
  ASSERT_GE(engine.properties.apiVersion, VK_API_VERSION_1_3);
  const auto converts = [&] { return must(vulkan::adopt(engine.lent)).info().gpu.matrix_conversions; };
  EXPECT_FALSE(converts()) << "an instance of Vulkan 1.2";
  engine.lent.api_version = VK_API_VERSION_1_3;
  EXPECT_TRUE(converts());
  conversions.cooperativeMatrixConversions = VK_FALSE;
  EXPECT_FALSE(converts());
}

/// Stands between the backend and the device, and looks at how pipelines are made and what they outlive.
struct Spy {
  inline static PFN_vkGetInstanceProcAddr instance_functions = nullptr;
  inline static PFN_vkGetDeviceProcAddr device_functions = nullptr;
  inline static PFN_vkCreateComputePipelines make_pipelines = nullptr;
  inline static PFN_vkDestroyPipelineLayout destroy_layout = nullptr;
  inline static PFN_vkDestroyPipeline destroy_pipeline = nullptr;
  inline static std::map<VkPipeline, VkPipelineLayout> layouts;  // of pipelines that live
  inline static std::vector<VkPipelineShaderStageCreateFlags> flags;
  inline static int outlived = 0;

  explicit Spy(Engine& engine) {
    instance_functions = engine.lent.get_instance_proc_addr;
    engine.lent.get_instance_proc_addr = &instance_function;
    layouts.clear();
    flags.clear();
    outlived = 0;
  }

  static PFN_vkVoidFunction instance_function(VkInstance instance, const char* name) {
    const PFN_vkVoidFunction real = instance_functions(instance, name);
    if (std::string_view(name) != "vkGetDeviceProcAddr") return real;
    device_functions = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
    return reinterpret_cast<PFN_vkVoidFunction>(&device_function);
  }

  static PFN_vkVoidFunction device_function(VkDevice device, const char* name) {
    const PFN_vkVoidFunction real = device_functions(device, name);
    const auto instead = [&](auto& kept, auto own) {
      kept = reinterpret_cast<std::remove_reference_t<decltype(kept)>>(real);
      return reinterpret_cast<PFN_vkVoidFunction>(own);
    };
    if (std::string_view(name) == "vkCreateComputePipelines") return instead(make_pipelines, &made);
    if (std::string_view(name) == "vkDestroyPipelineLayout") return instead(destroy_layout, &layout_gone);
    if (std::string_view(name) == "vkDestroyPipeline") return instead(destroy_pipeline, &pipeline_gone);
    return real;
  }

  static VkResult made(VkDevice device, VkPipelineCache cache, std::uint32_t count, const VkComputePipelineCreateInfo* infos,
                       const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
    const VkResult result = make_pipelines(device, cache, count, infos, allocator, pipelines);
    for (std::uint32_t i = 0; i < count; ++i) {
      layouts[pipelines[i]] = infos[i].layout;
      flags.push_back(infos[i].stage.flags);
    }
    return result;
  }
  static void layout_gone(VkDevice device, VkPipelineLayout layout, const VkAllocationCallbacks* allocator) {
    for (const auto& [pipeline, its_layout] : layouts) outlived += its_layout == layout ? 1 : 0;
    destroy_layout(device, layout, allocator);
  }
  static void pipeline_gone(VkDevice device, VkPipeline pipeline, const VkAllocationCallbacks* allocator) {
    layouts.erase(pipeline);
    destroy_pipeline(device, pipeline, allocator);
  }
};

TEST(VulkanEngine, PipelinesDoNotOutliveTheirLayouts) {
  Engine engine;
  const Spy spy(engine);
  {
    const Device device = must(vulkan::adopt(engine.lent));
    const Pixels src = Pixels::random(kDesc);
    const Pixels first = run(prepared_on(device, kStorages[0]), src);
    EXPECT_EQ(Spy::layouts.size(), 1U);
    EXPECT_EQ(run(prepared_on(device, kStorages[0]), src), first);  // the pipeline that is kept, its first user gone
    EXPECT_EQ(Spy::layouts.size(), 1U);
  }
  EXPECT_EQ(Spy::outlived, 0);
  EXPECT_TRUE(Spy::layouts.empty());
}

TEST(VulkanEngine, SwapsBetweenLanesAskForFullSubgroups) {
  Engine engine;
  const Spy spy(engine);
  const Device device = must(vulkan::adopt(engine.lent));
  const BlurSpec spec = spec_of(Box::of_radius(1, 1));
  static_cast<void>(prepared_on(device, "quad.3x3", spec));
  static_cast<void>(prepared_on(device, "nxn.direct", spec));
  const std::vector<VkPipelineShaderStageCreateFlags> expected{VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, 0};
  EXPECT_EQ(Spy::flags, expected);
  engine.subgroups.computeFullSubgroups = VK_FALSE;
  EXPECT_FALSE(must(vulkan::adopt(engine.lent)).info().gpu.quad_operations);
}

TEST(VulkanEngine, WithoutAQueueNothingRunsButRecordingWorks) {
  Engine engine;
  const VkQueue queue = engine.lent.queue;
  engine.lent.queue = VK_NULL_HANDLE;
  const Device device = must(vulkan::adopt(engine.lent));
  engine.lent.queue = queue;
  const Executable executable = prepared_on(device, kStorages[1]);
  const Pixels src = Pixels::random(kDesc);
  Workspace workspace = must(executable.make_workspace());
  Pixels result(kDesc);
  EXPECT_EQ(message_of(executable.run(src.view(), result.view(), workspace)), "the device was lent without a queue");
}

TEST(VulkanEngine, OtherBackendsHaveNoHandles) {
  EXPECT_EQ(message_of(vulkan::handles(cpu())), "the device is not one of the Vulkan backend");
  const Executable on_cpu = prepared(kSpec, kDesc, {kDesc.format, {}, 2});
  EXPECT_EQ(message_of(vulkan::scratch_needs(on_cpu)), "the executable is not one of the Vulkan backend");
  EXPECT_EQ(message_of(vulkan::Recorder::create(on_cpu, vulkan::BufferResource{}, vulkan::BufferResource{})),
            "the executable is not one of the Vulkan backend");
}

TEST(VulkanEngine, RecordersRefuseWhatTheyCannotBind) {
  Engine engine;
  const Device device = must(vulkan::adopt(engine.lent));
  const HostBuffer host(engine);
  const VkDeviceSize alignment = engine.properties.limits.minStorageBufferOffsetAlignment;
  using vulkan::BufferResource;
  using vulkan::ImageResource;
  const auto error = [&](std::string_view algorithm, const vulkan::Resource& from, const vulkan::Resource& to) {
    return message_of(vulkan::Recorder::create(prepared_on(device, algorithm), from, to));
  };
  const BufferResource source{host.buffer, 0, 0};
  const BufferResource result{host.buffer, 1 << 16, 0};
  EXPECT_EQ(error(kStorages[1], source, result), "no error");
  EXPECT_EQ(error(kStorages[1], source, source), "source and destination overlap; a recorder copies neither");
  EXPECT_EQ(error(kStorages[1], source, BufferResource{host.buffer, 8192, 0}), "source and destination overlap; a recorder copies neither");
  EXPECT_EQ(error(kStorages[0], source, result), "the source is a buffer, the plan works on images");
  EXPECT_EQ(error(kStorages[1], ImageResource{}, result), "the source is an image, the plan works on buffers");
  EXPECT_EQ(error(kStorages[1], BufferResource{}, result), "the source has no buffer");
  EXPECT_EQ(error(kStorages[0], ImageResource{}, ImageResource{}), "the source has no view");
  if (alignment > 1) {
    EXPECT_NE(error(kStorages[1], BufferResource{host.buffer, alignment + 1, 0}, result).find("no multiple"), std::string::npos);
  }
  for (const std::int64_t row_bytes : {4 * 60, 4 * 61 + 2, -4 * 61}) {
    EXPECT_NE(error(kStorages[1], source, BufferResource{host.buffer, 1 << 16, row_bytes}).find("rows of the destination"),
              std::string::npos)
        << row_bytes;
  }
  VkImageView view = VK_NULL_HANDLE;
  engine.image(kDesc, VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT, view);
  VkImageView other = VK_NULL_HANDLE;
  engine.image(kDesc, VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT, other);
  EXPECT_EQ(error(kStorages[0], ImageResource{view}, ImageResource{other}), "no error");
  EXPECT_EQ(error(kStorages[0], ImageResource{view}, ImageResource{view}), "source and destination overlap; a recorder copies neither");
  EXPECT_EQ(error(kStorages[0], ImageResource{view}, ImageResource{other, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL}),
            "the destination must be in VK_IMAGE_LAYOUT_GENERAL");
  EXPECT_EQ(error(kStorages[0], ImageResource{view, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL}, ImageResource{other}),
            "the source must be in VK_IMAGE_LAYOUT_GENERAL or VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL");
}

TEST(VulkanEngine, BuffersMayHaveGapsBetweenRows) {
  Engine engine;
  const Device device = must(vulkan::adopt(engine.lent));
  const HostBuffer host(engine);
  const Pixels src = Pixels::random(kDesc);
  const Executable executable = prepared_on(device, kStorages[1]);
  const std::ptrdiff_t source_row = 4 * 64;
  const std::ptrdiff_t result_row = 4 * 83;
  constexpr std::ptrdiff_t kResult = 1 << 16;
  std::memset(host.pixels, 0x77, 1 << 17);
  for (std::int32_t y = 0; y < kDesc.height; ++y) std::memcpy(host.pixels + y * source_row, src.view().row(y), 4 * 61);
  const vulkan::Recorder recorder = must(vulkan::Recorder::create(executable, vulkan::BufferResource{host.buffer, 0, source_row},
                                                                  vulkan::BufferResource{host.buffer, kResult, result_row}));
  engine.run([&](VkCommandBuffer commands) {
    recorder.record(commands);
    host_barrier(engine, commands);
  });
  const Pixels expected = run(prepared_on(gpu(), kStorages[1]), src);
  for (std::int32_t y = 0; y < kDesc.height; ++y) {
    const std::byte* row = host.pixels + kResult + y * result_row;
    EXPECT_EQ(std::memcmp(row, expected.view().row(y), 4 * 61), 0) << "row " << y;
    for (std::ptrdiff_t i = 4 * 61; i < result_row; ++i) ASSERT_EQ(row[i], std::byte{0x77}) << "row " << y << ", byte " << i;
  }
}

TEST(VulkanEngine, ScratchMayBeTheCallers) {
  Engine engine;
  const Device device = must(vulkan::adopt(engine.lent));
  EXPECT_EQ(must(vulkan::scratch_needs(prepared_on(device, kStorages[0]))).size, 0U);
  const std::string algorithm = algorithm_with_intermediates(device.info());
  ASSERT_FALSE(algorithm.empty());
  const Executable executable = prepared_on(device, algorithm);
  const vulkan::ScratchNeeds needs = must(vulkan::scratch_needs(executable));
  EXPECT_GE(needs.size, static_cast<VkDeviceSize>(executable.plan().intermediates[0].payload_bytes()));
  const VkDeviceMemory memory = engine.allocate({needs.size + needs.alignment, needs.alignment, needs.memory_type_bits}, 0);

  const HostBuffer host(engine);
  const Pixels src = Pixels::random(kDesc);
  std::memcpy(host.pixels, src.view().row(0), static_cast<std::size_t>(kDesc.payload_bytes()));
  const auto record = [&](VkDeviceSize offset) {
    return vulkan::Recorder::create(executable, vulkan::BufferResource{host.buffer, 0, 0}, vulkan::BufferResource{host.buffer, 1 << 16, 0},
                                    {memory, offset});
  };
  if (needs.alignment > 1) {
    EXPECT_NE(message_of(record(1)).find("multiple"), std::string::npos);
  }
  const vulkan::Recorder recorder = must(record(needs.alignment));
  engine.run([&](VkCommandBuffer commands) {
    recorder.record(commands);
    host_barrier(engine, commands);
    recorder.record(commands);  // again into the same memory, which the first must have left
    host_barrier(engine, commands);
  });
  Pixels result(kDesc);
  std::memcpy(result.view().row(0), host.pixels + (1 << 16), static_cast<std::size_t>(kDesc.payload_bytes()));
  EXPECT_EQ(result, run(prepared_on(gpu(), algorithm), src));
}

}  // namespace
}  // namespace mollify::test
