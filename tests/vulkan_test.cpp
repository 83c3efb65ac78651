// What the Vulkan backend promises beside right pixels: refusals that say why, batches, threads, devices of others. Runs on
// the first Vulkan device there is, which the tests make a software driver under the validation layer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "examples/tiny_engine.h"
#include "mollify/vulkan.h"
#include "support.h"

namespace mollify::test {
namespace {

constexpr std::array kStorages = {"nxn.direct:storage=image", "nxn.direct:storage=buffer"};
const ImageDesc kDesc{61, 47, PixelFormat::rgba8};
const BlurSpec kSpec = spec_of(Gaussian{{1.0, 1.5}, {}, {}});

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? "no error" : result.error().message;
}

PlanOptions with(std::string_view algorithm, Overlap overlap = Overlap::none) {
  PlanOptions options;
  if (!algorithm.empty()) options.algorithm = must(parse_algorithm(algorithm));
  options.overlap = overlap;
  return options;
}

// ---- Planning, on devices that do not exist

std::string refusal(const DeviceInfo& device, std::string_view algorithm, const ImageDesc& desc = kDesc) {
  return message_of(make_plan(kSpec, desc, desc, device, with(algorithm)));
}

std::string storage_of(const DeviceInfo& device, const ImageDesc& desc = kDesc) {
  const Result<Plan> plan = make_plan(kSpec, desc, desc, device, with("nxn.direct"));
  return plan ? plan->algorithm.options.at("storage") : message_of(plan);
}

TEST(VulkanPlan, ImagesWhereTheFormatHasThemElseBuffers) {
  EXPECT_EQ(storage_of(fake_gpu(false)), "image");
  EXPECT_EQ(storage_of(fake_gpu(false), {61, 47, PixelFormat::rgb8}), "buffer");
  EXPECT_EQ(refusal(fake_gpu(false), kStorages[0], {61, 47, PixelFormat::rgb8}),
            "nxn.direct cannot do this: the device reads no images of format rgb8");
}

TEST(VulkanPlan, WithoutSmallStorageThereAreNoBuffers) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.small_storage = false;
  EXPECT_EQ(storage_of(device), "image");
  EXPECT_EQ(refusal(device, kStorages[1]), "nxn.direct cannot do this: the device has no 8- and 16-bit storage in buffers");
  EXPECT_EQ(storage_of(device, {61, 47, PixelFormat::rgb8}),
            "nxn.direct cannot do this: the device has no 8- and 16-bit storage in buffers");
}

TEST(VulkanPlan, WithoutStorageImagesThereAreNoImages) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.storage_formats = 0;
  EXPECT_EQ(storage_of(device), "buffer");
  EXPECT_EQ(refusal(device, kStorages[0]), "nxn.direct cannot do this: the device writes no images of format rgba8");
}

TEST(VulkanPlan, LongImagesAreBuffers) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.max_image_length = 60;
  EXPECT_EQ(storage_of(device), "buffer");
  EXPECT_EQ(refusal(device, kStorages[0]),
            "nxn.direct cannot do this: an image is longer than the 60 pixels of the device");
  device.gpu.max_buffer_bytes = 1000;
  EXPECT_EQ(storage_of(device),
            "nxn.direct cannot do this: an image is larger than the 1000 bytes that one binding of the device can see");
}

TEST(VulkanPlan, GroupsFitTheDevice) {
  EXPECT_EQ(refusal(fake_gpu(false), "nxn.direct:group=64x32"),
            "nxn.direct cannot do this: the device has no work groups of 64x32 threads");
  for (const std::string text : {"16", "0x4", "-1x4", "16x", "4x4x4", "16x16 "}) {
    EXPECT_NE(refusal(fake_gpu(false), "nxn.direct:group=" + text).find("two sizes such as 16x16"), std::string::npos)
        << text;
  }
}

TEST(VulkanPlan, DispatchesHaveNoMoreGroupsThanTheDeviceTakes) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.max_group_count = {4, 2};  // 61x47 in groups of 16x16 are 4x3
  EXPECT_EQ(refusal(device, "nxn.direct"),
            "nxn.direct cannot do this: it would need more work groups than the device takes in one dispatch");
  EXPECT_EQ(refusal(device, "nxn.direct:group=16x32"), "no error");
}

