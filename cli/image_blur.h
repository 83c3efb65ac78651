// The blur of one image in memory: by a device of this process, or by the process that owns the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conventions/conventions.h"
#include "files/document.h"
#include "mollify/experimental/auto_device.h"
#include "mollify/mollify.h"

namespace mollify::cli {

/// Memory for pixels. It starts at a multiple of 64 bytes, and its contents start undefined.
using PixelBytes = std::unique_ptr<std::uint8_t[], std::function<void(std::uint8_t*)>>;

/// What the blur of one image has of its own, besides the request that holds for all.
struct ImageSpec {
  std::optional<Rect> region{};
  PerAxis<double> kernel_scale{1.0, 1.0};  ///< of a smaller copy of a picture
  AlphaMode alpha = AlphaMode::ignore;
  TransferFunction transfer = TransferFunction::none;
  std::array<double, 4> border_value{};
  bool are_bytes = false;  ///< whether the picture has unsigned integers of 8 bits, whose Gaussians some libraries cut sooner
  bool is_exact = false;   ///< where the request names no error: the least there is instead of the usual one

  bool operator==(const ImageSpec&) const = default;
};

/// What the planner decides for one image.
struct BlurOutcome {
  std::string algorithm;
  double predicted_error = 0.0;
  PerAxis<Reach> reach{};  ///< of the kernel
};

/// Strips of one image's blur, from rows of its source. A stream makes them, which keeps what the next strip needs, or runs on windows do,
/// which need all rows of the halo each time.
class StripBlur {
 public:
  virtual ~StripBlur() = default;
  [[nodiscard]] virtual BlurOutcome outcome() const = 0;
  /// Two that say the same here need the same rows for each strip.
  [[nodiscard]] virtual std::string reading() const = 0;
  /// From here on a stream makes the strips, which have to come from top to bottom. False where there is none for this blur.
  [[nodiscard]] virtual bool open_stream() = 0;
  virtual void close_stream() = 0;
  /// Null where it is in another process.
  [[nodiscard]] virtual const Stream* stream() const { return nullptr; }

  /// The rows of the source that these rows of the result need: of a stream that has not begun, in addition to those before.
  [[nodiscard]] virtual files::RowRange source_rows(files::RowRange rows) const = 0;
  /// How many these are at most, for so many rows of the result.
  [[nodiscard]] virtual std::int64_t most_source_rows(std::int64_t rows) const = 0;
  /// How many of these the strips before it did not need, at most; of a stream.
  [[nodiscard]] virtual std::int64_t most_new_rows(std::int64_t rows) const = 0;
  /// Rows that a stream makes at once, whatever the strips. Others need no more of the source meanwhile.
  [[nodiscard]] virtual std::int64_t rows_at_once() const = 0;
  /// Bytes that run() takes in addition to its source and its result, at most.
  [[nodiscard]] virtual std::int64_t scratch_bytes(std::int64_t rows) const = 0;
  /// To be called before run(), which makes strips of so many rows at most.
  [[nodiscard]] virtual Status reserve(std::int32_t rows) = 0;
  [[nodiscard]] virtual Status run(const ConstWindow& src, const Window& dst) = 0;
};

/// By a device of this process.
class DeviceStrips final : public StripBlur {
 public:
  explicit DeviceStrips(const Executable& executable) : executable_(executable) {}

  [[nodiscard]] BlurOutcome outcome() const override;
  [[nodiscard]] std::string reading() const override;
  [[nodiscard]] bool open_stream() override;
  void close_stream() override { stream_.reset(); }
  [[nodiscard]] const Stream* stream() const override { return stream_ ? &*stream_ : nullptr; }
  [[nodiscard]] files::RowRange source_rows(files::RowRange rows) const override;
  [[nodiscard]] std::int64_t most_source_rows(std::int64_t rows) const override;
  [[nodiscard]] std::int64_t most_new_rows(std::int64_t rows) const override;
  [[nodiscard]] std::int64_t rows_at_once() const override;
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t rows) const override;
  [[nodiscard]] Status reserve(std::int32_t rows) override;
  [[nodiscard]] Status run(const ConstWindow& src, const Window& dst) override;

 private:
  [[nodiscard]] bool is_on_gpu() const { return executable_.plan().device.backend != Backend::cpu; }

  Executable executable_;
  std::optional<Workspace> workspace_;  ///< of windows
  std::optional<Stream> stream_;
};

/// Why strips are asked for.
enum class StripsFor : bool {
  speed,   ///< a whole image would do as well
  memory,  ///< whole images do not fit
};

class ImageBlurrer {
 public:
  virtual ~ImageBlurrer() = default;
  /// That codecs may use.
  [[nodiscard]] virtual int threads() const = 0;
  /// Images that are blurred lie in such memory.
  [[nodiscard]] virtual PixelBytes allocate(std::int64_t bytes) = 0;
  /// Decides what run() would do, and does nothing.
  [[nodiscard]] virtual Result<BlurOutcome> plan(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) = 0;
  [[nodiscard]] virtual Result<BlurOutcome> run(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) = 0;
  /// For images of which there are never more than some rows in memory.
  [[nodiscard]] virtual Result<std::unique_ptr<StripBlur>> prepare_strips(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                                                          StripsFor purpose) = 0;
  /// Why the CPU blurs such images, although a GPU was asked for: "Vulkan has no such format". Unset: it does not.
  [[nodiscard]] virtual std::optional<std::string> reason_for_cpu(const ImageSpec& /*spec*/, const ImageDesc& /*src*/,
                                                                  const ImageDesc& /*dst*/) {
    return std::nullopt;
  }
  /// Where it has chosen devices for images: these devices, and why, since the last call. The next image is looked at anew.
  [[nodiscard]] virtual std::vector<DeviceChoice> take_choices() { return {}; }
};

