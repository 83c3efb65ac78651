// Neighbouring pixels of a row as operands of products of matrices, and pixels made of sums.
#pragma once

#include "backends/cuda/kernels/matrices.cuh"

namespace mollify::cuda {
namespace {

/// Four neighbouring pixels of a row as a lane loads them. get_operands() gives component c of pixels 0 and 1 in operands[c][0], of pixels
/// 2 and 3 in operands[c][1]; made() gives pixel i of sums of each component, and of `i + 2`, which is its right neighbour.
template <Component kComponent, int kChannels>
struct FourPixels;

template <>
struct FourPixels<Component::u8, 1> {
  using Pixel = unsigned char;
  using Pair = unsigned short;
  unsigned at;

  __device__ void load(const char* pixels) { at = __ldg(reinterpret_cast<const unsigned*>(pixels)); }
  __device__ void set(int i, Pixel pixel) { at = i == 0 ? pixel : at | unsigned{pixel} << 8 * i; }
  __device__ void get_operands(unsigned (&operands)[1][2]) const {
    operands[0][0] = __byte_perm(at, 0, 0x4140);
    operands[0][1] = __byte_perm(at, 0, 0x4342);
  }
  static __device__ Pair made(const SepMatrix&, const Sums (&sums)[1], int i) {
    return static_cast<Pair>(__byte_perm(two_halves(sums[0].at[i], sums[0].at[i + 2]), 0, 0x4420));
  }
  static __device__ Pixel first(Pair pair) { return static_cast<Pixel>(pair); }
  static __device__ Pixel second(Pair pair) { return static_cast<Pixel>(pair >> 8); }
};

template <>
struct FourPixels<Component::f16, 1> {
  using Pixel = unsigned short;
  using Pair = unsigned;
  uint2 at;

  __device__ void load(const char* pixels) { at = __ldg(reinterpret_cast<const uint2*>(pixels)); }
  __device__ void set(int i, Pixel pixel) {
    unsigned& two = i < 2 ? at.x : at.y;
    two = i % 2 == 0 ? pixel : two | unsigned{pixel} << 16;
  }
  __device__ void get_operands(unsigned (&operands)[1][2]) const {
    operands[0][0] = at.x;
    operands[0][1] = at.y;
  }
  static __device__ Pair made(const SepMatrix& a, const Sums (&sums)[1], int i) {
    return two_halves(sums[0].at[i] * a.gain, sums[0].at[i + 2] * a.gain);
  }
  static __device__ Pixel first(Pair pair) { return static_cast<Pixel>(pair); }
  static __device__ Pixel second(Pair pair) { return static_cast<Pixel>(pair >> 16); }
};

template <>
struct FourPixels<Component::u8, 4> {
  using Pixel = unsigned;
  using Pair = uint2;
  uint4 at;

  __device__ void load(const char* pixels) { at = __ldg(reinterpret_cast<const uint4*>(pixels)); }
  __device__ void set(int i, Pixel pixel) { (&at.x)[i] = pixel; }
  __device__ void get_operands(unsigned (&operands)[4][2]) const {
    const unsigned word[4] = {at.x, at.y, at.z, at.w};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned low = __byte_perm(word[2 * i], word[2 * i + 1], 0x5140), high = __byte_perm(word[2 * i], word[2 * i + 1], 0x7362);
      operands[0][i] = __byte_perm(low, 0, 0x4140);
      operands[1][i] = __byte_perm(low, 0, 0x4342);
      operands[2][i] = __byte_perm(high, 0, 0x4140);
      operands[3][i] = __byte_perm(high, 0, 0x4342);
    }
  }
  static __device__ Pair made(const SepMatrix&, const Sums (&sums)[4], int i) {
    const auto pixel = [&](int at) {
      return __byte_perm(two_halves(sums[0].at[at], sums[1].at[at]), two_halves(sums[2].at[at], sums[3].at[at]), 0x6420);
    };
    return make_uint2(pixel(i), pixel(i + 2));
  }
  static __device__ Pixel first(Pair pair) {
    return pair.x;
  }
  static __device__ Pixel second(Pair pair) {
    return pair.y;
  }
  static __device__ __noinline__ Pixel load_by_component(const char* pixel) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(pixel);
    return bytes[0] | unsigned{bytes[1]} << 8 | unsigned{bytes[2]} << 16 | unsigned{bytes[3]} << 24;
  }
  static __device__ __noinline__ void store_by_component(char* to, Pixel pixel) {
    for (int c = 0; c < 4; ++c) reinterpret_cast<unsigned char*>(to)[c] = static_cast<unsigned char>(pixel >> 8 * c);
  }
};

template <>
struct FourPixels<Component::f16, 4> {
  using Pixel = uint2;
  using Pair = uint4;
  uint4 left, right;  // two pixels each

  /// `apart`: bytes from the first two pixels to the others.
  __device__ void load(const char* pixels, int apart = 16) {
    left = __ldg(reinterpret_cast<const uint4*>(pixels));
    right = __ldg(reinterpret_cast<const uint4*>(pixels + apart));
  }
  __device__ void set(int i, Pixel pixel) {
    uint4& two = i < 2 ? left : right;
    (i % 2 == 0 ? two.x : two.z) = pixel.x;
    (i % 2 == 0 ? two.y : two.w) = pixel.y;
  }
  __device__ void get_operands(unsigned (&operands)[4][2]) const {
    const auto split = [&](const uint4& two, int i) {
      operands[0][i] = __byte_perm(two.x, two.z, 0x5410);
      operands[1][i] = __byte_perm(two.x, two.z, 0x7632);
      operands[2][i] = __byte_perm(two.y, two.w, 0x5410);
      operands[3][i] = __byte_perm(two.y, two.w, 0x7632);
    };
    split(left, 0);
    split(right, 1);
  }
  static __device__ Pair made(const SepMatrix& a, const Sums (&sums)[4], int i) {
    const auto two = [&](int c, int at) { return two_halves(sums[c].at[at] * a.gain, sums[c + 1].at[at] * a.gain); };
    return make_uint4(two(0, i), two(2, i), two(0, i + 2), two(2, i + 2));
  }
  static __device__ Pixel first(const Pair& pair) { return make_uint2(pair.x, pair.y); }
  static __device__ Pixel second(const Pair& pair) { return make_uint2(pair.z, pair.w); }
  static __device__ __noinline__ Pixel load_by_component(const char* pixel) {
    const auto* const halves = reinterpret_cast<const unsigned short*>(pixel);
    return make_uint2(halves[0] | unsigned{halves[1]} << 16, halves[2] | unsigned{halves[3]} << 16);
  }
  static __device__ __noinline__ void store_by_component(char* to, Pixel pixel) {
    auto* const halves = reinterpret_cast<unsigned short*>(to);
    halves[0] = static_cast<unsigned short>(pixel.x);
    halves[1] = static_cast<unsigned short>(pixel.x >> 16);
    halves[2] = static_cast<unsigned short>(pixel.y);
    halves[3] = static_cast<unsigned short>(pixel.y >> 16);
  }
};

}  // namespace
}  // namespace mollify::cuda
