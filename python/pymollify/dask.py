"""Blurs of Dask arrays, block by block, with the bits of the whole whatever the blocks are.

It needs Dask. An image may be larger than memory: each block of the result asks for what its own part of the source needs, and no more.
"""
import itertools
import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

import pymollify as mollify

__all__ = ["box", "gaussian", "tent"]


def gaussian(x: Any, sigma: float | Sequence[float], *, axes: Sequence[int] | None = None, channel_axis: int | None = None,
             **arguments: Any) -> Any:
    """pymollify.gaussian of two axes of a Dask array. Other axes, but the one of channels, count images."""
    return _blur(x, mollify.Blur.gaussian(sigma, **_of_one_image(channel_axis), **arguments), axes, channel_axis)


def box(x: Any, radius: float | Sequence[float] | None = None, *, axes: Sequence[int] | None = None, channel_axis: int | None = None,
        **arguments: Any) -> Any:
    """pymollify.box of two axes of a Dask array."""
    return _blur(x, mollify.Blur.box(radius, **_of_one_image(channel_axis), **arguments), axes, channel_axis)


def tent(x: Any, radius: float | Sequence[float], *, axes: Sequence[int] | None = None, channel_axis: int | None = None,
         **arguments: Any) -> Any:
    """pymollify.tent of two axes of a Dask array."""
    return _blur(x, mollify.Blur.tent(radius, **_of_one_image(channel_axis), **arguments), axes, channel_axis)


def _of_one_image(channel_axis: int | None) -> dict[str, Any]:
    return {} if channel_axis is None else {"channel_axis": 2}


def _blur(x: Any, blur: mollify.Blur, axes: Sequence[int] | None, channel_axis: int | None) -> Any:
    """Images to the end, channels last, then each block."""
    last = [] if channel_axis is None else [channel_axis % x.ndim]
    if axes is None:
        axes = [axis for axis in range(x.ndim) if axis not in last]
    if len(axes) != 2:
        raise ValueError(f"axes: 2 are needed, not {len(axes)}")
    order = [axis % x.ndim for axis in axes] + last
    ends = list(range(x.ndim - len(order), x.ndim))
    moved = da.moveaxis(x, order, ends)
    if last:
        moved = moved.rechunk({moved.ndim - 1: -1})
    return da.moveaxis(_blocks(moved, blur, len(order)), ends, order)


Span = tuple[int, int]


def _blocks(x: Any, blur: mollify.Blur, image_axes: int) -> Any:
    """A graph with one task for each block of the result, which takes the blocks of the source that it needs."""
    leading = x.ndim - image_axes
    plan = [pickle.dumps(blur), x.shape[leading:], x.dtype.name]
    windows = _windows(*plan)
    rows, columns = (_spans(chunks) for chunks in x.chunks[leading:leading + 2])
    name = f"pymollify-{tokenize(x.name, *plan)}"
    last = (0,) * (image_axes - 2)
    layer: dict[Any, Any] = {}
    for (i, (top, bottom)), (j, (left, right)) in itertools.product(enumerate(rows), enumerate(columns)):
        place = [top, left, bottom - top, right - left]
        rects = windows.source(*place)
        for before in np.ndindex(x.numblocks[:leading]):
            parts = [_part((x.name, *before), last, rows, columns, rect) for rect in rects]
            layer[(name, *before, i, j, *last)] = (_run, plan, parts, place)
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[x])
    array: Any = da.Array
    return array(graph, name, x.chunks, x.dtype)


def _part(name: tuple[Any, ...], last: tuple[int, ...], rows: Sequence[Span], columns: Sequence[Span], rect: Sequence[int]) -> list[Any]:
    """The blocks that cover a rectangle, row by row, where the first of them begins, and the rectangle."""
    y, x, height, width = rect
    down, along = _covering(rows, y, height), _covering(columns, x, width)
    return [[[(*name, r, c, *last) for c in along] for r in down], rows[down[0]][0], columns[along[0]][0], list(rect)]


def _spans(chunks: Sequence[int]) -> list[Span]:
    ends = list(itertools.accumulate(chunks))
    return list(zip([0, *ends[:-1]], ends))


def _covering(spans: Sequence[Span], first: int, extent: int) -> range:
    """The blocks that have a part of these elements."""
    firsts = [span[0] for span in spans]
    return range(bisect_right(firsts, first) - 1, bisect_left(firsts, first + extent))


@lru_cache(maxsize=16)
def _windows(blur: bytes, shape: tuple[int, ...], dtype: str) -> mollify.Windows:
    return mollify.Windows(pickle.loads(blur), shape, dtype)


def _run(plan: Sequence[Any], parts: Sequence[Any], place: Sequence[int]) -> Any:
    """Blurs one block, each of its images by itself. A worker plans once for all blocks."""
    windows = _windows(*plan)
    leading = parts[0][0][0][0].ndim - len(plan[1])
    sources = []
    for blocks, first_row, first_column, (y, x, height, width) in parts:
        whole = np.concatenate([np.concatenate(row, axis=leading + 1) for row in blocks], axis=leading)
        cut = (slice(None),) * leading + (slice(y - first_row, y - first_row + height), slice(x - first_column, x - first_column + width))
        sources.append((np.ascontiguousarray(whole[cut]), y, x))
    top, left, *size = place
    images = sources[0][0].shape[:leading]
    out = np.empty((*images, *size, *plan[1][2:]), plan[2])
    for image in np.ndindex(images):
        windows.run([(array[image], y, x) for array, y, x in sources], top, left, out[image])
    return out
