#include "backends/vulkan/context.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "backends/vulkan/executor.h"
#include "backends/vulkan/formats.h"
#include "backends/vulkan/pipeline.h"
#include "backends/vulkan/probe.h"
#include "mollify/tuning.h"

namespace mollify::vulkan {
namespace {

constexpr std::uint32_t kApiVersion = VK_API_VERSION_1_2;        // that devices must have
constexpr std::uint32_t kNewestApiVersion = VK_API_VERSION_1_3;  // of which anything is used, where they have it

bool has_extension(const InstanceFunctions& vk, VkPhysicalDevice physical, std::string_view name) {
  std::uint32_t count = 0;
  if (vk.EnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> extensions(count);
  if (vk.EnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data()) != VK_SUCCESS) return false;
  return std::ranges::any_of(extensions, [&](const VkExtensionProperties& e) { return e.extensionName == name; });
}

std::vector<VkQueueFamilyProperties> queue_families(const InstanceFunctions& vk, VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
  return families;
}

bool computes(const VkQueueFamilyProperties& family) {
  return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
}

bool computes(const InstanceFunctions& vk, VkPhysicalDevice physical, std::uint32_t family) {
  const std::vector<VkQueueFamilyProperties> families = queue_families(vk, physical);
  return family < families.size() && computes(families[family]);
}

bool is_usable(const InstanceFunctions& vk, VkPhysicalDevice physical) {
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, nullptr, {}};
  vk.GetPhysicalDeviceProperties2(physical, &properties);
  return properties.properties.apiVersion >= kApiVersion && compute_family(queue_families(vk, physical));
}

/// One instance serves every device: making one costs tens of milliseconds.
Result<std::shared_ptr<const Instance>> shared_instance() {
  static const Result<std::shared_ptr<const Instance>> instance = Instance::create();
  return instance;
}

std::string version(std::uint32_t v) {
  return std::to_string(VK_API_VERSION_MAJOR(v)) + "." + std::to_string(VK_API_VERSION_MINOR(v)) + "." +
         std::to_string(VK_API_VERSION_PATCH(v));
}

/// Whether subgroups multiply 16 x `depth` matrices of one type by `depth` x `columns`, summed in another.
bool multiplies(const InstanceFunctions& vk, VkPhysicalDevice physical, std::uint32_t depth, std::uint32_t columns, MatrixComponent numbers,
                MatrixComponent sums) {
  std::uint32_t count = 0;
  if (vk.GetMatrices == nullptr || vk.GetMatrices(physical, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<MatrixProperties> shapes(count);
  if (vk.GetMatrices(physical, &count, shapes.data()) != VK_SUCCESS) return false;
  return std::ranges::any_of(shapes, [=](const MatrixProperties& s) {
    return s.rows == 16 && s.columns == columns && s.depth == depth && s.scope == MatrixProperties::kSubgroupScope && s.left == numbers &&
           s.right == numbers && s.sum == sums && s.result == sums && s.saturates == VK_FALSE;
  });
}

/// What two extensions of makers say; each leaves out what the other says.
Multiprocessors multiprocessors(const InstanceFunctions& vk, VkPhysicalDevice physical) {
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nv{};
  nv.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV;
  VkPhysicalDeviceShaderCorePropertiesAMD amd{};
  amd.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD;
  VkPhysicalDeviceVulkan11Properties v11{};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &v11, {}};
  if (has_extension(vk, physical, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) v11.pNext = &nv;
  if (has_extension(vk, physical, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) amd.pNext = std::exchange(v11.pNext, &amd);
  vk.GetPhysicalDeviceProperties2(physical, &all);
  return multiprocessors_of(v11.subgroupSize, nv, amd);
}

DeviceInfo describe_device(const InstanceFunctions& vk, VkPhysicalDevice physical, const Features& enabled) {
  VkPhysicalDeviceVulkan12Properties v12{};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  VkPhysicalDeviceVulkan11Properties v11{};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  v11.pNext = &v12;
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &v11, {}};
  vk.GetPhysicalDeviceProperties2(physical, &all);
  const VkPhysicalDeviceLimits& limits = all.properties.limits;
  const auto most = [](std::uint64_t value) { return static_cast<std::int32_t>(std::min<std::uint64_t>(value, INT32_MAX)); };

  DeviceInfo info;
  info.backend = Backend::vulkan;
  info.name = all.properties.deviceName;
  info.driver = std::string(v12.driverName) + " " + v12.driverInfo + ", Vulkan " + version(all.properties.apiVersion);
  GpuInfo& gpu = info.gpu;
  gpu.is_software = all.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  gpu.halves_overflow_only = v12.driverID == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
  gpu.subgroup_size = most(v11.subgroupSize);
  gpu.float16_arithmetic = enabled.v12.shaderFloat16 == VK_TRUE;
  const auto subgroups_do = [&](VkSubgroupFeatureFlags wanted) {
    return (v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 && (v11.subgroupSupportedOperations & wanted) == wanted &&
           enabled.subgroups.computeFullSubgroups == VK_TRUE;
  };
  gpu.quad_operations = subgroups_do(VK_SUBGROUP_FEATURE_QUAD_BIT);
  gpu.shuffle_operations = subgroups_do(VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT);
  gpu.small_storage = enabled.v12.storageBuffer8BitAccess == VK_TRUE && enabled.v11.storageBuffer16BitAccess == VK_TRUE &&
                      gpu.float16_arithmetic && v12.shaderRoundingModeRTEFloat16 == VK_TRUE &&
                      // Shaders say how halves are rounded, and nothing of wider numbers.
                      v12.roundingModeIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  const bool has_matrices = enabled.matrices.cooperativeMatrix == VK_TRUE && enabled.v12.vulkanMemoryModel == VK_TRUE &&
                            enabled.subgroups.computeFullSubgroups == VK_TRUE && gpu.float16_arithmetic;
  gpu.matrix_operations = has_matrices && multiplies(vk, physical, 16, 8, MatrixComponent::float16, MatrixComponent::float32);
  // Modules that convert them are of SPIR-V 1.6.
  gpu.matrix_conversions =
      has_matrices && all.properties.apiVersion >= kNewestApiVersion && enabled.conversions.cooperativeMatrixConversions == VK_TRUE;
  gpu.small_matrices = gpu.matrix_conversions && subgroups_do(VK_SUBGROUP_FEATURE_VOTE_BIT) &&
                       multiplies(vk, physical, 8, 8, MatrixComponent::float16, MatrixComponent::float32);
  gpu.byte_matrices = has_matrices && enabled.v12.shaderInt8 == VK_TRUE &&
                      multiplies(vk, physical, 32, 16, MatrixComponent::uint8, MatrixComponent::uint32);
  gpu.shared_bytes = limits.maxComputeSharedMemorySize;
  gpu.multiprocessors = multiprocessors(vk, physical);
  gpu.max_group_invocations = most(limits.maxComputeWorkGroupInvocations);
  gpu.max_group = {most(limits.maxComputeWorkGroupSize[0]), most(limits.maxComputeWorkGroupSize[1])};
  gpu.max_group_count = {most(limits.maxComputeWorkGroupCount[0]), most(limits.maxComputeWorkGroupCount[1])};
  gpu.max_image_length = most(limits.maxImageDimension2D);
  gpu.max_buffer_bytes = limits.maxStorageBufferRange;
  gpu.max_uniform_bytes = limits.maxUniformBufferRange;
  gpu.linear_fraction_bits = most(limits.subTexelPrecisionBits);
  for (const FormatInfo& format : formats()) {
    if (format.is_wide()) continue;  // no shader has them
    VkFormatProperties properties{};
    vk.GetPhysicalDeviceFormatProperties(physical, vk_format(format.format), &properties);
    const std::uint32_t bit = 1U << static_cast<unsigned>(format.format);
    const auto has = [&](VkFormatFeatureFlags wanted) { return (properties.optimalTilingFeatures & wanted) == wanted; };
    const VkFormatFeatureFlags copied = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    if (has(VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | copied)) gpu.sampled_formats |= bit;
    if (has(VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT | copied)) gpu.linear_formats |= bit;
    const bool unformatted = enabled.core.features.shaderStorageImageWriteWithoutFormat == VK_TRUE;
    if (unformatted && has(VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT | copied)) gpu.storage_formats |= bit;
  }
  info.kernels = kernel_ids();
  return info;
}

/// Of what a device offers, what the backend uses.
void keep_used(Features& f) {
  const auto only = [](auto& all, auto... used) {
    auto kept = std::remove_reference_t<decltype(all)>{};
    kept.sType = all.sType;
    kept.pNext = all.pNext;
    ((kept.*used = all.*used), ...);
    all = kept;
  };
  using V12 = VkPhysicalDeviceVulkan12Features;
  only(f.v12, &V12::storageBuffer8BitAccess, &V12::shaderFloat16, &V12::shaderInt8, &V12::uniformBufferStandardLayout,
       &V12::vulkanMemoryModel);
  only(f.v11, &VkPhysicalDeviceVulkan11Features::storageBuffer16BitAccess);
  only(f.subgroups, &VkPhysicalDeviceSubgroupSizeControlFeatures::computeFullSubgroups);
  only(f.matrices, &MatrixFeatures::cooperativeMatrix);
  only(f.conversions, &MatrixConversionFeatures::cooperativeMatrixConversions);
  only(f.robustness, &VkPhysicalDevicePipelineRobustnessFeaturesEXT::pipelineRobustness);
  VkPhysicalDeviceFeatures core{};
  core.shaderStorageImageWriteWithoutFormat = f.core.features.shaderStorageImageWriteWithoutFormat;
  f.core.features = core;
}

/// What a lender's chain says of the features that the backend looks at.
void read_enabled(const VkPhysicalDeviceFeatures2* chain, Features& enabled) {
  if (!chain) return;
  enabled.core.features = chain->features;
  const auto as = []<class T>(const VkBaseInStructure* item, T) { return reinterpret_cast<const T*>(item); };
  for (auto* item = static_cast<const VkBaseInStructure*>(chain->pNext); item; item = item->pNext) {
    // No values that the headers' type has.
    if (item->sType == MatrixFeatures::kType) {
      enabled.matrices.cooperativeMatrix |= as(item, MatrixFeatures{})->cooperativeMatrix;
      continue;
    }
    if (item->sType == MatrixConversionFeatures::kType) {
      enabled.conversions.cooperativeMatrixConversions |= as(item, MatrixConversionFeatures{})->cooperativeMatrixConversions;
      continue;
    }
    switch (item->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
        const auto* f = as(item, VkPhysicalDeviceVulkan12Features{});
        enabled.v12.storageBuffer8BitAccess |= f->storageBuffer8BitAccess;
        enabled.v12.shaderFloat16 |= f->shaderFloat16;
        enabled.v12.shaderInt8 |= f->shaderInt8;
        enabled.v12.uniformBufferStandardLayout |= f->uniformBufferStandardLayout;
        enabled.v12.vulkanMemoryModel |= f->vulkanMemoryModel;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
        enabled.v11.storageBuffer16BitAccess |= as(item, VkPhysicalDeviceVulkan11Features{})->storageBuffer16BitAccess;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
        enabled.subgroups.computeFullSubgroups |= as(item, VkPhysicalDeviceVulkan13Features{})->computeFullSubgroups;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES:
        enabled.subgroups.computeFullSubgroups |= as(item, VkPhysicalDeviceSubgroupSizeControlFeatures{})->computeFullSubgroups;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        enabled.v12.storageBuffer8BitAccess |= as(item, VkPhysicalDevice8BitStorageFeatures{})->storageBuffer8BitAccess;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        enabled.v11.storageBuffer16BitAccess |= as(item, VkPhysicalDevice16BitStorageFeatures{})->storageBuffer16BitAccess;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
        enabled.v12.shaderFloat16 |= as(item, VkPhysicalDeviceShaderFloat16Int8Features{})->shaderFloat16;
        enabled.v12.shaderInt8 |= as(item, VkPhysicalDeviceShaderFloat16Int8Features{})->shaderInt8;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES:
        enabled.v12.uniformBufferStandardLayout |=
            as(item, VkPhysicalDeviceUniformBufferStandardLayoutFeatures{})->uniformBufferStandardLayout;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
        enabled.v12.vulkanMemoryModel |= as(item, VkPhysicalDeviceVulkanMemoryModelFeatures{})->vulkanMemoryModel;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT:
        enabled.robustness.pipelineRobustness |= as(item, VkPhysicalDevicePipelineRobustnessFeaturesEXT{})->pipelineRobustness;
        break;
      default:
        break;
    }
  }
}

class VulkanDevice final : public DeviceImpl {
 public:
  VulkanDevice(std::shared_ptr<Context> context, std::int32_t threads)
      : context_(std::move(context)), workers_(std::make_shared<Workers>(threads)) {}
  [[nodiscard]] const DeviceInfo& info() const override { return context_->info(); }
  [[nodiscard]] Result<std::shared_ptr<const ExecutableImpl>> prepare(const Plan& plan) override {
    return make_executable(plan, context_, workers_);
  }
  [[nodiscard]] Result<ProbeTimes> probe(const Plan& plan, double seconds) override {
    const Result<std::shared_ptr<const ExecutableImpl>> executable = prepare(plan);
    if (!executable) return executable.error();
    return probe_times(prepared_of(**executable), seconds);
  }
  void set_rates(const GpuRates& rates) override { context_->set_rates(rates); }
  [[nodiscard]] const std::shared_ptr<Context>& context() const { return context_; }

 private:
  std::shared_ptr<Context> context_;
  std::shared_ptr<Workers> workers_;
};

}  // namespace

Multiprocessors multiprocessors_of(std::uint32_t subgroup_size, const VkPhysicalDeviceShaderSMBuiltinsPropertiesNV& nv,
                                   const VkPhysicalDeviceShaderCorePropertiesAMD& amd) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int32_t>(std::min<std::uint64_t>(value, INT32_MAX)); };
  Multiprocessors out;
  if (nv.shaderSMCount > 0) {
    out.count = number(nv.shaderSMCount);
    out.subgroup_size = number(subgroup_size);
    out.max_threads = number(std::uint64_t{nv.shaderWarpsPerSM} * subgroup_size);
  } else if (amd.computeUnitsPerShaderArray > 0) {
    out.count = number(std::uint64_t{amd.shaderEngineCount} * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray);
    out.schedulers = number(amd.simdPerComputeUnit);
    out.subgroup_size = number(amd.wavefrontSize);
    out.max_threads = number(std::uint64_t{amd.simdPerComputeUnit} * amd.wavefrontsPerSimd * amd.wavefrontSize);
    // Of a SIMD unit they are counted by the wavefront: each is of as many numbers as that has threads.
    out.registers = std::int64_t{amd.simdPerComputeUnit} * amd.vgprsPerSimd * amd.wavefrontSize;
  }
  return out;
}

std::optional<std::uint32_t> compute_family(std::span<const VkQueueFamilyProperties> families) {
  std::optional<std::uint32_t> first;
  for (std::uint32_t i = 0; i < families.size(); ++i) {
    if (!computes(families[i])) continue;
    if ((families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) return i;
    if (!first) first = i;
  }
  return first;
}

Features::Features() {
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  robustness.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v11.pNext = &v12;
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  core.pNext = &v11;
}

Features::Features(const InstanceFunctions& vk, VkPhysicalDevice physical) : Features() {
  const auto chain = [&](const char* extension, auto& structure) {
    if (!has_extension(vk, physical, extension)) return;
    extensions.push_back(extension);
    structure.pNext = v12.pNext;
    v12.pNext = &structure;
  };
  chain(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, subgroups);
  chain(VK_EXT_PIPELINE_ROBUSTNESS_EXTENSION_NAME, robustness);
  chain(kMatrixExtension, matrices);
  chain(kMatrixConversionExtension, conversions);
  vk.GetPhysicalDeviceFeatures2(physical, &core);
}

Result<std::shared_ptr<const Instance>> Instance::create() {
  const PFN_vkGetInstanceProcAddr get = load_vulkan();
  if (!get) return Error{ErrorCode::unsupported, "there is no Vulkan loader (libvulkan.so.1) on this machine", {}};
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pEngineName = "mollify";
  application.apiVersion = kNewestApiVersion;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  if (const VkResult r = create(&info, nullptr, &instance); r != VK_SUCCESS) {
    if (r == VK_ERROR_INCOMPATIBLE_DRIVER) return Error{ErrorCode::unsupported, "there is no Vulkan driver on this machine", {}};
    return to_error(r, "creating an instance");
  }
  return std::shared_ptr<const Instance>(new Instance(instance));
}

Instance::Instance(VkInstance instance) : instance_(instance), vk_(load_functions(load_vulkan(), instance)) {
  std::uint32_t count = 0;
  if (vk_.EnumeratePhysicalDevices(instance_, &count, nullptr) != VK_SUCCESS) return;
  devices_.resize(count);
  if (vk_.EnumeratePhysicalDevices(instance_, &count, devices_.data()) != VK_SUCCESS) count = 0;
  devices_.resize(count);
  std::erase_if(devices_, [&](VkPhysicalDevice physical) { return !is_usable(vk_, physical); });
}

Instance::~Instance() {
  vk_.DestroyInstance(instance_, nullptr);
}

Result<std::shared_ptr<Context>> Context::open(std::shared_ptr<const Instance> instance, VkPhysicalDevice physical,
                                               const std::string& cache_folder) {
  const InstanceFunctions& vk = instance->vk();
  Features features(vk, physical);
  keep_used(features);

  const std::uint32_t family = *compute_family(queue_families(vk, physical));
  const float priority = 1.0F;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(features.extensions.size());
  info.ppEnabledExtensionNames = features.extensions.data();
  VkDevice device = VK_NULL_HANDLE;
  if (const VkResult r = vk.CreateDevice(physical, &info, nullptr, &device); r != VK_SUCCESS) {
    return to_error(r, "opening the device");
  }

  const std::shared_ptr<Context> context(new Context);
  context->handles_ = {vk.GetInstanceProcAddr, instance->handle(), physical, device, VK_NULL_HANDLE, family};
  context->vk_ = load_functions(vk, device);
  context->vk_.GetDeviceQueue(device, family, 0, &context->handles_.queue);
  context->describe(vk, features);
  context->instance_ = std::move(instance);
  context->open_pipeline_cache(cache_folder);
  if (auto rows = stored_tuning(cache_folder, context->info_)) context->info_.tuning = std::move(*rows);
  return context;
}

Result<std::shared_ptr<Context>> Context::borrow(const LentDevice& lent) {
  const auto lacks = [](const std::string& what) { return Error{ErrorCode::invalid_argument, "the lent device lacks " + what, {}}; };
  if (lent.get_instance_proc_addr == nullptr) return lacks("its vkGetInstanceProcAddr");
  if (lent.instance == VK_NULL_HANDLE || lent.physical_device == VK_NULL_HANDLE || lent.device == VK_NULL_HANDLE) {
    return lacks("one of instance, physical device and device");
  }
  const InstanceFunctions vk = load_functions(lent.get_instance_proc_addr, lent.instance);
  if (vk.GetPhysicalDeviceProperties2 == nullptr || !is_usable(vk, lent.physical_device)) {
    return Error{ErrorCode::unsupported, "the lent device is not one with Vulkan 1.2 and a compute queue", {}};
  }
  if (!computes(vk, lent.physical_device, lent.queue_family)) {
    return Error{
        ErrorCode::invalid_argument, "queue family " + std::to_string(lent.queue_family) + " of the lent device does not compute", {}};
  }
  const std::shared_ptr<Context> context(new Context);
  context->handles_ = lent;
  context->vk_ = load_functions(vk, lent.device);
  Features enabled;
  read_enabled(lent.enabled_features, enabled);
  if (enabled.v12.uniformBufferStandardLayout != VK_TRUE) {
    return Error{ErrorCode::unsupported, "the lent device was made without uniformBufferStandardLayout", {}};
  }
  if (lent.api_version < kNewestApiVersion) enabled.conversions = {};  // which take modules of SPIR-V 1.6
  context->describe(vk, enabled);
  context->open_pipeline_cache({});
  return context;
}

void Context::describe(const InstanceFunctions& instance, const Features& enabled) {
  info_ = describe_device(instance, physical(), enabled);
  sets_robustness_ = enabled.robustness.pipelineRobustness == VK_TRUE;
  instance.GetPhysicalDeviceMemoryProperties(physical(), &memory_);
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, nullptr, {}};
  instance.GetPhysicalDeviceProperties2(physical(), &properties);
  timestamp_period_ns_ = properties.properties.limits.timestampPeriod;
  granularity_ = properties.properties.limits.bufferImageGranularity;
  buffer_alignment_ = properties.properties.limits.minStorageBufferOffsetAlignment;
  max_layers_ = properties.properties.limits.maxComputeWorkGroupCount[2];
  const std::uint32_t bits = queue_families(instance, physical())[queue_family()].timestampValidBits;
  timestamp_mask_ = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;

  // A driver is known by its cache's UUID: a new version starts a new file.
  std::string id;
  for (const std::uint8_t byte : properties.properties.pipelineCacheUUID) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", byte);
    id += text;
  }
  cache_path_ = "pipelines-" + id + ".bin";
}

