// One mutant through the tool's own path from a file to a file, and what must hold then.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "fuzz/files/mutations.h"
#include "mollify/device.h"

namespace mollify::fuzz {

/// Something that must not be, in words.
struct Finding : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Outcome : std::uint8_t { blurred, refused };

class Trial {
 public:
  /// `folder` exists, is empty, and belongs to this trial.
  explicit Trial(std::string folder);

  /// Blurs `source` to a file of `format` with random options. Throws Finding.
  [[nodiscard]] Outcome run(const Bytes& source, files::FileFormat format, Random& random);

  /// Of all runs.
  [[nodiscard]] std::int64_t heap_peak() const { return heap_peak_; }

 private:
  void check_result(const std::string& path, files::FileFormat format, int images, int width, int height) const;
  void check_folder(bool has_result, const std::string& result) const;

  std::string folder_;
  Device device_;
  std::int64_t heap_peak_ = 0;
};

}  // namespace mollify::fuzz
