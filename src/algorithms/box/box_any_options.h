// The options of box.any.
#pragma once

#include "algorithms/common/gpu.h"

namespace mollify {

/// What CPUs sum pixels in.
enum class BoxAccumulator : std::uint8_t { i32, f64 };
inline constexpr EnumOption<BoxAccumulator> kBoxAccumulator("accumulator", {"i32", "f64"}, "i32 where the sums fit, else f64",
                                                            "CPU: what sums are made in", {.tuned = Tuned::where_exact});
/// What GPUs sum pixels in.
enum class BoxAnySums : std::uint8_t { u16x2, u32, f32, f32x2, f64 };
inline constexpr EnumOption<BoxAnySums> kBoxSums("sums", {"u16x2", "u32", "f32", "f32x2", "f64"},
                                                 "the first that holds them within the error",
                                                 "GPU: what pixels are summed in; f64 on CUDA, for windows of any length",
                                                 {.tuned = Tuned::where_exact});

/// How GPUs make a window from its neighbour: from sums of columns that enter and leave; from four pixels; or as the first, but all lanes
/// slide along rows.
enum class BoxForm : std::uint8_t { column_sums, four_corner, row_segments };
inline constexpr EnumOption<BoxForm> kBoxForm(
    "form", {"column_sums", "four_corner", "row_segments"}, "the cheapest",
    "GPU: windows from sums of columns, from the sums at four corners, or from sums along rows of work groups", {.changes_bits = true});

// ---- How a form works, if it is not left to it

inline constexpr NumberOption kBoxPixelsPerThread("pixels_per_thread", {"2", "4", "8"}, 8, "what is expected to be fastest",
                                                  "GPU, row_segments: neighbouring pixels that a thread makes", {.most_in_software = 2});
inline constexpr NumberOption kBoxThreads("threads", {"128", "256", "512"}, gpu::kAnyThreads, "128, more for wide windows",
                                          "GPU: threads of a work group");
inline constexpr NumberOption kBoxRowsInFlight("rows_in_flight", {"1", "2", "4", "8"}, 16, "as many as leave room for other groups",
                                               "GPU: rows that a thread reads before it needs them", {.most_in_software = 2});
inline constexpr NumberOption kBoxLanesPerRow("lanes_per_row", {"1", "2", "4"}, gpu::kAnyThreads, "as many as a subgroup has lanes for",
                                              "GPU, column_sums: lanes that share a row of sums");
inline constexpr std::array kBoxAnyOptions = {kBoxAccumulator.info(),  gpu::kBufferOrImage,        kBoxForm.info(),
                                              kBoxSums.info(),         kBoxPixelsPerThread.info(), kBoxThreads.info(),
                                              kBoxRowsInFlight.info(), kBoxLanesPerRow.info(),     gpu::kChunksOfGroups};

}  // namespace mollify
