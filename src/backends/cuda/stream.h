// A stream of the backend's own.
#pragma once

#include <memory>
#include <utility>

#include "backends/cuda/context.h"

namespace mollify::cuda {

/// What is under way is waited for before the stream goes.
class Stream {
 public:
  explicit Stream(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  ~Stream() {
    if (stream_ == nullptr) return;
    const Current current(*context_);
    context_->cu().StreamSynchronize(stream_);
    context_->cu().StreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

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

}  // namespace mollify::cuda
