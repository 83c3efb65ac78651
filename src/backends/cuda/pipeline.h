// From a plan to launches of kernels: which function, how many blocks of threads, and its arguments but for where images lie.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "backends/cuda/context.h"
#include "backends/cuda/kernels/arguments.h"
#include "backends/cuda/memory.h"

namespace mollify::cuda {

/// Ids that passes of plans may name.
[[nodiscard]] std::vector<std::string> kernel_ids();

inline constexpr std::int64_t kScratchAlignment = 256;  ///< of scratch memory, and of each intermediate image in it

using Arguments = std::variant<BoxAny, BoxPass, BoxSlide, GaussDecimate, GaussGrid, GaussMatrix, GaussStrips, GaussUpsample,
                               GaussUpsampleMatrix, NxnDirect, SepFused, SepMatrix, SepPass, SepSums, SepSumsEach>;

/// One kernel of a plan.
struct Launch {
  CUfunction function = nullptr;
  Arguments arguments;        ///< sizes of images are set, their places are not
  std::uint32_t threads = 0;  ///< of a block
  std::uint32_t shared_bytes = 0;
  Binding source;
  Binding destination;
  std::optional<Binding> auxiliary;  ///< a second image that the kernel reads
  /// Whether it may begin before the kernel before it in the stream has ended, for which it waits by itself; see turns.cuh.
  bool waits = false;
};

/// Images of the caller in device memory: rows and images at any distance of whole components.
struct Place {
  CUdeviceptr data = 0;
  std::int64_t row_bytes = 0;
  std::int64_t image_bytes = 0;
};

/// A plan whose kernels and tables are on the device.
class Prepared {
 public:
  /// `weights`: of the plan for all images, or of each image's own, for enqueue_each().
  enum class Weights : std::uint8_t { of_plan, of_each };
  [[nodiscard]] static Result<std::shared_ptr<const Prepared>> create(const Plan& plan, std::shared_ptr<Context> context,
                                                                      Weights weights = Weights::of_plan);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::shared_ptr<Context>& context() const { return context_; }
  /// Bytes of what passes leave for later ones, for so many images.
  [[nodiscard]] std::int64_t scratch_bytes(std::int64_t images) const;
  /// Launches all passes for so many images. It allocates nothing and waits for nothing. `scratch` has scratch_bytes(images).
  [[nodiscard]] Status enqueue(const Place& source, const Place& destination, std::int64_t images, CUdeviceptr scratch,
                               CUstream stream) const;
  /// The same of a plan that is one pass of sep_fused or sep_scatter, for so many images of those that lie there: records at `each`, a
  /// TapsOfImage for each of them, say which, and how their weights lie at `taps`.
  [[nodiscard]] Status enqueue_each(const Place& source, const Place& destination, std::int64_t images, CUdeviceptr each, CUdeviceptr taps,
                                    CUstream stream) const;

 private:
  Prepared(const Plan& plan, std::shared_ptr<Context> context) : plan_(plan), context_(std::move(context)) {}
  [[nodiscard]] Status prepare(Weights weights);
  [[nodiscard]] Status start(const Launch& launch, Arguments& arguments, std::int64_t images, CUstream stream) const;

  Plan plan_;
  std::shared_ptr<Context> context_;
  Memory tables_;
  std::vector<Launch> launches_;
};

}  // namespace mollify::cuda