Context::~Context() {
  if (device() == VK_NULL_HANDLE) return;
  for (const auto& [key, objects] : pipelines_) destroy(objects);
  if (pipeline_cache_ != VK_NULL_HANDLE) {
    save_pipeline_cache();
    vk_.DestroyPipelineCache(device(), pipeline_cache_, nullptr);
  }
  if (!instance_) return;  // a lent device goes on living
  vk_.DestroyDevice(device(), nullptr);
}

void Context::destroy(const PipelineObjects& objects) const {
  vk_.DestroyPipeline(device(), objects.pipeline, nullptr);
  vk_.DestroyPipelineLayout(device(), objects.layout, nullptr);
  vk_.DestroyDescriptorSetLayout(device(), objects.set_layout, nullptr);
}

void Context::open_pipeline_cache(const std::string& folder) {
  std::vector<char> data;
  if (folder.empty()) {
    cache_path_.clear();
  } else {
    cache_path_ = (std::filesystem::path(folder) / cache_path_).string();
    std::ifstream file(cache_path_, std::ios::binary);
    data.assign(std::istreambuf_iterator<char>(file), {});
  }
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  // A cache only saves time: without one everything still works.
  if (vk_.CreatePipelineCache(device(), &info, nullptr, &pipeline_cache_) != VK_SUCCESS) pipeline_cache_ = VK_NULL_HANDLE;
}

