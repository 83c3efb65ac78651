#include "backends/vulkan/pipeline.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "backends/vulkan/shader.h"
#include "base/gpu_images.h"
#include "base/half.h"
#include "base/outside_pixel.h"
#include "math/weights.h"

namespace mollify::vulkan {
namespace {

Error internal(std::string message) {
  return {ErrorCode::internal, std::move(message), {}};
}

/// Whole numbers by name: what a pass says itself, and what follows from its images and the spec.
using Numbers = std::map<std::string, std::int64_t, std::less<>>;

Numbers standard_numbers(const Plan& plan, const Pass& pass, Layers layers) {
  const ImageDesc& from = desc_of(plan, pass.source);
  const ImageDesc& to = desc_of(plan, pass.destination);
  const FormatInfo& source = info(from.format);
  const FormatInfo& destination = info(to.format);
  const bool decodes = pass.source.kind == Binding::Kind::source;
  const bool encodes = pass.destination.kind == Binding::Kind::destination;
  const bool alpha = plan.spec.alpha == AlphaMode::premultiply;
  const bool srgb = plan.spec.transfer == TransferFunction::srgb;
  const bool has_matrix = pass.matrix.weights.size() > 1;
  const auto taps = [](const AxisTaps& t) { return static_cast<std::int64_t>(t.weights.size()); };
  return {{"group_x", pass.group.x},
          {"group_y", pass.group.y},
          {"has_layers", layers == Layers::many},
          {"border_x", static_cast<int>(plan.spec.border.mode.x)},
          {"border_y", static_cast<int>(plan.spec.border.mode.y)},
          {"source_bits", source.bits},
          {"source_is_float", !source.is_unorm()},
          {"source_channels", source.channels},
          {"destination_bits", destination.bits},
          {"destination_is_float", !destination.is_unorm()},
          {"destination_channels", destination.channels},
          {"decodes_alpha", decodes && alpha},
          {"decodes_srgb", decodes && srgb},
          {"halves_overflow_only", plan.device.gpu.halves_overflow_only},
          {"encodes_alpha", encodes && alpha},
          {"encodes_srgb", encodes && srgb},
          {"source_size_x", from.width},
          {"source_size_y", from.height},
          {"size_x", pass.size.x},
          {"size_y", pass.size.y},
          {"step_x", encodes ? plan.spec.stride.x.step : 1},
          {"step_y", encodes ? plan.spec.stride.y.step : 1},
          {"origin_x", pass.origin.x},
          {"origin_y", pass.origin.y},
          {"source_pitch", from.width},
          {"destination_pitch", to.width},
          {"source_stride", 0},
          {"destination_stride", 0},
          {"auxiliary_stride", 0},
          {"taps_x", has_matrix ? pass.matrix.width : taps(pass.taps.x)},
          {"taps_y", has_matrix ? pass.matrix.height : taps(pass.taps.y)},
          {"before_x", has_matrix ? pass.matrix.anchor.x : pass.taps.x.anchor},
          {"before_y", has_matrix ? pass.matrix.anchor.y : pass.taps.y.anchor},
          {"sample_count", std::ranges::count_if(pass.matrix.weights, [](double w) { return w != 0.0; })}};
}

/// Finds numbers by name and remembers which of the pass's own were used.
class Resolver {
 public:
  Resolver(const Plan& plan, const Pass& pass, Layers layers)
      : pass_(pass), standard_(standard_numbers(plan, pass, layers)), outside_(outside_pixel(plan.spec, plan.src.format)) {
    for (double& v : outside_) v *= pass.outside_gain;
  }

  [[nodiscard]] Result<std::uint32_t> bits(const std::string& name, ShaderType type) {
    if (const auto own = pass_.constants.find(name); own != pass_.constants.end()) {
      used_.insert(name);
      return encoded(static_cast<double>(own->second), own->second, type);
    }
    if (const auto own = pass_.parameters.find(name); own != pass_.parameters.end()) {
      used_.insert(name);
      return encoded(own->second, static_cast<std::int64_t>(own->second), type);
    }
    if (const auto found = standard_.find(name); found != standard_.end()) {
      return encoded(static_cast<double>(found->second), found->second, type);
    }
    return internal("nothing gives " + pass_.kernel + " its " + name);
  }

