// For programs whose images lie in the memory of an NVIDIA GPU already: blurs in their own streams. Not part of mollify.h. It includes no
// header of CUDA.
//
//   Executable blur = device.prepare(make_plan(...))                        once; `device` is Device::open("cuda")
//   scratch = your memory of scratch_needs(blur).size bytes                 once
//   cuda::enqueue(blur, source, destination, 1, {scratch, size}, stream)    each time; allocates nothing, waits for nothing
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mollify/device.h"

struct CUstream_st;

/// Blurs of images in the memory of an NVIDIA GPU.
namespace mollify::cuda {

/// A stream of the driver's interface, CUstream, or of the runtime, cudaStream_t. Null is the default stream.
using Stream = CUstream_st*;

/// Images of the planned size in device memory, only to be read. All distances are multiples of a component's bytes. If rows and images
/// begin at multiples of four components, four are loaded at once, which is faster.
struct ConstImages {
  const void* data = nullptr;    ///< The first pixel of the first row of the first image, an address of the device.
  std::int64_t row_bytes = 0;    ///< Bytes from a row to the next one; 0 means rows without gaps.
  std::int64_t image_bytes = 0;  ///< Bytes from an image to the next one; 0 means images without gaps between their rows.
};

/// Images of the planned size in device memory that are written. They overlap neither each other nor a source. The same holds of its
/// members as of ConstImages'.
struct Images {
  void* data = nullptr;          ///< The first pixel of the first row of the first image, an address of the device.
  std::int64_t row_bytes = 0;    ///< Bytes from a row to the next one; 0 means rows without gaps.
  std::int64_t image_bytes = 0;  ///< Bytes from an image to the next one; 0 means images without gaps between their rows.
};

/// The device memory that enqueue() needs for what one pass leaves for the next.
struct ScratchNeeds {
  std::int64_t size = 0;       ///< Bytes. 0 means that no memory is needed.
  std::int64_t alignment = 1;  ///< What the address must be a multiple of.
};
/// The device memory that a blur of so many images needs. It is an error if the executable is not of the CUDA backend.
[[nodiscard]] Result<ScratchNeeds> scratch_needs(const Executable& executable, std::int64_t images = 1);

/// Scratch memory of the caller. It is in use until what enqueue() launched has run.
struct Scratch {
  void* memory = nullptr;  ///< An address of the device, or null where none is needed.
  std::int64_t size = 0;   ///< Bytes.
};

/// Launches a blur of so many images in the stream, in the GPU's primary context, which the runtime of CUDA, Torch and CuPy use as well.
/// It allocates nothing and waits for nothing. The executable must live until the launches have run; a graph that they are captured into
/// keeps what it needs of it. Planar channels of a tensor are a batch of single-channel images. The error says what is wrong with the
/// arguments.
[[nodiscard]] Status enqueue(const Executable& executable, const ConstImages& source, const Images& destination, std::int64_t images,
                             const Scratch& scratch, Stream stream);

/// The weights of Gaussians for the images of a batch, a sigma for each image, and which of the images are launched together.
struct WeightsOfEach {
  double predicted_error = 0.0;          ///< The largest of those of the images that are blurred, in the units of Plan::predicted_error.
  std::vector<std::int32_t> left_out{};  ///< Images whose sigma is so large that a blur of their own takes less time: they are not written.
  ScratchNeeds scratch{};                ///< What enqueue() needs.
  std::int64_t planes = 0;               ///< Of all images, those that are left out too.

  /// A launch: of records one after the other, whose images have few enough weights for it.
  struct Group {
    std::size_t form = 0;    ///< Which launch: how many weights it has room for.
    std::int64_t first = 0;  ///< The first record of its images.
    std::int64_t count = 0;  ///< Planes of images.
  };
  std::vector<Group> groups{};      ///< At most four.
  std::vector<std::byte> tables{};  ///< What is copied to the device: records, and then weights.
};

/// Gaussians of a batch of images of one shape that each have a sigma of their own, as augmentation draws them. In images of f32, a number
/// that is not finite acts as far as the taps of the image's group reach: up to 16 pixels where its own taps reach less.
///
///   GaussianOfEach blur = GaussianOfEach::prepare(device, spec, desc, images)            once
///   WeightsOfEach weights = blur.weights(sigmas)                                         for each batch; no work of the device
///   blur.enqueue(weights, source, destination, {scratch, weights.scratch.size}, stream)  at most four launches
class GaussianOfEach {
 public:
  /// `spec` says all but the sigmas; its kernel is a Gaussian. `images` is about how many are blurred at once.
  [[nodiscard]] static Result<GaussianOfEach> prepare(const Device& device, const BlurSpec& spec, const ImageDesc& image,
                                                      std::int32_t images);
  /// Each image has so many planes, which lie one after the other and have its sigma.
  [[nodiscard]] Result<WeightsOfEach> weights(std::span<const PerAxis<double>> sigmas, std::int32_t planes = 1) const;
  /// Copies the weights to the scratch memory and launches the blurs, in the stream. It waits for no other work; the weights need not
  /// outlive the call. Under capture the weights become parameters of launches, 4 KB of them each, so that the graph repeats these weights
  /// on every run. It keeps what else it needs of this object; the scratch memory must last as long as the graph.
  [[nodiscard]] Status enqueue(const WeightsOfEach& weights, const ConstImages& source, const Images& destination, const Scratch& scratch,
                               Stream stream) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace mollify::cuda
