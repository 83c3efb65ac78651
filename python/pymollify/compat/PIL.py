"""Filters of PIL.ImageFilter, for `image.filter()`.

As in Pillow, a GaussianBlur is three boxes along each axis, and bytes are rounded after each. With `exact=True` it is the true Gaussian.
"""
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

import pymollify as mollify
from pymollify._core import box_radius, convention

__all__ = ["BoxBlur", "GaussianBlur"]

_PILLOW = convention("pillow")
_ERROR_OF_BOXES = 0.0 if _PILLOW.has_exact_boxes else None
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
            mollify.gaussian(pixels, self._radii[::-1], axes=(0, 1), mode=_PILLOW.mode, out=pixels)
        else:
            passes = _PILLOW.gaussian_boxes
            _boxes(pixels, [box_radius(sigma, passes) for sigma in self._radii], passes)


def _boxes(pixels: np.ndarray[Any, np.dtype[np.uint8]], radii: Sequence[float], passes: int) -> None:
    """In place: so many boxes along x, then along y."""
    for axis, radius in zip((1, 0), radii):
        for _ in range(passes if radius > 0 else 0):
            mollify.box(pixels, radius, axes=axis, mode=_PILLOW.mode, max_error=_ERROR_OF_BOXES, out=pixels)
