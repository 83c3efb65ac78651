#!/usr/bin/env python3
"""The CPU's table of speed: `run` measures its cases, `table` makes Markdown of such a file.

  bench/cpu_table.py run build/release/mollify -o bench/results/DATE-cpu.jsonl
  bench/cpu_table.py table bench/results/DATE-cpu.jsonl [--into README.md]

`--into` replaces what stands between the lines <!-- cpu-table --> and <!-- /cpu-table --> of a file.
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
MARKS = ("<!-- cpu-table -->", "<!-- /cpu-table -->")


def cases() -> list:
    """(name of the row, arguments that make it)"""
    gaussians = [(f"Gaussian, radius {r}, sigma {r / 3:.3g}", ["--gaussian", f"{r / 3:.6g}", "--radius", str(r)]) for r in RADII]
    smooth = [(f"Gaussian, sigma {s}", ["--gaussian", str(s)]) for s in SIGMAS]
    boxes = [(f"box, radius {r}", ["--box", str(r)]) for r in BOXES]
    return gaussians + smooth + boxes


def run(arguments: argparse.Namespace) -> None:
    if arguments.output.exists():
        sys.exit(f"{arguments.output} exists: results are not mixed")
    for row, kernel in cases():
        for pixel_format in FORMATS:
            print(row, pixel_format, flush=True)
            subprocess.run([arguments.tool, "bench", "--device", "cpu", "--size", arguments.size, "--format", pixel_format,
                            "--seconds", str(arguments.seconds), "--json", arguments.output, *kernel,
                            *([] if arguments.peers else ["--no-peers"])],
                           check=True, stdout=subprocess.DEVNULL)


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


def table(arguments: argparse.Namespace) -> None:
    own, peers = {}, {}
    for line in arguments.results.read_text().splitlines():
        record = json.loads(line)
        if record["peer"] is None:
            own[key(record)] = record
        elif "opencv" in record["peer"].lower():
            peers[key(record)] = record
    if not own:
        sys.exit(f"{arguments.results} holds no results")
    any_record = next(iter(own.values()))
    environment = any_record["environment"]
    lines = ["| | " + " | ".join(f"`{f}`" for f in FORMATS) + " |", "| --- |" + " --- |" * len(FORMATS)]
    for row, _ in cases():
        lines.append(f"| {row} | " + " | ".join(cell(own.get((row, f)), peers.get((row, f))) for f in FORMATS) + " |")
    lines += ["", f"{any_record['width']}x{any_record['height']}, {any_record['threads']} threads, {environment['cpu']} "
              f"({environment['highway_target']}), {environment['compiler']}, commit {environment['commit']}. Median time, times the copy of the "
              "same bytes in the same run, and how many times as long OpenCV took. *: unsteady."]
    text = "\n".join(lines)
    if not arguments.into:
        print(text)
        return
    page = arguments.into.read_text()
    if any(page.count(mark) != 1 for mark in MARKS):
        sys.exit(f"{arguments.into} has no lines {' and '.join(MARKS)}")
    begin, end = (page.index(mark) for mark in MARKS)
    arguments.into.write_text(page[: begin + len(MARKS[0])] + "\n" + text + "\n" + page[end:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser("run", help="measure; takes some minutes")
    measure.add_argument("tool", type=pathlib.Path)
    measure.add_argument("-o", "--output", type=pathlib.Path, required=True)
    measure.add_argument("--size", default="4096x4096")
    measure.add_argument("--peers", action="store_true", help="other libraries, too: takes half an hour")
    measure.add_argument("--seconds", type=float, default=0.5)
    measure.set_defaults(call=run)
    make = commands.add_parser("table", help="print it")
    make.add_argument("results", type=pathlib.Path)
    make.add_argument("--into", type=pathlib.Path)
    make.set_defaults(call=table)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
