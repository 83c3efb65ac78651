"""Pyramids of OME-Zarr."""
import numpy as np
import pytest
import zarr

import pymollify.ome
from test_values import random_array


def made(tmp_path, image, chunks, shards=None, **arguments):
    group = zarr.open_group(tmp_path / "image.zarr", mode="w")
    group.create_array("0", shape=image.shape, chunks=chunks, shards=shards, dtype=image.dtype)[...] = image
    pymollify.ome.pyramid(group, **arguments)
    return zarr.open_group(tmp_path / "image.zarr", mode="r")


def exact_level(image, level, sigma=0.7):
    """In float64, from the definition: a Gaussian around the middle of each block."""
    wide = sigma * np.sqrt((4**level - 1) / 3)
    for axis in (-2, -1):
        extent, step = image.shape[axis], 2**level
        centres = np.arange(-(-extent // step)) * step + (step - 1) / 2
        places = np.arange(-12 * step, extent + 12 * step)
        weights = np.exp(-((places - centres[:, None]) ** 2) / (2 * wide**2))
        weights /= weights.sum(axis=1, keepdims=True)
        image = np.moveaxis(weights @ np.moveaxis(np.take(image, np.clip(places, 0, extent - 1), axis), axis, -2), -2, axis)
    return image


@pytest.mark.parametrize("dtype, largest", [(np.uint8, 0.5 + 0.13), (np.uint16, 0.5 + 6.6), (np.float32, 2e-5)])
@pytest.mark.parametrize("shape", [(257, 190), (64, 64), (3, 2, 90, 301)])
def test_levels_are_gaussians_of_the_image(tmp_path, dtype, largest, shape):
    image = random_array(1, shape, dtype)
    group = made(tmp_path, image, (1,) * (len(shape) - 2) + (16, 16), levels=4)
    for level in range(1, 5):
        array = group[str(level)]
        assert array.shape == (*shape[:-2], *(-(-n // 2**level) for n in shape[-2:])) and array.dtype == dtype
        scale = abs(image).max() if dtype == np.float32 else 1.0
        assert abs(array[...] - exact_level(image.astype(np.float64), level)).max() <= largest * scale, level


def test_levels_of_later_passes(tmp_path):
    """Apart from the edges, they have the errors and the roundings of two passes, and half a number by aliasing of the level between."""
    image = random_array(2, (700, 900), np.uint8)
    group = made(tmp_path, image, (32, 32), levels=6)
    for level in (5, 6):
        difference = abs(group[str(level)][...] - exact_level(image.astype(np.float64), level))
        assert difference[2:-2, 2:-2].max() <= 2 * (0.5 + 0.13) + 0.5


def test_the_bits_do_not_depend_on_chunks(tmp_path):
    image = random_array(3, (210, 333), np.uint16)
    one = made(tmp_path, image, (210, 333), levels=3)
    levels = [one[str(level)][...] for level in (1, 2, 3)]
    for chunks, shards in (((16, 16), None), ((10, 30), (20, 60))):
        group = made(tmp_path, image, chunks, shards, levels=3, workers=3)
        assert all(np.array_equal(group[str(level)][...], levels[level - 1]) for level in (1, 2, 3))
        assert group["2"].chunks == chunks and group["2"].shards == shards


def test_the_image_is_read_once(tmp_path, monkeypatch):
    image = random_array(4, (256, 256), np.uint8)
    read = []
    whole = zarr.Array.__getitem__
    monkeypatch.setattr(zarr.Array, "__getitem__", lambda self, region: read.append(self.path) or whole(self, region))
    made(tmp_path, image, (16, 16), levels=4)
    assert read == ["0"]


def test_metadata(tmp_path):
    group = made(tmp_path, random_array(5, (2, 100, 300), np.uint8), (1, 64, 64), names="cyx", scale=[1.0, 0.5, 0.25])
    ome = group.attrs["ome"]
    assert ome["version"] == "0.5"
    (image,) = ome["multiscales"]
    assert image["axes"] == [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    assert [each["path"] for each in image["datasets"]] == ["0", "1", "2", "3"]  # the last has 13 x 38 pixels, in one chunk
    assert image["datasets"][2]["coordinateTransformations"] == [{"type": "scale", "scale": [1.0, 2.0, 1.0]},
                                                                 {"type": "translation", "translation": [0.0, 0.75, 0.375]}]
    assert group["1"].metadata.dimension_names == ("c", "y", "x")


def test_refusals(tmp_path):
    image = random_array(6, (40, 40), np.uint8)
    for message, arguments in (("names", {"names": "xy"}), ("scale", {"scale": [1.0]}), ("levels", {"levels": -1})):
        with pytest.raises(ValueError, match=message):
            made(tmp_path, image, (16, 16), **arguments)
    for stride in (0, 17):
        with pytest.raises(ValueError, match="stride"):
            pymollify.Windows(pymollify.Blur.gaussian(2.0), (40, 40), "uint8", stride=stride)
    with pytest.raises(TypeError, match="dtype"):
        made(tmp_path, image.astype(np.int64), (16, 16))
