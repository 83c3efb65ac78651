// Memory of the device, and memory of the host that the device copies from and to by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backends/cuda/context.h"

namespace mollify::cuda {

/// Bytes that are freed with it. Of 0 bytes there is nothing.
class Memory {
 public:
  enum class Kind : std::uint8_t { device, host };
  Memory() = default;
  [[nodiscard]] static Result<Memory> allocate(std::shared_ptr<const Context> context, Kind kind, std::int64_t bytes) {
    Memory memory;
    if (bytes == 0) return memory;
    const Current current(*context);
    const auto size = static_cast<std::size_t>(bytes);
    const Functions& cu = context->cu();
    const CUresult r = kind == Kind::device ? cu.MemAlloc(&memory.device_, size) : cu.MemHostAlloc(&memory.host_, size, 0);
    if (r != CUDA_SUCCESS) return to_error(cu, r, ("allocating " + std::to_string(bytes) + " bytes").c_str());
    memory.context_ = std::move(context);
    return memory;
  }
  ~Memory() { free(); }
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }

  [[nodiscard]] CUdeviceptr device() const { return device_; }
  [[nodiscard]] std::byte* host() const { return static_cast<std::byte*>(host_); }

 private:
  void swap(Memory& other) {
    std::swap(context_, other.context_);
    std::swap(device_, other.device_);
    std::swap(host_, other.host_);
  }
  void free() {
    if (!context_) return;
    const Current current(*context_);
    if (device_ != 0) context_->cu().MemFree(device_);
    if (host_ != nullptr) context_->cu().MemFreeHost(host_);
  }

  std::shared_ptr<const Context> context_;
  CUdeviceptr device_ = 0;
  void* host_ = nullptr;
};

}  // namespace mollify::cuda
