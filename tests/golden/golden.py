#!/usr/bin/env python3
"""Does the planner still decide as it did? Compares its decisions with a recording, for devices that need not be there.

  golden.py --tool build/dev/mollify_golden                     compares; prints what differs and fails if anything does
  golden.py --tool build/dev/mollify_golden --write             records the decisions of today for the same requests
  golden.py --tool build/dev/mollify_golden --write --requests  makes the list of requests anew as well; takes minutes

The recording keeps its requests, because the list of cases itself depends on what the planner answers. renames.txt lists words
that have other names now.
"""
import argparse
import collections
import lzma
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple, Optional

FOLDER = pathlib.Path(__file__).resolve().parent
RENAMES = FOLDER / "renames.txt"
SHOWN = 12  # differences that are printed, spread over their kinds


class Recording(NamedTuple):
    devices: pathlib.Path
    file: pathlib.Path


RECORDINGS = {
    "known": Recording(FOLDER / "devices.txt", FOLDER / "decisions.txt.xz"),
    "unknown": Recording(FOLDER / "unknown_devices.txt", FOLDER / "unknown_decisions.txt.xz"),
    "cuda": Recording(FOLDER / "cuda_devices.txt", FOLDER / "cuda_decisions.txt.xz"),
}


class Renames:
    """The rows of renames.txt."""
    PLACES = {"algorithm": 0, "option": 1, "value": 2, "kernel": 0, "constant": 1, "parameter": 1}

    def __init__(self, text: str):
        self.rows, self.used = {}, set()
        for line in text.splitlines():
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) != 4 or words[0] not in self.PLACES:
                sys.exit(f"{RENAMES.name}: not a row of kind, place, old and new word: {line}")
            kind, place, old, new = words
            self.rows[kind, place, old] = new

    def new(self, kind: str, place: str, old: str) -> str:
        for row in ((kind, place, old), (kind, "*", old)):
            if row in self.rows:
                self.used.add(row)
                return self.rows[row]
        return old

    def choice(self, text: str) -> str:
        """An algorithm with its options."""
        algorithm, _, options = text.partition(":")
        renamed = []
        for option in filter(None, options.split(",")):
            name, _, value = option.partition("=")
            value = self.new("value", f"{algorithm}:{name}", value)
            renamed.append(f"{self.new('option', algorithm, name)}={value}")
        algorithm = self.new("algorithm", "*", algorithm)
        return algorithm + ":" * bool(renamed) + ",".join(sorted(renamed))

    def request(self, text: str) -> str:
        prefix, algorithm, rest = re.fullmatch(r"((?:batch=\d+/)?(?:tuning=none/)?)([^/]*)(/.*)", text).groups()
        return prefix + self.choice(algorithm) + rest

    def decision(self, text: str) -> str:
        head, *passes = text.split(" | ")
        choice, space, rest = head.partition(" ")
        return " | ".join([self.choice(choice) + space + rest, *map(self._launch, passes)])

    def _launch(self, text: str) -> str:
        kernel, *fields = text.split(" ")
        renamed = [self.new("kernel", "*", kernel)]
        for field in fields:
            kind, colon, values = field.partition(":")
            if kind in ("constants", "parameters"):
                pairs = (pair.split("=") for pair in values.split(","))
                values = ",".join(sorted(f"{self.new(kind[:-1], kernel, name)}={value}" for name, value in pairs))
            renamed.append(kind + colon + values)
        return " ".join(renamed)

    def check_all_used(self) -> None:
        for row in self.rows.keys() - self.used:
            sys.exit(f"{RENAMES.name}: nothing in the recordings is renamed by the row {' '.join(row)}")


# Which kind of difference the fields of a decision show.
KINDS = ("plan or refusal", "algorithm", "options", "kernels", "launches", "constants and parameters", "weights", "bytes", "error",
         "reach and images", "order")
FIELDS = {"size": "launches", "tile": "launches", "groups": "launches", "threads": "launches", "origin": "launches",
          "from": "launches", "to": "launches", "and": "launches", "linear": "launches",
          "taps": "weights", "matrix": "weights", "window": "weights", "outside_gain": "weights",
          "moved": "bytes", "scratch": "bytes", "between": "bytes", "error": "error"}


def parts(decision: str) -> dict:
    """The fields of a decision by the kind of difference that they would show."""
    found = collections.defaultdict(list)
    if decision.startswith("refused"):
        return {"plan or refusal": [decision]}
    head, *passes = decision.split(" | ")
    choice, *fields = head.split(" ")
    algorithm, _, options = choice.partition(":")
    found["algorithm"] = [algorithm]
    found["options"] = options.split(",")
    for text in passes:
        kernel, *more = text.split(" ")
        found["kernels"].append(kernel)
        fields += more
    for field in fields:
        if field.startswith(("constants:", "parameters:")):
            found["constants and parameters"] += field.split(":")[1].split(",")
        else:
            found[FIELDS.get(field.partition("=")[0], "reach and images")].append(field)
    return found


class Difference(NamedTuple):
    device: str
    request: str
    kind: str  # the first of KINDS that differs
    old: str
    new: str