TEST(VulkanPlan, SharedMemoryIsNotExceeded) {
  DeviceInfo small = fake_gpu(false);
  small.gpu.shared_bytes = 16 << 10;
  DeviceInfo none = fake_gpu(false);
  none.gpu.shared_bytes = 0;
  int refused = 0;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    for (const KernelSpec& kernel : sample_kernels()) {
      const BlurSpec spec = spec_of(kernel);
      const auto plan = [&](const DeviceInfo& device) { return make_plan(spec, kDesc, kDesc, device, with(algorithm.id)); };
      if (!plan(fake_gpu(false))) continue;
      for (const DeviceInfo& device : {small, none}) {
        const Result<Plan> here = plan(device);
        if (here) continue;
        ++refused;
        EXPECT_NE(here.error().message.find("shared memory, the device has " + std::to_string(device.gpu.shared_bytes)),
                  std::string::npos)
            << here.error().message;
      }
    }
  }
  RecordProperty("refused", refused);
}

TEST(VulkanPlan, WithoutKernelsEveryAlgorithmRefuses) {
  DeviceInfo device = fake_gpu(false);
  device.kernels.clear();
  const Result<Plan> plan = make_plan(kSpec, kDesc, kDesc, device);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().reasons.size(), algorithms().size());
}

// ---- Running

const Device& gpu() {
  static const Device kDevice = must(Device::open("vulkan"));
  return kDevice;
}

Executable prepared_on(const Device& device, std::string_view algorithm, const BlurSpec& spec = kSpec,
                       const ImageDesc& desc = kDesc, Overlap overlap = Overlap::none) {
  const ImageDesc dst = destination_desc(spec, desc, desc.format);
  return must(device.prepare(must(make_plan(spec, desc, dst, device.info(), with(algorithm, overlap)))));
}

Pixels run(const Executable& executable, const Pixels& src) {
  Workspace workspace = must(executable.make_workspace());
  Pixels result(executable.plan().dst);
  if (Status s = executable.run(src.view(), result.view(), workspace); !s) throw std::runtime_error(s.error().message);
  return result;
}

TEST(Vulkan, BatchesGiveEachImageItsOwnResult) {
  for (const std::string_view algorithm : kStorages) {
    const Executable executable = prepared_on(gpu(), algorithm);
    Workspace workspace = must(executable.make_workspace());
    for (const std::size_t count : {1, 2, 3, 7}) {  // a workspace has two images in flight
      std::vector<Pixels> sources;
      std::vector<Pixels> results(count, Pixels(kDesc));
      for (std::size_t i = 0; i < count; ++i) sources.push_back(Pixels::random(kDesc, 10 * count + i));
      std::vector<ConstImageView> from;
      std::vector<ImageView> to;
      for (const Pixels& p : sources) from.push_back(p.view());
      for (Pixels& p : results) to.push_back(p.view());
      const Status status = executable.run(from, to, workspace);
      ASSERT_TRUE(status.ok()) << message_of(status);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(results[i], run(executable, sources[i])) << algorithm << ", image " << i << " of " << count;
      }
    }
    const Status nothing = executable.run(std::span<const ConstImageView>(), std::span<const ImageView>(), workspace);
    EXPECT_TRUE(nothing.ok()) << message_of(nothing);
  }
}

TEST(Vulkan, InPlace) {
  for (const std::string_view algorithm : kStorages) {
    const Pixels src = Pixels::random(kDesc);
    const Executable executable = prepared_on(gpu(), algorithm, kSpec, kDesc, Overlap::in_place);
    Workspace workspace = must(executable.make_workspace());
    Pixels image = src;
    const Status status = executable.run(image.view(), image.view(), workspace);
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(image, run(prepared_on(gpu(), algorithm), src));
    EXPECT_NE(image, src);
  }
}

TEST(Vulkan, RunsAgainWithTheSameBits) {
  const Pixels src = Pixels::random(kDesc);
  for (const std::string_view algorithm : kStorages) {
    const Executable executable = prepared_on(gpu(), algorithm);
    Workspace workspace = must(executable.make_workspace());
    const Pixels first = run(executable, src);
    for (int round = 0; round < 10; ++round) {
      Pixels result = Pixels::random(kDesc, 99);
      ASSERT_TRUE(executable.run(src.view(), result.view(), workspace).ok());
      EXPECT_EQ(result, first);
    }
  }
}

