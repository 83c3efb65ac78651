// A request made ready for arrays of one shape: its runs, and the memory that they need.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "array.h"
#include "direct_sums.h"
#include "layout.h"
#include "mollify/device.h"
#include "request.h"
#include "slices.h"

namespace mollify::python {

/// Of a call under capture that would have to prepare something.
inline constexpr const char* kNotPrepared =
    "image: a graph is being captured, and nothing is prepared for such an image yet; blur one before";

/// How the memory of the source and of the destination lie to each other.
enum class Sharing : std::uint8_t { none, same_elements, otherwise };

/// All that a Prepared depends on.
struct Task {
  Request request;
  Geometry src;
  Geometry dst;
  Sharing sharing = Sharing::none;
  bool is_aligned = true;        ///< Whether every element of both lies at a multiple of its size.
  std::optional<Geometry> mask;  ///< what says how far an element is known, of bool or float32
  bool is_on_gpu = false;        ///< Whether both lie in the memory of the request's device, which is a GPU.
  bool operator==(const Task&) const = default;
};

/// What cannot be done although it makes sense, with the plan's reasons.
class Unsupported : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

[[nodiscard]] bool is_built_with_cuda();

/// What the library has no images for as it lies in the memory of a GPU. In another order it may.
class NeedsCopy : public std::exception {};

/// What a caller is told of the runs.
struct Summary {
  std::string algorithm;     ///< of the runs, joined by " + "
  double error = 0.0;        ///< in the array's numbers for integers, else relative to the largest magnitude
  std::int64_t bytes = 0;    ///< that the runs move
  std::int64_t scratch = 0;  ///< bytes
  double seconds = 0.0;
  std::vector<Reach> reach;  ///< for each axis of the array
  std::vector<std::pair<std::string, std::string>> refusals;
  std::string explanation;
};

/// It belongs to one call at a time.
class Prepared {
 public:
  /// Throws std::invalid_argument or Unsupported.
  explicit Prepared(const Task& task);

  [[nodiscard]] const Task& task() const { return task_; }
  /// Bytes that it needs, and has after a run until release_memory().
  [[nodiscard]] std::int64_t scratch_bytes() const;
  /// Whether arrays in host memory are blurred by a GPU, so that part of these bytes is memory of the host that it may copy from.
  [[nodiscard]] bool copies_to_gpu() const { return copies_to_gpu_; }
  void release_memory();
  [[nodiscard]] Summary summary() const;
  /// The only step, where it is a run on a single image. It lives as long as this.
  struct SingleRun {
    const Executable* executable;
    const ImageLayout* layout;
  };
  [[nodiscard]] std::optional<SingleRun> single_run() const;
  /// A rough time.
  [[nodiscard]] double seconds() const { return seconds_; }
  /// Bytes of the images that the runs read and write.
  [[nodiscard]] std::int64_t run_bytes() const;
  /// Whether a user may want to stop a run before it ends.
  [[nodiscard]] bool is_long() const { return seconds_ > kLongSeconds; }
  /// Needs no GIL. The memory must be as the task says. Throws std::runtime_error and std::bad_alloc. Once `stop` is true, which may be
  /// null, it ends before the result is made.
  void run(const std::byte* src, const std::byte* mask, std::byte* dst, const std::atomic<bool>* stop);

  // Of a task on a GPU. Many threads may use it at once.
  /// Bytes of the GPU's memory that enqueue() needs, at a multiple of 256.
  [[nodiscard]] std::int64_t gpu_scratch_bytes() const { return gpu_scratch_bytes_; }
  /// Launches all runs in a stream, CUstream. It waits for nothing. Throws std::runtime_error.
  void enqueue(const std::byte* src, const std::byte* mask, std::byte* dst, std::byte* scratch, std::uintptr_t stream) const;
  /// Gaussians of the same arrays with a sigma for each index of the first axis, in place of the request's.
  struct Each {
    std::vector<std::int32_t> left_out;  ///< indices that are not written: they take a blur of their own
    std::int64_t scratch_bytes = 0;
    std::function<void(const std::byte* src, std::byte* dst, std::byte* scratch, std::uintptr_t stream)> enqueue{};  ///< empty: no launch
  };
  /// `may_prepare`: the first call prepares their launches, and throws where it may not.
  [[nodiscard]] Each each(std::span<const double> sigmas, bool may_prepare) const;

 private:
  friend class Preparer;
  static constexpr double kLongSeconds = 0.02;

