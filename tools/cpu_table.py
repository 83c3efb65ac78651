#!/usr/bin/env python3
"""The CPU's tables of speed: `run`, `scale` and `formats` measure their cases, `table` makes Markdown of such a file.

  tools/cpu_table.py run build/release/mollify -o bench/results/DEVICE-speed.jsonl
  tools/cpu_table.py scale build/release/mollify -o bench/results/DEVICE-scale.jsonl
  tools/cpu_table.py formats build/release/mollify -o bench/results/DEVICE-formats.jsonl
  tools/cpu_table.py table bench/results/DEVICE-speed.jsonl [--into docs/benchmarking.md]

`--into` replaces what stands between the lines <!-- cpu-table --> and <!-- /cpu-table --> of a file, or those with
cpu-scale or cpu-formats in place of cpu-table.
"""
import argparse
import json
import pathlib
import subprocess
import sys

FORMATS = ("rgba8", "rgba32f")
RADII = (1, 4, 9, 32, 64)  # of Gaussians cut at three sigma, as OpenCV cuts them
SIGMAS = (5, 10, 40, 200)
BOXES = (1, 9, 64, 128, 512)
SLOWEST_PEER = 10  # sigma: OpenCV takes minutes beyond
SIDES = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
SHAPES = [f"{side}x{side}" for side in SIDES] + ["16384x256", "256x16384"]
SCALED = [("Gaussian, sigma 2", ["--gaussian", "2"]), ("Gaussian, sigma 10", ["--gaussian", "10"]), ("box, radius 9", ["--box", "9"])]
THREADS = (1, 2)
ALL_FORMATS = ("rgba8", "rgb8", "r8", "r16", "r16f", "rgba32f", "rgb32f", "r32f")
FORMAT_ROUNDS = 2  # of all formats in turn: of the steady ones the best counts


def gaussian(radius: int) -> tuple:
    """One that is cut at three sigma."""
    return f"Gaussian, radius {radius}, sigma {radius / 3:.3g}", ["--gaussian", f"{radius / 3:.6g}", "--radius", str(radius)]


OF_FORMATS = [gaussian(1), gaussian(4), gaussian(9), ("Gaussian, sigma 10", ["--gaussian", "10"]), ("box, radius 9", ["--box", "9"]),
              ("box, radius 64", ["--box", "64"])]


def cases() -> list:
    """(name of the row, arguments that make it)"""
    gaussians = [gaussian(r) for r in RADII]
    smooth = [(f"Gaussian, sigma {s}", ["--gaussian", str(s)]) for s in SIGMAS]
    boxes = [(f"box, radius {r}", ["--box", str(r)]) for r in BOXES]
    return gaussians + smooth + boxes


def bench(arguments: argparse.Namespace, case: list, seconds: float) -> None:
    subprocess.run([arguments.tool, "bench", "--device", "cpu", "--seconds", str(seconds), "--json", arguments.output, *case],
                   check=True, stdout=subprocess.DEVNULL)


def run(arguments: argparse.Namespace) -> None:
    for row, kernel in cases():
        for pixel_format in FORMATS:
            print(row, pixel_format, flush=True)
            slow = "--radius" not in kernel and kernel[0] == "--gaussian" and float(kernel[1]) > SLOWEST_PEER
            peers = [] if arguments.peers and not slow else ["--no-peers"]
            bench(arguments, ["--size", arguments.size, "--format", pixel_format, *kernel, *peers], arguments.seconds)


def scale(arguments: argparse.Namespace) -> None:
    for shape in SHAPES:
        for row, kernel in SCALED:
            print(shape, row, flush=True)
            for threads in THREADS:
                bench(arguments, ["--size", shape, "--format", "rgba8", "--threads", str(threads), *kernel, "--no-peers"],
                      arguments.seconds)


def formats(arguments: argparse.Namespace) -> None:
    for row, kernel in OF_FORMATS:
        for _ in range(FORMAT_ROUNDS):
            for pixel_format in ALL_FORMATS:
                print(row, pixel_format, flush=True)
                bench(arguments, ["--size", arguments.size, "--format", pixel_format, *kernel, "--no-peers"], arguments.seconds)


def key(record: dict) -> tuple:
    """Which cell of the table a record is about."""
    if record["kernel"] == "box":
        row = f"box, radius {record['radius']:g}"
    elif "radius=" in record["case"]:
        row = f"Gaussian, radius {record['radius']:g}, sigma {record['radius'] / 3:.3g}"
    else:
        row = f"Gaussian, sigma {record['sigma']:g}"
    return row, record["src_format"]


def cell(own: dict, peer: dict) -> str:
    if own is None:
        return ""
    ratio = own["copy_ratio"]
    text = f"{own['time_ns']['median'] / 1e6:.1f} ms, {ratio:.1f}" + ("*" if own["unstable"] else "")
    if peer is not None and peer["time_ns"]:
        text += f", {peer['time_ns']['median'] / own['time_ns']['median']:.1f}"
    return text


def made_by(record: dict) -> str:
    environment = record["environment"]
    return f"{environment['cpu']} ({environment['highway_target']}), {environment['compiler']}, commit {environment['commit']}"


