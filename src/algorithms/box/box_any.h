// box.any has one form for CPUs and four for GPUs.
#pragma once

#include <optional>

#include "algorithms/box/box_gpu.h"

namespace mollify {

/// What GPUs sum pixels in.
enum class BoxAnySums : std::uint8_t { u16x2, u32, f32, f32x2 };
inline constexpr EnumOption<BoxAnySums> kBoxSums("sums", {"u16x2", "u32", "f32", "f32x2"}, "the first that holds them within the error",
                                                 "GPU: what pixels are summed in", {.tuned = Tuned::where_exact});
[[nodiscard]] constexpr bool is_integer(BoxAnySums sums) {
  return sums == BoxAnySums::u16x2 || sums == BoxAnySums::u32;
}

/// What a group makes in the plan of the whole image, where the source is a part of it: sums of floats round by where groups begin.
[[nodiscard]] std::optional<PerAxis<std::int32_t>> tile_of_whole(const Problem& p, BoxAnySums sums);
/// Tells a proposal which parts of the source have the bits of the whole: those that begin where blocks do in which sums are made anew.
/// Sums of integers are exact, wherever they begin.
void set_box_blocks(const PerAxis<BoxAxis>& box, BoxAnySums sums, PerAxis<std::int32_t> blocks, Proposal& out);

/// Why these sums cannot hold windows, or nothing.
[[nodiscard]] std::string box_any_obstacle(const Problem& p, const PerAxis<BoxAxis>& box, BoxAnySums sums);

/// The box of the kernel, unless it is longer than longest_windows().
[[nodiscard]] Result<PerAxis<BoxAxis>> box_any_axes(const Problem& p);

/// How GPUs make means of windows' integer sums. Short ones, below 2^23, are floats by their bits, 2^23 more than what they stand for.
struct BoxMeans {
  bool sums_are_short = false;
  double error = 0.0;  ///< full-scale units
};
/// Of windows of so many pixels: short wherever that keeps to the error.
[[nodiscard]] BoxMeans box_means(const Problem& p, double window);

/// How GPUs make a window from its neighbour: `columns`, from sums of columns that enter and leave; `corners`, from four
/// pixels; `segments`, as `columns`, but all lanes slide along rows; `lanes`, from what pixels that enter and leave add up to along a row.
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
/// Refuses options of other backends.
[[nodiscard]] inline Status only_box_options(const Problem& p) {
  return only_options(
      p, {kBoxForm, gpu::kStorage, kBoxSums, kBoxPixelsPerThread, kBoxThreads, kBoxRowsInFlight, kBoxLanesPerRow, gpu::kChunks});
}

[[nodiscard]] Result<Proposal> propose_box_columns(const Problem& p);
[[nodiscard]] Result<Proposal> propose_box_four_corner(const Problem& p);
[[nodiscard]] Result<Proposal> propose_box_row_segments(const Problem& p);

/// By the form that is asked for, else by the cheaper one within the error.
[[nodiscard]] Result<Proposal> propose_box_any_gpu(const Problem& p);

}  // namespace mollify
