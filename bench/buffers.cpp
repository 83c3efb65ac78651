#include "bench/buffers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace mollify::bench {
namespace {

constexpr std::int64_t kAlignment = 4096;
// Least-recently-used is only roughly what caches do: with several times their size between two uses of a pair,
// nothing of it is left.
constexpr std::int64_t kCacheMultiple = 4;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// SplitMix64: one multiply-shift chain a number, good enough that no branch predictor or cache sees a pattern.
std::uint64_t scramble(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// Writes components of `Bits` made of random bits by `convert`, as many as fit into 64 bits at a time.
template <class Bits, class Convert>
void fill(std::byte* data, std::int64_t bytes, std::uint64_t seed, Convert convert) {
  constexpr std::int64_t kStep = sizeof(std::uint64_t);
  for (std::int64_t i = 0; i < bytes; i += kStep) {
    const std::uint64_t random = scramble(seed + static_cast<std::uint64_t>(i / kStep));
    Bits parts[kStep / sizeof(Bits)];
    std::memcpy(parts, &random, sizeof(random));
    for (Bits& part : parts) part = convert(part);
    std::memcpy(data + i, parts, static_cast<std::size_t>(std::min(kStep, bytes - i)));
  }
}

std::uint32_t float_in_unit_range(std::uint32_t random) {
  const float value = static_cast<float>(random >> 8U) * 0x1p-24F;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Normal halves from 2^-4 up to 1: exponent fields 11 to 14.
std::uint16_t half_in_unit_range(std::uint16_t random) {
  return static_cast<std::uint16_t>(((random & 0x0C00U) + (11U << 10U)) | (random & 0x03FFU));
}

}  // namespace

void Buffer::Free::operator()(std::byte* data) const {
  std::free(data);
}

Result<Buffer> Buffer::create(std::int64_t bytes) {
  Buffer buffer;
  const auto rounded = static_cast<std::size_t>(round_up(bytes, kAlignment));
  buffer.data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
  if (!buffer.data_) {
    return Error{ErrorCode::out_of_memory, "no memory for a benchmark image of " + std::to_string(bytes) + " bytes", {}};
  }
  std::memset(buffer.data_.get(), 0, rounded);
  return buffer;
}

Result<BufferRing> BufferRing::create(const ImageDesc& src, const ImageDesc& dst, Sharing sharing, std::int64_t cache_bytes) {
  const std::int64_t capacity = round_up(std::max(src.payload_bytes(), dst.payload_bytes()), kAlignment);
  const std::int64_t pair_bytes = 2 * capacity;
  const std::int64_t count = std::max<std::int64_t>(1, (kCacheMultiple * cache_bytes + pair_bytes - 1) / pair_bytes);

  BufferRing ring;
  for (std::int64_t i = 0; i < count; ++i) {
    Result<Buffer> first = Buffer::create(capacity);
    if (!first) return first.error();
    Result<Buffer> second = Buffer::create(capacity);
    if (!second) return second.error();
    std::byte* dst_data = sharing == Sharing::in_place ? first->data() : second->data();

    const ImageView source{src, first->data(), static_cast<std::ptrdiff_t>(src.row_payload_bytes())};
    fill_noise(source, static_cast<std::uint64_t>(i) << 40U);
    ring.pairs_.push_back({.src = source,
                           .dst = {dst, dst_data, static_cast<std::ptrdiff_t>(dst.row_payload_bytes())},
                           .first = first->data(),
                           .second = second->data()});
    ring.buffers_.push_back(std::move(first).value());
    ring.buffers_.push_back(std::move(second).value());
  }
  return ring;
}

void fill_noise(const ImageView& image, std::uint64_t seed) {
  const FormatInfo& format = info(image.desc.format);
  auto* data = static_cast<std::byte*>(image.data);
  const std::int64_t bytes = image.desc.payload_bytes();
  if (!format.is_floating()) {
    fill<std::uint8_t>(data, bytes, seed, [](std::uint8_t random) { return random; });
  } else if (format.bits == 64) {
    fill<std::uint64_t>(data, bytes, seed, [](std::uint64_t random) { return (random & 0x000FFFFFFFFFFFFFU) | 0x3FE0000000000000U; });
  } else if (format.bits == 16) {
    fill<std::uint16_t>(data, bytes, seed, half_in_unit_range);
  } else {
    fill<std::uint32_t>(data, bytes, seed, float_in_unit_range);
  }
}

}  // namespace mollify::bench
