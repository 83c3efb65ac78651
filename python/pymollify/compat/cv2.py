"""Filters of OpenCV, for arrays of (rows, columns) or (rows, columns, channels).

Sizes, sigmas, borders, anchors and numbers of results are OpenCV's. Integers are rounded to the nearest, as OpenCV does; weights are not
rounded to a few bits, as OpenCV does for bytes. With `exact=True` a Gaussian is not cut at `ksize`.
"""
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

import pymollify as mollify
from pymollify._core import convention, opencv_gaussian
from pymollify._types import Mode

from ._numbers import AnyArray, store, sums_in_float64

__all__ = ["GaussianBlur", "blur", "boxFilter", "sepFilter2D", "filter2D"]

BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT, BORDER_REFLECT_101, BORDER_ISOLATED = 0, 1, 2, 4, 16
_MODES: dict[int, Mode] = {BORDER_CONSTANT: "constant", BORDER_REPLICATE: "nearest", BORDER_REFLECT: "reflect",
                           BORDER_REFLECT_101: "mirror"}
_DEPTHS = (np.uint8, np.int8, np.uint16, np.int16, np.int32, np.float32, np.float64)  # by OpenCV's numbers: CV_8U is 0
_SOURCES = ("uint8", "uint16", "int16", "float32", "float64")

_OPENCV = convention("opencv")
BORDER_DEFAULT = next(border for border, mode in _MODES.items() if mode == _OPENCV.mode)
_ERROR_OF_BOXES = 0.0 if _OPENCV.has_exact_boxes else None


def GaussianBlur(src: AnyArray, ksize: Sequence[int], sigmaX: float, dst: AnyArray | None = None, sigmaY: float = 0,
                 borderType: int = BORDER_DEFAULT, hint: int = 0, *, exact: bool = False) -> AnyArray:
    """cv2.GaussianBlur. `hint` says how exact OpenCV's result must be; this one is more exact than any."""
    image = _source(src)
    ksize_of_x, ksize_of_y = (int(size) for size in ksize)
    sigmas, radii, weights = opencv_gaussian((ksize_of_x, ksize_of_y), (float(sigmaX), float(sigmaY)), image.dtype == np.uint8)
    result = _destination(image, image.dtype, dst)
    arguments: dict[str, Any] = {"axes": (0, 1), "mode": _mode(borderType), "out": result}
    if exact:
        mollify.gaussian(image, sigmas[::-1], **arguments)
    elif weights:
        mollify.separable(image, weights[::-1], **arguments)
    else:
        mollify.gaussian(image, sigmas[::-1], radius=radii[::-1], **arguments)
    return result


def blur(src: AnyArray, ksize: Sequence[int], dst: AnyArray | None = None, anchor: Sequence[int] = (-1, -1),
         borderType: int = BORDER_DEFAULT) -> AnyArray:
    """cv2.blur."""
    return boxFilter(src, -1, ksize, dst, anchor, True, borderType)


def boxFilter(src: AnyArray, ddepth: int, ksize: Sequence[int], dst: AnyArray | None = None, anchor: Sequence[int] = (-1, -1),
              normalize: bool = True, borderType: int = BORDER_DEFAULT) -> AnyArray:
    """cv2.boxFilter."""
    image = _source(src)
    columns, rows = (int(size) for size in ksize)
    befores = _befores((rows, columns), anchor)
    dtype = _numbers(ddepth, image)
    result = _destination(image, dtype, dst)
    if normalize and dtype == image.dtype:
        origins = [before - size // 2 for before, size in zip(befores, (rows, columns))]
        mollify.box(image, size=(rows, columns), origin=origins, axes=(0, 1), mode=_mode(borderType),
                    max_error=_ERROR_OF_BOXES, out=result)
        return result
    sums = _separable(image, np.ones(rows), np.ones(columns), befores, borderType)
    store(sums / (rows * columns) if normalize else sums, result)
    return result


def sepFilter2D(src: AnyArray, ddepth: int, kernelX: Any, kernelY: Any, dst: AnyArray | None = None, anchor: Sequence[int] = (-1, -1),
                delta: float = 0, borderType: int = BORDER_DEFAULT) -> AnyArray:
    """cv2.sepFilter2D."""
    image = _source(src)
    x, y = (np.asarray(kernel, np.float64).ravel() for kernel in (kernelX, kernelY))
    result = _destination(image, _numbers(ddepth, image), dst)
    store(_separable(image, y, x, _befores((y.size, x.size), anchor), borderType) + delta, result)
    return result


def filter2D(src: AnyArray, ddepth: int, kernel: Any, dst: AnyArray | None = None, anchor: Sequence[int] = (-1, -1), delta: float = 0,
             borderType: int = BORDER_DEFAULT) -> AnyArray:
    """cv2.filter2D."""
    image = _source(src)
    weights = np.asarray(kernel, np.float64)
    weights = weights[:, None] if weights.ndim == 1 else weights
    result = _destination(image, _numbers(ddepth, image), dst)
    befores = _befores(cast("tuple[int, int]", weights.shape), anchor)
    store(sums_in_float64(image, weights, befores, (0, 1), _mode(borderType), 0.0) + delta, result)
    return result


def _source(src: AnyArray) -> AnyArray:
    image = np.asarray(src)
    if image.ndim not in (2, 3) or image.dtype.name not in _SOURCES:
        raise TypeError(f"src: an array of 2 or 3 axes of {', '.join(_SOURCES)} is needed, not {image.ndim} axes of {image.dtype.name}")
    return image[:, :, 0] if image.ndim == 3 and image.shape[2] == 1 else image


def _numbers(ddepth: int, image: AnyArray) -> np.dtype[Any]:
    if not -1 <= ddepth < len(_DEPTHS):
        raise ValueError(f"ddepth: -1 to {len(_DEPTHS) - 1}, not {ddepth}")
    return image.dtype if ddepth == -1 else np.dtype(_DEPTHS[ddepth])


def _destination(image: AnyArray, dtype: np.dtype[Any], dst: AnyArray | None) -> AnyArray:
    """OpenCV writes to `dst` if it fits, and else to a new array."""
    return dst if dst is not None and dst.shape == image.shape and dst.dtype == dtype else np.empty(image.shape, dtype)


def _mode(border: int) -> Mode:
    mode = _MODES.get(border & ~BORDER_ISOLATED)
    if mode is None:
        raise ValueError(f"borderType: {border} is not supported")
    return mode


def _befores(sizes: tuple[int, int], anchor: Sequence[int]) -> list[int]:
    """How many rows and columns of the window lie before the anchor, which is of x and y."""
    out = [size // 2 if place == -1 else int(place) for size, place in zip(sizes, reversed(anchor))]
    if any(not 0 <= before < size for before, size in zip(out, sizes)):
        raise ValueError(f"anchor: {tuple(anchor)} lies outside the kernel")
    return out


def _separable(image: AnyArray, rows: AnyArray, columns: AnyArray, befores: Sequence[int], border: int) -> AnyArray:
    """Weights down columns and along rows. Beyond a constant border is 0."""
    mode = _mode(border)
    along = sums_in_float64(image, columns, befores[1:], (1,), mode, 0.0)
    return sums_in_float64(along, rows, befores[:1], (0,), mode, 0.0)
