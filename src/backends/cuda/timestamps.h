// Time on the device alone, images resident, by events of CUDA: what a program sees that has its images there. Names and meanings are
// those of vulkan/timestamps.h, so that the benchmark treats both alike.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/executor.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/stream.h"
#include "backends/device_samples.h"

namespace mollify::cuda {

/// Works one after the other in a stream, and the nanoseconds of each by the device's clock.
class Stopwatch {
 public:
  /// For at most `capacity` works at once.
  static Result<std::unique_ptr<Stopwatch>> create(std::shared_ptr<const Context> context, std::size_t capacity);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  [[nodiscard]] CUstream stream() const { return stream_.get(); }
  [[nodiscard]] Status wait() const { return stream_.wait(); }
  /// Times what `enqueue` puts into the stream by calls of time(), and waits. The device starts when all of it is in the stream, so that
  /// it never waits for the host in between.
  template <class Enqueue>
  [[nodiscard]] Result<std::vector<double>> run(const Enqueue& enqueue) {
    marks_ = 0;
    if (Status s = hold(); !s) return s.error();
    const Status enqueued = enqueue();
    let_go();
    const Status ended = stream_.wait();
    if (!enqueued) return enqueued.error();
    if (!ended) return ended.error();
    return read();
  }
  template <class Work>
  [[nodiscard]] Status time(const Work& work) {
    if (Status s = mark(); !s) return s;
    if (Status s = work(); !s) return s;
    return mark();
  }

 private:
  explicit Stopwatch(std::shared_ptr<const Context> context);
  [[nodiscard]] Status open(std::size_t capacity);
  [[nodiscard]] Status hold();
  void let_go();
  [[nodiscard]] Status mark();
  [[nodiscard]] Result<std::vector<double>> read() const;

  struct Gate;
  std::shared_ptr<const Context> context_;
  std::unique_ptr<Gate> gate_;
  std::vector<CUevent> events_;
  std::size_t marks_ = 0;
  OwnStream stream_;  ///< last: what is under way is waited for before what it works on goes
};

/// The memory on the device that a DeviceTimer of this plan takes, about, for batches of so many images.
[[nodiscard]] std::int64_t timer_bytes(const Plan& plan, std::size_t batch);
/// Half of the device's own memory.
[[nodiscard]] std::int64_t timer_budget(const Context& context);

/// Packed rows of a source on the device. Image i of a batch begins i pixels into it: so many more it must have.
class DeviceNoise {
 public:
  static Result<std::unique_ptr<DeviceNoise>> create(const std::shared_ptr<const Context>& context, const ConstImageView& noise);
  [[nodiscard]] CUdeviceptr data() const { return memory_.device(); }
  [[nodiscard]] std::int64_t bytes() const { return desc_.payload_bytes(); }
  [[nodiscard]] std::int64_t pixel_bytes() const { return info(desc_.format).pixel_bytes(); }

 private:
  DeviceNoise(Memory memory, const ImageDesc& desc) : memory_(std::move(memory)), desc_(desc) {}
  Memory memory_;
  ImageDesc desc_;
};

/// Images of a batch, on the device as an Executable has them, and what passes leave for later ones.
class DeviceImages;

/// Images and buffers to time an executable on, several sets in turn so that no cache holds the next one.
class DeviceTimer {
 public:
  /// `noise` fills the sources; it has the shape of the plan's source, or more rows.
  static Result<std::unique_ptr<DeviceTimer>> create(std::shared_ptr<const Prepared> prepared, const DeviceNoise& noise, std::size_t batch);
  ~DeviceTimer();
  DeviceTimer(const DeviceTimer&) = delete;
  DeviceTimer& operator=(const DeviceTimer&) = delete;

  /// `runs` times a blur, both copies, an empty launch and nothing. At most kMaxRuns.
  [[nodiscard]] Result<DeviceSamples> measure(int runs);
  /// What a blur makes: the images of the batch, packed.
  [[nodiscard]] Result<std::vector<std::byte>> blurred();
  /// Nanoseconds, by the host's clock, from the call of one blur to its end; each of `runs`.
  [[nodiscard]] Result<std::vector<double>> measure_submissions(int runs);
  static constexpr int kMaxRuns = 64;

 private:
  struct Set;
  DeviceTimer(std::shared_ptr<const Prepared> prepared, std::size_t batch);
  [[nodiscard]] Status make_sets(const DeviceNoise& noise);
  [[nodiscard]] Status copy_by_driver(const Set& set) const;
  [[nodiscard]] Status copy_by_kernel(const Set& set, std::int64_t bytes) const;

  std::shared_ptr<const Prepared> prepared_;
  std::size_t batch_;
  CUfunction copy_ = nullptr;
  std::int64_t copy_bytes_ = 0;
  std::vector<std::unique_ptr<Set>> sets_;
  std::size_t next_ = 0;
  std::unique_ptr<Stopwatch> stopwatch_;  ///< last, as its stream is
};

/// Times executables of the same shapes on the same images, taking turns.
class DeviceContest {
 public:
  /// `noise` fills the sources. The executables to come have the shapes of this one.
  static Result<std::unique_ptr<DeviceContest>> create(const std::shared_ptr<const Prepared>& prepared, const DeviceNoise& noise);
  ~DeviceContest();
  DeviceContest(const DeviceContest&) = delete;
  DeviceContest& operator=(const DeviceContest&) = delete;

  /// These run from now on, instead of those before.
  [[nodiscard]] Status enter(std::span<const std::shared_ptr<const Prepared>> executables);
  /// Nanoseconds of one run of each.
  [[nodiscard]] Result<std::vector<double>> round();
  static constexpr std::size_t kMaxExecutables = 256;

 private:
  DeviceContest() = default;
  [[nodiscard]] Status run(std::size_t i) const;

  std::vector<std::unique_ptr<DeviceImages>> images_;
  std::vector<std::shared_ptr<const Prepared>> executables_;
  std::vector<Memory> scratch_;
  std::unique_ptr<Stopwatch> stopwatch_;  ///< last, as its stream is
};

}  // namespace mollify::cuda
