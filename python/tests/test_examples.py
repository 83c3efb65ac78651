"""The recipes of python/examples run."""
import os
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


def random_pictures(folder, count):
    folder.mkdir()
    images = {f"{i:02}.png": np.random.default_rng().integers(0, 256, (30 + i, 41, 3), np.uint8) for i in range(count)}
    for name, image in images.items():
        Image.fromarray(image).save(folder / name)
    return images


def check_results(results, images):
    assert sorted(path.name for path in results.iterdir()) == sorted(images)
    for name, image in images.items():
        assert np.array_equal(np.asarray(Image.open(results / name)), mollify.gaussian(image, 3.0, channel_axis=-1))


def test_a_pool_of_processes(tmp_path):
    folder, results = tmp_path / "in", tmp_path / "out"
    images = random_pictures(folder, 40)
    (folder / "damaged.png").write_bytes((folder / "00.png").read_bytes()[:100])
    run = run_pool(folder, results)
    assert run.returncode == 1 and "damaged.png" in run.stdout and f"40 of 41 pictures are in {results}" in run.stdout, run.stderr
    check_results(results, images)

    before = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    (results / "07.png").unlink()
    assert run_pool(folder, results).returncode == 1
    after = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    assert {name for name in images if before[name] != after[name]} == {"07.png"}


def test_ray_data(tmp_path):
    folder, results = tmp_path / "in", tmp_path / "out"
    images = random_pictures(folder, 6)
    home = {"HOME": str(tmp_path / "home"), "RAY_TMPDIR": "/tmp", "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    (tmp_path / "home").mkdir()
    command = [sys.executable, EXAMPLES / "ray_data.py", folder, results, "--sigma", "3"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **home})
    assert run.returncode == 0 and f"6 pictures are in {results}" in run.stdout, run.stdout + run.stderr
    check_results(results, images)


def test_contrastive_training():
    """Debian's Python has Torch and torchvision."""
    command = ["/usr/bin/python3", EXAMPLES / "contrastive_training.py", "--device", "cpu", "--batch", "16", "--steps", "6"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "step 5: loss" in run.stdout and "with the blur of mollify" in run.stdout, run.stdout


def test_dask():
    """Without a GPU its blocks are blurred by the processor."""
    run = subprocess.run([sys.executable, EXAMPLES / "dask_gpu.py", "40"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "40 images blurred by" in run.stdout, run.stdout + run.stderr
