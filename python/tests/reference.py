"""Every blur in float64 by SciPy, from weights that are computed here."""
import math

import numpy as np
from scipy import ndimage


def gaussian_weights(sigma, radius=None, truncate=None):
    if sigma == 0:
        return np.ones(1)
    if truncate is not None:
        radius = math.floor(truncate * sigma + 0.5)
    if radius is None:
        radius = math.ceil(9 * sigma) + 1
    x = np.arange(-radius, radius + 1, dtype=float)
    weights = np.exp(-x * x / (2 * sigma * sigma))
    return weights / weights.sum()


def box_weights(radius):
    whole = math.ceil(radius)
    weights = np.ones(2 * whole + 1)
    if whole:
        weights[0] = weights[-1] = radius - (whole - 1)
    return weights / weights.sum()


def tent_weights(radius):
    x = np.arange(-math.ceil(radius), math.ceil(radius) + 1)
    weights = np.maximum(0, radius + 1 - abs(x))
    return weights / weights.sum()


def convolve_axis(image, weights, axis, mode, cval=0.0, before=None):
    """out(i) is the sum of weights[m] * image(i - (m - before)), where `before` is the middle, or after the middle."""
    weights = np.asarray(weights, dtype=float)
    before = len(weights) // 2 if before is None else before
    # Odd lengths with their centre in the middle leave SciPy no choice of where it is.
    padded = np.zeros(2 * max(before, len(weights) - 1 - before) + 1)
    start = len(padded) // 2 - before
    padded[start : start + len(weights)] = weights
    return ndimage.correlate1d(image, padded[::-1], axis=axis, mode=mode, cval=cval)


def gaussian(image, sigmas, axes, mode):
    out = image.astype(float)
    for sigma, axis in zip(sigmas, axes):
        out = convolve_axis(out, gaussian_weights(sigma), axis, mode)
    return out


def half_step(exact, dtype):
    """Half the distance of the numbers around the exact ones."""
    if np.issubdtype(dtype, np.integer):
        return 0.5
    if dtype.name == "bfloat16":
        return np.ldexp(1.0, np.frexp(exact)[1] - 9)
    return np.spacing(abs(exact).astype(dtype)).astype(float) / 2


def worst_error(result, exact, cval=0.0, gain=1.0, source=None):
    """The largest error in the units of max_error, beyond the half step that rounding costs."""
    if result.dtype == bool:
        # How far an exact number is on the other side of the threshold.
        return np.max(np.where(result, 0.5 - exact, exact - 0.5))
    if np.issubdtype(result.dtype, np.integer):
        exact = np.clip(exact, np.iinfo(result.dtype).min, np.iinfo(result.dtype).max)
        scale = 1.0
    else:
        scale = max(abs(source.astype(float)).max(), abs(cval)) * gain or 1.0
    return np.max((abs(result.astype(float) - exact) - half_step(exact, result.dtype)) / scale)