/// Decides how images are blurred on a device, which need not be open. Any number of threads may ask.
class ImagePlanner {
 public:
  /// `request` is what all images have in common. Its kernel is meant as the library `like` means it.
  ImagePlanner(DeviceInfo device, BlurSpec request, PlanOptions options, std::optional<conventions::Peer> like)
      : device_(std::move(device)), request_(std::move(request)), options_(std::move(options)), like_(like) {}

  /// The runs that make the result, of which there are several where a library rounds in between: all but the first are in place.
  [[nodiscard]] Result<std::vector<Plan>> plans(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) const;

 private:
  [[nodiscard]] Result<std::vector<Plan>> new_plans(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) const;
  [[nodiscard]] Result<Plan> planned(const KernelSpec& meant, const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                     Overlap overlap) const;
  [[nodiscard]] Result<std::vector<KernelSpec>> kernels_for(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) const;

  DeviceInfo device_;
  BlurSpec request_;
  PlanOptions options_;
  std::optional<conventions::Peer> like_;

  /// Made for the last image. The next one is often of the same kind, and wide kernels take a tenth of a second to plan.
  struct LastPlans {
    std::mutex mutex;
    ImageSpec spec;
    ImageDesc src, dst;
    std::vector<Plan> plans;  ///< none: there is no last image
  };
  std::shared_ptr<LastPlans> last_ = std::make_shared<LastPlans>();
};

/// By a device of this process. Any number of threads may call run().
class DeviceBlurrer final : public ImageBlurrer {
 public:
  /// The request is that of an ImagePlanner.
  DeviceBlurrer(const Device& device, BlurSpec request, PlanOptions options, std::optional<conventions::Peer> like = {})
      : device_(device), planner_(device.info(), std::move(request), std::move(options), like) {}

  [[nodiscard]] const ImagePlanner& planner() const { return planner_; }
  [[nodiscard]] int threads() const override;
  [[nodiscard]] PixelBytes allocate(std::int64_t bytes) override;
  [[nodiscard]] Result<BlurOutcome> plan(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) override;
  [[nodiscard]] Result<BlurOutcome> run(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) override;
  [[nodiscard]] Result<std::unique_ptr<StripBlur>> prepare_strips(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                                                  StripsFor purpose) override;

 private:
  Device device_;
  ImagePlanner planner_;
};

/// Whether an image that the GPU has no plan for is blurred by the CPU, where it is to be as exact as can be.
enum class IfInexact : bool { fail, use_cpu };

/// By a GPU, but for formats that Vulkan lacks, and for integers that no plan of it is exact enough for.
class GpuBlurrer final : public ImageBlurrer {
 public:
  /// `open_cpu` makes what blurs the others, when the first of them comes.
  GpuBlurrer(ImageBlurrer& gpu, Backend backend, IfInexact if_inexact, std::function<DeviceBlurrer()> open_cpu)
      : gpu_(gpu), has_all_formats_(backend == Backend::cuda), if_inexact_(if_inexact), open_cpu_(std::move(open_cpu)) {}

  [[nodiscard]] int threads() const override { return gpu_.threads(); }
  [[nodiscard]] PixelBytes allocate(std::int64_t bytes) override { return gpu_.allocate(bytes); }
  [[nodiscard]] Result<BlurOutcome> plan(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) override {
    return blurrer_for(spec, src, dst).plan(spec, src, dst);
  }
  [[nodiscard]] Result<BlurOutcome> run(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) override {
    return blurrer_for(spec, src.desc, dst.desc).run(spec, src, dst);
  }
  [[nodiscard]] Result<std::unique_ptr<StripBlur>> prepare_strips(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                                                  StripsFor purpose) override {
    return blurrer_for(spec, src, dst).prepare_strips(spec, src, dst, purpose);
  }
  [[nodiscard]] std::optional<std::string> reason_for_cpu(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) override;

 private:
  [[nodiscard]] ImageBlurrer& blurrer_for(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst);

  ImageBlurrer& gpu_;
  bool has_all_formats_;
  IfInexact if_inexact_;
  std::function<DeviceBlurrer()> open_cpu_;
  std::optional<DeviceBlurrer> cpu_;
};

/// An image whose pixels an ImageBlurrer can read and write. Its rows start at multiples of 64 bytes.
class WorkImage {
 public:
  WorkImage(ImageBlurrer& blurrer, const ImageDesc& desc);
  [[nodiscard]] ImageView view() const { return {desc_, pixels_.get(), row_bytes_}; }
  /// Bytes of its pixels.
  [[nodiscard]] static std::int64_t bytes(const ImageDesc& desc);

 private:
  ImageDesc desc_;
  std::ptrdiff_t row_bytes_;
  PixelBytes pixels_;
};

}  // namespace mollify::cli