TEST(Vulkan, OneExecutableRunsFromManyThreads) {
  for (const std::string_view algorithm : kStorages) {
    const Executable executable = prepared_on(gpu(), algorithm);
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const Pixels src = Pixels::random(kDesc, i + 1);
        const Pixels expected = run(executable, src);
        Workspace workspace = must(executable.make_workspace());
        for (int round = 0; round < 10; ++round) {
          Pixels result(kDesc);
          wrong += executable.run(src.view(), result.view(), workspace).ok() && result == expected ? 0 : 1;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Vulkan, ThreadsPrepareAndDropExecutables) {
  const Pixels src = Pixels::random(kDesc);
  std::vector<Pixels> expected;
  for (int sigma = 1; sigma < 4; ++sigma) {
    expected.push_back(run(prepared_on(gpu(), kStorages[1], spec_of(Gaussian{{0.4 * sigma, 1}, {}, {}})), src));
  }
  const Device device = must(Device::open("vulkan"));  // with no pipelines yet: threads race to make the same ones
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 6; ++round) {
        const int sigma = (i + round) % 3 + 1;
        const Executable executable = prepared_on(device, kStorages[1], spec_of(Gaussian{{0.4 * sigma, 1}, {}, {}}));
        wrong += run(executable, src) == expected[static_cast<std::size_t>(sigma - 1)] ? 0 : 1;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(Vulkan, ExecutablesOfOneDeviceDoNotDisturbEachOther) {
  const Pixels src = Pixels::random(kDesc);
  const Executable one = prepared_on(gpu(), kStorages[0]);
  const Executable other = prepared_on(gpu(), kStorages[0], spec_of(Box::of_radius(2, 1), BorderMode::wrap));
  const Pixels one_result = run(one, src);
  const Pixels other_result = run(other, src);
  EXPECT_NE(one_result, other_result);
  Workspace one_space = must(one.make_workspace());
  Workspace other_space = must(other.make_workspace());
  for (int round = 0; round < 4; ++round) {
    Pixels a(kDesc);
    Pixels b(kDesc);
    ASSERT_TRUE(one.run(src.view(), a.view(), one_space).ok());
    ASSERT_TRUE(other.run(src.view(), b.view(), other_space).ok());
    EXPECT_EQ(a, one_result);
    EXPECT_EQ(b, other_result);
  }
}

TEST(Vulkan, WhatADeviceMadeOutlivesItsHandle) {
  std::optional<Device> device = must(Device::open("vulkan"));
  const Executable executable = prepared_on(*device, kStorages[0]);
  device.reset();
  EXPECT_EQ(run(executable, Pixels::random(kDesc)), run(prepared_on(gpu(), kStorages[0]), Pixels::random(kDesc)));
}

TEST(Vulkan, ARegionHasTheBitsOfTheWhole) {
  const Rect region{13, 7, 31, 26};
  int compared = 0;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    for (const KernelSpec& kernel : sample_kernels()) {
      BlurSpec spec = spec_of(kernel, BorderMode::mirror);
      spec.accuracy.max_error = 0.5;
      const auto plan = [&] {
        return make_plan(spec, kDesc, destination_desc(spec, kDesc, kDesc.format), gpu().info(), with(algorithm.id));
      };
      const Result<Plan> whole = plan();
      spec.roi = region;
      const Result<Plan> part = plan();
      ASSERT_EQ(whole.ok(), part.ok()) << algorithm.id << ": " << message_of(whole) << ", " << message_of(part);
      if (!whole) continue;
      ++compared;
      const Pixels src = Pixels::random(kDesc);
      const Pixels expected = cropped(run(must(gpu().prepare(*whole)), src), region);
      EXPECT_EQ(run(must(gpu().prepare(*part)), src), expected) << to_string(whole->algorithm) << "\n" << explain(*part);
    }
  }
  EXPECT_GT(compared, 0);
}

class LongImages : public testing::TestWithParam<AlgorithmInfo> {};

/// Group counts and indices beyond 16 bits.
TEST_P(LongImages, Of65537Pixels) {
  for (const PerAxis<std::int32_t> size : {PerAxis<std::int32_t>{65537, 1}, {1, 65537}}) {
    for (const KernelSpec& kernel : {KernelSpec(Box::of_radius(1, 1)), KernelSpec(Gaussian{{3.5, 3.5}, {}, {}})}) {
      cases::Case c;
      c.algorithm.id = GetParam().id;
      c.spec = spec_of(kernel, BorderMode::wrap);
      c.spec.accuracy.max_error = 0.5;
      c.src = c.dst = {size.x, size.y, PixelFormat::r8};
      if (!make_plan(c.spec, c.src, c.dst, gpu().info(), with(c.algorithm.id))) continue;
      expect_pass(c, gpu());
      break;  // one kernel is enough
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, LongImages, testing::ValuesIn(algorithms()), [](const auto& test) {
  std::string name(test.param.id);
  std::ranges::replace(name, '.', '_');
  return name;
});

// ---- Opening

TEST(VulkanDevice, AWrongNameIsToldWhatThereIs) {
  for (const std::string which : {"nonsense", "7", "-1", "0x0", "99999999999999999999"}) {
    const Result<Device> device = Device::open("vulkan:" + which);
    ASSERT_FALSE(device.ok()) << which;
    EXPECT_EQ(device.error().message, "there is no Vulkan device \"" + which + "\"");
    ASSERT_FALSE(device.error().reasons.empty());
    EXPECT_NE(device.error().reasons.front().find(gpu().info().name), std::string::npos);
  }
}

TEST(VulkanDevice, OpensByIndexAndByPartOfTheName) {
  const auto entries = list_devices();
  const auto first = std::find_if(entries.begin(), entries.end(),
                                  [](const DeviceEntry& e) { return e.info.backend == Backend::vulkan; });
  ASSERT_NE(first, entries.end());
  EXPECT_EQ(first->open_name, "vulkan:0");
  EXPECT_EQ(must(Device::open("vulkan:0")).info(), first->info);
  EXPECT_EQ(must(Device::open("vulkan:" + first->info.name.substr(1, 5))).info(), first->info);
  EXPECT_EQ(entries.front().open_name, "cpu");
}

/// Run where no driver can be found.
TEST(VulkanDeviceWithoutADriver, OpeningSaysSoAndListingGoesOn) {
  const Result<Device> device = Device::open("vulkan");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().message, "there is no Vulkan driver on this machine");
  const auto entries = list_devices();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries.front().open_name, "cpu");
  EXPECT_TRUE(Device::open("auto").ok());
}

class Folder {
 public:
  Folder() : path_(std::filesystem::path(testing::TempDir()) / ("mollify_vulkan_test" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) out.push_back(entry.path());
    return out;
  }

 private:
  std::filesystem::path path_;
};

Pixels run_with_cache(const Folder& folder, const Pixels& src) {
  const Device device = must(Device::open("vulkan", {.cache_folder = folder.path()}));
  return run(prepared_on(device, kStorages[0]), src);
}

TEST(VulkanDevice, PipelinesAreKeptInTheCacheFolder) {
  const Folder folder;
  const Pixels src = Pixels::random(kDesc);
  const Pixels first = run_with_cache(folder, src);
  ASSERT_EQ(folder.files().size(), 1U);
  EXPECT_GT(std::filesystem::file_size(folder.files()[0]), 0U);
  EXPECT_EQ(run_with_cache(folder, src), first);
  EXPECT_EQ(folder.files().size(), 1U);
}

TEST(VulkanDevice, ADamagedCacheIsHarmless) {
  const Folder folder;
  const Pixels src = Pixels::random(kDesc);
  const Pixels first = run_with_cache(folder, src);
  const std::filesystem::path file = folder.files().at(0);
  const auto size = std::filesystem::file_size(file);
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{32}, size / 2, size, 2 * size}) {
    std::ofstream(file, std::ios::binary) << std::string(length, '\x5a');
    EXPECT_EQ(run_with_cache(folder, src), first) << length << " bytes of rubbish";
  }
  // The header is right, what it promises is not there or is something else.
  run_with_cache(folder, src);
  std::filesystem::remove(file);
  run_with_cache(folder, src);
  std::string good(std::filesystem::file_size(file), ' ');
  std::ifstream(file, std::ios::binary).read(good.data(), static_cast<std::streamsize>(good.size()));
  std::ofstream(file, std::ios::binary) << good.substr(0, good.size() * 3 / 4);
  EXPECT_EQ(run_with_cache(folder, src), first) << "cut short";
  for (std::size_t i = good.size() / 2; i < good.size(); i += 5) good[i] = static_cast<char>(good[i] ^ 0x3c);
  std::ofstream(file, std::ios::binary) << good;
  EXPECT_EQ(run_with_cache(folder, src), first) << "changed in the middle";
}