def difference(key: tuple, old: str, new: str) -> Optional[Difference]:
    if old == new:
        return None
    before, after = parts(old), parts(new)
    kind = next((kind for kind in KINDS if before.get(kind) != after.get(kind)), "order")
    if kind == "order":  # the same fields, in other passes
        return Difference(*key, kind, old, new)
    if kind == "plan or refusal":
        return Difference(*key, kind, old.partition(" ")[0], new.partition(" ")[0])
    # Of what both have, only what differs; a list that has grown is shown in full.
    pairs = list(zip(before[kind], after[kind]))
    if len(before[kind]) == len(after[kind]):
        pairs = [(a, b) for a, b in pairs if a != b]
        return Difference(*key, kind, " ".join(a for a, _ in pairs), " ".join(b for _, b in pairs))
    return Difference(*key, kind, " ".join(before[kind]), " ".join(after[kind]))


def report(differences: list, count: int) -> None:
    by_kind = collections.defaultdict(list)
    for d in differences:
        by_kind[d.kind].append(d)
    kinds = [kind for kind in KINDS if kind in by_kind]
    for kind in kinds:
        print(f"\n{kind}:")
        shown = max(1, SHOWN // len(kinds))
        for d in by_kind[kind][::-(-len(by_kind[kind]) // shown)]:  # of different devices
            print(f"  {d.device} {d.request}\n    recorded  {d.old}\n    now       {d.new}")
    devices = sorted({d.device for d in differences})
    print(f"\n{len(differences)} of {count} decisions differ. Each is counted by the first kind in which it does:\n")
    width = max(map(len, devices)) + 2
    print(" " * 26 + "".join(device.rjust(width) for device in devices))
    for kind in kinds:
        counts = collections.Counter(d.device for d in by_kind[kind])
        print(kind.ljust(26) + "".join(str(counts[device]).rjust(width) for device in devices))
    print("\nIf all of them are meant: cmake --build --preset dev --target record_golden")


def run_tool(tool: pathlib.Path, arguments: list, text: str = "") -> list:
    """The lines that mollify_golden prints, split at their tabs."""
    done = subprocess.run([tool, *map(str, arguments)], input=text, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return [line.split("\t") for line in done.stdout.splitlines()]


def decide(tool: pathlib.Path, devices: pathlib.Path, keys: list) -> dict:
    lines = run_tool(tool, ["decide", devices], "".join(f"{device}\t{request}\n" for device, request in keys))
    return {(device, request): decision for device, request, decision in lines}


def read(recording: Recording, renames: Renames) -> dict:
    """What was recorded, in the words of today."""
    text = lzma.decompress(recording.file.read_bytes()).decode()
    lines = (line.split("\t") for line in text.splitlines())
    return {(device, renames.request(request)): renames.decision(decision) for device, request, decision in lines}


def write(recording: Recording, decisions: dict) -> None:
    # A request that makes no sense any more, such as one of an option that is gone, is not recorded.
    kept = {key: decision for key, decision in decisions.items() if not decision.startswith("refused as")}
    text = "".join("\t".join((*key, decision)) + "\n" for key, decision in sorted(kept.items()))
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    if not recording.file.exists() or recording.file.read_bytes() != packed:
        recording.file.write_bytes(packed)
    print(f"{recording.file.name}: {len(kept)} decisions, {len(packed)} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", type=pathlib.Path, required=True, help="the program mollify_golden")
    parser.add_argument("--only", choices=RECORDINGS, help="one of the recordings: of devices that the planner knows, of others, or of CUDA's")
    parser.add_argument("--write", action="store_true", help="record instead of comparing")
    parser.add_argument("--requests", action="store_true", help="make the list of requests anew")
    arguments = parser.parse_args()
    chosen = {name: r for name, r in RECORDINGS.items() if arguments.only in (None, name)}
    if arguments.write and arguments.only:
        parser.error("renames.txt is of all recordings, so they are written together")

    renames = Renames(RENAMES.read_text())
    recorded = {} if arguments.requests else {name: read(r, renames) for name, r in RECORDINGS.items()}
    if not arguments.requests:
        renames.check_all_used()
    is_same = True
    if arguments.requests and not arguments.write:
        parser.error("--requests is for --write")
    for name, recording in chosen.items():
        keys = list(recorded.get(name, ()))
        if arguments.requests:
            keys = [tuple(line) for line in run_tool(arguments.tool, ["list", recording.devices])]
        decisions = decide(arguments.tool, recording.devices, keys)
        if arguments.write:
            write(recording, decisions)
            continue
        differences = [d for key in keys if (d := difference(key, recorded[name][key], decisions[key]))]
        if differences:
            report(differences, len(keys))
        else:
            print(f"{len(keys)} decisions are as recorded")
        is_same = is_same and not differences
    if arguments.write:
        comments = [line for line in RENAMES.read_text().splitlines(keepends=True) if line.startswith("#")]
        RENAMES.write_text("".join(comments))
    sys.exit(not is_same)


if __name__ == "__main__":
    main()
