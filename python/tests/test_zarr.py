"""Zarr arrays, from store to store."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import pymollify as mollify
import pymollify.zarr
from test_values import random_array


def stores(tmp_path, image, chunks, shards=None, destination_chunks=None):
    source = zarr.create_array(tmp_path / "source.zarr", shape=image.shape, chunks=chunks, dtype=image.dtype)
    source[...] = image
    destination = zarr.create_array(tmp_path / "destination.zarr", shape=image.shape, chunks=destination_chunks or chunks, shards=shards,
                                    dtype=image.dtype)
    return source, destination


@pytest.mark.parametrize("mode", ["nearest", "wrap"])
@pytest.mark.parametrize("chunks, shards", [((50, 60), None), ((40, 40), (80, 120)), ((33, 300), (99, 300))])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_bits_of_the_whole(tmp_path, mode, chunks, shards, dtype):
    image = random_array(1, (210, 300), dtype)
    source, destination = stores(tmp_path, image, chunks, shards)
    pymollify.zarr.gaussian(source, destination, 6.0, mode=mode)
    assert np.array_equal(destination[...], mollify.gaussian(image, 6.0, mode=mode))


def test_stacks_and_channels(tmp_path):
    image = random_array(2, (3, 5, 90, 80), np.uint16)  # channels, slices, rows, columns
    source, destination = stores(tmp_path, image, (3, 2, 40, 40))
    pymollify.zarr.box(source, destination, (2, 5), axes=(2, 3), channel_axis=0)
    pixels = np.ascontiguousarray(np.moveaxis(image, 0, -1))
    expected = np.stack([mollify.box(one, (2, 5), channel_axis=-1) for one in pixels])
    assert np.array_equal(destination[...], np.moveaxis(expected, -1, 0))


def test_a_shard_is_written_once(tmp_path):
    image = random_array(3, (100, 100), np.uint8)
    source, destination = stores(tmp_path, image, (10, 10), (50, 30))
    written = []

    class Watched:
        """The destination, as pymollify.zarr sees it."""

        def __getattr__(self, name):
            return getattr(destination, name)

        def __setitem__(self, region, values):
            written.append(region)
            destination[region] = values

    pymollify.zarr.tent(source, Watched(), 4.0, workers=3)
    assert np.array_equal(destination[...], mollify.tent(image, 4.0))
    assert len(written) == 2 * 4 and all(part.start % shard == 0 for region in written for part, shard in zip(region, (50, 30)))


def test_refusals(tmp_path):
    image = random_array(4, (40, 50, 3), np.uint8)
    source, destination = stores(tmp_path, image, (20, 20, 1))
    other = zarr.create_array(tmp_path / "other.zarr", shape=(40, 50, 3), chunks=(20, 20, 3), dtype=np.uint16)
    for to, arguments, message in [(destination, {"channel_axis": 2}, "destination: a shard must have all channels"),
                                   (source, {"channel_axis": 2}, "destination: it is the source"),
                                   (other, {"channel_axis": 2}, "destination: its shape and numbers"),
                                   (destination, {}, "axes: 2 are needed")]:
        with pytest.raises(ValueError, match=message):
            pymollify.zarr.gaussian(source, to, 1.0, **arguments)
    assert not destination[...].any()


def test_the_script_for_large_ones(tmp_path):
    """With four shards. What it prints: round, seconds of both, their ratio, memory of both."""
    tool = Path(__file__).parent.parent / "tools" / "large_zarr.py"
    for more in ([], ["--compress"]):
        run = subprocess.run([sys.executable, tool, tmp_path / "large", "--gigabytes", "0.04", "--rounds", "1", *more], capture_output=True,
                             text=True, timeout=300)
        assert run.returncode == 0, run.stderr
        number, copied, blurred, ratio, *megabytes = [float(cell) for cell in run.stdout.splitlines()[-1].strip("| ").split(" | ")]
        assert number == 1 and copied > 0 and blurred > 0 and ratio > 0 and all(50 < each < 1000 for each in megabytes), run.stdout
        assert list((tmp_path / "large").iterdir()) == []
