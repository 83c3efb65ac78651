"""The Gaussian of skimage.filters, cut where scikit-image cuts it. With `exact=True` it is not cut."""
from collections.abc import Sequence
from typing import Any

import numpy as np

import pymollify as mollify
from pymollify._core import convention

from ._numbers import AnyArray

__all__ = ["gaussian"]

_SKIMAGE = convention("skimage")


def gaussian(image: Any, sigma: float | Sequence[float] = 1.0, *, mode: str = _SKIMAGE.mode, cval: float = 0, preserve_range: bool = False,
             truncate: float = _SKIMAGE.truncate, channel_axis: int | None = None, out: AnyArray | None = None, exact: bool = False
             ) -> AnyArray:
    """skimage.filters.gaussian. The result is float32 for float16 and float32, else float64."""
    if np.any(np.asarray(sigma) < 0.0):
        raise ValueError("Sigma values less than zero are not valid")
    numbers = _as_float(np.asarray(image), preserve_range)
    if out is not None and out.dtype.kind != "f":
        raise ValueError(f"dtype of `out` must be float; got {out.dtype!r}.")
    is_direct = out is not None and out.dtype == numbers.dtype
    result = mollify.gaussian(numbers, sigma, mode=mode, cval=cval, truncate=None if exact else truncate,  # type: ignore[arg-type]
                              channel_axis=channel_axis, out=out if is_direct else None)
    if out is None or is_direct:
        return result
    out[...] = result
    return out


def _as_float(image: AnyArray, preserve_range: bool) -> AnyArray:
    """Integers stand for 0 to 1, or for -1 to 1, unless their range is preserved."""
    if image.dtype.kind == "f":
        return image.astype(np.float32 if image.dtype.itemsize <= 4 else np.float64, copy=False)
    numbers = image.astype(np.float64)
    if preserve_range or image.dtype.kind not in "iu":
        return numbers
    numbers /= np.iinfo(image.dtype).max
    return np.maximum(numbers, -1.0, out=numbers)
