#!/usr/bin/env python3
"""Are the tests able to fail? Builds the library with one deliberate mistake at a time and expects the check to see it.

Works on a copy of the sources, which it keeps under --work so that the next run compiles only what changed.
Fails if a mistake survives, if a pattern no longer occurs exactly once, or if the check fails without any mistake.
For the mistakes of the Vulkan backend the environment must name a driver and the validation layer, whose messages count as
having seen one.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
from typing import NamedTuple


class Mutant(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    algorithms: tuple = ()  # or names of cases, which are to see it; none: a sample of the cases of all algorithms


KERNELS = "src/backends/cpu/kernels/"
CPU_MUTANTS = [
    Mutant("the promised error is too small", "src/math/accuracy.h",
           "Accumulator::f64 ? 0x1p-53 : 0x1p-24;", "Accumulator::f64 ? 0x1p-60 : 0x1p-36;"),
    Mutant("weights are not normalised", "src/math/weights.cpp",
           "    weights[static_cast<std::size_t>(radius + i)] = weight;\n  }\n  divide_by_sum(weights);\n",
           "    weights[static_cast<std::size_t>(radius + i)] = weight;\n  }\n", ("sep.fused",)),
    Mutant("a region begins at the first row", "src/base/places.h",
           "places_on_axis(origin.y, spec.stride.y)}", "places_on_axis(0, spec.stride.y)}", ("sep.fused",)),
    Mutant("in place without making the result aside", "src/backends/cpu/executor.cpp",
           "is_in_place ? ImageView{plan().dst, own.aside(), plan().dst.row_payload_bytes()} : dst[i];", "dst[i];", ("sep.fused",)),
    Mutant("ring rows off by one", KERNELS + "sep_fused.cpp",
           "s.rows[i] = ring + (row * step.y + i) % s.ring_rows * s.stride;",
           "s.rows[i] = ring + (row * step.y + i + 1) % s.ring_rows * s.stride;", ("sep.fused",)),
    Mutant("an even number of taps loses the last", KERNELS + "sep_fused_u8_apart.cpp",
           "= inputs + taps.size() - 1;", "= inputs + 2 * taps.radius();", ("sep.fused",)),
    Mutant("tail pixels are skipped", KERNELS + "taps-inl.h",
           "  for (; i < count; i += lanes) {\n", "  for (; i + lanes <= count; i += lanes) {\n", ("sep.fused",)),
    Mutant("the fraction of the last tap is dropped", KERNELS + "box_float-inl.h",
           "if (box_.x.after_fraction > 0.0) {", "if (false) {", ("box.any",)),
    Mutant("the wrong row leaves the running sum", KERNELS + "box_integer-inl.h",
           "const std::int64_t leaves = y - 1 - columns_.box.y.before;",
           "const std::int64_t leaves = y - columns_.box.y.before;", ("box.any",)),
    Mutant("columns outside the image repeat the wrong ones", KERNELS + "box_columns.h",
           "row + (column - x) * kElements, i);", "row + (column - x + 1) * kElements, i);", ("box.any",)),
    Mutant("sums that a NaN left are not mended", KERNELS + "box_float_sums-inl.h",
           "if (is_lost(steps, largest_before)) begin_anew(", "if (!is_lost(steps, largest_before)) begin_anew(", ("box.any",)),
    Mutant("means of four channels go to their neighbour's place", KERNELS + "box_float_sums-inl.h",
           "+ row * kQuad + i % kQuad", "+ (row ^ 1) * kQuad + i % kQuad", ("box.any",)),
    Mutant("pixels of three channels are packed with the wrong one last", KERNELS + "box_groups-inl.h",
           "i / 3 * 4 + i % 3", "i / 3 * 4 + std::min<std::size_t>(i % 3, 1)", ("box.any",)),
    Mutant("the middle one of a few taps is the outermost", KERNELS + "fixed_taps-inl.h",
           "hn::MulHigh(in(0), weights[kRadius]);", "hn::MulHigh(in(0), weights[0]);", ("sep.fused",)),
    Mutant("coarse samples are expanded from the wrong rows", KERNELS + "gauss_expand-inl.h",
           "rows_to_mix.at(sample - (kSupport - 1) + t);", "rows_to_mix.at(sample - kSupport + t);", ("gauss.decimate",)),
    Mutant("sums of rows do not move on to the next cell row", KERNELS + "gauss_decimate.cpp",
           "sum[t][v] = sum[t - 1][v];", "static_cast<void>(sum[t - 1][v]);", ("gauss.decimate",)),
    Mutant("a level is halved from the row below", KERNELS + "gauss_pyramid.cpp",
           "const std::int64_t below = 2 * y - 2;", "const std::int64_t below = 2 * y - 1;", ("gauss.pyramid",)),
    Mutant("a window drops no rows", KERNELS + "gauss_cut.cpp",
           "sum = hn::Sub(sum, hn::PromoteTo(d, hn::LoadU(d8, leaving[j] + i)));", "static_cast<void>(leaving);", ("gauss.cut",)),
    Mutant("the undershoot of a cut Gaussian is added", KERNELS + "gauss_cut.cpp",
           "hn::StoreU(hn::Sub(hn::Add(hn::LoadU(d, out + i), undershoot), pair), d, out + i);",
           "hn::StoreU(hn::Add(hn::Add(hn::LoadU(d, out + i), undershoot), pair), d, out + i);",
           ("gauss.cut",)),
    Mutant("columns beyond the image do not follow the border", KERNELS + "gauss_cut.cpp",
           "s_.mapped[i] = map_index(k.rows.border.mode.x, x_.first + i, tile.src.desc.width);",
           "s_.mapped[i] = std::clamp<std::int64_t>(x_.first + i, 0, tile.src.desc.width - 1);", ("gauss.cut",)),
    Mutant("a fit does not know its distance", "src/math/decimation.cpp",
           "  out.l1_distance = l1_distance(", "  out.l1_distance = 0.0 * l1_distance(", ("gauss.decimate",)),
    Mutant("a fit takes cut Gaussians for endless ones", "src/math/axis_target.cpp",
           "is_cut_ = radius_ < everything;", "is_cut_ = false;", ("gauss.decimate",)),
    Mutant("reflect does not repeat the edge", "src/base/border.h",
           "return p < length ? p : 2 * length - 1 - p;", "return p < length ? p : std::max<std::int64_t>(2 * length - 2 - p, 0);",
           ("sep.fused",)),
    Mutant("8-bit results are truncated", KERNELS + "row_io-inl.h",
           "hn::NearestInt(clamp_unorm(d, v, 255.0F))",
           "hn::ConvertTo(hn::RebindToSigned<F32>(), clamp_unorm(d, v, 255.0F))", ("sep.fused",)),
]


VULKAN = "src/backends/vulkan/"
CORNERS = "box.any:form=four_corner/292x70/rgba8/box:radius=5x9/clamp"
# Windows so high that bands begin with sums of cells, and no whole number of bands: see most_read() in box_row_segments_gpu.cpp.
HIGH_WINDOW = "box.any:form=row_segments,threads=64,chunks=5/292x70/rgba8/box:radius=20x90/clamp"
# llvmpipe runs the subgroups of a group in turn, each to the next barrier. So it shows a barrier that is missing between
# a write and the reads after it, never one between reads and the next write: those are hunted on GPUs, by repetition.
VULKAN_MUTANTS = [
    Mutant("a ring is read before all have written", "shaders/literature/sep_sliding.comp",
           "    barrier();\n    vec4 sum = vec4(0.0);\n", "    vec4 sum = vec4(0.0);\n", ("sep.sliding",)),
    Mutant("a ring of rows is read before all have written", "shaders/literature/sep_inline_sliding.comp",
           "    barrier();\n    vec4 sum = vec4(0.0);\n", "    vec4 sum = vec4(0.0);\n", ("sep.inline_sliding",)),
    Mutant("lanes slide along a row before all have summed", "shaders/box/box_column_sums.comp",
           "    if (slides) barrier();\n", "", ("box.any",)),
    Mutant("rows that wait are stored a row too far", "shaders/box/box_column_sums.comp",
           "held + (slid + row) * step_y", "held + (slid + row) * step_y + step_y - 1", ("box.any",)),
    Mutant("means are stored before all lanes have slid", "shaders/box/box_column_sums.comp",
           "    if (slides) {\n      barrier();\n", "    if (slides) {\n", ("box.any",)),
    Mutant("fractions weigh the pixels inside the window", "shaders/box/box_column_sums.comp",
           "kEdge = is_whole ? 0 : 1;", "kEdge = 0;", ("box.any",)),
    Mutant("a strip does not know how the window before it changes", "shaders/box/box_four_corner.comp",
           "sums[p] += change + to_totals(", "sums[p] += to_totals(", ("box.any",)),
    Mutant("a window's last part is not summed", "shaders/box/box_seed_windows.comp",
           "if (has_part) sum +=", "if (false) sum +=", ("box.any",)),
    Mutant("a window after the first does not take in what enters", "shaders/box/box_seed_windows.comp",
           "sum += entering[i] - leaving[i];", "sum -= leaving[i];",
           ("box.any:form=four_corner,chunks=24/292x70/rgba8/box:radius=5x9/clamp",)),
    Mutant("rows are handed to the wrong lanes", "shaders/box/box_block_sums.comp",
           "row = 2 * row + ((lane & step) != 0 ? 1 : 0);", "row = 2 * row + ((lane & step) != 0 ? 0 : 1);", ("box.any",)),
    Mutant("pixels are taken from where 16 bytes begin", "shaders/lib/box/block_sums.glsl",
           "return shifted(f.low, f.high, c.is_inside ? shift : 0u);", "return f.low;", ("box.any",)),
    Mutant("spans are whole that reach beyond the image", "shaders/lib/io/ragged.glsl",
           "(shift == 0 || x - shift + 2 * span <= source_size.x)", "true", (CORNERS,)),
    Mutant("spans begin where those begin that hold them", "shaders/lib/io/ragged.glsl",
           "int bits = whole ? shift", "int bits = whole ? 0 * shift", (CORNERS,)),
    Mutant("a strip of spans does not know how the window before it changes", "shaders/box/box_four_corner_vec.comp",
           "% kPlanes], c) + change[c];", "% kPlanes], c);", (CORNERS,)),
    Mutant("negative halves borrow from others", "shaders/box/box_four_corner_vec.comp",
           "SUMS == SUMS_u16x2 ? 0x7F80u : 0u", "0u", (CORNERS,)),
    Mutant("rows that a step has beyond its band are summed", "shaders/box/box_block_sums_vec.comp",
           "first + n < height ? now[n][w] : 0u", "now[n][w]",
           ("box.any:form=four_corner,chunks=10/292x70/rgba8/box:radius=5x9/clamp",)),
    Mutant("parts of a strip end with a span", "shaders/box/box_block_sums_vec.comp",
           "lane == part_lane ? begun", "lane == part_lane ? total", (CORNERS,)),
    Mutant("packed differences keep what they borrowed", "shaders/lib/box/block_sums.glsl",
           "word + 0x8000 >> 16", "word >> 16", ("box.any",)),
    Mutant("windows slide along segments before all columns are there", "shaders/box/box_row_segments.comp",
           "    barrier();\n\n    Along along", "\n    Along along", ("box.any",)),
    Mutant("windows begin without the part of a segment", "shaders/box/box_row_segments.comp",
           "if (i == rest) rest_of_total =", "if (false) rest_of_total =", ("box.any",)),
    Mutant("strips are stored beyond the image", "shaders/box/box_row_segments.comp",
           "to_number = min(width, size.x - corner.x)", "to_number = (width)", ("box.any",)),
    Mutant("both words of a pixel beside whole parts are the first", "shaders/box/box_row_segments.comp",
           "uvec2(part[w], part[w + 1])", "uvec2(part[w], part[w])", ("box.any",)),
    Mutant("words of pixels beside whole parts are the next one's", "shaders/box/box_row_segments.comp",
           "(first_number + uint(m)) / uint(kInWord)", "(first_number + uint(m)) / uint(kInWord) + 1u", ("box.any",)),
    Mutant("pixels beside whole spans have the lowest of their word", "shaders/lib/io/spans.glsl",
           "v[c] = words[n / kInWord] >> (n % kInWord * SPAN_BITS % 32);", "v[c] = words[n / kInWord];",
           ("box.any:form=four_corner/301x90/r8/box:radius=5/clamp",)),
    Mutant("of two bytes the second is stored nowhere", "shaders/lib/io/pixel.glsl",
           "uint16_t(words.x & 0xFFu | words.y << 8)", "uint16_t(words.x & 0xFFu)", ("box.any",)),
    Mutant("bands begin without the part of a block", "shaders/box/box_row_segments.comp",
           "if (part > 0) v[q] +=", "if (false) v[q] +=", (HIGH_WINDOW,)),
    Mutant("means of codes are fractions of them", "src/algorithms/box/box_four_corner_gpu.cpp",
           "is_integer(form->sums) && !form->is_plain", "is_integer(form->sums)", (CORNERS,)),
    Mutant("columns before the first are taken for its segment's", "shaders/box/box_row_segments.comp",
           "p < lead ? place_before + span : place", "place", ("box.any",)),
    Mutant("means begin above the first of whole halves", "shaders/lib/box/box_spans.glsl",
           "kThousand - more * scale;", "kThousand + 0.25 - more * scale;", ("box.any",)),
    Mutant("lanes shuffle from the wrong side", "shaders/separable/sep_fused_subgroup.comp",
           "subgroupShuffle(word, uint(lane + lanes));", "subgroupShuffle(word, uint(lane - lanes));", ("sep.fused",)),
    Mutant("the tap that is one counts twice", "shaders/separable/sep_fused_subgroup.comp",
           "if (t != begin) h = fma(", "h = fma(", ("sep.fused",)),
    Mutant("a pair of codes ends with its word", "shaders/lib/io/pairs.glsl",
           "if (b % 4 >= 2) bits |=", "if (b % 4 == 3) bits |=", ("sep.fused",)),
    Mutant("rows of halves do not move up", "shaders/separable/sep_fused_subgroup.comp",
           "rows_seen[i] = rows_seen[i + kPairs];", "rows_seen[i] = rows_seen[i];", ("sep.fused",)),
    Mutant("sums of bytes keep their lift", "shaders/separable/sep_fused_subgroup.comp", "scale / lift(i)", "scale",
           ("sep.fused:exchange=shuffle/203x61/rgba8/gaussian:sigma=0.6,radius=2/mirror",)),
    Mutant("rows of a stride begin with the second", "shaders/lib/io/places.glsl",
           "return y % step_y == 0;", "return y % step_y == 1 % step_y;", ("sep.fused",)),
    Mutant("means of two pixels are the pixel itself", "src/algorithms/multirate/gauss_decimate_steps.cpp",
           "out.spline[i + 1] += 0.5", "out.spline[i] += 0.5", ("gauss.decimate",)),
    Mutant("coarse samples of bytes keep their lift", "shaders/multirate/gauss_decimate_vec.comp", "(scale / lift(n))", "scale", ("gauss.decimate",)),
    Mutant("the first column of samples begins where spans do", "shaders/multirate/gauss_decimate_vec.comp",
           "place_of(thread * span + i - lead)", "place_of(thread * span + i)", ("gauss.decimate",)),
    Mutant("sums stay where they are when a row of samples is done", "shaders/multirate/gauss_decimate_vec.comp",
           "j + 1 < support_y ? sums[(j + 1) * kNumbers + n] : 0.0;", "sums[j * kNumbers + n];", ("gauss.decimate",)),
    Mutant("rows of all samples are stored where their chunk begins", "shaders/lib/grid/expansion.glsl",
           "whole_place(ivec2(left, top));", "whole_place(ivec2(left, start));", ("gauss.decimate",)),
    Mutant("rows of many numbers lack the last of each sample", "shaders/lib/grid/expansion.glsl",
           "phase < rows_per_sample;", "phase < rows_per_sample - 1;",
           ("gauss.decimate:blur=strips,write_pixels=4/304x90/rgba8/gaussian:sigma=8/clamp",)),
    Mutant("a span is mixed by the weights of its first pixel", "shaders/lib/grid/expansion.glsl",
           "int tap = phase + i + j * factor_x;", "int tap = phase + j * factor_x;", ("gauss.decimate",)),
    Mutant("groups begin with the image instead of a row of samples", "shaders/multirate/gauss_upsample_tile.comp",
           "(tile_row + row) * factor_y - above;", "(tile_row + row) * factor_y;", ("gauss.decimate",)),
    Mutant("the last pieces of a tile are cut off", "src/algorithms/multirate/gauss_upsample_gpu.cpp",
           "{p.dst.width, p.dst.height + above}", "{p.dst.width, p.dst.height}", ("gauss.decimate",)),
    Mutant("strips begin with the image instead of a row of samples", "shaders/multirate/gauss_upsample_strip.comp",
           "int top = row * factor_y - above;", "int top = row * factor_y;", ("gauss.decimate",)),
    Mutant("a step upsamples a row of samples that it has not blurred", "shaders/multirate/gauss_upsample_strip.comp",
           "int step = min(kHeight, missing", "int step = min(kHeight + 1, missing", ("gauss.decimate",)),
    Mutant("strips go on from the last row of the step before", "shaders/multirate/gauss_upsample_strip.comp",
           "row += kHeight;", "row += kHeight - 1;",
           ("gauss.decimate:blur=strips,coarse_rows=64/304x90/rgba8/gaussian:sigma=8/clamp",)),
    Mutant("rows of blurred samples lie as far apart as those with margins", "shaders/multirate/gauss_upsample_strip.comp",
           "blurred[row * kBlurredRow + place", "blurred[row * kRow + place", ("gauss.decimate",)),
    Mutant("words keep what their first code has more", "shaders/lib/io/spans.glsl",
           "kWhole + 46336.0 : kWhole", "kWhole : kWhole", ("sep.fused",)),
    Mutant("a lane forgets the spans of samples of its first round", "shaders/multirate/gauss_upsample_tile.comp",
           "blurred[round * samples_per_thread + p] = sums[p];", "blurred[p] = sums[p];", ("gauss.decimate",)),
    Mutant("weights of samples are divided by another one's", "src/algorithms/multirate/gauss_upsample_gpu.cpp",
           "/= weight(middle);", "/= weight(0);", ("gauss.decimate",)),
    Mutant("the grid is summed across before all columns are summed", "shaders/multirate/gauss_grid.comp",
           "tile[place + r * kRow] = sums[r];\n  }\n  barrier();\n", "tile[place + r * kRow] = sums[r];\n  }\n",
           ("gauss.decimate",)),
    Mutant("tiles lack the last column of their margins", "shaders/lib/grid/grid_tile.glsl",
           "const int kReach = kWidth + taps_x - 1;", "const int kReach = kWidth + taps_x - 2;", ("gauss.decimate",)),
    Mutant("no band is summed anew", "shaders/box/box_mend.comp",
           "!any_of_group(is_spoiled(ivec2(x, end - 1)))", "!any_of_group(false)",
           ("box.any:form=column_sums,storage=buffer/290x70/r32f/box:radius=5x5/clamp/bad",)),
    Mutant("windows that are summed anew lack columns", "shaders/box/box_mend.comp",
           "int first = max(tile, lane);", "int first = max(tile, lane + 2);",
           ("box.any:form=column_sums,storage=buffer/290x70/r32f/box:radius=5x5/clamp/outliers",)),
    Mutant("columns take in outliers of halves as they are", "shaders/lib/io/numbers.glsl",
           "return mix(v, vec4(uintBitsToFloat(0x7F800000u)), greaterThanEqual", "return mix(v, v, greaterThanEqual",
           ("box.any:chunks=7,form=column_sums/240x6/r16f/box:before=56.25x14.25,after=7.125x1.9375/wrap+clamp/outliers/seed=616681",)),
    Mutant("segments take in outliers of halves as they are", "shaders/box/box_row_segments.comp",
           "v[q] = enters ? entering(v[q]) : v[q] * scale;", "v[q] = v[q] * scale;",
           ("box.any:chunks=3,form=row_segments/63x119/r16f/box:radius=6x9/clamp+mirror/max_error=0.01/outliers/seed=166147",)),
    Mutant("corners take in outliers of halves as they are", "shaders/box/box_four_corner_vec.comp",
           "enters = sieved(enters);", "",
           ("box.any:chunks=1,form=four_corner/300x90/rgba16f/box:radius=2x3/clamp/outliers/seed=9",)),
    Mutant("rows do not go on from the window before", "shaders/literature/box_scan.comp",
           "if (!is_first) v += carried[parity][column];", "if (is_first) v += carried[parity][column];", ("box.scan",)),
    Mutant("a pass does not wait for the one before", VULKAN + "recorder.cpp",
           "    if (i > 0) compute_barrier(commands, {});\n", "", ("sep.direct",)),
    Mutant("intermediates are images that shaders may not write", VULKAN + "recorder.cpp",
           "arena.add_image(desc, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT)",
           "arena.add_image(desc, VK_IMAGE_USAGE_SAMPLED_BIT)", ("sep.direct",)),
]
MUTANTS = {"cpu": CPU_MUTANTS, "vulkan": VULKAN_MUTANTS}
VALIDATION = re.compile("VUID-|SYNC-HAZARD|UNASSIGNED|[Vv]alidation ([Ee]rror|[Ww]arning)")


def sync(source: pathlib.Path, tree: pathlib.Path) -> None:
    """Copies what differs, by content, so that unchanged files keep their times."""
    wanted = {}
    for folder in ("src", "include", "shaders", "tests/mutation", "cmake"):
        for path in (source / folder).rglob("*"):
            if path.is_file():
                wanted[tree / path.relative_to(source)] = path
    wanted[tree / "CMakeLists.txt"] = source / "tests/mutation/tree.cmake"
    for path in list(tree.rglob("*")):
        if path.is_file() and path not in wanted:
            path.unlink()
    for target, origin in wanted.items():
        content = origin.read_bytes()
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


class Snapshot:
    """A folder as it is now. To go back to it leaves the build nothing to do, which compiling again what was mended would."""

    def __init__(self, folder: pathlib.Path, copy: pathlib.Path):
        self.folder, self.copy = folder, copy
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        self.stamps = self._stamps()

    def _stamps(self) -> dict:
        """Size and time of each file, by its path in the folder."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}

    def restore(self) -> None:
        now = self._stamps()
        for path in now.keys() - self.stamps.keys():
            (self.folder / path).unlink()
        for path, stamp in self.stamps.items():
            if now.get(path) != stamp:
                shutil.copy2(self.copy / path, self.folder / path)