void Context::save_pipeline_cache() const {
  if (cache_path_.empty() || pipelines_.empty()) return;
  std::size_t size = 0;
  if (vk_.GetPipelineCacheData(device(), pipeline_cache_, &size, nullptr) != VK_SUCCESS) return;
  std::vector<char> data(size);
  if (vk_.GetPipelineCacheData(device(), pipeline_cache_, &size, data.data()) != VK_SUCCESS) return;
  std::error_code ignored;
  const std::filesystem::path path(cache_path_);
  if (std::filesystem::file_size(path, ignored) == size) return;  // nothing new was compiled
  std::filesystem::create_directories(path.parent_path(), ignored);
  // Another process, or another device of this one, may read or write the same file: it must never see half of one.
  const std::filesystem::path fresh =
      cache_path_ + "." + std::to_string(::getpid()) + "." + std::to_string(reinterpret_cast<std::uintptr_t>(this));
  std::ofstream file(fresh, std::ios::binary);
  file.write(data.data(), static_cast<std::streamsize>(size));
  file.close();
  if (file) std::filesystem::rename(fresh, path, ignored);
  std::filesystem::remove(fresh, ignored);
}

std::int64_t Context::device_memory_bytes() const {
  VkDeviceSize largest = 0;
  for (std::uint32_t i = 0; i < memory_.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory_.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) largest = std::max(largest, heap.size);
  }
  return static_cast<std::int64_t>(largest);
}