  /// An array that a step reads or writes: the caller's, or one in between.
  struct Place {
    enum class Whose : std::uint8_t { source, mask, destination, own } whose;
    std::size_t index = 0;  ///< of own memory
    Element element;
    std::vector<std::ptrdiff_t> strides;
  };
  /// Into another order, or other numbers.
  struct Copy {};
  /// Images on a GPU that are blurred by the same launches. Distances are in bytes.
  struct Batch {
    std::int64_t images = 1;
    std::int64_t src_image_bytes = 0;
    std::int64_t dst_image_bytes = 0;
  };
  /// A run of the library on each of the images that the array is seen as.
  struct Run {
    ImageLayout layout;
    std::optional<Executable> executable{};
    std::optional<Workspace> workspace{};
    bool is_batch = false;  ///< Whether images lie one after the other, so that the device may be given many at once.
    /// Above 0: an image takes so long that it is made in windows of so many columns, since a run on a window can be stopped.
    std::int32_t window_columns = 0;
    Batch batch{};  ///< of a task on a GPU
  };
  /// A run on slices into own memory and one across them, in turns, so that the memory has no more than the slices that are needed.
  struct Slices {
    Run of_slices;
    Run across;
    SliceAxes axes;
    SliceBlocks blocks;
    Place between;
    [[nodiscard]] std::int64_t slice_bytes() const { return axes.across.dst_stride; }
    [[nodiscard]] std::int64_t bytes() const { return blocks.capacity() * slice_bytes(); }
  };
  /// Adds `amount` times the difference of `to` and `from`, its blur, to `to`. Both are packed, and of the numbers between runs.
  struct Sharpen {
    double amount;
  };
  /// Sets all packed numbers of `to` to one value.
  struct Fill {
    double value;
  };
  /// Multiplies `to`, an image, by `from`, how far its elements are known. Both are packed, and of the numbers between runs.
  struct Weigh {
    bool skips_nan;  ///< whether both become 0 where the image is NaN
  };
  /// Divides `to` by `from`, both blurred. Where `from` is not above `least`, the result is `otherwise`.
  struct Divide {
    double least;
    double otherwise;
  };
  struct Step {
    Place from;
    Place to;
    std::variant<Copy, Run, Slices, DirectSums, Sharpen, Fill, Weigh, Divide> work;
  };

  /// The library's runs of a step.
  [[nodiscard]] static std::vector<const Run*> runs_of(const Step& step);
  [[nodiscard]] static std::string name_of(const Step& step);
  static void add_to(Summary& summary, const Run& run);
  static void add_to(Summary& summary, const DirectSums& sums);
  void allocate();
  [[nodiscard]] static double seconds_of(const Run& run);
  [[nodiscard]] static double seconds_of(const DirectSums& sums);
  void work(const Step& step, Copy, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const;
  void work(const Step& step, Run& run, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const;
  void work(const Step& step, Slices& slices, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const;
  void work(const Step& step, const DirectSums& sums, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const;
  void work(const Step& step, const Sharpen& sharpen, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const;
  void work(const Step& step, const Fill& fill, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const;
  void work(const Step& step, const Weigh& weigh, std::byte* from, std::byte* to, const std::atomic<bool>* stop) const;
  void work(const Step& step, const Divide& divide, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const;
  static void make_slices(Slices& slices, const std::vector<SliceRing::Made>& made, const std::byte* from, std::byte* between,
                          const std::atomic<bool>* stop);
  static void make_block(Slices& slices, SliceRing& ring, std::int64_t block, const std::byte* between, std::byte* to,
                         const std::atomic<bool>* stop);
  static void run_image(Run& run, const ConstImageView& src, const ImageView& dst, const std::atomic<bool>* stop);
  [[nodiscard]] std::int64_t elements() const;

  void place_on_gpu();
  struct OnGpu;
  /// All images of the layout as one batch. Throws NeedsCopy.
  [[nodiscard]] static Batch batch_of(const ImageLayout& layout, std::int64_t src_element, std::int64_t dst_element);

  Task task_;
  std::vector<Step> steps_;
  std::vector<std::int64_t> memory_bytes_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;  ///< empty until a run
  double error_ = 0.0;
  double seconds_ = 0.0;  ///< a rough time
  bool copies_to_gpu_ = false;
  std::vector<std::int64_t> gpu_memory_;  ///< where own memory lies in the scratch memory of a GPU
  std::int64_t gpu_scratch_bytes_ = 0;
  std::shared_ptr<const void> gpu_numbers_;  ///< the kernels of steps that are no runs
  mutable std::mutex each_mutex_;
  mutable std::shared_ptr<const void> each_;  ///< what each() has prepared
};

/// A Prepared for the task, newly made or one that an earlier call has put back.
[[nodiscard]] std::unique_ptr<Prepared> take(const Task& task);
/// Keeps it for the next call with an equal task.
void put_back(std::unique_ptr<Prepared> prepared);
/// Frees what no call is using.
void clear_cache();

}  // namespace mollify::python
