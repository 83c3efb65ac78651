"""Blurs a large Zarr array into another one, beside a copy from Zarr to Zarr: seconds, their ratio, and the most memory of each.

    large_zarr.py FOLDER                  20 GB of uint16, which it makes first; FOLDER needs room for two of these
    large_zarr.py FOLDER --gigabytes 2    less
    large_zarr.py FOLDER --compress       chunks are compressed as Zarr does it by default

Copy and blur are processes of their own, in turns, with as many workers. Each makes whole shards of the destination, which is removed
afterwards. The copy reads and writes the same shards; the blur also reads what lies around them. How long compressing takes depends on
the numbers, and a blur has others than its source: compare times with --compress with care.
"""
import argparse
import itertools
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import zarr

import pymollify.zarr

CHUNK = 512
SHARD = 4096


def layout(side, compresses):
    return {"shape": (side, side), "dtype": np.uint16, "chunks": (CHUNK, CHUNK), "shards": (SHARD, SHARD),
            "compressors": "auto" if compresses else None}


def regions(side):
    places = range(0, side, SHARD)
    return [(slice(y, min(y + SHARD, side)), slice(x, min(x + SHARD, side))) for y, x in itertools.product(places, places)]


def for_each_region(side, workers, work):
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, regions(side)))


def make_source(path, side, compresses, workers):
    """Blobs under noise of 8 of its 16 bits, as cameras have it. Each shard is made from a number of its own."""
    image = zarr.create_array(path, **layout(side, compresses))
    wave = (1.0 + np.sin(np.arange(SHARD) / 300.0)) * 15000.0

    def make(region):
        rows, columns = region
        noise = np.random.default_rng(rows.start * side + columns.start).integers(0, 256, (SHARD, SHARD), dtype=np.uint16)
        noise += np.minimum(wave[:, None], wave).astype(np.uint16)
        image[region] = noise[:rows.stop - rows.start, :columns.stop - columns.start]

    for_each_region(side, workers, make)


def copy(source, destination, workers):
    def copy_region(region):
        destination[region] = source[region]

    for_each_region(source.shape[0], workers, copy_region)


def most_bytes_in_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


def work(arguments):
    """What the process of one turn does. Opening what it needs is not counted."""
    source = zarr.open_array(arguments.folder / "source.zarr", mode="r")
    destination = zarr.create_array(arguments.folder / f"{arguments.turn}.zarr", overwrite=True, **layout(source.shape[0], arguments.compress))
    started = time.perf_counter()
    if arguments.turn == "copy":
        copy(source, destination, arguments.workers)
    else:
        pymollify.zarr.gaussian(source, destination, arguments.sigma, workers=arguments.workers, threads=1)
    print(time.perf_counter() - started, most_bytes_in_memory())


def take_turn(turn, arguments):
    """Seconds and bytes of memory of a copy or a blur in a process of its own, after which its result is removed."""
    os.sync()
    for path in (arguments.folder / "source.zarr").rglob("*"):
        drop_from_cache(path)
    run = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--turn", turn], capture_output=True, text=True)
    shutil.rmtree(arguments.folder / f"{turn}.zarr", ignore_errors=True)
    if run.returncode != 0:
        raise SystemExit(run.stderr)
    seconds, most_bytes = run.stdout.split()
    return float(seconds), int(most_bytes)


def drop_from_cache(path):
    """So that every turn reads from the disk."""
    if path.is_file():
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--sigma", type=float, default=3.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--compress", action="store_true")
    parser.add_argument("--turn", choices=["copy", "blur"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.turn:
        return work(arguments)
    arguments.folder.mkdir(exist_ok=True)
    side = round((arguments.gigabytes * 1e9 / 2) ** 0.5)
    make_source(arguments.folder / "source.zarr", side, arguments.compress, arguments.workers)
    try:
        turns = [take_turn(turn, arguments) for _ in range(arguments.rounds) for turn in ("copy", "blur")]
    finally:
        shutil.rmtree(arguments.folder / "source.zarr")
    print("| round | copy, s | blur, s | blur / copy | copy, most MB | blur, most MB |\n| --- | --- | --- | --- | --- | --- |")
    for number, ((copied, copy_bytes), (blurred, blur_bytes)) in enumerate(zip(turns[::2], turns[1::2])):
        megabytes = f"{copy_bytes / 1e6:.0f} | {blur_bytes / 1e6:.0f}"
        print(f"| {number + 1} | {copied:.1f} | {blurred:.1f} | {blurred / copied:.2f} | {megabytes} |")


main()
