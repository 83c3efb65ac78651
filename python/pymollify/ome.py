"""Pyramids of OME-Zarr 0.5: an image and its smaller copies in one group, for viewers that read only what they show.

It needs Zarr 3. Level n has a pixel for each block of 2^n x 2^n pixels of the image: the Gaussian of the image in the middle of the block.
"""
import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import pymollify as mollify

__all__ = ["pyramid"]

_MOST_LEVELS = 4  # of one pass, since strides end at 16
_MOST_BYTES = 128 << 20  # of a part of the image that one task reads


def pyramid(group: Any, levels: int | None = None, *, sigma: float = 0.7, names: str | None = None, scale: Sequence[float] | None = None,
            workers: int = 2, max_error: float | None = None) -> None:
    """Adds the arrays "1", "2", ... to a group of Zarr that has the image as the array "0", and the metadata of OME-Zarr 0.5.

    The last two axes are y and x; others count images. Chunks and shards are those of the image, and each task makes whole shards. Up to
    four levels are made in one pass over the image, fewer where the part that a task reads would have more than 128 MiB. The levels after
    them are Gaussians of the last level that was made, which differ most along the edges of the image.

    :param group: The group, open for writing.
    :param levels: How many smaller copies; by default as many as it takes until one chunk holds a copy.
    :param sigma: Of each level, in the pixels of the level before. Level n is the Gaussian of sigma * sqrt((4^n - 1) / 3) of the image.
    :param names: A letter for each axis; by default the last ones of "tczyx".
    :param scale: The size of a pixel of the image along each axis, in whatever unit; by default 1.
    :param workers: How many tasks run at once.
    :param max_error: As in gaussian(), of each pass.
    """
    image = group["0"]
    names = "tczyx"[-image.ndim:] if names is None else names
    if image.ndim < 2 or len(names) != image.ndim or names[-2:] != "yx":
        raise ValueError("names: a letter for each axis of the image is needed, the last of which are y and x")
    if scale is not None and len(scale) != image.ndim:
        raise ValueError("scale: a number for each axis of the image is needed")
    count = _usual_levels(image) if levels is None else levels
    if count < 0:
        raise ValueError("levels: a number from 0 up is needed")
    arrays = [image]
    for level in range(1, count + 1):
        shape = (*image.shape[:-2], *(-(-extent // 2**level) for extent in image.shape[-2:]))
        arrays.append(group.create_array(str(level), shape=shape, chunks=image.chunks, shards=image.shards, dtype=image.dtype,
                                         dimension_names=list(names)))
    first = 0
    while first < count:
        some = min(_levels_of_a_pass(arrays[first]), count - first)
        _Pass(arrays[first:first + some + 1], sigma, max_error).run(workers)
        first += some
    group.attrs["ome"] = _metadata(names, scale or [1.0] * image.ndim, count)


def _usual_levels(image: Any) -> int:
    return max(0, *(math.ceil(math.log2(extent / chunk)) for extent, chunk in zip(image.shape[-2:], image.chunks[-2:])))


def _shard(array: Any) -> tuple[int, ...]:
    return tuple(array.shards or array.chunks)


def _levels_of_a_pass(array: Any) -> int:
    *others, rows, columns = (min(part, extent) for part, extent in zip(_shard(array), array.shape))
    bytes_of_shard = math.prod(others) * rows * columns * array.dtype.itemsize
    return max(1, min(_MOST_LEVELS, int(math.log(_MOST_BYTES / bytes_of_shard, 4))))


def _metadata(names: str, scale: Sequence[float], count: int) -> dict[str, Any]:
    kinds = {"t": "time", "c": "channel"}
    datasets = []
    for level in range(count + 1):
        factors = [2**level if name in "yx" else 1 for name in names]
        datasets.append({"path": str(level), "coordinateTransformations": [
            {"type": "scale", "scale": [float(size * factor) for size, factor in zip(scale, factors)]},
            {"type": "translation", "translation": [size * (factor - 1) / 2 for size, factor in zip(scale, factors)]}]})
    return {"version": "0.5", "multiscales": [{"axes": [{"name": name, "type": kinds.get(name, "space")} for name in names],
                                               "datasets": datasets, "type": "gaussian"}]}


class _Pass:
    """Makes levels, each with half the rows and columns of the one before, of the first of these arrays."""

    def __init__(self, arrays: Sequence[Any], sigma: float, max_error: float | None) -> None:
        self._source, *self._levels = arrays
        image = list(self._source.shape[-2:])
        self._windows = []
        for level in range(1, len(arrays)):
            blur = mollify.Blur.gaussian(sigma * math.sqrt((4**level - 1) / 3), max_error=max_error, threads=1)
            self._windows.append(mollify.Windows(blur, image, self._source.dtype.name, stride=2**level))

    def run(self, workers: int) -> None:
        largest = 2 ** len(self._levels)
        *others, rows, columns = _shard(self._source)
        steps = [*others, rows * largest, columns * largest]  # so that each level has whole shards
        starts = itertools.product(*(range(0, extent, step) for extent, step in zip(self._source.shape, steps)))
        with ThreadPoolExecutor(workers) as pool:
            for some in iter(lambda: list(itertools.islice(starts, 64 * workers)), []):  # there may be millions
                for done in [pool.submit(self._make, start, steps) for start in some]:
                    done.result()

    def _make(self, start: Sequence[int], steps: Sequence[int]) -> None:
        ends = [min(first + step, extent) for first, step, extent in zip(start, steps, self._source.shape)]
        images = tuple(slice(first, end) for first, end in zip(start[:-2], ends[:-2]))
        regions = []
        for level in range(1, len(self._levels) + 1):
            y, x = (first // 2**level for first in start[-2:])
            bottom, right = (-(-end // 2**level) for end in ends[-2:])
            regions.append((y, x, bottom - y, right - x))
        needed = [part for windows, region in zip(self._windows, regions) for part in windows.source(*region)]
        top, left = min(part[0] for part in needed), min(part[1] for part in needed)
        bottom, right = max(part[0] + part[2] for part in needed), max(part[1] + part[3] for part in needed)
        pixels = np.ascontiguousarray(self._source[(*images, slice(top, bottom), slice(left, right))])
        for array, windows, (y, x, height, width) in zip(self._levels, self._windows, regions):
            out = np.empty((*pixels.shape[:-2], height, width), pixels.dtype)
            for image in np.ndindex(out.shape[:-2]):
                windows.run([(pixels[image], top, left)], y, x, out[image])
            array[(*images, slice(y, y + height), slice(x, x + width))] = out
