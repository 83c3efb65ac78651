"""Mutants of files through the tool's own process: python tests/fuzz/fuzz_tool.py TOOL [--mutants N] [--seed S] [--save FOLDER] FOLDER ...

The folders hold image files, such as those that collect_files.py collects. Bits, numbers and ranges of a file change, and `mollify
blur` makes of it a file of any format. It ends with exit code 0 and a result, or with exit code 1, one line of at most 300 characters
and no result; it leaves nothing else behind, and takes at most 20 seconds.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

ENDINGS = ["png", "jpg", "tif", "exr", "webp", "hdr"]
MOST_BYTES = 1 << 16
MOST_SECONDS = 20
MOST_CHARACTERS = 300


def files_of(folders):
    files = sorted(path for folder in folders for path in pathlib.Path(folder).rglob("*") if path.is_file())
    return [path for path in files if 0 < path.stat().st_size <= MOST_BYTES]


def place(data, rng):
    return rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 256))


def change(data, rng):
    at, kind = place(data, rng), rng.randrange(6)
    if kind == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[at] = rng.choice([0, 255, 128, rng.randrange(256)])
    elif kind == 2:
        number = rng.choice([0, 1, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 65501])
        size = rng.choice([2, 4])
        data[at:at + size] = (number & (1 << 8 * size) - 1).to_bytes(size, rng.choice(["little", "big"]))
    elif kind == 3:
        del data[at:]
    elif kind == 4:
        data[at:at] = data[place(data, rng):][:rng.randrange(1, 64)]
    else:
        del data[at:at + rng.randrange(1, 32)]


def mutant(files, rng):
    data = bytearray(rng.choice(files).read_bytes())
    for _ in range(rng.randrange(1, 4)):
        if data:
            change(data, rng)
    return bytes(data)


def what_is_wrong(tool, data, rng, folder):
    source, result = folder / "source", folder / f"result.{rng.choice(ENDINGS)}"
    source.write_bytes(data)
    options = rng.choice([[], ["--linear"], ["--flatten", "white"], ["--roi", "5x4+1+2"], ["--keep-unknown"]])
    command = [tool, "blur", source, result, "--gaussian", "1", "--memory", "200M", *options]
    try:
        run = subprocess.run(command, capture_output=True, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"took more than {MOST_SECONDS} s"
    left = {path.name for path in folder.iterdir()} - {"source"}
    error = run.stderr.decode(errors="replace")
    if run.returncode == 0:
        return None if left == {result.name} else f"left {sorted(left)}"
    if run.returncode != 1:
        return f"exit code {run.returncode}: {error}"
    lines = error.splitlines()
    if len(lines) != 1 or len(lines[0]) > MOST_CHARACTERS:
        return f"{len(lines)} lines of error: {error}"
    if any(word in error for word in ("crashed", "was ended")):
        return error
    return f"left {sorted(left)}" if left else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save")
    arguments = parser.parse_args()
    files, failed = files_of(arguments.folders), 0
    for number in range(arguments.mutants):
        rng = random.Random(f"{arguments.seed} {number}")
        data = mutant(files, rng)
        with tempfile.TemporaryDirectory() as folder:
            wrong = what_is_wrong(str(pathlib.Path(arguments.tool).resolve()), data, rng, pathlib.Path(folder))
        if wrong:
            failed += 1
            print(f"FAILED mutant {number} of seed {arguments.seed}: {wrong}", flush=True)
            if arguments.save:
                pathlib.Path(arguments.save).mkdir(parents=True, exist_ok=True)
                (pathlib.Path(arguments.save) / f"tool-{arguments.seed}-{number}").write_bytes(data)
    print(f"{arguments.mutants} mutants of {len(files)} files, {failed} findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
