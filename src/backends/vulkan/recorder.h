// An executable bound to a source and a destination: descriptors, intermediates, and the commands that use them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/vulkan/launches.h"
#include "backends/vulkan/memory.h"
#include "backends/vulkan/pipeline.h"
#include "mollify/vulkan.h"

namespace mollify::vulkan {

/// A plan's pipelines, weights and samplers: what an Executable of this backend holds.
class Prepared {
 public:
  static Result<std::shared_ptr<const Prepared>> create(const Plan& plan, std::shared_ptr<Context> context);
  ~Prepared();
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::shared_ptr<Context>& context() const { return context_; }
  [[nodiscard]] const std::vector<Pipeline>& passes() const { return pipelines_; }
  /// Bound at kWeightsBinding by every pass that has one.
  [[nodiscard]] VkBuffer weights() const { return weights_.buffer(0); }
  [[nodiscard]] VkDeviceSize weights_offset(std::size_t pass) const { return weights_offsets_[pass]; }
  [[nodiscard]] VkSampler sampler(std::size_t pass) const { return plan_.passes[pass].linear ? linear_ : nearest_; }
  /// The first pass reads an image, so all images of the plan are images and not buffers.
  [[nodiscard]] bool uses_images() const { return passes().front().reads_image(); }

 private:
  Prepared(Plan plan, std::shared_ptr<Context> context) : plan_(std::move(plan)), context_(std::move(context)), weights_(context_) {}
  [[nodiscard]] Status upload_weights();
  [[nodiscard]] Status make_samplers();

  Plan plan_;
  std::shared_ptr<Context> context_;
  std::vector<Pipeline> pipelines_;
  Arena weights_;
  std::vector<VkDeviceSize> weights_offsets_;
  VkSampler nearest_ = VK_NULL_HANDLE;
  VkSampler linear_ = VK_NULL_HANDLE;
};

class RecorderImpl {
 public:
  /// The resources are of the plan's kind and size.
  static Result<std::unique_ptr<RecorderImpl>> create(std::shared_ptr<const Prepared> prepared, std::span<const Target> batch,
                                                      const Scratch& scratch);
  /// One image, and memory of the recorder's own.
  static Result<std::unique_ptr<RecorderImpl>> create(std::shared_ptr<const Prepared> prepared, const Target& one) {
    return create(std::move(prepared), {&one, 1}, {});
  }
  ~RecorderImpl();
  RecorderImpl(const RecorderImpl&) = delete;
  RecorderImpl& operator=(const RecorderImpl&) = delete;

  void record(VkCommandBuffer commands) const;
  [[nodiscard]] const Context& context() const { return *prepared_->context(); }

 private:
  explicit RecorderImpl(std::shared_ptr<const Prepared> prepared) : prepared_(std::move(prepared)), scratch_(prepared_->context()) {}
  [[nodiscard]] Status make_intermediates(std::size_t images, const Scratch& scratch);
  [[nodiscard]] Status make_pipelines();
  [[nodiscard]] Status make_sets();
  /// Of pass `pass` in launch `launch`: what its set binds, and the distances in its buffers. `first` is the launch's first.
  void bind(std::size_t pass, std::size_t launch, const Target& first);
  [[nodiscard]] const std::vector<Pipeline>& passes() const { return layered_.empty() ? prepared_->passes() : layered_; }
  [[nodiscard]] std::size_t set_index(std::size_t pass, std::size_t launch) const { return launch * passes().size() + pass; }
  void compute_barrier(VkCommandBuffer commands, std::span<const VkImageMemoryBarrier> images) const;

  std::shared_ptr<const Prepared> prepared_;
  std::vector<Launch> launches_;
  std::vector<Pipeline> layered_;  ///< in place of the executable's where a launch has several images
  Arena scratch_;
  std::vector<VkImageMemoryBarrier> images_begin_;  ///< of each intermediate, where these are images
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_;               ///< of each pass in each launch, see set_index()
  std::vector<std::vector<std::byte>> parameters_;  ///< likewise, with the distances in these buffers
};

/// Adds a plan's intermediates to an arena, for as many images; they are not usable before it has memory.
[[nodiscard]] Status add_intermediates(const Prepared& prepared, std::size_t images, Arena& arena);

/// Everything that shaders or copies wrote is visible to what shaders or copies do next.
void full_barrier(const Context& context, VkCommandBuffer commands);
/// Everything that copies wrote is visible to the host, once it has waited.
void host_barrier(const Context& context, VkCommandBuffer commands);
/// Contents undefined before, VK_IMAGE_LAYOUT_GENERAL after.
[[nodiscard]] VkImageMemoryBarrier beginning_of(VkImage image, VkAccessFlags written_by);
void begin_image(const Context& context, VkCommandBuffer commands, VkImage image);

}  // namespace mollify::vulkan
