// A worker's images under --device auto: each is blurred by the worker itself, or by the process that owns the GPU, whichever should end
// first.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "batch/device_client.h"
#include "image_blur.h"

namespace mollify::cli {

/// Gives a way to the process that owns the GPU, which may have to be started.
using FindOwner = std::function<Wire()>;

class AutoBlurrer final : public ImageBlurrer {
 public:
  /// `cpu` has the threads of this worker. `all_threads` plans for those of the whole batch: while one file is blurred others are as well,
  /// and the GPU has to be faster than all of them together.
  AutoBlurrer(DeviceBlurrer cpu, ImagePlanner all_threads, FindOwner find_owner)
      : owner_(Wire(-1), cpu.threads()), cpu_(std::move(cpu)), all_threads_(std::move(all_threads)), find_owner_(std::move(find_owner)) {}

  void set_owner(Wire owner) { owner_.set_owner(std::move(owner)); }

  [[nodiscard]] int threads() const override { return cpu_.threads(); }
  /// That the owner sees as well.
  [[nodiscard]] PixelBytes allocate(std::int64_t bytes) override { return owner_.allocate(bytes); }
  [[nodiscard]] Result<BlurOutcome> plan(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) override;
  [[nodiscard]] Result<BlurOutcome> run(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) override;
  /// By the CPU. For speed they are refused where the GPU is faster still.
  [[nodiscard]] Result<std::unique_ptr<StripBlur>> prepare_strips(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                                                  StripsFor purpose) override;
  [[nodiscard]] std::vector<DeviceChoice> take_choices() override;

 private:
  struct Choice {
    ImageSpec spec;
    ImageDesc src, dst;
    DeviceChoice choice;
  };
  /// The same for an image that is asked for again.
  DeviceChoice& choose(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst);
  [[nodiscard]] DeviceChoice new_choice(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst);
  /// By the GPU; nothing where that fails, and the choice is the CPU from there on.
  template <class Ask>
  [[nodiscard]] std::optional<BlurOutcome> on_gpu(DeviceChoice& choice, const Ask& ask);
  void keep(const DeviceChoice& choice);

  DeviceClient owner_;  ///< where there is one
  DeviceBlurrer cpu_;
  ImagePlanner all_threads_;
  FindOwner find_owner_;
  std::vector<Choice> choices_;        ///< of one file
  std::vector<DeviceChoice> to_tell_;  ///< that images went by
};

}  // namespace mollify::cli
