// The options of gauss.decimate.
#pragma once

#include "algorithms/common/gpu.h"
#include "backends/cpu/kernels/layout.h"

namespace mollify {

inline constexpr int kMaxDecimation = 1024;
inline constexpr PairOption kFactor("factor", {"2", "5", "1x4", "8x3"}, kMaxDecimation, "the cheapest within the error",
                                    "pixels from one coarse sample to the next: 1 to 1024, both axes or XxY", {.tuned = Tuned::never});
inline constexpr PairOption kSupport("support", {"3", "4", "6", "5x4"}, cpu::kMaxSupport, "the cheapest within the error",
                                     "coarse samples that a pixel is made of: 1 to 8, both axes or XxY", {.tuned = Tuned::never});
inline constexpr ListedNumberOption kDecimatePasses("passes", {"1", "2"}, "1 where the grid is too large for the cache",
                                                    "CPU: over the image", {.tuned = Tuned::never});

/// By a dispatch of its own, together with the expansion in either of two ways, or by two dispatches for any number of taps.
enum class GridBlur : std::uint8_t { tiles, upsample, strips, passes };
inline constexpr EnumOption<GridBlur> kGridBlur(
    "blur", {"tiles", "upsample", "strips", "passes"}, "the fastest; passes where others would need too many taps",
    "GPU: how the coarse grid is blurred, by tiles; while upsampling, by tiles (upsample) or strips; or along rows and then down columns "
    "(passes)",
    {.changes_bits = true});
inline constexpr NumberOption kStepRows("step_rows", {"4", "8", "12"}, 64, "4, 8 or 12",
                                        "GPU, strips: coarse rows that a group blurs in one step: 1 to 64", {.most_in_software = 2});
inline constexpr ListedNumberOption kSamplesPerThread("samples_per_thread", {"1", "2", "4", "8"}, "4, or 8 numbers",
                                                      "GPU: coarse samples that a thread sums at once, in either direction",
                                                      {.most_in_software = 2});
inline constexpr gpu::GroupOption kGridGroup(
    {"32x4", "64x4", "128x2"}, "the fastest",
    "GPU: threads across and down; tiles: a tile with its halo, upsample: runs of neighbouring pixels");
inline constexpr NumberOption kCoarseRows("coarse_rows", {"2", "4", "8"}, 1024, "the fastest",
                                          "GPU, upsample and strips: coarse rows that a thread upsamples: 1 to 64, strips to 1024");

enum class DecimateMath : std::uint8_t { f32, coopmat };
inline constexpr EnumOption<DecimateMath> kDecimateMath("math", {"f32", "coopmat"}, "what is expected to be faster within the error",
                                                        "GPU: downsampling by sums of f32 or cooperative matrices, and on CUDA upsampling",
                                                        {.changes_bits = true});
inline constexpr ListedNumberOption kReadPixels("read_pixels", {"1", "2", "4", "8"}, "what fills 8 or 16 bytes",
                                                "GPU: neighbouring pixels that a thread reads at once", {.most_in_software = 2});
inline constexpr ListedNumberOption kWritePixels("write_pixels", {"1", "2", "4", "8"}, "what fills 16 bytes, or divides rows",
                                                 "GPU: neighbouring pixels that a thread writes at once", {.most_in_software = 2});

inline constexpr std::array kDecimateOptions = {kFactor.info(),      kSupport.info(),          kDecimatePasses.info(), kGridBlur.info(),
                                                kStepRows.info(),    kSamplesPerThread.info(), kGridGroup.info(),      kCoarseRows.info(),
                                                gpu::kBufferOrImage, kDecimateMath.info(),     kReadPixels.info(),     kWritePixels.info()};

}  // namespace mollify
