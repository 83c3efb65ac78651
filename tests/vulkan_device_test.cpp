// Opening Vulkan devices, and the folder in which they keep their pipelines.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backends/vulkan/context.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

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
  const auto first = std::find_if(entries.begin(), entries.end(), [](const DeviceEntry& e) { return e.info.backend == Backend::vulkan; });
  ASSERT_NE(first, entries.end());
  EXPECT_EQ(first->open_name, "vulkan:0");
  EXPECT_EQ(must(Device::open("vulkan:0")).info(), first->info);
  EXPECT_EQ(must(Device::open("vulkan:" + first->info.name.substr(1, 5))).info(), first->info);
  EXPECT_EQ(entries.front().open_name, "cpu");
}

TEST(VulkanDevice, RunsOnAQueueThatOnlyComputesIfThereIsOne) {
  const auto chosen = [](std::initializer_list<VkQueueFlags> flags) {
    std::vector<VkQueueFamilyProperties> families;
    for (const VkQueueFlags f : flags) families.push_back({f, 1, 64, {1, 1, 1}});
    return vulkan::compute_family(families);
  };
  constexpr VkQueueFlags kAll = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
  EXPECT_EQ(chosen({kAll, VK_QUEUE_TRANSFER_BIT, VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT}), 2U);
  EXPECT_EQ(chosen({VK_QUEUE_TRANSFER_BIT, kAll, kAll}), 1U) << "the first of those that draw";
  EXPECT_EQ(chosen({VK_QUEUE_GRAPHICS_BIT, VK_QUEUE_TRANSFER_BIT}), std::nullopt);
}

TEST(VulkanDevice, TakesMultiprocessorsFromDriversThatSayThem) {
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nv{};
  nv.shaderSMCount = 46;
  nv.shaderWarpsPerSM = 48;
  EXPECT_EQ(vulkan::multiprocessors_of(32, nv, {}), (Multiprocessors{.count = 46, .subgroup_size = 32, .max_threads = 1536}));
  VkPhysicalDeviceShaderCorePropertiesAMD amd{};
  amd.shaderEngineCount = 2;
  amd.shaderArraysPerEngineCount = 2;
  amd.computeUnitsPerShaderArray = 10;
  amd.simdPerComputeUnit = 2;
  amd.wavefrontsPerSimd = 16;
  amd.wavefrontSize = 64;
  amd.vgprsPerSimd = 512;
  EXPECT_EQ(vulkan::multiprocessors_of(64, {}, amd),
            (Multiprocessors{.count = 40, .schedulers = 2, .subgroup_size = 64, .max_threads = 2048, .registers = 65536}));
  EXPECT_EQ(vulkan::multiprocessors_of(8, {}, {}), Multiprocessors{});
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
  const Device device = must(Device::open("vulkan", {.cache_folder = folder.path(), .probe = false}));
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
  EXPECT_EQ(run(prepared_on(device, kStorages[0]), Pixels::random(kDesc)), run(prepared_on(gpu(), kStorages[0]), Pixels::random(kDesc)));
}

}  // namespace
}  // namespace mollify::test
