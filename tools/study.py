#!/usr/bin/env python3
"""The study's tables and charts, from the results in bench/results/.

    tools/study.py build/release/mollify     everything; needs Chromium
    tools/study.py --tables                  the tables of docs/study.md alone
    tools/study.py --check                   whether those tables are what the results say; changes nothing

The study reads DEVICE-study.jsonl, the records of `mollify lab run`, of the devices in NAMES. An algorithm that DEVICE-speed.jsonl,
the device's current table, has records of at another commit was changed since: the study leaves it out until it is measured anew.
Every file of the folder is named DEVICE-SUITE.jsonl, or DEVICE-SUITE-COMMIT.jsonl if a newer one took its place but a document still
quotes it; another name, or records of another device, are an error. Tables stand between the lines <!-- NAME --> and <!-- /NAME --> of docs/study.md.
"""
import json
import math
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
STUDY = ROOT / "docs" / "study.md"
FIGURES = ROOT / "docs" / "study"
NAMES = {"h200": "NVIDIA H200", "llvmpipe": "llvmpipe", "xeon2500": "Xeon, 2 threads"}
# How file names and records call the devices.
DEVICES = {"h100": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200", "llvmpipe": "llvmpipe (LLVM 15.0.6, 256 bits)",
           "xeon": "Intel(R) Xeon(R) Processor", "xeon2500": "Intel(R) Xeon(R) Processor @ 2.50GHz"}
DEFAULT_ERRORS = {"rgba8": 0.125 / 255, "rgba16f": 1e-4, "rgba32f": 2e-5}

QUAD_TECHNIQUES = ("quad.3x3", "nxn.direct", "nxn.shared", "sep.fused")  # the last is what the planner takes

# The pictures of each device: chart, file name, filters of the page.
CHARTS = {
    "h200": [("width", "widths-rgba8", {"family": "gaussian cut", "size": "4096x4096", "format": "rgba8"}),
             ("width", "widths-rgba32f", {"family": "gaussian cut", "size": "4096x4096", "format": "rgba32f"}),
             ("width", "box", {"family": "box", "size": "3024x4032", "format": "rgba8"}),
             ("error", "errors-rgba8", {"size": "2048x2048", "format": "rgba8", "kernel": "gaussian sigma 8"}),
             ("size", "sizes", {"family": "gaussian", "format": "rgba8", "kernel": "gaussian sigma 8"})],
    "llvmpipe": [("width", "widths-rgba8", {"family": "gaussian cut", "size": "128x128", "format": "rgba8"}),
                 ("error", "errors-rgba8", {"size": "128x128", "format": "rgba8", "kernel": "gaussian sigma 8"})],
    "xeon2500": [("width", "widths-rgba8", {"family": "gaussian cut", "size": "512x512", "format": "rgba8"}),
             ("width", "box", {"family": "box", "size": "3024x4032", "format": "rgba8"}),
             ("error", "errors-rgba8", {"size": "2048x2048", "format": "rgba8", "kernel": "gaussian sigma 8"}),
             ("size", "sizes", {"family": "gaussian", "format": "rgba8", "kernel": "gaussian sigma 8"})],
}


# --- Records -----------------------------------------------------------------------------------------------------------

class Point:
    """One timed record, with the names that tables ask for."""

    def __init__(self, record):
        self.record = record
        self.technique = record["algorithm"]
        self.peer = record["peer"]
        self.options = record["options"]
        self.asked = record["case"].split("/")[0]  # the algorithm with the options that were asked for
        self.size = f"{record['width']}x{record['height']}"
        self.format = record["src_format"]
        self.kernel, self.sigma, self.radius = record["kernel"], record["sigma"], record["radius"]
        self.width = None if self.radius is None else round(2 * self.radius) + 1
        self.ms = record["time_ns"]["median"] / 1e6
        self.ratio = record["copy_ratio"]
        self.error = record["max_error"]
        self.unstable = record["unstable"]

    @property
    def family(self):
        """As the page names them."""
        return "gaussian cut" if self.kernel == "gaussian" and self.radius is not None else self.kernel

    @property
    def is_exact(self):
        """Within the accuracy that is promised by default."""
        return self.error is not None and self.error <= DEFAULT_ERRORS.get(self.format, 0.0)

    @property
    def is_loose(self):
        return "/max_error=" in self.record["case"]


