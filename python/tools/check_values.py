"""A check of values that needs NumPy only, for Pythons where the tests cannot be installed: exits with 1 where something is wrong."""
import pickle
import platform
import sys

import numpy as np

import pymollify as mollify

SIGMA = 2.0


def exact(image):
    """In float64, beyond the edges the numbers at the edges."""
    radius = int(9 * SIGMA)
    weights = np.exp(-np.arange(-radius, radius + 1) ** 2 / (2 * SIGMA * SIGMA))
    weights /= weights.sum()
    out = np.pad(image.astype(np.float64), radius, mode="edge")
    for axis in range(image.ndim):
        out = np.apply_along_axis(np.convolve, axis, out, weights, "valid")
    return out


def wrong_kinds(shape):
    """Kinds of numbers whose results are farther from float64 than is promised."""
    numbers = np.random.default_rng(1).random(shape)
    for kind in (np.uint8, np.int8, np.uint16, np.int16, np.int32, np.uint32, np.float16, np.float32, np.float64):
        is_integer = np.dtype(kind).kind != "f"
        image = (numbers * 100 if is_integer else numbers).astype(kind)
        blur = mollify.Blur.gaussian(SIGMA)
        result = blur(image)
        rounding = 0.5 if is_integer else float(np.finfo(kind).eps) / 2
        error = abs(result.astype(np.float64) - exact(image)).max()
        is_right = error <= mollify.plan(blur, image).error + rounding and result.dtype == image.dtype
        is_right = is_right and np.array_equal(pickle.loads(pickle.dumps(blur))(image), result)
        is_right = is_right and np.array_equal(mollify.gaussian(image, SIGMA, threads=1, out=image), result)
        print(f"{np.dtype(kind).name} {shape}: {error:.2g}{'' if is_right else ', which is wrong'}")
        if not is_right:
            yield kind


print(f"Python {platform.python_version()} on {platform.machine()}, NumPy {np.__version__}")
found = [kind for shape in ((90, 101), (11, 20, 30)) for kind in wrong_kinds(shape)]
verified = mollify.verify(filter="box.any/6*")
print(verified)
sys.exit(1 if found or not verified.ok else 0)
