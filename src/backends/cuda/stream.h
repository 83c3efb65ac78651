// A stream of the backend's own, and a place in one that another can wait for.
#pragma once

#include <memory>
#include <utility>

#include "backends/cuda/context.h"

namespace mollify::cuda {

/// What is under way is waited for before the stream goes.
class OwnStream {
 public:
  explicit OwnStream(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  ~OwnStream() {
    if (stream_ == nullptr) return;
    const Current current(*context_);
    context_->cu().StreamSynchronize(stream_);
    context_->cu().StreamDestroy(stream_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  [[nodiscard]] Status open() {
    const Current current(*context_);
    const CUresult r = context_->cu().StreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
    return r == CUDA_SUCCESS ? Status() : Status(to_error(context_->cu(), r, "making a stream"));
  }
  [[nodiscard]] CUstream get() const { return stream_; }
  [[nodiscard]] Status wait() const {
    const Current current(*context_);
    const CUresult r = context_->cu().StreamSynchronize(stream_);
    return r == CUDA_SUCCESS ? Status() : Status(to_error(context_->cu(), r, "waiting for the GPU"));
  }

 private:
  std::shared_ptr<const Context> context_;
  CUstream stream_ = nullptr;
};

/// A place in a stream.
class StreamEvent {
 public:
  explicit StreamEvent(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  ~StreamEvent() {
    if (event_ == nullptr) return;
    const Current current(*context_);
    context_->cu().EventDestroy(event_);
  }
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;

  [[nodiscard]] Status open() {
    const Current current(*context_);
    return status_of(context_->cu().EventCreate(&event_, CU_EVENT_DISABLE_TIMING), "making an event");
  }
  /// Here is what was enqueued so far.
  [[nodiscard]] Status record(const OwnStream& stream) const {
    const Current current(*context_);
    return status_of(context_->cu().EventRecord(event_, stream.get()), "marking a place in a stream");
  }
  /// What comes next in the stream runs behind this place.
  [[nodiscard]] Status precede(const OwnStream& stream) const {
    const Current current(*context_);
    return status_of(context_->cu().StreamWaitEvent(stream.get(), event_, 0), "waiting for another stream");
  }

 private:
  [[nodiscard]] Status status_of(CUresult r, const char* doing) const {
    return r == CUDA_SUCCESS ? Status() : Status(to_error(context_->cu(), r, doing));
  }

  std::shared_ptr<const Context> context_;
  CUevent event_ = nullptr;
};

}  // namespace mollify::cuda
