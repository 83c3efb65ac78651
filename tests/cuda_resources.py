#!/usr/bin/env python3
"""Do CUDA kernels take no more registers, spills and shared memory than cuda_resources.txt says?

  cuda_resources.py --reports FOLDER --nvcc NVCC            compares what the assembler said of each kernel
  cuda_resources.py --reports FOLDER --nvcc NVCC --write    records it anew

A family is all kernels whose names differ in numbers only, such as those of different channels and taps.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

TABLE = pathlib.Path(__file__).resolve().parent / "cuda_resources.txt"
SKIPPED = 77
HEADER = """# What kernels of CUDA take, by ptxas: cmake --build --preset cuda --target record_cuda_resources writes it.
# Registers are of a thread: the most of a kernel of the family, and the sum of all its kernels. Bytes are the sums of all its kernels:
# spilled ones of a thread, both stores and loads, and shared memory of fixed size of a block.
"""
COLUMNS = ("kernels", "most registers", "registers", "spilled bytes", "shared bytes")


class Kernel(NamedTuple):
    name: str
    architecture: str
    registers: int
    spilled: int
    shared: int


def kernels_of(report: str) -> list:
    found, name, architecture, spilled = [], "", "", 0
    for line in report.splitlines():
        if entry := re.search(r"Compiling entry function '(\w+)' for 'sm_(\w+)'", line):
            name, architecture = entry.groups()
        elif spills := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spilled = int(spills[1]) + int(spills[2])
            if not name:  # a function that the kernel before it calls
                found[-1] = found[-1]._replace(spilled=found[-1].spilled + spilled)
        elif used := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            found.append(Kernel(name, architecture, int(used[1]), spilled, int(shared[1]) if shared else 0))
            name = ""
    return found


def families_of(kernels: list) -> dict:
    families = collections.defaultdict(list)
    for kernel in kernels:
        families[kernel.architecture, re.sub(r"_\d+", "", kernel.name)].append(kernel)
    return families


def row_of(kernels: list) -> tuple:
    return (len(kernels), max(k.registers for k in kernels), sum(k.registers for k in kernels), sum(k.spilled for k in kernels),
            sum(k.shared for k in kernels))


def read_table() -> tuple:
    """The compiler's version, and the rows."""
    lines = [line.split() for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return lines[0][1], {(architecture, family): tuple(map(int, numbers)) for architecture, family, *numbers in lines[2:]}


def write_table(version: str, families: dict) -> None:
    lines = ["compiler " + version, "architecture family " + " ".join(column.replace(" ", "_") for column in COLUMNS)]
    lines += [" ".join(map(str, (*key, *row_of(families[key])))) for key in sorted(families)]
    TABLE.write_text(HEADER + "\n".join(lines) + "\n")
    print(f"{TABLE.name}: {len(families)} families")


def compare(recorded: dict, families: dict) -> bool:
    """Whether none takes more. What takes less is printed as well."""
    is_good = True
    architectures = {architecture for architecture, _ in families}
    for key in sorted(recorded.keys() | families.keys()):
        if key[0] not in architectures:
            continue
        old, kernels = recorded.get(key), families.get(key)
        new = row_of(kernels) if kernels else None
        if old == new:
            continue
        is_more = old is None or new is None or old[0] != new[0] or any(a < b for a, b in zip(old, new))
        is_good = is_good and not is_more
        print(f"{'MORE' if is_more else 'less'}: sm_{key[0]} {key[1]} of {', '.join(COLUMNS)}: recorded {old}, now {new}")
        for kernel in sorted(kernels or (), key=lambda k: -k.registers) if is_more else ():
            print(f"    {kernel.name}: {kernel.registers} registers, {kernel.spilled} bytes spilled, {kernel.shared} bytes shared")
    return is_good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=pathlib.Path, required=True, help="the folder of the build with files *.resources")
    parser.add_argument("--nvcc", required=True, help="the compiler")
    parser.add_argument("--write", action="store_true", help="record instead of comparing")
    arguments = parser.parse_args()
    said = subprocess.run([arguments.nvcc, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    version = re.search(r"V(\d+\.\d+\.\d+)", said)[1]
    families = families_of([k for path in sorted(arguments.reports.glob("*.resources")) for k in kernels_of(path.read_text())])
    if not families:
        sys.exit(f"there are no reports of kernels in {arguments.reports}")
    if arguments.write:
        write_table(version, families)
        return 0
    recorded_version, recorded = read_table()
    if version != recorded_version:
        print(f"skipped: the table is of nvcc {recorded_version}, and this is {version}")
        return SKIPPED
    if not compare(recorded, families):
        print("If that is meant: cmake --build --preset cuda --target record_cuda_resources")
        return 1
    print(f"{len(families)} families take no more than recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
