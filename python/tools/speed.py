"""Prints tables of docs/python.md: milliseconds of Gaussians of 4096x4096 pixels, two threads each, all libraries in turns.

    speed.py 1 3 10 40                           these sigmas
    speed.py --only pymollify,libvips,kornia-rs  some libraries; the last two need pyvips and kornia-rs
    speed.py --volume                            512x512x512 numbers of float32, sigma 3 on all axes, with ITK where it is installed
    speed.py --call                              what a call costs: microseconds of processor time for 16x16 numbers

Beside each time is the largest error, against the Gaussian that is not cut, in float64: in grey levels, and for floats relative.
"""
import argparse
import importlib
import os
import threading
import time

THREADS = 2
os.environ.setdefault("VIPS_CONCURRENCY", str(THREADS))
os.environ.setdefault("RAYON_NUM_THREADS", str(THREADS))  # kornia-rs

import cv2
import numpy as np
from PIL import Image, ImageFilter
from scipy import ndimage
from skimage.filters import gaussian as skimage_gaussian

import pymollify as mollify
from pymollify.compat import scipy as compat

SIDE = 4096
VOLUME = 512
ROUNDS = 5
PATIENCE = 1.5  # seconds: what takes longer is timed twice only


def installed(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def libvips(image, sigma):
    """Its weights of bytes are integers, and all end where they are below a fifth of the middle one."""
    pyvips = installed("pyvips")
    precision = "integer" if image.dtype == np.uint8 else "float"
    whole = pyvips.Image.new_from_memory(image, image.shape[1], image.shape[0], image.shape[2] if image.ndim == 3 else 1,
                                         {"uint8": "uchar", "float32": "float"}[image.dtype.name])
    return lambda: whole.gaussblur(sigma, precision=precision).numpy()


def kornia(image, sigma):
    """It has no width of its own; this one is OpenCV's for bytes."""
    size = round(6 * sigma + 1) | 1
    imgproc = importlib.import_module("kornia_rs.imgproc")
    return lambda: imgproc.gaussian_blur(image, (size, size), (sigma, sigma))


def libraries(image, sigma):
    """Functions without arguments, each at its own cut."""
    is_colour = image.ndim == 3
    out = np.empty_like(image)
    axes = (0, 1)
    yield "pymollify", lambda: mollify.gaussian(image, sigma, axes=axes, threads=THREADS, out=out)
    yield "`compat.scipy`", lambda: compat.gaussian_filter(image, sigma, axes=axes, mode="nearest", output=out)
    yield "OpenCV", lambda: cv2.GaussianBlur(image, (0, 0), sigma, dst=out, borderType=cv2.BORDER_REPLICATE)
    yield "SciPy", lambda: ndimage.gaussian_filter(image, sigma, axes=axes, mode="nearest", output=out)
    if installed("pyvips"):
        yield "libvips", libvips(image, sigma)
    if is_colour:
        picture = Image.fromarray(image)
        if installed("kornia_rs"):
            yield "kornia-rs", kornia(image, sigma)
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


def errors_of(dtype, channels, sigma, only):
    side = max(200, int(sigma * 10))
    image = image_of(dtype, side, channels)
    exact = ndimage.gaussian_filter(image.astype(np.float64), sigma, axes=(0, 1), mode="nearest", truncate=9.0)
    return {name: float(abs(np.asarray(call()).astype(np.float64) - exact).max()) for name, call in chosen(image, sigma, only).items()}


def image_of(dtype, side, channels):
    generator = np.random.default_rng(1)
    shape = (side, side, channels) if channels > 1 else (side, side)
    return generator.integers(0, 256, shape, dtype=np.uint8) if dtype == np.uint8 else generator.random(shape, dtype=np.float32)


def chosen(image, sigma, only):
    return {name: call for name, call in libraries(image, sigma) if not only or name.strip("`") in only}


def images(sigmas, only):
    cv2.setNumThreads(THREADS)
    for dtype, channels, title in ((np.uint8, 4, "uint8, 4 channels"), (np.float32, 1, "float32, 1 channel")):
        image = image_of(dtype, SIDE, channels)
        for number, sigma in enumerate(sigmas):
            times = seconds_of(chosen(image, sigma, only))
            errors = errors_of(dtype, channels, sigma, only)
            if number == 0:
                print(f"\n| {title} | " + " | ".join(times) + " |\n" + "| --- " * (len(times) + 1) + "|")
            cells = [f"{times[name] * 1e3:.0f} ({errors[name]:.2g})" for name in times]
            print(f"| sigma {sigma:g} | " + " | ".join(cells) + " |", flush=True)


def copy_by_threads(image, out):
    half = len(image) // 2
    other = threading.Thread(target=np.copyto, args=(out[:half], image[:half]))
    other.start()
    np.copyto(out[half:], image[half:])
    other.join()


def volumes(image, sigma):
    out = np.zeros_like(image)
    yield "copy", lambda: copy_by_threads(image, out)
    yield "pymollify", lambda: mollify.gaussian(image, sigma, threads=THREADS, out=out)
    yield "`compat.scipy`", lambda: compat.gaussian_filter(image, sigma, mode="nearest", output=out)
    yield "SciPy", lambda: ndimage.gaussian_filter(image, sigma, mode="nearest", output=out)
    itk = installed("itk")
    if itk:
        itk.MultiThreaderBase.SetGlobalDefaultNumberOfThreads(THREADS)
        view = itk.image_view_from_array(image)
        yield "ITK, recursive", lambda: itk.smoothing_recursive_gaussian_image_filter(view, sigma=sigma)


def volume(sigma):
    times = seconds_of(dict(volumes(np.random.default_rng(1).random((VOLUME,) * 3, dtype=np.float32), sigma)))
    small = np.random.default_rng(2).random((90,) * 3, dtype=np.float32)
    exact = ndimage.gaussian_filter(small.astype(np.float64), sigma, mode="nearest", truncate=9.0)
    errors = {name: float(abs(np.array(call()) - exact).max()) for name, call in volumes(small, sigma) if name != "copy"}
    print("| " + " | ".join(times) + " |\n" + "| --- " * len(times) + "|")
    print("| " + " | ".join(f"{times[name] * 1e3:.0f}" + (f" ({errors[name]:.2g})" if name in errors else "") for name in times) + " |")


def microseconds(call):
    """Of this thread, which blurs by itself."""
    count, least = 4000, float("inf")
    for _ in range(30):
        started = time.thread_time()
        for _ in range(count):
            call()
        least = min(least, (time.thread_time() - started) / count)
    return least * 1e6


def calls():
    sigma = 2.0
    print("| | the blur itself | `gaussian(image, 2.0)` | with `out=` | a `Blur` | with `out=` |\n" + "| --- " * 6 + "|")
    for dtype in (np.uint8, np.float32):
        image = image_of(dtype, 16, 1)
        out = np.empty_like(image)
        blur = mollify.Blur.gaussian(sigma, threads=1)
        times = [min(mollify.bench(blur, image, seconds=0.1)[0].spread[0] for _ in range(10)) * 1e6]
        for call in (lambda: mollify.gaussian(image, sigma, threads=1), lambda: mollify.gaussian(image, sigma, threads=1, out=out),
                     lambda: blur(image), lambda: blur(image, out=out)):
            times.append(microseconds(call))
        print(f"| {np.dtype(dtype).name} | " + " | ".join(f"{each:.1f}" for each in times) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sigmas", nargs="*", type=float, default=[1.0, 3.0, 10.0, 40.0])
    parser.add_argument("--only", default="")
    parser.add_argument("--volume", action="store_true")
    parser.add_argument("--call", action="store_true")
    arguments = parser.parse_args()
    if arguments.volume:
        volume(3.0)
    elif arguments.call:
        calls()
    else:
        images(arguments.sigmas, [name for name in arguments.only.split(",") if name])


main()
