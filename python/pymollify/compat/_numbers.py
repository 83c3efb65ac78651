"""Which numbers a blur of another library's array is computed in, and how its results are stored."""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pymollify as mollify

AnyArray = NDArray[Any]

_FAST = {"bool", "uint8", "int8", "uint16", "int16", "float32"}  # float64 and integers of 32 bits are summed in float64 as they are
_TAKEN = _FAST | {"int32", "uint32", "float64"}


def can_hold(dtype: np.dtype[Any], value: float) -> bool:
    """Whether arrays of these numbers can hold this one."""
    if dtype.kind in "fc":
        return True
    if dtype.kind == "b":
        return value in (0.0, 1.0)
    return value == int(value) and bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)


def store(result: AnyArray, output: AnyArray) -> None:
    """Integers are rounded to the nearest and held within their range."""
    if output.dtype.kind == "b":
        output[...] = result >= 0.5
    elif output.dtype.kind in "iu":
        limits = np.iinfo(output.dtype)
        rounded = np.rint(result)
        output[...] = np.clip(rounded, limits.min, limits.max) if output.dtype.itemsize < 8 else rounded.astype(output.dtype)
    else:
        output[...] = result


def cut_off(result: AnyArray, output: AnyArray) -> None:
    """Stores numbers as a cast in C does: integers lose their fractions, and those that are too large their upper bits."""
    between = {1: np.int32, 2: np.int32, 4: np.int32 if output.dtype.kind == "i" else np.int64}
    with np.errstate(invalid="ignore"):
        is_narrow = output.dtype.kind in "iu" and output.dtype.itemsize in between
        output[...] = result.astype(between[output.dtype.itemsize] if is_narrow else output.dtype)


def blur_into(image: AnyArray, output: AnyArray, cval: float, blur: Callable[..., Any]) -> None:
    """Runs `blur(image, out=...)` in the array's own numbers if that is possible, else in float64."""
    if image.dtype == output.dtype and image.dtype.name in _TAKEN and image.dtype.isnative and can_hold(image.dtype, cval):
        blur(image, out=output)
    elif output.dtype == np.float64 and output.dtype.isnative and not np.may_share_memory(image, output):
        blur(image.astype(np.float64), out=output)
    else:
        store(blur(image.astype(np.float64)), output)


def sums_in_float64(image: AnyArray, weights: AnyArray, befores: Sequence[int], axes: Sequence[int], mode: str, cval: float) -> AnyArray:
    """A correlation. `befores` says which of the weights along each axis lies at the place of a result."""
    numbers = np.asarray(image, np.float64)
    # An odd number of weights along each axis has its place in the middle.
    longer = [max(before, size - 1 - before) for size, before in zip(weights.shape, befores)]
    pads = [(most - before, most - (size - 1 - before)) for most, size, before in zip(longer, weights.shape, befores)]
    centred = np.flip(np.pad(np.asarray(weights, np.float64), pads))
    if numbers.ndim == 0:
        return np.asarray(numbers * centred.reshape(()))
    wide = [i for i, size in enumerate(centred.shape) if size > 1] or [0]
    taps = centred.reshape([centred.shape[i] for i in wide])
    blur = mollify.separable if taps.ndim == 1 else mollify.convolve
    return blur(numbers, taps, axes=[axes[i] for i in wide], mode=mode, cval=cval)  # type: ignore[arg-type]