TEST(VulkanDevice, ACacheFolderThatCannotBeWrittenIsHarmless) {
  const Device device = must(Device::open("vulkan", {.cache_folder = "/proc/no such folder"}));
  EXPECT_EQ(run(prepared_on(device, kStorages[0]), Pixels::random(kDesc)),
            run(prepared_on(gpu(), kStorages[0]), Pixels::random(kDesc)));
}

// ---- Devices of others

TEST(VulkanEngine, ALentDeviceIsChecked) {
  Engine engine;
  using vulkan::LentDevice;
  const auto error = [&](auto change) {
    LentDevice lent = engine.lent;
    change(lent);
    return message_of(vulkan::adopt(lent));
  };
  EXPECT_EQ(error([](LentDevice&) {}), "no error");
  EXPECT_EQ(error([](LentDevice& l) { l.get_instance_proc_addr = nullptr; }),
            "the lent device lacks its vkGetInstanceProcAddr");
  EXPECT_EQ(error([](LentDevice& l) { l.device = VK_NULL_HANDLE; }),
            "the lent device lacks one of instance, physical device and device");
  EXPECT_EQ(error([](LentDevice& l) { l.queue_family = 50; }), "queue family 50 of the lent device does not compute");
  EXPECT_EQ(error([](LentDevice& l) { l.enabled_features = nullptr; }),
            "the lent device was made without uniformBufferStandardLayout");
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

/// Source and destination in one buffer of the host.
struct HostBuffer {
  explicit HostBuffer(Engine& engine, VkDeviceSize bytes = 1 << 17) {
    void* data = nullptr;
    buffer = engine.buffer(bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, data);
    pixels = static_cast<std::byte*>(data);
  }
  VkBuffer buffer = VK_NULL_HANDLE;
  std::byte* pixels = nullptr;
};

void host_barrier(const Engine& engine, VkCommandBuffer commands) {
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  engine.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                            nullptr);
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
  EXPECT_EQ(error(kStorages[1], source, BufferResource{host.buffer, 8192, 0}),
            "source and destination overlap; a recorder copies neither");
  EXPECT_EQ(error(kStorages[0], source, result), "the source is a buffer, the plan works on images");
  EXPECT_EQ(error(kStorages[1], ImageResource{}, result), "the source is an image, the plan works on buffers");
  EXPECT_EQ(error(kStorages[1], BufferResource{}, result), "the source has no buffer");
  EXPECT_EQ(error(kStorages[0], ImageResource{}, ImageResource{}), "the source has no view");
  if (alignment > 1) {
    EXPECT_NE(error(kStorages[1], BufferResource{host.buffer, alignment + 1, 0}, result).find("no multiple"),
              std::string::npos);
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
  EXPECT_EQ(error(kStorages[0], ImageResource{view}, ImageResource{view}),
            "source and destination overlap; a recorder copies neither");
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

/// The first algorithm whose passes leave something for the next.
std::string algorithm_with_intermediates(const DeviceInfo& device) {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const std::string text = std::string(algorithm.id) + ":storage=buffer";
    const Result<Plan> plan = make_plan(kSpec, kDesc, kDesc, device, with(text));
    if (plan && !plan->intermediates.empty()) return text;
  }
  return "";
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
    return vulkan::Recorder::create(executable, vulkan::BufferResource{host.buffer, 0, 0},
                                    vulkan::BufferResource{host.buffer, 1 << 16, 0}, {memory, offset});
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
