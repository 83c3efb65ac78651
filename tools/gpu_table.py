#!/usr/bin/env python3
"""A GPU's table of speed: `run` measures its cases, `table` makes Markdown of such files; what two have, the last one says
that was not disturbed.

  tools/gpu_table.py run build/release/mollify -o bench/results/DEVICE-speed.jsonl [--device vulkan:0] [--rows box]
  tools/gpu_table.py table bench/results/DEVICE-speed.jsonl... [--into docs/benchmarking.md [--mark gpu-table]]

`--into` replaces what stands between the lines <!-- MARK --> and <!-- /MARK --> of a file.
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import sys

FORMATS = ("rgba8", "rgba16f", "rgba32f")
RADII = (1, 2, 4, 9)  # of Gaussians cut at three sigma
SIGMAS = (5, 8, 10, 20, 50, 100)
BOXES = (1, 4, 16, 32, 64, 128, 256)
SIZE = "4096x4096"
DISTURBED = 1.1   # times the least copy of the file: something else used the device
BLUR_TOO = 1.9    # where copies took so much longer, blurs were seen to do so as well


def cases() -> list:
    """(name of the row, its kernel as records name it)"""
    cut = [(f"Gaussian, radius {r}", f"gaussian:sigma={shortest(r / 3)},radius={r}") for r in RADII]
    smooth = [(f"Gaussian, sigma {s}", f"gaussian:sigma={s}") for s in SIGMAS]
    boxes = [(f"box, radius {r}", f"box:radius={r}") for r in BOXES]
    return cut + smooth + boxes


def shortest(number: float) -> str:
    return repr(number).removesuffix(".0")


def run(arguments: argparse.Namespace) -> None:
    chosen = [kernel for row, kernel in cases() if arguments.rows in row]
    if not chosen:
        sys.exit(f"--rows {arguments.rows}: no row has this in its name: " + "; ".join(row for row, _ in cases()))
    output = pathlib.Path(arguments.output)
    before = len(lines_of(output))
    named = [f"--case=auto/{SIZE}/{pixel_format}/{kernel}/clamp" for kernel in chosen for pixel_format in FORMATS]
    command = [arguments.tool, "bench", "--device", arguments.device, "--json", arguments.output, "--seconds", str(arguments.seconds),
               *named, *([] if arguments.peers else ["--no-peers"])]
    try:
        subprocess.run(command, check=True)
    finally:
        date(output, before)


def date(output: pathlib.Path, first: int) -> None:
    """Adds when they were measured to the lines from the first on: tools/study.py asks whether they are newer than other records."""
    lines = lines_of(output)
    now = {"measured_at": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"}
    dated = [json.dumps(json.loads(line) | now, separators=(",", ":")) for line in lines[first:]]
    output.write_text("".join(f"{line}\n" for line in lines[:first] + dated), encoding="utf-8")


def lines_of(path: pathlib.Path) -> list:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def kernel_of(record: dict) -> str:
    """The last part but one of a case's name."""
    return record["case"].split("/")[3]


def commit_of(record: dict) -> str:
    return record["environment"]["commit"]


def figures(record: dict, copies: dict) -> str:
    time, copy = record["time_ns"]["median"], record["copy_ns"]
    least = copies[record["src_format"]]
    if copy <= DISTURBED * least:
        return f"{time / 1e3:.0f}, {time / copy:.2f}"
    steady = record["time_ns"]["p90"] - record["time_ns"]["p10"] <= 0.15 * time and copy < BLUR_TOO * least
    return f"{time / 1e3:.0f}, {time / least:.2f}" if steady else "disturbed"


def cell(records: list, copies: dict, commit: str) -> str:
    if not records:
        return ""
    told = [(figures(r, copies), commit_of(r)) for r in records]
    text, of = ([each for each in told if each[0] != "disturbed"] or told)[-1]
    return text if of == commit else f"*{text}*"


def table(arguments: argparse.Namespace) -> None:
    records = []
    for name in arguments.files:
        with open(name, encoding="utf-8") as file:
            records += [json.loads(line) for line in file]
    own = [r for r in records if r["peer"] is None and r["case"].startswith("auto/") and r.get("batch", 1) == 1 and
           f"{r['width']}x{r['height']}" == SIZE]
    copies = {}
    for record in own:
        copies[record["src_format"]] = min(record["copy_ns"], copies.get(record["src_format"], float("inf")))
    last = own[-1]
    commit = commit_of(last)
    others = sorted({commit_of(record) for record in own} - {commit})
    lines = ["| | " + " | ".join(f"`{name}`" for name in FORMATS) + " |", "| --- |" + " --- |" * len(FORMATS)]
    for row, kernel in cases():
        found = [cell([r for r in own if kernel_of(r) == kernel and r["src_format"] == name], copies, commit)
                 for name in FORMATS]
        lines.append(f"| {row} | " + " | ".join(found) + " |")
    italics = f"; in italics {', '.join(others)}" if others else ""
    lines += ["", f"{SIZE}, {last['device']}, commit {commit}{italics}. Microseconds, median, and times the copy of the "
              f"same bytes; where that was disturbed, the least of the file. Gaussians of a radius have a third of it as sigma."]
    text = "\n".join(lines)
    if not arguments.into:
        print(text)
        return
    path = pathlib.Path(arguments.into)
    begin, end = f"<!-- {arguments.mark} -->\n", f"<!-- /{arguments.mark} -->"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(before + begin + text + "\n" + end + rest.split(end)[1], encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser("run", help="measure")
    measure.add_argument("tool")
    measure.add_argument("-o", "--output", required=True)
    measure.add_argument("--device", default="vulkan:0")
    measure.add_argument("--seconds", type=float, default=0.25)
    measure.add_argument("--rows", default="", metavar="TEXT", help="only rows with this in their name, such as box")
    measure.add_argument("--peers", action="store_true", help="other libraries, too")
    measure.set_defaults(do=run)
    show = commands.add_parser("table", help="make Markdown")
    show.add_argument("files", nargs="+")
    show.add_argument("--into", help="replace the table in this file")
    show.add_argument("--mark", default="gpu-table", help="between comments of this name (default: %(default)s)")
    show.set_defaults(do=table)
    arguments = parser.parse_args()
    arguments.do(arguments)


if __name__ == "__main__":
    main()
