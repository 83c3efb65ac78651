"""Mutants of image files through the tool's own process: python tests/fuzz/fuzz_tool.py TOOL FOLDER [--seed S] [--save FOLDER]

`mollify_fuzz_files --write FOLDER` makes the mutants. `mollify blur` makes of each a file of any format. It ends with exit code 0 and
a result, or with exit code 1, one line of at most 300 characters and no result; it leaves nothing else behind, and takes at most 20
seconds.
"""
import argparse
import collections
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ENDINGS = ["png", "jpg", "tif", "exr", "webp", "hdr"]
OPTIONS = [[], ["--linear"], ["--flatten", "white"], ["--roi", "5x4+1+2"], ["--keep-unknown"]]
MOST_SECONDS = 20
MOST_CHARACTERS = 300


class Finding(Exception):
    pass


def check_error(error):
    lines = error.splitlines()
    if len(lines) != 1 or len(lines[0]) > MOST_CHARACTERS:
        raise Finding(f"{len(lines)} lines of error: {error}")
    if any(word in error for word in ("crashed", "was ended")):
        raise Finding(error)


def is_blurred(tool, mutant, ending, options):
    """Whether there is a result; if not, the tool refused the file as it should."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = pathlib.Path(folder) / "source", pathlib.Path(folder) / f"result.{ending}"
        shutil.copy(mutant, source)
        command = [tool, "blur", source, result, "--gaussian", "1", "--memory", "200M", *options]
        try:
            run = subprocess.run(command, capture_output=True, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            raise Finding(f"took more than {MOST_SECONDS} s") from None
        left = {path.name for path in pathlib.Path(folder).iterdir()} - {source.name}
    error = run.stderr.decode(errors="replace")
    if run.returncode not in (0, 1):
        raise Finding(f"exit code {run.returncode}: {error}")
    if run.returncode == 1:
        check_error(error)
    if left != ({result.name} if run.returncode == 0 else set()):
        raise Finding(f"exit code {run.returncode}, and the folder has {sorted(left)}")
    return run.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1, help="of the formats and options of the results")
    parser.add_argument("--save", type=pathlib.Path, help="a folder for the mutants with findings")
    arguments = parser.parse_args()
    mutants, blurred, findings = collections.Counter(), collections.Counter(), collections.Counter()
    for mutant in sorted(arguments.folder.iterdir()):
        rng = random.Random(f"{arguments.seed} {mutant.name}")
        name = mutant.name.partition("-")[0]
        mutants[name] += 1
        try:
            blurred[name] += is_blurred(arguments.tool.resolve(), mutant, rng.choice(ENDINGS), rng.choice(OPTIONS))
        except Finding as finding:
            findings[name] += 1
            print(f"FAILED {mutant.name}: {finding}", flush=True)
            if arguments.save:
                arguments.save.mkdir(parents=True, exist_ok=True)
                shutil.copy(mutant, arguments.save)
    for name in mutants:
        print(f"{name:8} {mutants[name]:8} mutants, {blurred[name]:8} blurred, {findings[name]} findings")
    print(f"{mutants.total()} mutants, {findings.total()} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
