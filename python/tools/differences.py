"""Prints the tables of docs/coming-from.md: how far pymollify.compat, its peers and float64 are from each other.

Runs with the Python of tests/requirements.txt, and with Debian's python3 (--torchvision), which has Torch.
"""
import sys

import numpy as np

SHAPE = (300, 400)
SIGMA = 3.0


def image_of(dtype, shape=SHAPE):
    """White noise, the worst case: all numbers of integers up to 16 bits, 0 to 1 for floats."""
    generator = np.random.default_rng(1)
    if np.dtype(dtype).kind == "f":
        return generator.random(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def largest(a, b):
    return float(np.max(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))))


def row(name, dtype, theirs, mine, exact):
    cells = [name, np.dtype(dtype).name, *(f"{value:.2g}" for value in (largest(mine, theirs), largest(theirs, exact), largest(mine, exact)))]
    print("| " + " | ".join(cells) + " |")


def heading(peer):
    print(f"\n| {peer} | numbers | the two differ by | {peer} is off by | compat is off by |\n| --- | --- | --- | --- | --- |")


def scipy_rows():
    import scipy
    from scipy import ndimage

    from pymollify.compat import scipy as ours
    heading(f"SciPy {scipy.__version__}")
    weights = np.random.default_rng(2).random(7)
    weights /= weights.sum()
    calls = {"gaussian_filter": (SIGMA,), "gaussian_filter1d": (SIGMA,), "uniform_filter": (7,), "uniform_filter1d": (7,),
             "correlate1d": (weights,), "convolve1d": (weights,), "correlate": (np.outer(weights, weights),),
             "convolve": (np.outer(weights, weights),)}
    for name, arguments in calls.items():
        for dtype in (np.uint8, np.uint16, np.int32, np.float32, np.float64):
            source = image_of(dtype)
            function = getattr(ndimage, name)
            row(name, dtype, function(source, *arguments), getattr(ours, name)(source, *arguments),
                function(source.astype(np.float64), *arguments))


def opencv_rows():
    import cv2

    from pymollify.compat import cv2 as ours
    heading(f"OpenCV {cv2.__version__}")
    taps = np.random.default_rng(2).random(7)
    taps /= taps.sum()
    calls = {"GaussianBlur": ((19, 19), SIGMA), "blur": ((7, 7),), "boxFilter": (-1, (7, 7)), "sepFilter2D": (-1, taps, taps),
             "filter2D": (-1, np.outer(taps, taps))}
    for name, arguments in calls.items():
        for dtype in (np.uint8, np.uint16, np.int16, np.float32, np.float64):
            source = image_of(dtype)
            function = getattr(cv2, name)
            row(name, dtype, function(source, *arguments), getattr(ours, name)(source, *arguments),
                function(source.astype(np.float64), *arguments))


def skimage_rows():
    import skimage
    from scipy import ndimage
    from skimage.filters import gaussian

    from pymollify.compat import skimage as ours
    heading(f"scikit-image {skimage.__version__}")
    for dtype in (np.uint8, np.float32, np.float64):
        source = image_of(dtype)
        unit = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1.0
        row("gaussian", dtype, gaussian(source, SIGMA), ours.gaussian(source, SIGMA),
            ndimage.gaussian_filter(source.astype(np.float64) / unit, SIGMA, mode="nearest"))


def pillow_rows():
    import PIL
    from PIL import Image, ImageFilter
    from scipy import ndimage

    from pymollify.compat import PIL as ours
    heading(f"Pillow {PIL.__version__}")
    source = image_of(np.uint8)
    image = Image.fromarray(source)
    numbers = source.astype(np.float64)
    box = ndimage.uniform_filter(numbers, 7, mode="nearest")
    row("BoxBlur", np.uint8, image.filter(ImageFilter.BoxBlur(3)), image.filter(ours.BoxBlur(3)), box)
    theirs = image.filter(ImageFilter.GaussianBlur(SIGMA))
    exact = ndimage.gaussian_filter(numbers, SIGMA, mode="nearest", truncate=9.0)
    row("GaussianBlur", np.uint8, theirs, image.filter(ours.GaussianBlur(SIGMA)), exact)
    row("GaussianBlur, `exact=True`", np.uint8, theirs, image.filter(ours.GaussianBlur(SIGMA, exact=True)), exact)


def torchvision_rows():
    import torch
    import torchvision
    from torchvision.transforms.functional import gaussian_blur

    from pymollify.compat import torchvision as ours
    heading(f"torchvision {torchvision.__version__}")
    x = np.arange(-9, 10)
    weights = np.exp(-x * x / (2 * SIGMA * SIGMA))
    weights /= weights.sum()
    for dtype in (np.uint8, np.int16, np.float32, np.float64):
        source = image_of(dtype, (1, *SHAPE))
        padded = np.pad(source[0].astype(np.float64), 9, mode="reflect")
        rows = sum(w * padded[:, i:i + SHAPE[1]] for i, w in enumerate(weights))
        exact = sum(w * rows[i:i + SHAPE[0]] for i, w in enumerate(weights))
        tensor = torch.from_numpy(source)
        row("gaussian_blur", dtype, gaussian_blur(tensor, [19, 19], [SIGMA, SIGMA])[0],
            ours.gaussian_blur(tensor, [19, 19], [SIGMA, SIGMA])[0], exact)


if "--torchvision" in sys.argv:
    torchvision_rows()
else:
    for rows in (scipy_rows, opencv_rows, skimage_rows, pillow_rows):
        rows()
