"""The stubs, as mypy sees them."""
import subprocess
import sys
from pathlib import Path

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
"""


def mypy(tmp_path, *arguments):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *arguments]
    return subprocess.run(command, cwd=tmp_path, env={"MYPYPATH": str(PACKAGE.parent), "PATH": ""}, capture_output=True, text=True)


def test_the_stubs_are_right_in_themselves(tmp_path):
    run = mypy(tmp_path, "-p", "pymollify")
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_program_that_is_right(tmp_path):
    (tmp_path / "program.py").write_text(RIGHT)
    run = mypy(tmp_path, "program.py")
    assert run.returncode == 0, run.stdout + run.stderr


def test_mistakes_are_seen(tmp_path):
    mistakes = ['mollify.gaussian(image)', 'mollify.gaussian(image, "2")', 'mollify.gaussian(image, 2, mode="edge")',
                'mollify.gaussian(3, 2)', 'mollify.box(image, 1, 2)', 'mollify.Blur.box(1)(image, image)']
    lines = ["import numpy as np", "import pymollify as mollify", "image = np.zeros((4, 5), np.uint8)", *mistakes]
    (tmp_path / "program.py").write_text("\n".join(lines) + "\n")
    seen = {int(line.split(":")[1]) for line in mypy(tmp_path, "program.py").stdout.splitlines() if ": error: " in line}
    assert seen == set(range(4, 4 + len(mistakes)))


def test_every_public_name_has_a_stub():
    stub = (PACKAGE / "_core.pyi").read_text()
    assert (PACKAGE / "py.typed").exists()
    for name in mollify.__all__:
        assert f"def {name}(" in stub or f"class {name}:" in stub, name