  /// Of a vector: "size" has "size_x" and "size_y"; "outside" is the border's value.
  [[nodiscard]] Result<std::uint32_t> component_bits(const ShaderParameter& parameter, std::uint32_t component) {
    const std::string name(parameter.name);
    if (name == "outside") return encoded(outside_[component], 0, ShaderType::float32);
    constexpr std::array kSuffixes = {"_x", "_y", "_z", "_w"};
    return bits(parameter.components == 1 ? name : name + kSuffixes[component], parameter.type);
  }

  void use(const std::string& name) { used_.insert(name); }

  /// A constant that nothing asked for is a mistake in the algorithm.
  [[nodiscard]] Status all_used() const {
    for (const auto& [name, value] : pass_.constants) {
      if (!used_.contains(name)) return internal(pass_.kernel + " has no constant " + name);
    }
    for (const auto& [name, value] : pass_.parameters) {
      if (!used_.contains(name)) return internal(pass_.kernel + " has no parameter " + name);
    }
    return {};
  }

 private:
  static std::uint32_t encoded(double real, std::int64_t whole, ShaderType type) {
    if (type == ShaderType::float32) return std::bit_cast<std::uint32_t>(static_cast<float>(real));
    return static_cast<std::uint32_t>(whole);
  }

  const Pass& pass_;
  Numbers standard_;
  std::array<double, 4> outside_;
  std::set<std::string, std::less<>> used_;
};

Result<const ShaderVariant*> select_variant(const Pass& pass, Resolver& resolver) {
  const Shader* shader = find_shader(pass.kernel);
  if (!shader) return Error{ErrorCode::unsupported, "the vulkan backend has no kernel " + pass.kernel, {}};
  std::vector<std::size_t> choice;
  for (const ShaderAxis& axis : shader->axes) {
    const auto value = pass.constants.find(axis.name);
    if (value == pass.constants.end()) return internal(pass.kernel + " is not told its " + std::string(axis.name));
    choice.push_back(static_cast<std::size_t>(value->second));
    resolver.use(std::string(axis.name));
  }
  const ShaderVariant* variant = shader->variant(choice);
  if (!variant) return internal(pass.kernel + " has no such variant");
  return variant;
}

/// 1-D weights, those of x first.
std::vector<std::byte> packed_taps(const Pass& pass) {
  std::vector<float> all = rounded<float>(pass.taps.x.weights);
  const std::vector<float> y = rounded<float>(pass.taps.y.weights);
  all.insert(all.end(), y.begin(), y.end());
  std::vector<std::byte> bytes(all.size() * sizeof(float));
  std::memcpy(bytes.data(), all.data(), bytes.size());
  return bytes;
}

/// The weights of a matrix that are not zero. `half` makes each one word: 8 bits of x, 8 bits of y, an f16 weight;
/// else it is an offset from the output pixel and a float.
std::vector<std::byte> packed_samples(const Matrix& matrix, bool half) {
  std::vector<double> weights;
  std::vector<PerAxis<std::int32_t>> places;
  for (std::int32_t y = 0; y < matrix.height; ++y) {
    for (std::int32_t x = 0; x < matrix.width; ++x) {
      const double w = matrix.weights[static_cast<std::size_t>(y * matrix.width + x)];
      if (w == 0.0) continue;
      weights.push_back(w);
      places.push_back({x, y});
    }
  }
  std::vector<std::uint32_t> words;
  if (half) {
    const std::vector<double> halves = rounded_to_scaled_half(weights).weights;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto [x, y] = places[i];
      const std::uint32_t weight = float_to_half(static_cast<float>(halves[i]));
      words.push_back(static_cast<std::uint32_t>(x) | static_cast<std::uint32_t>(y) << 8 | weight << 16);
    }
  } else {
    const std::vector<float> floats = rounded<float>(weights);
    for (std::size_t i = 0; i < places.size(); ++i) {
      words.push_back(static_cast<std::uint32_t>(places[i].x - matrix.anchor.x));
      words.push_back(static_cast<std::uint32_t>(places[i].y - matrix.anchor.y));
      words.push_back(std::bit_cast<std::uint32_t>(floats[i]));
      words.push_back(0);
    }
  }
  std::vector<std::byte> bytes(words.size() * sizeof(std::uint32_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace

VkDescriptorType descriptor_type(BindingKind kind) {
  switch (kind) {
    case BindingKind::sampled_image:
      return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    case BindingKind::storage_image:
      return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    case BindingKind::uniform_buffer:
      return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    case BindingKind::storage_buffer:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  }
  return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

namespace {

std::uint32_t parameter_bytes(const ShaderVariant& variant) {
  if (variant.parameters.empty()) return 0;
  const ShaderParameter& last = variant.parameters.back();
  return last.offset + last.components * 4;
}

Status make_layouts(const Context& context, const ShaderVariant& variant, PipelineObjects& out) {
  const DeviceFunctions& vk = context.vk();
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const ShaderBinding& b : variant.bindings) {
    bindings.push_back({b.binding, descriptor_type(b.kind), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<std::uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  if (const VkResult r = vk.CreateDescriptorSetLayout(context.device(), &set, nullptr, &out.set_layout); r != VK_SUCCESS) {
    out.set_layout = VK_NULL_HANDLE;  // what a failed call leaves there is undefined
    return to_error(r, "describing bindings");
  }
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, parameter_bytes(variant)};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &out.set_layout;
  layout.pushConstantRangeCount = range.size == 0 ? 0 : 1;
  layout.pPushConstantRanges = &range;
  if (const VkResult r = vk.CreatePipelineLayout(context.device(), &layout, nullptr, &out.layout); r != VK_SUCCESS) {
    out.layout = VK_NULL_HANDLE;
    return to_error(r, "making a pipeline layout");
  }
  return {};
}

/// Of SPIR-V: GroupNonUniformShuffle, GroupNonUniformQuad, CooperativeMatrixKHR. Lanes that do not exist would have nothing
/// for those that ask them.
constexpr std::array<std::uint32_t, 3> kNeedFullSubgroups = {65, 68, 6022};

/// Values of specialization constants.
struct Specialization {
  std::vector<VkSpecializationMapEntry> map;
  std::vector<std::uint32_t> values;

  void add(std::uint32_t id, std::uint32_t bits) {
    map.push_back({id, static_cast<std::uint32_t>(values.size() * sizeof bits), sizeof bits});
    values.push_back(bits);
  }
};

Status make_pipeline(const Context& context, const ShaderVariant& variant, const Specialization& specialization, PipelineObjects& out) {
  const DeviceFunctions& vk = context.vk();
  VkShaderModuleCreateInfo code{};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = variant.words.size_bytes();
  code.pCode = variant.words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  if (const VkResult r = vk.CreateShaderModule(context.device(), &code, nullptr, &module); r != VK_SUCCESS) {
    return to_error(r, "loading a shader");
  }
  VkSpecializationInfo constants{};
  constants.mapEntryCount = static_cast<std::uint32_t>(specialization.map.size());
  constants.pMapEntries = specialization.map.data();
  constants.dataSize = specialization.values.size() * sizeof(std::uint32_t);
  constants.pData = specialization.values.data();
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  if (std::ranges::find_first_of(variant.capabilities, kNeedFullSubgroups) != variant.capabilities.end()) {
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  info.stage.pSpecializationInfo = &constants;
  VkPipelineRobustnessCreateInfoEXT robustness{};
  robustness.sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO_EXT;
  robustness.storageBuffers = robustness.uniformBuffers = variant.is_checked
                                                              ? VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_EXT
                                                              : VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT;
  if (context.sets_robustness()) info.pNext = &robustness;
  info.layout = out.layout;
  const VkResult r = vk.CreateComputePipelines(context.device(), context.pipeline_cache(), 1, &info, nullptr, &out.pipeline);
  vk.DestroyShaderModule(context.device(), module, nullptr);
  return r == VK_SUCCESS ? Status() : Status(to_error(r, "compiling a pipeline"));
}

/// All of a pipeline or nothing.
Result<PipelineObjects> make_objects(const Context& context, const ShaderVariant& variant, const Specialization& constants) {
  PipelineObjects out;
  Status made = make_layouts(context, variant, out);
  if (made) made = make_pipeline(context, variant, constants, out);
  if (made) return out;
  context.destroy(out);
  return made.error();
}

/// A pipeline without its objects, and the constants that it is specialized by.
struct Resolved {
  Pipeline pipeline;
  Specialization constants;
};

Result<Resolved> resolve(const Plan& plan, const Pass& pass, Layers layers) {
  Resolver resolver(plan, pass, layers);
  const Result<const ShaderVariant*> variant = select_variant(pass, resolver);
  if (!variant) return variant.error();
  Resolved out;
  Pipeline& p = out.pipeline;
  p.variant = *variant;
  for (const ShaderConstant& constant : p.variant->constants) {
    const Result<std::uint32_t> bits = resolver.bits(std::string(constant.name), constant.type);
    if (!bits) return bits.error();
    out.constants.add(constant.id, *bits);
  }
  p.parameters.resize(parameter_bytes(*p.variant));
  for (const ShaderParameter& parameter : p.variant->parameters) {
    for (std::uint32_t i = 0; i < parameter.components; ++i) {
      const Result<std::uint32_t> bits = resolver.component_bits(parameter, i);
      if (!bits) return bits.error();
      std::memcpy(p.parameters.data() + parameter.offset + std::size_t{4} * i, &*bits, sizeof(std::uint32_t));
    }
  }
  if (Status s = resolver.all_used(); !s) return s.error();

  if (std::ranges::find(p.variant->parameters, "sample_count", &ShaderParameter::name) != p.variant->parameters.end()) {
    const auto packing = pass.constants.find("packing");
    p.weights = packed_samples(pass.matrix, packing != pass.constants.end() && packing->second != 0);
  } else {
    p.weights = packed_taps(pass);
  }
  const auto count = [](std::int32_t size, std::int32_t tile) { return static_cast<std::uint32_t>((size + tile - 1) / tile); };
  p.groups = {count(pass.size.x, pass.tile.x), count(pass.size.y, pass.tile.y)};
  return out;
}

Result<Pipeline> make_pass_pipeline(const Plan& plan, const Pass& pass, Layers layers, Context& context) {
  Result<Resolved> resolved = resolve(plan, pass, layers);
  if (!resolved) return resolved.error();
  Pipeline p = std::move(resolved->pipeline);
  const Specialization& constants = resolved->constants;
  std::string key(reinterpret_cast<const char*>(&p.variant), sizeof p.variant);
  key.append(reinterpret_cast<const char*>(constants.values.data()), constants.values.size() * sizeof(std::uint32_t));
  const Result<PipelineObjects> objects = context.pipeline(key, [&] { return make_objects(context, *p.variant, constants); });
  if (!objects) return objects.error();
  p.objects = *objects;
  return p;
}

}  // namespace

const ShaderBinding& Pipeline::binding(std::uint32_t number) const {
  return *std::ranges::find(variant->bindings, number, &ShaderBinding::binding);
}

void Pipeline::set_distance(std::vector<std::byte>& block, std::string_view name, std::uint32_t pixels) const {
  const auto found = std::ranges::find(variant->parameters, name, &ShaderParameter::name);
  if (found != variant->parameters.end()) std::memcpy(block.data() + found->offset, &pixels, sizeof pixels);
}

Result<std::vector<Pipeline>> make_pipelines(const Plan& plan, Layers layers, Context& context) {
  std::vector<Pipeline> pipelines;
  for (const Pass& pass : plan.passes) {
    Result<Pipeline> made = make_pass_pipeline(plan, pass, layers, context);
    if (!made) return made.error();
    pipelines.push_back(std::move(*made));
  }
  return pipelines;
}

Status check_passes(const Plan& plan) {
  for (const Pass& pass : plan.passes) {
    for (const Layers layers : {Layers::one, Layers::many}) {
      if (const Result<Resolved> resolved = resolve(plan, pass, layers); !resolved) return resolved.error();
    }
  }
  return {};
}

std::vector<std::string> kernel_ids() {
  std::vector<std::string> ids;
  for (const Shader* shader : shaders()) ids.emplace_back(shader->id);
  return ids;
}

}  // namespace mollify::vulkan