def speed_table(records: list) -> list:
    own = {key(r): r for r in records if r["peer"] is None}
    peers = {key(r): r for r in records if r["peer"] and "opencv" in r["peer"].lower()}
    lines = ["| | " + " | ".join(f"`{f}`" for f in FORMATS) + " |", "| --- |" + " --- |" * len(FORMATS)]
    for row, _ in cases():
        lines.append(f"| {row} | " + " | ".join(cell(own.get((row, f)), peers.get((row, f))) for f in FORMATS) + " |")
    any_record = records[0]
    beside = ", and how many times as long OpenCV took" if peers else ""
    return lines + ["", f"{any_record['width']}x{any_record['height']}, {any_record['threads']} threads, {made_by(any_record)}. Median "
                    f"time and times the copy of the same bytes in the same run{beside}. *: unsteady."]


def scale_table(records: list) -> list:
    def find(shape: str, kernel: list, threads: int):
        width, height = map(int, shape.split("x"))
        wanted = {"--gaussian": "sigma", "--box": "radius"}[kernel[0]]
        return next((r for r in records if (r["width"], r["height"], r["threads"]) == (width, height, threads)
                     and r[wanted] == float(kernel[1]) and r["kernel"] == kernel[0].lstrip("-")), None)

    def numbers(shape: str, kernel: list) -> str:
        found = [find(shape, kernel, threads) for threads in THREADS]
        if None in found:
            return " | "
        pixels = found[0]["width"] * found[0]["height"]
        return " | ".join(f"{r['time_ns']['median'] / pixels:.2f}, {r['copy_ratio']:.1f}" + ("*" if r["unstable"] else "") for r in found)

    lines = ["| `rgba8` | " + " | ".join(f"{row}, {t} thread{'s' if t > 1 else ''}" for row, _ in SCALED for t in THREADS) + " |",
             "| --- |" + " --- |" * (len(SCALED) * len(THREADS))]
    lines += [f"| {shape} | " + " | ".join(numbers(shape, kernel) for _, kernel in SCALED) + " |" for shape in SHAPES]
    return lines + ["", f"Nanoseconds a pixel, and times the copy by as many threads in the same run; {made_by(records[0])}. *: unsteady."]


def formats_table(records: list) -> list:
    def numbers(row: str, pixel_format: str) -> str:
        best = min((r for r in records if key(r) == (row, pixel_format)), key=lambda r: (r["unstable"], r["copy_ratio"]))
        return f"{best['time_ns']['median'] / best['min_bytes'] * 2e3:.0f}, {best['copy_ratio']:.1f}" + ("*" if best["unstable"] else "")

    lines = ["| | " + " | ".join(row for row, _ in OF_FORMATS) + " |", "| --- |" + " --- |" * len(OF_FORMATS)]
    lines += [f"| `{f}` | " + " | ".join(numbers(row, f) for row, _ in OF_FORMATS) + " |" for f in ALL_FORMATS]
    any_record = records[0]
    return lines + ["", f"Picoseconds a byte of the image, and times the copy of the same bytes in the same run; of {FORMAT_ROUNDS} runs the "
                    f"steadier and better one. {any_record['width']}x{any_record['height']}, {any_record['threads']} threads, "
                    f"{made_by(any_record)}. *: unsteady."]


def table(arguments: argparse.Namespace) -> None:
    records = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    if not records:
        sys.exit(f"{arguments.results} holds no results")
    if len({r["threads"] for r in records}) > 1:
        name, lines = "cpu-scale", scale_table(records)
    elif len({r["src_format"] for r in records}) > len(FORMATS):
        name, lines = "cpu-formats", formats_table(records)
    else:
        name, lines = "cpu-table", speed_table(records)
    text = "\n".join(lines)
    if not arguments.into:
        print(text)
        return
    marks = (f"<!-- {name} -->", f"<!-- /{name} -->")
    page = arguments.into.read_text()
    if any(page.count(mark) != 1 for mark in marks):
        sys.exit(f"{arguments.into} has no lines {' and '.join(marks)}")
    begin, end = (page.index(mark) for mark in marks)
    arguments.into.write_text(page[: begin + len(marks[0])] + "\n" + text + "\n" + page[end:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser("run", help="measure; takes some minutes")
    measure.add_argument("--size", default="4096x4096")
    measure.add_argument("--peers", action="store_true", help="other libraries, too: takes half an hour")
    measure.set_defaults(call=run)
    sizes = commands.add_parser("scale", help="measure sizes and threads; takes some minutes")
    sizes.set_defaults(call=scale)
    types = commands.add_parser("formats", help="measure channels and types; takes some minutes")
    types.add_argument("--size", default="4096x4096")
    types.set_defaults(call=formats)
    for command in (measure, sizes, types):
        command.add_argument("tool", type=pathlib.Path)
        command.add_argument("-o", "--output", type=pathlib.Path, required=True)
        command.add_argument("--seconds", type=float, default=0.5)
    make = commands.add_parser("table", help="print it")
    make.add_argument("results", type=pathlib.Path)
    make.add_argument("--into", type=pathlib.Path)
    make.set_defaults(call=table)
    arguments = parser.parse_args()
    if hasattr(arguments, "output") and arguments.output.exists():
        sys.exit(f"{arguments.output} exists: results are not mixed")
    arguments.call(arguments)


if __name__ == "__main__":
    main()
