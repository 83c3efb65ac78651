"""Prints a table of docs/python.md: milliseconds of Gaussians of 4096x4096 pixels, two threads each, all libraries in turns.

Beside each time is the largest error, against the Gaussian that is not cut, in float64: in grey levels, and for floats relative.
"""
import sys
import time

import cv2
import numpy as np
from PIL import Image, ImageFilter
from scipy import ndimage
from skimage.filters import gaussian as skimage_gaussian

import pymollify as mollify
from pymollify.compat import scipy as compat

SIDE = 4096
THREADS = 2
ROUNDS = 5
PATIENCE = 1.5  # seconds: what takes longer is timed twice only


def libraries(image, sigma):
    """Functions without arguments, each at its own cut."""
    is_colour = image.ndim == 3
    out = np.empty_like(image)
    axes = (0, 1)
    yield "pymollify", lambda: mollify.gaussian(image, sigma, axes=axes, threads=THREADS, out=out)
    yield "`compat.scipy`", lambda: compat.gaussian_filter(image, sigma, axes=axes, mode="nearest", output=out)
    yield "OpenCV", lambda: cv2.GaussianBlur(image, (0, 0), sigma, dst=out, borderType=cv2.BORDER_REPLICATE)
    yield "SciPy", lambda: ndimage.gaussian_filter(image, sigma, axes=axes, mode="nearest", output=out)
    if is_colour:
        picture = Image.fromarray(image)
        yield "Pillow", lambda: np.asarray(picture.filter(ImageFilter.GaussianBlur(sigma)))
    else:
        yield "scikit-image", lambda: skimage_gaussian(image, sigma)


def seconds_of(calls):
    """The median of each, in turns."""
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            if len(times[name]) >= 2 and min(times[name]) > PATIENCE:
                continue
            started = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - started)
    return {name: float(np.median(some)) for name, some in times.items()}


def errors_of(dtype, channels, sigma):
    side = max(200, int(sigma * 10))
    image = image_of(dtype, side, channels)
    exact = ndimage.gaussian_filter(image.astype(np.float64), sigma, axes=(0, 1), mode="nearest", truncate=9.0)
    return {name: float(abs(np.asarray(call()).astype(np.float64) - exact).max()) for name, call in libraries(image, sigma)}


def image_of(dtype, side, channels):
    generator = np.random.default_rng(1)
    shape = (side, side, channels) if channels > 1 else (side, side)
    return generator.integers(0, 256, shape, dtype=np.uint8) if dtype == np.uint8 else generator.random(shape, dtype=np.float32)


def main(sigmas):
    cv2.setNumThreads(THREADS)
    for dtype, channels, title in ((np.uint8, 4, "uint8, 4 channels"), (np.float32, 1, "float32, 1 channel")):
        image = image_of(dtype, SIDE, channels)
        for number, sigma in enumerate(sigmas):
            times = seconds_of(dict(libraries(image, sigma)))
            errors = errors_of(dtype, channels, sigma)
            if number == 0:
                print(f"\n| {title} | " + " | ".join(times) + " |\n" + "| --- " * (len(times) + 1) + "|")
            cells = [f"{times[name] * 1e3:.0f} ({errors[name]:.2g})" for name in times]
            print(f"| sigma {sigma:g} | " + " | ".join(cells) + " |", flush=True)


main([float(sigma) for sigma in sys.argv[1:]] or [1.0, 3.0, 10.0, 40.0])
