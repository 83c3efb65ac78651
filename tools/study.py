#!/usr/bin/env python3
"""All measured figures of docs/study.md, README.md and docs/techniques/, and the study's charts, from the results in bench/results/.

    tools/study.py build/release/mollify     everything; needs Chromium
    tools/study.py --tables                  the tables alone
    tools/study.py --check                   whether the pages quote what the results say, and nothing else; changes nothing

The study reads DEVICE-study.jsonl, the records of `mollify lab run`, of the devices in PARTS. An algorithm that DEVICE-speed.jsonl,
the device's table of speed, has at another commit and measured later was changed since: the study leaves it out until it is measured
anew. Records without `measured_at` count as older. README's rows are of DEVICE-peers.jsonl where there is one: all libraries of one run.
Every file of the folder is named DEVICE-SUITE.jsonl, or DEVICE-SUITE-COMMIT.jsonl if a newer one took its place but a document still
quotes it; another name, or records of another device, are an error.

Tables stand between the lines <!-- NAME --> and <!-- /NAME --> of a page. Elsewhere these pages quote no time, ratio of times or number of
copies: --check finds them by their units. Only what an article published is quoted in sentences, if lab/data/ has it.
"""
import itertools
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
FIGURES = ROOT / "docs" / "study"
# Whose results each part of the study is made of: the beginning of the file's name.
PARTS = {"gpu": "h200", "llvmpipe": "llvmpipe", "cpu": "epyc"}
# The devices of README's rows.
SPEED = {**PARTS, "cpu": "xeon"}
# mollify's own algorithms; all others are published techniques.
OWN_ALGORITHMS = ("sep.fused", "box.any", "gauss.decimate", "gauss.pyramid", "gauss.cut")
# How file names and records call the devices.
DEVICES = {"h100": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200", "llvmpipe": "llvmpipe (LLVM 15.0.6, 256 bits)",
           "xeon": "Intel(R) Xeon(R) Processor", "epyc": "AMD EPYC"}
SHORT_NAMES = {"h100": "H100", "h200": "H200", "llvmpipe": "llvmpipe", "xeon": "Xeon", "epyc": "EPYC"}
DEFAULT_ERRORS = {"rgba8": 0.125 / 255, "rgba16f": 1e-4, "rgba32f": 2e-5}

QUAD_TECHNIQUES = ("quad.3x3", "nxn.direct", "nxn.shared", "sep.fused")  # the last is what the planner takes

