"""Blurs of Zarr arrays, from store to store, with the bits of the whole and little memory.

It needs Zarr 3. Each task makes one whole shard of the destination, or one chunk where there are no shards, so that no two tasks write to
the same object of the store.
"""
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import pymollify as mollify

__all__ = ["box", "gaussian", "tent"]


def gaussian(source: Any, destination: Any, sigma: float | Sequence[float], *, axes: Sequence[int] | None = None,
             channel_axis: int | None = None, workers: int = 2, **arguments: Any) -> None:
    """pymollify.gaussian of two axes of an array, into another array of the same shape and numbers. Other axes, but the one of channels,
    count images. `workers` shards are in memory at once, each with what it needs of the source."""
    _blur(source, destination, mollify.Blur.gaussian(sigma, **_of_one_image(channel_axis), **arguments), axes, channel_axis, workers)


def box(source: Any, destination: Any, radius: float | Sequence[float] | None = None, *, axes: Sequence[int] | None = None,
        channel_axis: int | None = None, workers: int = 2, **arguments: Any) -> None:
    """pymollify.box of two axes of an array, into another array."""
    _blur(source, destination, mollify.Blur.box(radius, **_of_one_image(channel_axis), **arguments), axes, channel_axis, workers)


def tent(source: Any, destination: Any, radius: float | Sequence[float], *, axes: Sequence[int] | None = None,
         channel_axis: int | None = None, workers: int = 2, **arguments: Any) -> None:
    """pymollify.tent of two axes of an array, into another array."""
    _blur(source, destination, mollify.Blur.tent(radius, **_of_one_image(channel_axis), **arguments), axes, channel_axis, workers)


def _of_one_image(channel_axis: int | None) -> dict[str, Any]:
    return {} if channel_axis is None else {"channel_axis": 2}


def _blur(source: Any, destination: Any, blur: mollify.Blur, axes: Sequence[int] | None, channel_axis: int | None, workers: int) -> None:
    if source.shape != destination.shape or source.dtype != destination.dtype:
        raise ValueError("destination: its shape and numbers must be those of the source")
    if source.store_path == destination.store_path:
        raise ValueError("destination: it is the source, whose blocks are still needed when others are written")
    dimensions = source.ndim
    last = [] if channel_axis is None else [channel_axis % dimensions]
    image = [axis % dimensions for axis in axes] if axes is not None else [axis for axis in range(dimensions) if axis not in last]
    if len(image) != 2:
        raise ValueError(f"axes: 2 are needed, not {len(image)}")
    order = image + last
    shard = list(destination.shards or destination.chunks)
    if last and shard[last[0]] < source.shape[last[0]]:
        raise ValueError("destination: a shard must have all channels of its pixels")
    windows = mollify.Windows(blur, [source.shape[axis] for axis in order], source.dtype.name)

    def make(region: tuple[slice, ...]) -> None:
        destination[region] = _region(source, windows, order, region)

    with ThreadPoolExecutor(workers) as pool:
        regions = _regions(source.shape, shard)
        for some in iter(lambda: list(itertools.islice(regions, 64 * workers)), []):  # a store may have millions of shards
            for done in [pool.submit(make, region) for region in some]:
                done.result()


def _regions(shape: Sequence[int], shard: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    for place in itertools.product(*(range(0, extent, step) for extent, step in zip(shape, shard))):
        yield tuple(slice(first, min(first + step, extent)) for first, step, extent in zip(place, shard, shape))


def _region(source: Any, windows: mollify.Windows, order: Sequence[int], region: tuple[slice, ...]) -> Any:
    """The blur of one region. Its images are blurred one by one."""
    ends = range(-len(order), 0)
    rows, columns = region[order[0]], region[order[1]]
    parts = []
    for y, x, height, width in windows.source(rows.start, columns.start, rows.stop - rows.start, columns.stop - columns.start):
        needed = list(region)
        needed[order[0]], needed[order[1]] = slice(y, y + height), slice(x, x + width)
        parts.append((np.moveaxis(source[tuple(needed)], order, ends), y, x))
    extents = [part.stop - part.start for part in region]
    out = np.empty([n for axis, n in enumerate(extents) if axis not in order] + [extents[axis] for axis in order], source.dtype)
    for image in np.ndindex(out.shape[:-len(order)]):
        windows.run([(np.ascontiguousarray(array[image]), y, x) for array, y, x in parts], rows.start, columns.start, out[image])
    return np.moveaxis(out, ends, order)
