// Strips of one page that are read, blurred and written: at the same time, each by a thread, or one after the other.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

namespace mollify::cli {

/// Three stages that each strip passes through in this order. A stage has one strip at a time and takes them in order. Strips of the source
/// share some buffers, and so do those of the result: a strip has the buffer of its number modulo their count.
class StripPipeline {
 public:
  using Stage = std::function<void(std::size_t strip)>;
  struct Stages {
    Stage read, blur, write;
  };
  struct Buffers {
    std::size_t source = 2, result = 2;
  };

  StripPipeline(std::size_t strips, Buffers buffers) : strips_(strips), buffers_(buffers) {}

  /// Returns when all strips are written. `blur` runs on the caller's thread. With two threads and more the other stages have threads of
  /// their own, if the system has any left. Where a stage throws, the others end after their strip, and the first exception is thrown
  /// again.
  void run(const Stages& stages, int threads);

 private:
  enum StageIndex : std::size_t { kReading, kBlurring, kWriting };
  [[nodiscard]] bool may_begin(StageIndex stage, std::size_t strip) const;
  void run_stage(StageIndex stage, const Stage& function);
  /// False where they could not be started. Then no stage has begun.
  [[nodiscard]] bool run_on_threads(const Stages& stages);
  void begin();
  void fail(std::exception_ptr failure);

  std::size_t strips_;
  Buffers buffers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::size_t, 3> done_{};  ///< strips that each stage has finished
  bool has_begun_ = false;             ///< all threads are there
  std::exception_ptr failure_;         ///< the first one
};

}  // namespace mollify::cli