# The pictures of each part: chart, file name, filters of the page.
CHARTS = {
    "gpu": [("width", "widths-rgba8", {"family": "gaussian cut", "size": "2048x2048", "format": "rgba8"}),
             ("width", "box", {"family": "box", "size": "3024x4032", "format": "rgba8"}),
             ("error", "errors-rgba8", {"family": "gaussian", "size": "2048x2048", "format": "rgba8", "kernel": "gaussian sigma 100"}),
             ("size", "sizes", {"family": "gaussian cut", "format": "rgba8", "kernel": "gaussian sigma 0.3333, radius 1"})],
    "llvmpipe": [("width", "widths-rgba8", {"family": "gaussian cut", "size": "128x128", "format": "rgba8"}),
                 ("error", "errors-rgba8", {"family": "gaussian", "size": "128x128", "format": "rgba8", "kernel": "gaussian sigma 8"})],
    "cpu": [("width", "widths-rgba8", {"family": "gaussian cut", "size": "512x512", "format": "rgba8"}),
             ("width", "box", {"family": "box", "size": "3024x4032", "format": "rgba8"}),
             ("error", "errors-rgba8", {"family": "gaussian", "size": "2048x2048", "format": "rgba8", "kernel": "gaussian sigma 6"}),
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
        self.unstable = record.get("unstable", False)

    @property
    def family(self):
        """As the page names them."""
        return "gaussian cut" if self.kernel == "gaussian" and self.radius is not None else self.kernel

    @property
    def label(self):
        """The kernel as the page names it."""
        return f"{self.kernel} sigma {short(self.sigma, 4)}" + ("" if self.radius is None else f", radius {short(self.radius, 4)}")

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


def superseded(records, others):
    """The algorithms that the others have of another commit and measured later than these."""
    ours = group_by(records, lambda record: record["algorithm"])
    return sorted({other["algorithm"] for other in others if other["algorithm"] in ours
                   and all(commit_of(other) != commit_of(record) and other.get("measured_at", "") > record["measured_at"]
                           for record in ours[other["algorithm"]])})


class Study(NamedTuple):
    name: str       # of the file
    records: list   # those that count
    left_out: list  # the algorithms that were changed since
    points: list    # the timed ones of the records


def study_of(name, records, of_speed):
    timed = [record for record in records if record.get("outcome") == "timed"]
    left_out = superseded(timed, of_speed)
    kept = [record for record in records if record.get("algorithm") not in left_out or record.get("peer")]
    return Study(name, kept, left_out, [Point(record) for record in kept if record.get("outcome") == "timed"])


def all_files(folder=RESULTS):
    """The records of each file, by its name without the ending."""
    return {path.stem: read(path) for path in sorted(folder.glob("*.jsonl"))}


def studies(files):
    """What each part of the study has."""
    made = {}
    for part, device in PARTS.items():
        if f"{device}-study" in files:
            made[part] = study_of(f"{device}-study.jsonl", files[f"{device}-study"], files.get(f"{device}-speed", []))
    return made


def speeds(files, part):
    """The points of README's rows: of the suite of this name, in the first file that has it, or else of DEVICE-speed.jsonl."""
    device = SPEED[part]
    for name in (f"{device}-peers", f"{device}-study"):
        of_suite = [record for record in files.get(name, []) if record["suite"] == "speed" and record["outcome"] == "timed"]
        if of_suite:
            return [Point(record) for record in of_suite]
    return [Point(record) for record in files.get(f"{device}-speed", [])]


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


def machines(parts):
    rows = []
    for part, study in parts.items():
        record = study.points[0].record
        environment = record["environment"]
        suites = ", ".join(sorted({point.record["suite"] for point in study.points}))
        commits = ", ".join(dict.fromkeys(commit_of(point.record) for point in study.points))
        days = sorted({point.record["measured_at"][:10] for point in study.points})
        rows.append((part, f"[{SHORT_NAMES[PARTS[part]]}](../bench/results/{study.name})", ", ".join(days), record["driver"], environment["cpu"],
                     environment["cores"], commits, suites, len(study.points), sum(point.unstable for point in study.points)))
    head = ("part", "device", "measured", "driver", "processor", "cores", "commits", "suites", "timed", "unstable")
    left_out = [f"Left out of the {part}'s, changed since: {', '.join(study.left_out)}." for part, study in parts.items() if study.left_out]
    return "\n\n".join([markdown(head, rows), *left_out])


def winners(points):
    """The fastest of mollify's own algorithms and the fastest published technique, the faster first, where there is a published one."""
    exact = [point for point in of_blurs(points) if point.is_exact and not point.is_loose]
    order = {name: place for place, name in enumerate(DEFAULT_ERRORS)}
    cells = defaultdict(dict)
    for place, list_ in group_by(exact, lambda p: (p.record["width"], order.get(p.format, 9), p.size, p.format, p.width)).items():
        kinds = group_by(list_, lambda p: p.technique in OWN_ALGORITHMS)
        if False in kinds:
            best = sorted(map(fastest, kinds.values()), key=lambda p: p.ms)
            cells[place[:-1]][place[-1]] = "; ".join(f"{p.technique} {short(p.ratio, 2)}" for p in best)
    widths = sorted({width for row in cells.values() for width in row})
    rows = [[f"{size} {pixel_format}", *(row.get(width, "") for width in widths)]
            for (*_, size, pixel_format), row in sorted(cells.items())]
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
    """The fastest for each sigma at two accuracies, and the fastest peer if any was measured."""
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
    columns = ("format", "sigma", "within the default accuracy", "within 0.01", "fastest peer")
    shown = len(columns) if any(row[-1] for row in rows) else -1
    return markdown(columns[:shown], [row[:shown] for row in rows])


def approximations(points):
    """What each technique makes of one wide Gaussian: at any error, and within the default accuracy; of the one with most records."""
    whole = [p for p in own(points) if p.family == "gaussian" and p.format == "rgba8" and p.error is not None]
    if not whole:
        return ""
    most = max(group_by(whole, lambda p: (p.sigma, p.size)).values(), key=lambda list_: (len(list_), list_[0].record["width"]))
    rows = []
    for technique, list_ in group_by(most, lambda p: p.technique).items():
        best, exact = fastest(list_), fastest([p for p in list_ if p.is_exact])
        rows.append((best.ms, (technique, in_copies(best), short(best.error * 255, 2), in_copies(exact),
                               short(exact.error * 255, 2) if exact else "")))
    head = (f"sigma {short(most[0].sigma)}, {most[0].size} rgba8", "fastest", "its error, 8-bit steps", "within the default accuracy",
            "its error")
    return markdown(head, [row for _, row in sorted(rows)])


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


def of_parts(parts):
    """The tables of docs/study.md."""
    made = {"machines": machines(parts)}
    for part, study in parts.items():
        for name, make in (("winners", winners), ("orderings", orderings), ("caches", caches), ("half caches", half_caches),
                           ("boxes", boxes), ("gaussians", gaussians), ("approximations", approximations), ("box sizes", box_sizes), ("sizes", sizes),
                           ("quads", quads)):
            text = make(study.points)
            if text.count("\n") > 1 and not (make is sizes and study.left_out):  # the planner would choose what is left out
                made[f"{part} {name}"] = text
    return made


# --- README's table ----------------------------------------------------------------------------------------------------

SPEED_ROWS = {"gpu": (("gaussian cut", 1), ("gaussian cut", 4), ("gaussian cut", 9), ("gaussian", 20), ("box", 4), ("box", 64)),
              "cpu": (("gaussian cut", 1), ("gaussian cut", 9), ("gaussian cut", 32), ("gaussian", 40), ("box", 9), ("box", 64))}
DISTURBED = 1.1  # times the least copy of the file: something else used the device


def speed(files):
    """Common blurs of 4096x4096 rgba8, and the fastest peer of the same run."""
    rows = []
    for part, kernels in SPEED_ROWS.items():
        points = [p for p in speeds(files, part) if p.size == "4096x4096" and p.format == "rgba8"]
        least = min((p.record["copy_ns"] for p in own(points)), default=0)
        for family, number in kernels:
            same = [p for p in points if p.family == family and math.isclose(number, p.sigma if family == "gaussian" else p.radius)]
            ours = [p for p in own(same) if p.asked == "auto"]
            if not ours:
                continue
            last, peer = ours[-1], fastest([p for p in same if p.peer])
            copy = last.record["copy_ns"]
            copies = last.record["time_ns"]["median"] / (least if part == "gpu" and copy > DISTURBED * least else copy)
            threads = last.record["threads"]
            rows.append((f"{'box' if family == 'box' else 'Gaussian'}, {'sigma' if family == 'gaussian' else 'radius'} {number}",
                         f"{SHORT_NAMES[SPEED[part]]}" + (f", {threads} threads" if part == "cpu" else ""), pretty(last), short(copies, 2),
                         f"{peer.peer} {pretty(peer)}" if peer else "", short(peer.ms / last.ms, 2) if peer else ""))
    return markdown(("4096x4096 pixels of 8 bits, 4 channels", "device", "mollify", "in copies", "fastest peer", "times as long as mollify"), rows)


def pretty(point):
    return (f"{point.ms * 1e3:.0f} us" if point.ms < 1 else f"{short(point.ms, 2)} ms") + ("*" if point.unstable else "")


# --- README's table of other libraries on CPUs -------------------------------------------------------------------------

PEERS_OF = "epyc-peers"
LIBRARIES = ("opencv-python", "libvips", "pillow", "scikit-image", "scipy", "kornia-rs")  # how records' names begin
LEAST_SHOWN_ERROR = 0.5  # 8-bit steps


def cpu_peers(files):
    """How many times as long as mollify other libraries take, group by group, and by how much they miss."""
    points = [Point(record) for record in files.get(PEERS_OF, []) if record.get("outcome") == "timed"]
    names = {library: next((p.peer for p in points if p.peer and p.peer.startswith(f"{library} ")), library) for library in LIBRARIES}
    rows = []
    groups = group_by(points, lambda p: (p.family != "gaussian cut", p.kernel == "box", p.format == "rgba32f", p.sigma or p.radius,
                                         p.record["width"], p.size, p.format))
    for (*_, size, pixel_format), group in sorted(groups.items()):
        what, by_name = group[0], {p.peer: p for p in group if p.peer}
        ours = fastest([p for p in own(group) if p.record["chosen"] and not p.is_loose])
        amount = f"radius {what.radius:.0f}" if what.radius is not None else f"sigma {what.sigma:g}"
        cells = [times_as_long(by_name.get(names[library]), ours) for library in LIBRARIES]
        rows.append((f"{'box' if what.kernel == 'box' else 'Gaussian'}, {amount}, {size} `{pixel_format}`", *cells))
    return markdown(("", *names.values()), rows)


def times_as_long(peer, ours):
    if peer is None:
        return ""
    steps = peer.error * 255
    error = f", off by {short(steps, 2)}" if peer.format == "rgba8" and steps >= LEAST_SHOWN_ERROR else ""
    return short(peer.ms / ours.ms, 2) + ("*" if peer.unstable or ours.unstable else "") + error


# --- Tables of the techniques' pages -----------------------------------------------------------------------------------

TECHNIQUES = ("nxn.direct", "nxn.shared", "sep.direct", "sep.shared", "sep.inline", "sep.inline_shared", "sep.sliding", "sep.inline_sliding",
              "sep.inline_sliding_shared")
CUT_WIDTHS = (3, 9, 19)
BITS = {"rgba8": 32, "rgba16f": 64, "rgba32f": 128}


def is_of_techniques(point, asked):
    return (point.asked == asked and not point.peer and not point.is_loose and point.family == "gaussian cut" and point.size == "4096x4096"
            and point.format in BITS and point.width in CUT_WIDTHS and math.isclose(point.sigma, point.radius / 3, rel_tol=1e-3))


def techniques(files):
    """{technique: {(format, width): point}} of each as it is by default: what the study has, and what it lacks of DEVICE-techniques.jsonl
    and, for sep.fused as the planner takes it, of DEVICE-speed.jsonl."""
    records = [record for suite in ("techniques", "speed", "study") for record in files.get(f"{PARTS['gpu']}-{suite}", [])]
    points = [Point(record) for record in records if record.get("outcome", "timed") == "timed"]
    measured = {name: {(p.format, p.width): p for p in points if is_of_techniques(p, name)} for name in TECHNIQUES}
    measured["sep.fused"] = {(p.format, p.width): p for p in points if p.technique == "sep.fused" and is_of_techniques(p, "auto")}
    return measured


def least_copy(measured, pixel_format):
    times = [p.record["copy_ns"] / 1e6 for of_one in measured.values() for p in of_one.values() if p.format == pixel_format]
    return f"{min(times):.3f}" if times else ""


def newest_commit(points):
    newest = max((p.record for p in points), key=lambda record: record.get("measured_at", ""), default=None)
    return commit_of(newest) if newest else None


def source_of(points):
    newest = newest_commit(points)
    others = ", ".join(sorted({commit_of(p.record) for p in points} - {newest}))
    italics = f"; in italics {others}" if others else ""
    return f"\n\n4096x4096, {DEVICES[PARTS['gpu']]}, commit {newest}{italics}. Milliseconds, median; the copy is the least of all."


def three_digits(point, newest):
    if point is None:
        return ""
    return f"{point.ms:.3f}" if commit_of(point.record) == newest else f"*{point.ms:.3f}*"


def of_technique(name, measured):
    points = measured[name]
    newest = newest_commit(points.values())
    rows = [(f"{bits} (`{f}`)", least_copy(measured, f), *(three_digits(points.get((f, width)), newest) for width in CUT_WIDTHS))
            for f, bits in BITS.items()]
    return markdown(("bits a pixel", "copy", *(f"width {w}" for w in CUT_WIDTHS)), rows) + source_of(points.values())


def of_all_techniques(measured):
    columns = [(f, w) for f in BITS for w in CUT_WIDTHS]
    best = [fastest([of_one[c] for of_one in measured.values() if c in of_one]) for c in columns]
    every = [p for of_one in measured.values() for p in of_one.values()]
    newest = newest_commit(every)
    rows = []
    for name in ("sep.fused", *TECHNIQUES):
        here = [(measured[name].get(c), three_digits(measured[name].get(c), newest)) for c in columns]
        rows.append((f"[{name}]({name}.md)", *(f"**{text}**" if p and p is first else text for (p, text), first in zip(here, best))))
    rows.append(("copy", *(least_copy(measured, f) for f, _ in columns)))
    return markdown(("", *(f"{BITS[f]} bits, width {w}" for f, w in columns)), rows) + source_of(every)


# --- Pages -------------------------------------------------------------------------------------------------------------

def pages(files, root=ROOT):
    """What stands between the marks of each page, by their names."""
    measured = techniques(files)
    made = {root / "docs" / "study.md": of_parts(studies(files)), root / "README.md": {"speed": speed(files), "cpu peers": cpu_peers(files)},
            root / "docs" / "techniques" / "README.md": {"measured": of_all_techniques(measured)}}
    for path in sorted((root / "docs" / "techniques").glob("*.*.md")):
        made[path] = {"measured": of_technique(path.stem, measured)} if path.stem in TECHNIQUES else {}
    return made


MARKED = re.compile(r"<!-- ([\w ]+) -->\n.*?<!-- /\1 -->", flags=re.S)


def with_tables(text, made):
    """The document with what stands between its marks replaced."""
    def replace(match):
        name = match[1]
        body = made.get(name)
        return f"<!-- {name} -->\n{body if body else 'Not measured yet.'}\n<!-- /{name} -->"
    return MARKED.sub(replace, text)


NUMBERS = r"\d[\d.]*(?:(?:,| and| to| or| against)? \d[\d.]*)*"
FIGURE = re.compile(rf"(?:{NUMBERS})\s(?:ns|us|ms|s|seconds|percent|copies|times\s(?:the\scopy|as\s(?:fast|long|much\stime)|faster|slower)|[TG]B/s)\b"
                    rf"|(?:{NUMBERS})\s?%|\d\.\d+\sof\s(?:the|its)\stime")
UNIT = re.compile(r"\b(?:[nmu]s|(?:nano|micro|milli)seconds|seconds|copies|copy|measured)\b", re.I)


def stray_figures(text):
    """(line, figure) of what a page quotes outside of its tables and is neither an example's nor an article's."""
    blank = lambda match: "\n" * match[0].count("\n")
    text = re.sub(r"^```.*?^```", blank, MARKED.sub(blank, text), flags=re.S | re.M)
    articles = published_numbers()
    found = []
    for match in FIGURE.finditer(text):
        begin, end = text.rfind("\n\n", 0, match.start()) + 1, text.find("\n\n", match.end())
        is_published = "ublished" in text[begin:end if end > 0 else len(text)]
        if not (is_published and match[0].endswith("ms") and all(number in articles for number in re.findall(r"\d+\.\d+", match[0]))):
            found.append((text.count("\n", 0, match.start()) + 1, " ".join(match[0].split())))
    return sorted(found + stray_tables(text))


def stray_tables(text):
    """(line, heading) of tables of numbers whose heading, or the paragraph before it, speaks of time."""
    found, paragraph, lines = [], "", text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.startswith("|"):
            if line and not lines[number - 2]:
                paragraph = ""
            paragraph += line
        elif not lines[number - 2].startswith("|"):
            body = list(itertools.takewhile(lambda row: row.startswith("|"), lines[number + 1:]))
            cells = [cell for row in body for cell in row.split("|")[2:]]
            if UNIT.search(paragraph + line) and any(re.match(r"\s*[\d.]+\b", cell) for cell in cells):
                found.append((number, line.strip()))
            paragraph = ""
    return found


def published_numbers():
    """Every published time, in milliseconds with two and three decimals and with as many as the article has."""
    import csv
    with open(ROOT / "lab" / "data" / "published_timings.csv", newline="") as file:
        times = [row["milliseconds"] for row in csv.DictReader(file)]
    return {written for time in times for written in (time, f"{float(time):.3f}", f"{float(time):.2f}", f"{float(time):.1f}")}


def problems(files, root=ROOT):
    """What --check says: one line each."""
    found = stray_charts(studies(files), root / FIGURES.relative_to(ROOT))
    for path, made in pages(files, root).items():
        text, name = path.read_text(), path.relative_to(root)
        if with_tables(text, made) != text:
            found.append(f"{name}: the tables are not those of bench/results/; tools/study.py --tables makes them")
        found += [f"{name}:{line}: \"{figure}\" stands outside of the tables that are made of records; it goes there, or to docs/notes/ with "
                  "its date, device and commit" for line, figure in stray_figures(text)]
    return found


# --- Pictures ----------------------------------------------------------------------------------------------------------

def run(*words):
    subprocess.run([str(word) for word in words], check=True, cwd=ROOT)


def draw(tool, parts):
    FIGURES.mkdir(exist_ok=True)
    for part, study in parts.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / study.name
            path.write_text("".join(json.dumps(record) + "\n" for record in study.records))
            run(tool, "lab", "report", path, "-o", folder)
            page = Path(folder) / "index.html"
            for chart, name, filters in CHARTS[part]:
                run(sys.executable, ROOT / "tools" / "figures.py", page, folder, chart, *(f"{k}={v}" for k, v in filters.items()))
                (Path(folder) / f"{chart}.svg").replace(FIGURES / f"{part}-{name}.svg")


def has_points(points, filters):
    """Whether a chart would show several points: the page would choose other filters if there were none."""
    wanted = {"label" if key == "kernel" else key: value for key, value in filters.items()}
    return 1 < sum(all(getattr(point, key) == value for key, value in wanted.items()) for point in points)


def stray_charts(parts, folder):
    """What is wrong with the list of charts or the folder of their pictures: one line each."""
    found = [f"CHARTS: {part}-{name} has no points" for part, study in parts.items() for _, name, filters in CHARTS[part]
             if not has_points(study.points, filters)]
    listed, there = {f"{part}-{name}.svg" for part in CHARTS for _, name, _ in CHARTS[part]}, {path.name for path in folder.glob("*.svg")}
    return found + [f"docs/study/{name}: {'not there' if name in listed else 'no chart of CHARTS'}" for name in sorted(listed ^ there)]


def main():
    words = sys.argv[1:]
    if len(words) != 1 or words[0].startswith("-") and words[0] not in ("--tables", "--check"):
        sys.exit(__doc__.strip())
    files = all_files()
    if words[0] == "--check":
        found = problems(files)
        sys.exit("\n".join(found) or None)
    for path, made in pages(files).items():
        path.write_text(with_tables(path.read_text(), made))
    if words[0] != "--tables":
        draw(Path(words[0]).resolve(), studies(files))


if __name__ == "__main__":
    main()