def read(path):
    """The records of a file, whose name says of which device they are, and if need be of which commit."""
    match = re.fullmatch(r"([a-z0-9]+)-[a-z]+(?:-([0-9a-f]{7}))?\.jsonl", path.name)
    if not match or match[1] not in DEVICES:
        sys.exit(f"study.py: {path.name} is not named DEVICE-SUITE.jsonl or DEVICE-SUITE-COMMIT.jsonl, of {', '.join(DEVICES)}")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    others = {record["device"] for record in records} - {DEVICES[match[1]]}
    if others:
        sys.exit(f"study.py: {path.name} has records of {', '.join(sorted(others))}")
    if match[2] and match[2] not in {commit_of(record) for record in records}:
        sys.exit(f"study.py: {path.name} has no records of commit {match[2]}")
    return records


def commit_of(record):
    return record["environment"]["commit"]


def superseded(records, current):
    """The algorithms that the current records have of other commits than these."""
    commits = group_by(records, lambda record: record["algorithm"])
    return sorted({record["algorithm"] for record in current
                   if commit_of(record) not in {commit_of(old) for old in commits.get(record["algorithm"], [record])}})


class Study(NamedTuple):
    path: Path
    records: list   # those that count
    left_out: list  # the algorithms that were changed since
    points: list    # the timed ones of the records


def study_of(path, records, current):
    timed = [record for record in records if record.get("outcome") == "timed"]
    left_out = superseded(timed, current)
    kept = [record for record in records if record.get("algorithm") not in left_out or record.get("peer")]
    return Study(path, kept, left_out, [Point(record) for record in kept if record.get("outcome") == "timed"])


def results(folder=RESULTS):
    """The study of each device, by its name in the file's."""
    files = {path.stem: (path, read(path)) for path in sorted(folder.glob("*.jsonl"))}
    devices = {}
    for device in NAMES:
        if f"{device}-study" in files:
            path, records = files[f"{device}-study"]
            devices[device] = study_of(path, records, files.get(f"{device}-speed", (None, []))[1])
    return devices