Result<std::uint32_t> Context::memory_type(const VkMemoryRequirements& needs, VkMemoryPropertyFlags wanted,
                                           VkMemoryPropertyFlags liked) const {
  std::optional<std::uint32_t> best;
  bool is_too_large = false;
  for (std::uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
    if ((needs.memoryTypeBits >> i & 1U) == 0 || (flags & wanted) != wanted) continue;
    if (memory_.memoryHeaps[memory_.memoryTypes[i].heapIndex].size < needs.size) {
      is_too_large = true;
      continue;
    }
    if ((flags & liked) == liked) return i;
    if (!best) best = i;
  }
  if (best) return *best;
  if (is_too_large) {
    return Error{ErrorCode::out_of_memory, "no memory of the device holds " + std::to_string(needs.size) + " bytes in one piece", {}};
  }
  return Error{ErrorCode::internal, "the device has no memory of the kind needed", {}};
}

Status Context::submit(VkCommandBuffer commands, VkFence fence) const {
  if (queue() == VK_NULL_HANDLE) return Error{ErrorCode::invalid_argument, "the device was lent without a queue", {}};
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  const std::scoped_lock lock(queue_mutex_);
  if (const VkResult r = vk_.ResetFences(device(), 1, &fence); r != VK_SUCCESS) return to_error(r, "resetting a fence");
  if (const VkResult r = vk_.QueueSubmit(queue(), 1, &info, fence); r != VK_SUCCESS) return to_error(r, "submitting work");
  return {};
}

