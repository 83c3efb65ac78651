"""Collects the files that the tests of image files make, for mollify_fuzz_files: python tests/fuzz/collect_files.py FOLDER

MOLLIFY_COPY_FILE, MOLLIFY_TOOL and MOLLIFY_METADATA are taken as the tests take them. The tests run with programs in their place
that keep a copy of each argument that is a file.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = {"MOLLIFY_COPY_FILE": "mollify_copy_file", "MOLLIFY_TOOL": "mollify", "MOLLIFY_METADATA": "mollify_metadata"}
KEEPER = """#!/bin/sh
for each in "$@"; do
  if [ -f "$each" ]; then cp "$each" "{folder}/$(sha1sum "$each" | cut -c1-16)"; fi
done
exec "{program}" "$@"
"""


def main(folder):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as programs:
        environment = dict(os.environ)
        for variable, name in PROGRAMS.items():
            program = os.path.abspath(os.environ.get(variable, f"build/dev/{name}"))
            keeper = pathlib.Path(programs) / name
            keeper.write_text(KEEPER.format(folder=folder, program=program))
            keeper.chmod(0o755)
            environment[variable] = str(keeper)
        tests = sorted(pathlib.Path("tests/files").glob("*_test.py"))
        for test in tests:
            subprocess.run([sys.executable, "-m", "unittest", f"tests.files.{test.stem}"], env=environment, check=False)
    print(f"{len(list(folder.iterdir()))} files")


if __name__ == "__main__":
    main(sys.argv[1])
