#!/usr/bin/env python3
"""Runs clang-tidy over the sources and prints what it finds. Fails if it finds anything.

  tools/tidy.py              all sources of the folders that are held to .clang-tidy
  tools/tidy.py --changed    those among them that the last commit changed
  tools/tidy.py FILE...      these

The preset `alone` must be configured. Errors of compiling are left out: GCC compiles the project, and clang 14 does not know all of C++20.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("cli", "src/algorithms", "src/api", "src/backends", "src/base", "src/cases", "src/conventions", "src/files", "src/json",
           "src/math", "src/model", "src/planner", "src/reference")
FINDING = re.compile(r"^(?P<where>\S+?):\d+:\d+: (?:warning|error): .* \[(?!clang-diagnostic)[\w.,-]+\]$")


def held(commands: list) -> list:
    """The sources of the folders, by their paths in the project."""
    paths = {Path(command["file"]) for command in commands}
    sources = {path.relative_to(ROOT) for path in paths if path.is_relative_to(ROOT)}
    return sorted(str(path) for path in sources if str(path).startswith(tuple(folder + "/" for folder in FOLDERS)))


def changed() -> set:
    done = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", "HEAD~1", "HEAD"], stdout=subprocess.PIPE, text=True, check=True)
    return set(done.stdout.split())


def findings(build: Path, source: str) -> list:
    command = ["clang-tidy-14", "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option", source]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    found = (FINDING.match(line) for line in done.stdout.splitlines())
    return [match[0] for match in found if match and Path(match["where"]).is_relative_to(ROOT)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "alone", help="the folder that has compile_commands.json")
    parser.add_argument("--changed", action="store_true", help="only what the last commit changed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    sources = arguments.files or held(json.loads((arguments.build / "compile_commands.json").read_text()))
    if arguments.changed:
        sources = [source for source in sources if source in changed()]
    found = set()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for lines in pool.map(lambda source: findings(arguments.build, source), sources):
            for line in lines:
                if line not in found:
                    print(line, flush=True)
                found.add(line)
    if found:
        sys.exit(f"{len(found)} findings in {len(sources)} sources")
    print(f"nothing found in {len(sources)} sources")


if __name__ == "__main__":
    main()
