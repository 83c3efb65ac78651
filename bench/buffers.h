// The memory that is timed: pairs of a noise source and a destination, together larger than the last-level cache,
// so that every run starts from memory as the blur of a fresh image does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mollify/image.h"

namespace mollify::bench {

/// Owns bytes that start on a cache line; all of its pages have been touched.
class Buffer {
 public:
  static Result<Buffer> create(std::int64_t bytes);
  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
};

struct BufferPair {
  ConstImageView src;
  ImageView dst;
  // The two buffers themselves, each as large as the larger image. In place, both views lie in the first.
  std::byte* first = nullptr;
  std::byte* second = nullptr;
};

enum class Sharing : std::uint8_t {
  separate,  ///< source and destination are different memory
  in_place,  ///< the destination is the source
};

class BufferRing {
 public:
  /// As many pairs of packed images as exceed `cache_bytes` several times, one at least.
  static Result<BufferRing> create(const ImageDesc& src, const ImageDesc& dst, Sharing sharing, std::int64_t cache_bytes);

  [[nodiscard]] std::size_t size() const { return pairs_.size(); }
  [[nodiscard]] const BufferPair& operator[](std::size_t index) const { return pairs_[index]; }

 private:
  std::vector<Buffer> buffers_;
  std::vector<BufferPair> pairs_;
};

/// Fills a packed image with uniform noise: all codes of unorm formats, values from 0 to 1 of float ones.
void fill_noise(const ImageView& image, std::uint64_t seed);

}  // namespace mollify::bench
