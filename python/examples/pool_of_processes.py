"""Blurs every picture of a folder, in a pool of processes: pool_of_processes.py FOLDER RESULTS --sigma 2

For pictures that a program makes or needs anyway. `mollify blur FOLDER -o RESULTS --gaussian 2` does the same without Python, and keeps
profiles and Exif.
"""
import argparse
import multiprocessing
import os
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

import pymollify as mollify


def blur_file(blur: mollify.Blur, results: Path, source: Path) -> str | None:
    """Returns what went wrong, so that one damaged file stops nothing else."""
    target = results / source.name
    if target.exists():  # from a run that was interrupted
        return None
    try:
        picture = Image.open(source).convert("RGB")
        unfinished = target.with_name(f".{os.getpid()}-{target.name}")
        Image.fromarray(blur(np.asarray(picture))).save(unfinished)
        unfinished.rename(target)
    except OSError as error:
        return f"{source}: {error}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sigma", type=float, default=2.0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    arguments.results.mkdir(exist_ok=True)
    # A blur is pickled as its arguments. The processes keep all processors busy, so each blurs on one thread.
    blur = mollify.Blur.gaussian(arguments.sigma, channel_axis=-1, threads=1)
    sources = sorted(path for path in arguments.folder.iterdir() if path.suffix.lower() in (".png", ".jpg", ".tif"))
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        work = partial(blur_file, blur, arguments.results)
        failures = [failure for failure in pool.imap_unordered(work, sources, chunksize=16) if failure]
    for failure in failures:
        print(failure)
    print(f"{len(sources) - len(failures)} of {len(sources)} pictures are in {arguments.results}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
