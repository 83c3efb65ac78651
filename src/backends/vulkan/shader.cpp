#include "backends/vulkan/shader.h"

#include <algorithm>

namespace mollify::vulkan {

const ShaderVariant* Shader::variant(std::span<const std::size_t> axis_values) const {
  if (axis_values.size() != axes.size()) return nullptr;
  std::size_t index = 0;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axis_values[axis] >= axes[axis].values.size()) return nullptr;
    index = index * axes[axis].values.size() + axis_values[axis];
  }
  return variants[index].words.empty() ? nullptr : &variants[index];
}

const Shader* find_shader(std::string_view id) {
  const auto found = std::ranges::lower_bound(shaders(), id, {}, &Shader::id);
  return found != shaders().end() && (*found)->id == id ? *found : nullptr;
}

}  // namespace mollify::vulkan