Status Context::wait(VkFence fence) const {
  const VkResult r = vk_.WaitForFences(device(), 1, &fence, VK_TRUE, UINT64_MAX);
  if (r != VK_SUCCESS) return to_error(r, "waiting for the device");
  return {};
}

std::vector<DeviceInfo> list_devices() {
  // Asked for again and again by whoever tries many plans.
  static const std::vector<DeviceInfo> known = [] {
    std::vector<DeviceInfo> devices;
    const Result<std::shared_ptr<const Instance>> instance = shared_instance();
    if (!instance) return devices;
    for (VkPhysicalDevice physical : (*instance)->devices()) {
      const Features features((*instance)->vk(), physical);
      devices.push_back(describe_device((*instance)->vk(), physical, features));
    }
    return devices;
  }();
  return known;
}

Result<std::shared_ptr<DeviceImpl>> open_device(std::string_view which, const DeviceOptions& options) {
  const Result<std::shared_ptr<const Instance>> instance = shared_instance();
  if (!instance) return instance.error();
  const std::vector<DeviceInfo> devices = list_devices();
  if (devices.empty()) return Error{ErrorCode::unsupported, "there is no device with Vulkan 1.2 on this machine", {}};

  std::size_t index = devices.size();
  if (which.empty()) {
    const auto hardware = std::ranges::find_if(devices, [](const DeviceInfo& d) { return !d.gpu.is_software; });
    index = hardware == devices.end() ? 0 : static_cast<std::size_t>(hardware - devices.begin());
  } else if (const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), index);
             error != std::errc() || end != which.data() + which.size()) {
    const auto named = std::ranges::find_if(devices, [&](const DeviceInfo& d) { return d.name.find(which) != std::string::npos; });
    index = static_cast<std::size_t>(named - devices.begin());
  }
  if (index >= devices.size()) {
    Error error{ErrorCode::invalid_argument, "there is no Vulkan device \"" + std::string(which) + "\"", {}};
    for (const DeviceInfo& device : devices) error.reasons.push_back("there is " + device.name);
    return error;
  }
  const Result<std::shared_ptr<Context>> context = Context::open(*instance, (*instance)->devices()[index], options.cache_folder);
  if (!context) return context.error();
  return make_device(*context, options.threads);
}

std::shared_ptr<Context> context_of(DeviceImpl& device) {
  auto* vulkan = dynamic_cast<VulkanDevice*>(&device);
  return vulkan ? vulkan->context() : nullptr;
}

std::shared_ptr<DeviceImpl> make_device(std::shared_ptr<Context> context, std::int32_t threads) {
  return std::make_shared<VulkanDevice>(std::move(context), threads);
}

}  // namespace mollify::vulkan
