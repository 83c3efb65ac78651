// A block of a worker's memory in the process that owns the GPU.
#pragma once

#include <cstdint>

#include "batch/device_messages.h"
#include "batch/wire.h"

namespace mollify::cli {

/// A block of a worker's memory, mapped into this process.
class Mapped {
 public:
  Mapped(const Descriptor& file, int protection);
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped();

  /// What a worker says of its memory is checked: a codec may have destroyed the worker's own.
  [[nodiscard]] ImageView view(const SharedImage& image) const;

 private:
  std::uint8_t* begin_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace mollify::cli
