"""The stubs, as mypy and basedpyright see them."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

import pymollify as mollify

PACKAGE = Path(mollify.__file__).parent

RIGHT = """
import numpy as np
import pymollify as mollify
from numpy.typing import NDArray
from typing import assert_type

image: NDArray[np.uint8] = np.zeros((4, 5), np.uint8)
assert_type(mollify.gaussian(image, 2, mode="wrap"), NDArray[np.uint8])
assert_type(mollify.box(image, size=(3, 4), out=image), NDArray[np.uint8])
assert_type(mollify.convolve(image, np.ones((3, 3))), NDArray[np.uint8])
assert_type(mollify.separable(image, [[1.0, 2.0, 1.0], [1.0]], normalize=True), NDArray[np.uint8])
blur = mollify.Blur.tent((1, 2.5), axes=(0, 1), threads=2)
assert_type(blur(image), NDArray[np.uint8])
assert_type(mollify.plan(blur, image).error, float)
assert_type(mollify.plan(blur, image).reach, list[tuple[int, int]])
assert_type([device.name for device in mollify.devices()], list[str])
assert_type(mollify.verify(case="auto/9x9/r8/box:radius=1/clamp").failures, list[mollify.CaseFailure])
assert_type([timing.copies for timing in mollify.bench([blur, blur], image, seconds=0)], list[float])
"""


def mypy(tmp_path, *files):
    """Says which lines of the files have errors, by "file:line"."""
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *files]
    run = subprocess.run(command, cwd=tmp_path, env={"MYPYPATH": str(PACKAGE.parent), "PATH": ""}, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return {":".join(line.split(":")[:2]) for line in run.stdout.splitlines() if ": error: " in line}


def basedpyright(tmp_path, *files):
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(PACKAGE.parent)], "include": [str(tmp_path / file) for file in files]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(tmp_path)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    report = json.loads(run.stdout)
    assert report["summary"]["filesAnalyzed"] > 0
    errors = [each for each in report["generalDiagnostics"] if each["severity"] == "error"]
    return {f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}" for each in errors}


CHECKERS = [mypy, basedpyright]


def test_the_package_is_right_in_itself(tmp_path):
    assert mypy(tmp_path, "-p", "pymollify") == set()


def test_the_stubs_are_right_in_themselves(tmp_path):
    assert basedpyright(tmp_path, *(str(PACKAGE / name) for name in ("__init__.py", "_core.pyi", "_types.py"))) == set()


@pytest.mark.parametrize("check", CHECKERS)
def test_a_program_that_is_right(tmp_path, check):
    (tmp_path / "program.py").write_text(RIGHT)
    assert check(tmp_path, "program.py") == set()


@pytest.mark.parametrize("check", CHECKERS)
def test_mistakes_are_seen(tmp_path, check):
    mistakes = ['mollify.gaussian(image)', 'mollify.gaussian(image, "2")', 'mollify.gaussian(image, 2, mode="edge")',
                'mollify.gaussian(3, 2)', 'mollify.box(image, 1, 2)', 'mollify.Blur.box(1)(image, image)']
    lines = ["import numpy as np", "import pymollify as mollify", "image = np.zeros((4, 5), np.uint8)", *mistakes]
    (tmp_path / "program.py").write_text("\n".join(lines) + "\n")
    assert check(tmp_path, "program.py") == {f"program.py:{line}" for line in range(4, 4 + len(mistakes))}


def test_every_public_name_has_a_stub():
    stub = (PACKAGE / "_core.pyi").read_text()
    assert (PACKAGE / "py.typed").exists()
    for name in mollify.__all__:
        if getattr(mollify, name).__module__ == "pymollify._each":
            continue  # Python, which has its types in itself
        assert f"def {name}(" in stub or f"class {name}:" in stub, name