def quiet(command: list) -> None:
    """Runs a command that must succeed; its output matters only if it does not."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout)
        sys.exit("failed: " + " ".join(str(c) for c in command))


def drawn(mutants: list, count: int, seed: str) -> list:
    """So many of them, in their order: others for another seed."""
    chosen = set(random.Random(seed).sample(range(len(mutants)), min(count, len(mutants))))
    return [mutant for i, mutant in enumerate(mutants) if i in chosen]


def commit_of(source: pathlib.Path) -> str:
    done = subprocess.run(["git", "-C", source, "rev-parse", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)
    return done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True, help="root of the project")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where to copy and build")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--launcher", default="", help="compiler launcher, such as ccache")
    parser.add_argument("--backend", choices=MUTANTS, required=True, help="whose mistakes")
    parser.add_argument("--sample", type=int, default=int(os.environ.get("MOLLIFY_MUTANTS", "0")), metavar="N",
                        help="so many mistakes, drawn by the seed; 0: all; without this option what MOLLIFY_MUTANTS says")
    parser.add_argument("--seed", help="of the sample; without it the commit of the source")
    arguments = parser.parse_args()
    mutants = MUTANTS[arguments.backend]
    if arguments.sample:
        seed = commit_of(arguments.source) if arguments.seed is None else arguments.seed
        mutants = drawn(mutants, arguments.sample, seed)
        print(f"{len(mutants)} of {len(MUTANTS[arguments.backend])} mistakes, drawn by the seed {seed}")
    on_gpu = arguments.backend == "vulkan"

    tree = arguments.work / "tree"
    build = arguments.work / "build"
    sync(arguments.source, tree)
    # Little optimisation and one instruction set, this machine's or, where CPU kernels only have to be there, none: mistakes
    # show all the same, kernels compile sooner.
    lanes = "-DHWY_COMPILE_ONLY_SCALAR" if on_gpu else "-march=native -DHWY_COMPILE_ONLY_STATIC"
    quiet([arguments.cmake, "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS=-O1 {lanes}",
           f"-DCMAKE_CXX_COMPILER_LAUNCHER={arguments.launcher}", f"-DMOLLIFY_VULKAN={'ON' if on_gpu else 'OFF'}"])

    def findings(algorithms: tuple) -> list:
        """The last lines of what is wrong; none if nothing is."""
        quiet([arguments.cmake, "--build", build, "--target", "check"])
        done = subprocess.run([build / "check", arguments.backend, *algorithms], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=600)  # for mistakes that hang
        lines = done.stdout.strip().splitlines()
        spoken = [line for line in lines if VALIDATION.search(line)]
        if done.returncode == 0:
            return spoken[:1]
        return [line for line in lines if line not in spoken][-2:] or [f"ended with {done.returncode}"]

    for algorithms in sorted({mutant.algorithms for mutant in mutants}):
        if found := findings(algorithms):
            sys.exit(f"the check {' '.join(algorithms)} fails without any mistake:\n" + "\n".join(found))

    survivors = []
    # The build first: should that be cut short, the mistake in the tree is still newer than what was built with it.
    right = [Snapshot(folder, arguments.work / "right" / folder.name) for folder in (build, tree)]
    for mutant in mutants:
        started = time.monotonic()
        path = tree / mutant.file
        original = path.read_text()
        if original.count(mutant.old) != 1:
            sys.exit(f"{mutant.name}: its pattern occurs {original.count(mutant.old)} times in {mutant.file}")
        path.write_text(original.replace(mutant.old, mutant.new))
        try:
            found = findings(mutant.algorithms)
        finally:
            for folder in right:
                folder.restore()
        print(f"{'seen    ' if found else 'SURVIVED'}  {mutant.name} ({time.monotonic() - started:.0f} s)", flush=True)
        for line in found:
            print("    " + line.strip()[:160])
        if not found:
            survivors.append(mutant.name)
    if survivors:
        sys.exit(f"{len(survivors)} of {len(mutants)} mistakes were not seen")
    print(f"all {len(mutants)} mistakes were seen")


if __name__ == "__main__":
    main()
