"""Filters of PIL.ImageFilter, for `image.filter()`.

As in Pillow, a GaussianBlur is three boxes along each axis, and bytes are rounded after each. With `exact=True` it is the true Gaussian.
"""
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

import pymollify as mollify

__all__ = ["BoxBlur", "GaussianBlur"]

_MODES = ("L", "LA", "La", "RGB", "RGBA", "RGBa", "RGBX", "CMYK")


class _Blur(ImageFilter.MultibandFilter):
    """A filter by radii of x and y."""

    def __init__(self, radius: float | Sequence[float]) -> None:
        x, y = radius if isinstance(radius, Sequence) else (radius, radius)
        if x < 0 or y < 0:
            raise ValueError("radius must be >= 0")
        self.radius = radius
        self._radii = (float(x), float(y))

    def filter(self, image: Any) -> Any:
        """Called by `Image.filter()` with its pixels."""
        if image.mode not in _MODES:
            raise ValueError("image has wrong mode")
        whole = Image.new(image.mode, (0, 0))._new(image)
        if 0 in whole.size:
            return whole.copy().im
        pixels = np.array(whole)
        self._blur(pixels)
        return Image.frombytes(image.mode, whole.size, pixels.tobytes()).im

    def _blur(self, pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        raise NotImplementedError


class BoxBlur(_Blur):
    """PIL.ImageFilter.BoxBlur."""

    name = "BoxBlur"

    def _blur(self, pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        _boxes(pixels, self._radii, 1)


class GaussianBlur(_Blur):
    """PIL.ImageFilter.GaussianBlur. Its radius is the standard deviation."""

    name = "GaussianBlur"

    def __init__(self, radius: float | Sequence[float] = 2, *, exact: bool = False) -> None:
        super().__init__(radius)
        self.exact = exact

    def _blur(self, pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        if self.exact:
            mollify.gaussian(pixels, self._radii[::-1], axes=(0, 1), out=pixels)
        else:
            _boxes(pixels, [_box_radius(sigma, _PASSES) for sigma in self._radii], _PASSES)


_PASSES = 3


def _box_radius(sigma: float, passes: int) -> float:
    """The radius of the box that has the variance of the Gaussian after so many passes, its outermost pixels weighed by a fraction."""
    variance = sigma * sigma / passes
    whole = math.floor((math.sqrt(12.0 * variance + 1.0) - 1.0) / 2.0)
    fraction = (2 * whole + 1) * (whole * (whole + 1) - 3.0 * variance) / (6.0 * (variance - (whole + 1) ** 2))
    return whole + fraction


def _boxes(pixels: np.ndarray[Any, np.dtype[np.uint8]], radii: Sequence[float], passes: int) -> None:
    """In place: so many boxes along x, then along y."""
    for axis, radius in zip((1, 0), radii):
        for _ in range(passes if radius > 0 else 0):
            mollify.box(pixels, radius, axes=axis, max_error=0, out=pixels)
