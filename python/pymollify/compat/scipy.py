"""Filters of scipy.ndimage.

Signatures, defaults, borders and the cut of Gaussians are SciPy's. Integers are rounded once and to the nearest, where SciPy cuts off their
fractions after each axis. With `exact=True` a Gaussian is not cut at `truncate`.
"""
import numbers
import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

import pymollify as mollify
from pymollify._core import convention, truncated_radius

from ._numbers import AnyArray, blur_into, cut_off, sums_in_float64

_SCIPY = convention("scipy")
Output = Union[AnyArray, DTypeLike, None]
Mode = Union[str, Sequence[str]]

__all__ = ["gaussian_filter", "gaussian_filter1d", "uniform_filter", "uniform_filter1d", "correlate", "correlate1d", "convolve",
           "convolve1d"]


def gaussian_filter(input: ArrayLike, sigma: float | Sequence[float], order: int | Sequence[int] = 0, output: Output = None,
                    mode: Mode = _SCIPY.mode, cval: complex = 0.0, truncate: float = _SCIPY.truncate, *,
                    radius: int | Sequence[int] | None = None, axes: int | Sequence[int] | None = None, exact: bool = False) -> AnyArray:
    """scipy.ndimage.gaussian_filter."""
    image = np.asarray(input)
    places = _axes(axes, image.ndim)
    lists = zip(places, _per_axis(sigma, places), _per_axis(order, places), _per_axis(mode, places), _per_axis(radius, places))
    wanted = [(axis, float(s), n, _mode(m), _radius(s, truncate, r)) for axis, s, n, m, r in lists if s > 1e-15]
    result = _output(output, image)
    if not wanted:
        result[...] = image
        return result
    # A constant border stays what it is after each axis, which a derivative would make 0.
    is_split = cval != 0 and any(n > 0 for _, _, n, _, _ in wanted) and any(m == "constant" for *_, m, _ in wanted)
    for some in ([[one] for one in wanted] if is_split else [wanted]):
        _apply(image, result, cval, [one[3] for one in some], _gaussian(some, exact))
        image = result
    return result


def gaussian_filter1d(input: ArrayLike, sigma: float, axis: int = -1, order: int = 0, output: Output = None, mode: str = _SCIPY.mode,
                      cval: complex = 0.0, truncate: float = _SCIPY.truncate, *, radius: int | None = None, exact: bool = False
                      ) -> AnyArray:
    """scipy.ndimage.gaussian_filter1d."""
    return gaussian_filter(input, sigma, order, output, mode, cval, truncate, radius=radius, axes=axis, exact=exact)


def uniform_filter(input: ArrayLike, size: int | Sequence[int] = 3, output: Output = None, mode: Mode = _SCIPY.mode, cval: complex = 0.0,
                   origin: int | Sequence[int] = 0, *, axes: int | Sequence[int] | None = None) -> AnyArray:
    """scipy.ndimage.uniform_filter."""
    image = np.asarray(input)
    places = _axes(axes, image.ndim)
    lists = zip(places, _per_axis(size, places), _per_axis(origin, places), _per_axis(mode, places))
    wanted = [(axis, int(n), o, _mode(m)) for axis, n, o, m in lists if n > 1]
    for _, n, o, _ in wanted:
        if not 0 <= n // 2 + o < n:
            raise ValueError("invalid origin")
    result = _output(output, image)
    if not wanted:
        result[...] = image
        return result
    some, sizes, origins, modes = zip(*wanted)
    _apply(image, result, cval, modes, lambda x, out, v: mollify.box(x, size=sizes, origin=origins, axes=some, mode=modes, cval=v, out=out))
    return result


def uniform_filter1d(input: ArrayLike, size: int, axis: int = -1, output: Output = None, mode: str = _SCIPY.mode, cval: complex = 0.0,
                     origin: int = 0) -> AnyArray:
    """scipy.ndimage.uniform_filter1d."""
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return uniform_filter(input, size, output, mode, cval, origin, axes=axis)


