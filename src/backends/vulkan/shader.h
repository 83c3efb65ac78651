// The compute shaders as data: SPIR-V words of every variant and what each asks of its caller. shaders/compile.py fills
// these structs at build time from shaders/*.comp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace mollify::vulkan {

/// A choice made when shaders are compiled: "storage" of "buffer", "image".
struct ShaderAxis {
  std::string_view name;
  std::span<const std::string_view> values;
};

enum class ShaderType : std::uint8_t { boolean, int32, uint32, float32 };

/// A specialization constant. "group_x", "group_y" and "group_z" are the size of the work group.
struct ShaderConstant {
  std::string_view name;
  std::uint32_t id;
  ShaderType type;
  std::uint32_t default_bits;
};

/// A member of the push-constant block: a scalar or a vector. GLSL's bool is a uint32 there.
struct ShaderParameter {
  std::string_view name;
  std::uint32_t offset;
  ShaderType type;
  std::uint32_t components;
};

/// A sampled image is a combined image sampler.
enum class BindingKind : std::uint8_t { sampled_image, storage_image, uniform_buffer, storage_buffer };

/// A descriptor of set 0. Where several variables share it, it has the shortest of their names. A block goes by the
/// name of its instance, or by its own when there is none.
struct ShaderBinding {
  std::string_view name;
  std::uint32_t binding;
  BindingKind kind;
  bool read_only;
};

/// `constants` may hold some that the module no longer uses; Vulkan ignores values for those. `capabilities` are the
/// numbers of SPIR-V.
struct ShaderVariant {
  std::span<const std::uint32_t> words;
  std::span<const ShaderConstant> constants;    ///< by id
  std::span<const ShaderParameter> parameters;  ///< by offset
  std::span<const ShaderBinding> bindings;      ///< by binding
  std::span<const std::uint32_t> capabilities;
  bool is_checked = false;  ///< drivers that can be asked to are to check what it reads and writes of buffers
};

/// The id is the stem of the .comp file. Variants are in the order of the axes' values, the last axis fastest; one that
/// the shader leaves out has no words.
struct Shader {
  std::string_view id;
  std::span<const ShaderAxis> axes;
  std::span<const ShaderVariant> variants;

  /// One index a value for each axis. Null if there is no such variant.
  [[nodiscard]] const ShaderVariant* variant(std::span<const std::size_t> axis_values) const;
};

/// All of them, sorted by id.
[[nodiscard]] std::span<const Shader* const> shaders();

/// Null if there is none.
[[nodiscard]] const Shader* find_shader(std::string_view id);

}  // namespace mollify::vulkan
