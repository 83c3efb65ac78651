#include "strip_pipeline.h"

#include <system_error>
#include <thread>
#include <utility>

namespace mollify::cli {

// A stage waits for the stage before it, and for the buffer that it fills.
bool StripPipeline::may_begin(StageIndex stage, std::size_t strip) const {
  switch (stage) {
    case kReading:
      return has_begun_ && strip < done_[kBlurring] + buffers_.source;
    case kBlurring:
      return strip < done_[kReading] && strip < done_[kWriting] + buffers_.result;
    case kWriting:
      return strip < done_[kBlurring];
  }
  return false;
}

void StripPipeline::run_stage(StageIndex stage, const Stage& function) {
  try {
    for (std::size_t strip = 0; strip < strips_; ++strip) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return failure_ || may_begin(stage, strip); });
        if (failure_) return;
      }
      function(strip);
      const std::lock_guard lock(mutex_);
      ++done_[stage];
      changed_.notify_all();
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

void StripPipeline::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  changed_.notify_all();
}

void StripPipeline::begin() {
  const std::lock_guard lock(mutex_);
  has_begun_ = true;
  changed_.notify_all();
}

bool StripPipeline::run_on_threads(const Stages& stages) {
  std::jthread reader, writer;
  try {
    reader = std::jthread([&] { run_stage(kReading, stages.read); });
    writer = std::jthread([&] { run_stage(kWriting, stages.write); });
  } catch (const std::system_error&) {
    fail(std::current_exception());
    return false;
  }
  begin();
  run_stage(kBlurring, stages.blur);
  return true;
}

void StripPipeline::run(const Stages& stages, int threads) {
  if (threads > 1 && run_on_threads(stages)) {
    if (failure_) std::rethrow_exception(failure_);
    return;
  }
  for (std::size_t strip = 0; strip < strips_; ++strip) {
    stages.read(strip);
    stages.blur(strip);
    stages.write(strip);
  }
}

}  // namespace mollify::cli