def correlate1d(input: ArrayLike, weights: ArrayLike, axis: int = -1, output: Output = None, mode: str = _SCIPY.mode, cval: complex = 0.0,
                origin: int = 0) -> AnyArray:
    """scipy.ndimage.correlate1d."""
    return _correlate(np.asarray(input), np.asarray(weights).conj(), (origin,), _axes(axis, np.ndim(input)), output, mode, cval)


def convolve1d(input: ArrayLike, weights: ArrayLike, axis: int = -1, output: Output = None, mode: str = _SCIPY.mode, cval: complex = 0.0,
               origin: int = 0) -> AnyArray:
    """scipy.ndimage.convolve1d."""
    taps = np.asarray(weights)
    return _correlate(np.asarray(input), *_flipped(taps, (origin,)), _axes(axis, np.ndim(input)), output, mode, cval)


def correlate(input: ArrayLike, weights: ArrayLike, output: Output = None, mode: str = _SCIPY.mode, cval: complex = 0.0,
              origin: int | Sequence[int] = 0, *, axes: int | Sequence[int] | None = None) -> AnyArray:
    """scipy.ndimage.correlate."""
    places, origins = _sorted(axes, origin, np.ndim(input))
    return _correlate(np.asarray(input), np.asarray(weights).conj(), origins, places, output, mode, cval)


def convolve(input: ArrayLike, weights: ArrayLike, output: Output = None, mode: str = _SCIPY.mode, cval: complex = 0.0,
             origin: int | Sequence[int] = 0, *, axes: int | Sequence[int] | None = None) -> AnyArray:
    """scipy.ndimage.convolve."""
    places, given = _sorted(axes, origin, np.ndim(input))
    taps, origins = _flipped(np.asarray(weights), given)
    return _correlate(np.asarray(input), taps, origins, places, output, mode, cval)


def _axes(axes: int | Sequence[int] | None, dimensions: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(dimensions))
    given = tuple(operator.index(axis) for axis in (axes if isinstance(axes, Iterable) else (axes,)))
    for axis in given:
        if not -dimensions <= axis < dimensions:
            raise ValueError(f"specified axis: {axis} is out of range")
    out = tuple(axis % dimensions for axis in given)
    if len(set(out)) != len(out):
        raise ValueError("axes must be unique")
    return out


def _per_axis(value: Any, axes: Sequence[int]) -> list[Any]:
    """One value for each axis, from a list of them or from one for all."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [value] * len(axes)
    values: list[Any] = list(value)
    if len(values) != len(axes):
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def _sorted(axes: int | Sequence[int] | None, origin: int | Sequence[int], dimensions: int) -> tuple[list[int], list[int]]:
    """The axes of weights, which lie in the order of the array's axes whatever the order of `axes` is, and their origins."""
    places = _axes(axes, dimensions)
    pairs = sorted(zip(places, _per_axis(origin, places)))
    return [axis for axis, _ in pairs], [value for _, value in pairs]


def _mode(mode: str) -> str:
    if mode not in ("nearest", "wrap", "reflect", "grid-mirror", "mirror", "constant", "grid-wrap", "grid-constant"):
        raise RuntimeError("boundary mode not supported")
    return mode


def _radius(sigma: float, truncate: float, radius: int | None) -> int:
    if radius is None:
        return truncated_radius(float(sigma), truncate)
    if not isinstance(radius, numbers.Integral) or radius < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    return int(radius)


