"""The recipes of python/examples run."""
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

import pymollify as mollify

EXAMPLES = Path(__file__).parent.parent / "examples"


def run_pool(folder, results):
    command = [sys.executable, EXAMPLES / "pool_of_processes.py", folder, results, "--sigma", "3", "--processes", "2"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_pool_of_processes(tmp_path):
    generator = np.random.default_rng()
    folder, results = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    images = {f"{i:02}.png": generator.integers(0, 256, (30 + i, 41, 3), np.uint8) for i in range(40)}
    for name, image in images.items():
        Image.fromarray(image).save(folder / name)
    (folder / "damaged.png").write_bytes((folder / "00.png").read_bytes()[:100])
    run = run_pool(folder, results)
    assert run.returncode == 1 and "damaged.png" in run.stdout and f"40 of 41 pictures are in {results}" in run.stdout, run.stderr
    assert sorted(path.name for path in results.iterdir()) == sorted(images)
    for name, image in images.items():
        assert np.array_equal(np.asarray(Image.open(results / name)), mollify.gaussian(image, 3.0, channel_axis=-1))

    before = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    (results / "07.png").unlink()
    assert run_pool(folder, results).returncode == 1
    after = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    assert {name for name in images if before[name] != after[name]} == {"07.png"}
