// What the planner knows of a GPU. Experimental: it changes with the algorithms and devices, in any version.
#pragma once

#include <cstdint>

#include "mollify/spec.h"

namespace mollify {

/// A GPU's multiprocessors, which run work groups beside one another (CUDA: streaming multiprocessors; AMD: compute units). A field is 0
/// where the driver does not say it.
struct Multiprocessors {
  std::int32_t count = 0;          ///< Of the device. The other fields are of one of them.
  std::int32_t schedulers = 0;     ///< That share out the subgroups and the registers.
  std::int32_t subgroup_size = 0;  ///< Threads that a scheduler takes together.
  std::int32_t max_threads = 0;    ///< That it holds at once.
  std::int64_t registers = 0;      ///< Of 32 bits, of all schedulers.
  std::int64_t shared_bytes = 0;   ///< Of all its work groups together.
  bool operator==(const Multiprocessors&) const = default;
};

/// How fast a GPU was measured to be when it was first opened. All are 0 where it was not.
struct GpuRates {
  double bytes_per_second = 0.0;       ///< Of a copy, read and written.
  double operations_per_second = 0.0;  ///< Of multiply-adds of pixels, as blurs make them.
  double launch_seconds = 0.0;         ///< Of one dispatch.
  double shared_per_second = 0.0;      ///< Of pixels that are read from shared memory; 0: not measured.
  double waits_per_second = 0.0;       ///< Of threads at barriers; 0: not measured.
  bool operator==(const GpuRates&) const = default;
};

/// What the planner knows of a GPU. Other backends leave it as it is.
struct GpuInfo {
  bool is_software = false;         ///< Whether the driver computes on the CPU.
  std::int32_t subgroup_size = 0;   ///< Threads of a subgroup (CUDA: warp).
  bool quad_operations = false;     ///< Whether compute shaders have quad swaps and can ask for full subgroups.
  bool tf32_matrices = false;       ///< CUDA: whether the kernels that it runs have products of matrices of tf32.
  bool float16_arithmetic = false;  ///< Whether shaders can compute with half floats.
  bool shuffle_operations = false;  ///< Whether compute shaders have subgroup shuffles and votes and can ask for full subgroups.
  bool matrix_operations = false;   ///< Whether subgroups have cooperative matrices of f16, 16x16 times 16x8, summed in f32.
  bool matrix_conversions = false;  ///< Whether sums of cooperative matrices can become operands (VK_NV_cooperative_matrix2).
  bool small_matrices = false;      ///< Whether cooperative matrices of 16x8 times 8x8 are there as well.
  /// Whether there are cooperative matrices of 8-bit integers, 16x32 times 32x16, summed in 32 bits.
  bool byte_matrices = false;
  bool halves_overflow_only = false;       ///< Whether images of f16 store infinities as NaN, and 65536 as an infinity.
  bool small_storage = false;              ///< Whether storage buffers hold 8- and 16-bit numbers, and f16 is rounded to the nearest.
  std::int64_t shared_bytes = 0;           ///< Bytes of shared memory that one work group can have.
  std::int32_t max_group_invocations = 0;  ///< The most threads of one work group.
  PerAxis<std::int32_t> max_group;         ///< The most threads of one work group along each axis.
  PerAxis<std::int32_t> max_group_count;   ///< The most work groups of one dispatch along each axis.
  std::int32_t max_image_length = 0;       ///< The most pixels of an image along either axis.
  std::int64_t max_buffer_bytes = 0;       ///< The most bytes that one binding of a storage buffer can see.
  std::int64_t max_uniform_bytes = 0;      ///< The most bytes of a uniform buffer.
  std::int32_t linear_fraction_bits = 0;   ///< How many bits of the position between two texels a linear sampler distinguishes.
  std::uint32_t sampled_formats = 0;       ///< Bit i says whether images of PixelFormat i can be read by shaders.
  std::uint32_t linear_formats = 0;        ///< Bit i says whether images of PixelFormat i can be read through a linear sampler.
  std::uint32_t storage_formats = 0;       ///< Bit i says whether images of PixelFormat i can be written by shaders.
  Multiprocessors multiprocessors;         ///< What the driver says of them.
  GpuRates measured;                       ///< What the planner goes by where the library has no row for the device.
  bool operator==(const GpuInfo&) const = default;
};

}  // namespace mollify