def _output(output: Output, image: AnyArray, is_complex: bool = False) -> AnyArray:
    """The array that `output` asks for."""
    if image.dtype == np.float16:
        raise RuntimeError("array type float16 is not SciPy's; pymollify.gaussian and others take it")
    is_complex = is_complex or image.dtype.kind == "c"
    if output is None:
        return np.empty(image.shape, np.promote_types(image.dtype, np.complex64) if is_complex else image.dtype)
    if isinstance(output, np.ndarray) or not isinstance(output, (type, np.dtype, str)):
        array = np.asarray(output)
        if array.shape != image.shape:
            raise RuntimeError("output shape not correct")
        if is_complex and array.dtype.kind != "c":
            raise RuntimeError("output must have complex dtype")
        return array
    dtype = np.dtype(output)
    if isinstance(output, str) and dtype.kind not in "iufc":
        raise RuntimeError("output must have numeric dtype")
    if is_complex and dtype.kind != "c":
        if isinstance(output, str):
            raise RuntimeError("output must have complex dtype")
        warnings.warn("promoting specified output dtype to complex", stacklevel=3)
        dtype = np.promote_types(dtype, np.complex64)
    return np.empty(image.shape, dtype)


def _gaussian(wanted: Sequence[tuple[int, float, int, str, int]], exact: bool) -> Callable[[AnyArray, AnyArray | None, float], AnyArray]:
    axes, sigmas, orders, modes, radii = zip(*wanted)
    radius = None if exact else radii
    max_error = 0.0 if any(orders) else None  # errors are relative to the image, and derivatives are much smaller
    return lambda x, out, v: mollify.gaussian(x, sigmas, order=orders, radius=radius, axes=axes, mode=modes, cval=v, max_error=max_error,
                                              out=out)


def _apply(image: AnyArray, output: AnyArray, cval: complex, modes: Sequence[str],
           blur: Callable[[AnyArray, AnyArray | None, float], AnyArray]) -> None:
    """`blur(image, out, cval)` on real numbers, and on both parts of complex ones."""
    border = complex(cval) if any(mode.endswith("constant") for mode in modes) else 0j
    if output.dtype.kind == "c":
        for a, b, v in ((image.real, output.real, border.real), (image.imag, output.imag, border.imag)):
            blur_into(a, b, v, lambda x, out=None, v=v: blur(x, out, v))
    else:
        blur_into(image, output, border.real, lambda x, out=None: blur(x, out, border.real))


def _flipped(weights: AnyArray, origins: Sequence[int]) -> tuple[AnyArray, list[int]]:
    """The weights of the correlation that is this convolution."""
    return np.flip(weights), [-origin - (size % 2 == 0) for origin, size in zip(origins, weights.shape)]


def _correlate(image: AnyArray, weights: AnyArray, origins: Sequence[int], axes: Sequence[int], output: Output, mode: str, cval: complex
               ) -> AnyArray:
    """In float64, and cut off towards zero for integers, as SciPy does."""
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported")
    border = complex(cval) if _mode(mode).endswith("constant") else 0j
    if image.dtype.kind != "c" and border.imag:
        raise TypeError("cval of an array of real numbers must be real")
    if weights.size == 0 or weights.ndim != len(axes):
        raise RuntimeError(f"no filter weights given, or weights.ndim ({weights.ndim}) must match len(axes) ({len(axes)})")
    for size, origin in zip(weights.shape, origins):
        if not 0 <= size // 2 + origin < size:
            raise ValueError("Invalid origin; it must lie within the weights")
    result = _output(output, image, weights.dtype.kind == "c")

    def sums(numbers: AnyArray, taps: AnyArray, v: float) -> AnyArray:
        befores = [size // 2 + origin for size, origin in zip(taps.shape, origins)]
        return sums_in_float64(numbers, taps, befores, axes, mode, v)

    if result.dtype.kind != "c":
        cut_off(sums(image, weights, border.real), result)
        return result
    real = sums(image.real, weights.real, border.real)
    imaginary = np.zeros_like(real)
    if image.dtype.kind == "c":
        imaginary += sums(image.imag, weights.real, border.imag)
    if weights.dtype.kind == "c":
        imaginary += sums(image.real, weights.imag, border.real)
        if image.dtype.kind == "c":
            real -= sums(image.imag, weights.imag, border.imag)
    result.real, result.imag = real, imaginary
    return result
