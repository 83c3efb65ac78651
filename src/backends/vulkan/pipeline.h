// From a pass of a plan to a pipeline, its push constants and its weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/vulkan/context.h"
#include "backends/vulkan/shader.h"
#include "mollify/plan.h"

namespace mollify::vulkan {

/// The numbers of the bindings that every kernel agrees on.
inline constexpr std::uint32_t kSourceBinding = 0;
inline constexpr std::uint32_t kDestinationBinding = 1;
inline constexpr std::uint32_t kWeightsBinding = 2;
inline constexpr std::uint32_t kAuxiliaryBinding = 3;

/// The context owns `objects`, for every executable that needs the same.
struct Pipeline {
  const ShaderVariant* variant = nullptr;
  PipelineObjects objects;
  std::vector<std::byte> parameters;  ///< push constants; pitches and strides are filled in for each launch
  std::vector<std::byte> weights;     ///< for kWeightsBinding
  PerAxis<std::uint32_t> groups;      ///< work groups to dispatch

  [[nodiscard]] const ShaderBinding& binding(std::uint32_t number) const;
  [[nodiscard]] bool reads_image() const { return binding(kSourceBinding).kind == BindingKind::sampled_image; }
  /// Sets a distance in a block of parameters, if the kernel has it: "source_pitch", pixels from one row of a buffer to the
  /// next, or "source_stride", from one image to the next.
  void set_distance(std::vector<std::byte>& block, std::string_view name, std::uint32_t pixels) const;
};

/// What one dispatch makes: one image, or many, each a layer of the grid. Pipelines of one have nothing to add up for it.
enum class Layers : std::uint8_t { one, many };

/// One for each pass.
[[nodiscard]] Result<std::vector<Pipeline>> make_pipelines(const Plan& plan, Layers layers, Context& context);

/// Whether each pass gives its kernel all that it asks for, and nothing else: as much of making pipelines as needs no device.
[[nodiscard]] Status check_passes(const Plan& plan);

[[nodiscard]] VkDescriptorType descriptor_type(BindingKind kind);

/// The ids of the kernels that this backend has.
[[nodiscard]] std::vector<std::string> kernel_ids();

}  // namespace mollify::vulkan
