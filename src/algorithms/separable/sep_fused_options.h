// The options of sep.fused.
#pragma once

#include "algorithms/common/gpu.h"

namespace mollify {

enum class FusedAccumulator : std::uint8_t { u16, f32, f64 };
inline constexpr EnumOption<FusedAccumulator> kFusedAccumulator("accumulator", {"u16", "f32", "f64"},
                                                                "the first whose error fits; boxes stay exact",
                                                                "CPU, CUDA: precision of weights and sums; u16 on CPUs",
                                                                {.tuned = Tuned::where_exact});
inline constexpr ListedNumberOption kFusedPasses("passes", {"1", "2"},
                                                 "1 where shared memory holds the rows, sums are f32 and there is no stride",
                                                 "CUDA: over the image", {.tuned = Tuned::never});
enum class FusedMath : std::uint8_t { f32, coopmat, half, coopmat_direct };
inline constexpr EnumOption<FusedMath> kFusedMath(
    "math", {"f32", "coopmat", "half", "coopmat_direct"}, "what is expected to be fastest within the error",
    "GPU: sums of f32; products of cooperative matrices of f16, summed in f32 (coopmat_direct: each thread loads its own part of them); "
    "or sums of f16 of 8-bit and f16 pixels",
    {.changes_bits = true});
enum class FusedBetween : std::uint8_t { memory, registers };
inline constexpr EnumOption<FusedBetween> kFusedBetween("between", {"memory", "registers"}, "registers where the device can",
                                                        "GPU, coopmat: where sums of one axis become operands of the other");
enum class FusedExchange : std::uint8_t { shared, shuffle };
inline constexpr EnumOption<FusedExchange> kFusedExchange(
    "exchange", {"shared", "shuffle"}, "what is expected to be faster",
    "GPU, f32: how threads exchange neighbouring pixels, through shared memory or by shuffles of registers", {.changes_bits = true});
inline constexpr ListedNumberOption kFusedPixelsPerThread("pixels_per_thread", {"1", "2", "4", "8", "16"}, "as registers allow",
                                                          "GPU: neighbouring pixels that a thread makes", {.most_in_software = 2});
inline constexpr NumberOption kFusedThreads("threads", {"64", "128", "256"}, gpu::kAnyThreads,
                                            "128, 64 for shuffles of bytes, 256 for many taps, 64 to 256 for matrices",
                                            "GPU: threads of a work group");
inline constexpr ListedNumberOption kFusedSplit("split", {"1", "2"}, "1 where the error allows it",
                                                "GPU, coopmat: f16 numbers whose sum is a tap, or a value between the axes");
inline constexpr NumberOption kFusedBlocks("blocks", {"1", "2", "4"}, 8, "as registers allow",
                                           "GPU, coopmat: blocks of 16 columns of a subgroup; coopmat_direct: of 8 columns");
inline constexpr NumberOption kFusedRowsInFlight("rows_in_flight", {"1", "2", "3"}, 16, "4, or 2 for many taps; shuffle: 2 to 4",
                                                 "GPU: rows that a thread reads before it needs them", {.most_in_software = 2});

inline constexpr std::array kFusedOptions = {kFusedAccumulator.info(),     kFusedPasses.info(),       kFusedMath.info(),
                                             kFusedBetween.info(),         kFusedExchange.info(),     gpu::kBufferOrImage,
                                             kFusedPixelsPerThread.info(), kFusedThreads.info(),      kFusedSplit.info(),
                                             kFusedBlocks.info(),          kFusedRowsInFlight.info(), gpu::kChunksOfGroups};

}  // namespace mollify