def published():
    """{(bits, technique): {width: fastest published milliseconds}}"""
    import csv
    times = defaultdict(dict)
    with open(ROOT / "lab" / "data" / "published_timings.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["width"] == row["height"] == "4096" and row["kernel_width"]:
                of_width = times[int(row["bits_per_pixel"]), row["technique"]]
                width, ms = int(row["kernel_width"]), float(row["milliseconds"])
                of_width[width] = min(ms, of_width.get(width, math.inf))
    return times


def fastest(points):
    return min(points, key=lambda point: point.ms, default=None)


def group_by(points, key):
    groups = defaultdict(list)
    for point in points:
        groups[key(point)].append(point)
    return groups


# --- Tables ------------------------------------------------------------------------------------------------------------

def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def short(value, digits=3):
    if value is None:
        return ""
    return f"{float(f'{value:.{digits}g}'):g}"


def time_of(point):
    return "" if point is None else f"{short(point.ms)} ms" + ("*" if point.unstable else "")


def own(points):
    return [point for point in points if point.peer is None]


def of_blurs(points):
    return [point for point in own(points) if point.family == "gaussian cut"]


def machines(devices):
    rows = []
    for device, study in devices.items():
        record = study.points[0].record
        environment = record["environment"]
        suites = ", ".join(sorted({point.record["suite"] for point in study.points}))
        commits = ", ".join(dict.fromkeys(commit_of(point.record) for point in study.points))
        days = sorted({point.record["measured_at"][:10] for point in study.points})
        rows.append((f"[{NAMES[device]}](../bench/results/{study.path.name})", ", ".join(days), record["driver"], environment["cpu"],
                     environment["cores"], commits, suites, len(study.points), sum(point.unstable for point in study.points),
                     ", ".join(f"`{name}`" for name in study.left_out)))
    return markdown(("device", "measured", "driver", "processor", "cores", "commits", "suites", "timed", "unstable",
                     "left out, changed since"), rows)


def winners(points):
    exact = [point for point in of_blurs(points) if point.is_exact and not point.is_loose and point.record["suite"] != "scale"]
    widths = sorted({point.width for point in exact})
    rows = []
    order = {name: place for place, name in enumerate(DEFAULT_ERRORS)}
    places = sorted({(point.record["width"], order.get(point.format, 9), point.size, point.format) for point in exact})
    for _, _, size, pixel_format in places:
        row = [f"{size} {pixel_format}"]
        for width in widths:
            best = fastest([p for p in exact if (p.size, p.format, p.width) == (size, pixel_format, width)])
            row.append(f"{best.technique} {short(best.ratio, 2)}" if best else "")
        rows.append(row)
    return markdown(["", *(f"width {width}" for width in widths)], rows)


def orderings(points):
    """Ranks of the techniques that both have, published times beside ours."""
    rows = []
    articles = published()
    ours = group_by([p for p in of_blurs(points) if p.size == "4096x4096"], lambda p: (p.format, p.technique, p.width))
    for bits, pixel_format in ((32, "rgba8"), (128, "rgba32f")):
        techniques = sorted({technique for of_bits, technique in articles if of_bits == bits and not technique.startswith("box.")})
        for width in (3, 9, 19):
            both = [(t, articles[bits, t][width], fastest(ours[pixel_format, t, width])) for t in techniques
                    if width in articles[bits, t] and (pixel_format, t, width) in ours]
            if not both:
                continue
            there = " < ".join(t for t, _, _ in sorted(both, key=lambda entry: entry[1]))
            here = " < ".join(f"{t} {short(p.ratio, 2)}" for t, _, p in sorted(both, key=lambda entry: entry[2].ms))
            rows.append((f"{bits} bits, width {width}", there, here))
    return markdown(("4096x4096", "published, fastest first", "here, in copies"), rows)


def caches(points):
    """What a cache or an intermediate of fewer bits buys, and its error, where all else is as by default."""
    rows = []
    keyed = group_by([p for p in of_blurs(points) if ":" in p.asked and "," not in p.asked.split(":")[1]],
                     lambda p: (p.technique, p.asked.split(":")[1].split("=")[0], p.size, p.format, p.width))
    for (technique, option, size, pixel_format, width), variants in sorted(keyed.items()):
        if option not in ("cache", "intermediate") or size != "4096x4096":
            continue
        by_value = {p.asked.split("=")[1]: p for p in variants}
        base = fastest([p for p in of_blurs(points) if (p.technique, p.size, p.format, p.width) == (technique, size, pixel_format, width)
                        and p.asked in ("auto", technique)])
        cells = [f"{value}: {short(p.ms / base.ms, 3)} of the time, error {short(p.error * 255, 2)}" for value, p in sorted(by_value.items())
                 if base]
        if cells:
            rows.append((technique, option, pixel_format, width, time_of(base), "; ".join(cells)))
    return markdown(("technique", "option", "format", "width", "by default", "others: time, error in 8-bit steps"), rows)


def half_caches(points):
    """Wide Gaussians: where a larger error lets a cache be of halves that was of floats, what of the time and which error that is."""
    whole = [p for p in own(points) if p.family == "gaussian" and p.record["suite"] == "gauss" and p.format == "rgba8"
             and p.options.get("cache") in ("f16", "f32") and p.technique.startswith("sep.")]
    sigmas = sorted({p.sigma for p in whole})
    rows = []
    for technique, list_ in sorted(group_by(whole, lambda p: p.technique).items()):
        row = []
        for sigma in sigmas:
            strict_first = sorted((p for p in list_ if p.sigma == sigma), key=lambda p: p.record["plan"]["allowed_error"])
            pairs = [(a, b) for a, b in zip(strict_first, strict_first[1:]) if (a.options["cache"], b.options["cache"]) == ("f32", "f16")]
            row.append("".join(f"{short(half.ms / full.ms, 2)}, {short(full.error * 255, 2)} to {short(half.error * 255, 2)}"
                               for full, half in pairs[:1]))
        if any(row):
            rows.append((technique, *row))
    return markdown(("2048x2048 rgba8", *(f"sigma {short(sigma)}" for sigma in sigmas)), rows)


def boxes(points):
    box = [p for p in own(points) if p.kernel == "box" and p.size == "3024x4032" and p.format == "rgba8"]
    measured = sorted({round(p.radius) for p in box})
    columns = min(len(measured), 8)
    radii = [measured[i * (len(measured) - 1) // max(columns - 1, 1)] for i in range(columns)]
    keyed = group_by(box, lambda p: (p.technique, p.options.get("intermediate", "none")))
    rows = []
    for (technique, intermediate), list_ in sorted(keyed.items()):
        row = [technique, intermediate]
        for radius in radii:
            best = fastest([p for p in list_ if round(p.radius) == radius])
            row.append(f"{short(best.ratio, 2)}" if best else "")
        worst = max((p.error for p in list_ if p.error is not None), default=None)
        rows.append([*row, short(worst * 255, 2) if worst is not None else ""])
    return markdown(["technique", "intermediate", *(f"r {radius}" for radius in radii), "largest error, 8-bit steps"], rows)


def gaussians(points):
    """The fastest for each sigma at three accuracies, and the fastest peer."""
    rows = []
    whole = [p for p in points if p.family == "gaussian" and p.size == "2048x2048"]
    for pixel_format in ("rgba8", "rgba32f"):
        for sigma in sorted({p.sigma for p in whole if p.format == pixel_format}):
            here = [p for p in whole if (p.format, p.sigma) == (pixel_format, sigma)]
            row = [pixel_format, short(sigma)]
            for most in (DEFAULT_ERRORS[pixel_format], 0.01):
                best = fastest([p for p in own(here) if p.error is not None and p.error <= most])
                row.append(f"{best.technique} {short(best.ms)} ms, {short(best.ratio, 2)}" if best else "")
            peer = fastest([p for p in here if p.peer])
            row.append(f"{peer.peer} {short(peer.ms)} ms, error {short(peer.error, 2)}, sigma {short(peer.record['realized_sigma'])}"
                       if peer else "")
            rows.append(row)
    return markdown(("format", "sigma", "within the default accuracy", "within 0.01", "fastest peer"), rows)


def approximations(points):
    """What each technique makes of one wide Gaussian: at any error, and within the default accuracy; where most of them were."""
    whole = [p for p in own(points) if p.family == "gaussian" and p.sigma == 8.0 and p.format == "rgba8" and p.error is not None]
    by_size = group_by(whole, lambda p: p.size)
    if not by_size:
        return ""
    techniques = {size: len({p.technique for p in list_}) for size, list_ in by_size.items()}
    size = max(by_size, key=lambda size: (techniques[size], len(by_size[size])))
    rows = []
    for technique, list_ in group_by(by_size[size], lambda p: p.technique).items():
        best, exact = fastest(list_), fastest([p for p in list_ if p.is_exact])
        rows.append((best.ms, (technique, in_copies(best), short(best.error * 255, 2), in_copies(exact),
                               short(exact.error * 255, 2) if exact else "")))
    return markdown((f"sigma 8, {size} rgba8", "fastest", "its error, 8-bit steps", "within the default accuracy", "its error"),
                    [row for _, row in sorted(rows)])


def in_copies(point):
    return "" if point is None else f"{time_of(point)}, {short(point.ratio, 2)}"


def box_sizes(points):
    """One box at every size, technique by technique, in copies."""
    box = [p for p in own(points) if p.record["case"].split("/")[3] == "box:radius=9" and p.format == "rgba8" and p.is_exact]
    columns = sorted({(p.record["width"], p.size) for p in box})
    rows = []
    for technique, list_ in sorted(group_by(box, lambda p: p.technique).items()):
        best = [fastest([p for p in list_ if p.size == size]) for _, size in columns]
        rows.append((technique, *("" if p is None else short(p.ratio, 2) + ("*" if p.unstable else "") for p in best)))
    return markdown(("box of radius 9, rgba8", *(size for _, size in columns)), rows)


def sizes(points):
    keyed = group_by([p for p in own(points) if p.record["suite"] in ("scale", "blurs", "gauss", "box", "quick")],
                     lambda p: (p.record["width"], p.size, p.format, p.record["case"].split("/")[3]))
    rows = defaultdict(dict)
    for (_, size, pixel_format, kernel), list_ in keyed.items():
        chosen = fastest([p for p in list_ if p.record["chosen"]])
        if chosen and kernel in SCALE_KERNELS:
            rows[size, pixel_format][kernel] = f"{time_of(chosen)}, {short(chosen.ratio, 2)}"
    table = [[f"{size} {pixel_format}", *(cells.get(kernel, "") for kernel in SCALE_KERNELS)]
             for (size, pixel_format), cells in sorted(rows.items(), key=lambda row: (int(row[0][0].split("x")[0]), row[0][1]))]
    return markdown(["the planner's choice", *SCALE_KERNELS.values()], table)


SCALE_KERNELS = {"gaussian:sigma=1.3333333333333333,radius=4": "9 taps", "gaussian:sigma=8": "sigma 8", "box:radius=9": "box of radius 9"}


def quads(points):
    matrix = [p for p in own(points) if p.kernel == "matrix"]
    techniques = [technique for technique in QUAD_TECHNIQUES if any(p.technique == technique for p in matrix)]
    rows = []
    for (size, pixel_format), list_ in sorted(group_by(matrix, lambda p: (p.size, p.format)).items(),
                                              key=lambda item: (int(item[0][0].split("x")[0]), item[0][1])):
        best = [fastest([p for p in list_ if p.technique == technique]) for technique in techniques]
        rows.append([f"{size} {pixel_format}", *(in_copies(p) for p in best)])
    return markdown(("", *techniques), rows)


def tables(devices):
    made = {"machines": machines(devices)}
    for device, study in devices.items():
        for name, make in (("winners", winners), ("orderings", orderings), ("caches", caches), ("half caches", half_caches),
                           ("boxes", boxes), ("gaussians", gaussians), ("approximations", approximations), ("box sizes", box_sizes), ("sizes", sizes),
                           ("quads", quads)):
            text = make(study.points)
            if text.count("\n") > 1 and not (make is sizes and study.left_out):  # the planner would choose what is left out
                made[f"{device} {name}"] = text
    return made


def with_tables(text, made):
    """The document with what stands between its marks replaced."""
    def replace(match):
        name = match[1]
        body = made.get(name)
        return f"<!-- {name} -->\n{body if body else 'Not measured yet.'}\n<!-- /{name} -->"
    return re.sub(r"<!-- ([\w ]+) -->\n.*?<!-- /\1 -->", replace, text, flags=re.S)


# --- Pictures ----------------------------------------------------------------------------------------------------------

def run(*words):
    subprocess.run([str(word) for word in words], check=True, cwd=ROOT)


def draw(tool, devices):
    FIGURES.mkdir(exist_ok=True)
    for device, study in devices.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / study.path.name
            path.write_text("".join(json.dumps(record) + "\n" for record in study.records))
            run(tool, "lab", "report", path, "-o", folder)
            page = Path(folder) / "index.html"
            for chart, name, filters in CHARTS[device]:
                if not has_points(study.points, filters):
                    continue
                run(sys.executable, ROOT / "tools" / "figures.py", page, folder, chart, *(f"{k}={v}" for k, v in filters.items()))
                (Path(folder) / f"{chart}.svg").replace(FIGURES / f"{device}-{name}.svg")


def has_points(points, filters):
    """Whether a chart would show anything: the page would choose other filters otherwise."""
    family = filters.get("family", "gaussian")
    return any(point.size == filters.get("size", point.size) and point.format == filters["format"] and point.family == family
               and filters.get("kernel") in (None, f"{point.kernel} sigma {short(point.sigma)}") for point in points)


def main():
    words = sys.argv[1:]
    if len(words) != 1 or words[0].startswith("-") and words[0] not in ("--tables", "--check"):
        sys.exit(__doc__.strip())
    devices = results()
    text = STUDY.read_text()
    current = with_tables(text, tables(devices))
    if words[0] == "--check":
        sys.exit(None if current == text else "study.py: the tables of docs/study.md are not those of bench/results/; tools/study.py --tables makes them")
    STUDY.write_text(current)
    if words[0] != "--tables":
        draw(Path(words[0]).resolve(), devices)


if __name__ == "__main__":
    main()
