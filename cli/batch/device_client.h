// A worker's way to the GPU: its pixels lie in memory that it shares with the process that owns the device.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "batch/wire.h"
#include "image_blur.h"

namespace mollify::cli {

/// Thrown where the process that owns the GPU has ended, or has lost the device. The file may well succeed with the next one.
struct DeviceGone {
  std::string reason;  ///< empty: the process has ended without a word
};

class DeviceClient final : public ImageBlurrer {
 public:
  DeviceClient(Wire owner, int threads) : owner_(std::move(owner)), threads_(threads) {}

  /// Without an owner it allocates only.
  [[nodiscard]] bool has_owner() const { return owner_.descriptor() >= 0; }
  void set_owner(Wire owner) { owner_ = std::move(owner); }

  [[nodiscard]] int threads() const override { return threads_; }
  [[nodiscard]] PixelBytes allocate(std::int64_t bytes) override;
  [[nodiscard]] Result<BlurOutcome> plan(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) override;
  /// Both images lie in memory of allocate().
  [[nodiscard]] Result<BlurOutcome> run(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) override;
  /// Of images that do not fit into memory. A GPU blurs others as a whole.
  [[nodiscard]] Result<std::unique_ptr<StripBlur>> prepare_strips(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                                                  StripsFor purpose) override;
  /// Where such an image is blurred first, of an owner that chooses; the CPU takes `cpu_seconds` by its plans.
  [[nodiscard]] DeviceChoice choose(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst, double cpu_seconds);

  /// Where the owner finds pixels of allocate().
  struct Place {
    int descriptor = -1;
    std::int64_t offset = 0;
  };
  [[nodiscard]] Place place_of(const void* pixels) const;
  /// Waits for the answer.
  [[nodiscard]] Json ask(const Json& question, std::span<const int> descriptors);

 private:
  struct Block {
    Descriptor file;
    std::int64_t bytes = 0;
  };
  void free(std::uint8_t* pixels);

  Wire owner_;
  int threads_;
  std::map<const std::uint8_t*, Block> blocks_;  ///< by where they begin
};

}  // namespace mollify::cli
