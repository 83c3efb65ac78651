"""pymollify.compat compared with the libraries whose functions it has: random cases, with the installed library as oracle."""
import os
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
import skimage.filters
from PIL import Image, ImageFilter
from scipy import ndimage

from pymollify._core import box_radius
from pymollify.compat import PIL as our_pil
from pymollify.compat import cv2 as our_cv2
from pymollify.compat import scipy as our_scipy
from pymollify.compat import skimage as our_skimage
from pymollify.compat import torchvision as our_torchvision

SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's has Torch
# How far a result of integers may be from the exact one.
FROM_EXACT = {np.uint8: 0.5 + 0.125, np.uint16: 0.5 + 6.6, np.int16: 0.5 + 6.6}


def random_image(generator, dtype, shape):
    if np.issubdtype(dtype, np.floating):
        return generator.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def cv2_call(generator):
    """A function of OpenCV and its arguments after the image."""
    border = int(generator.choice([cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT_101]))
    odd = [2 * int(n) + 1 for n in generator.integers(0, 10, 2)]
    any_size = [int(n) for n in generator.integers(1, 12, 2)]
    anchor = [int(generator.integers(-1, n)) for n in any_size]
    name = generator.choice(["GaussianBlur", "blur", "boxFilter", "sepFilter2D", "filter2D"])
    if name == "GaussianBlur":
        sigma = float(generator.choice([0.0, 0.7, 1.5, 4.0]))
        return name, [[0, 0] if sigma > 0 and generator.random() < 0.3 else odd, sigma], {"borderType": border,
                                                                                         "sigmaY": float(generator.choice([0.0, 2.0]))}
    if name == "blur":
        return name, [any_size], {"anchor": anchor, "borderType": border}
    if name == "boxFilter":
        return name, [-1, any_size], {"anchor": anchor, "normalize": bool(generator.integers(2)), "borderType": border}
    taps = [generator.standard_normal(n) / n for n in any_size]
    if name == "sepFilter2D":
        return name, [-1, *taps], {"anchor": anchor, "delta": 1.5, "borderType": border}
    return name, [-1, np.outer(taps[1], taps[0])], {"anchor": anchor, "delta": 1.5, "borderType": border}


def largest_difference(name, dtype):
    """Between OpenCV and pymollify, for images whose numbers have magnitudes of about 1 or are integers."""
    if dtype == np.float64:
        return 1e-11
    if dtype == np.float32:
        return 2e-4
    return 2 if name == "GaussianBlur" else 1  # OpenCV has weights of 8 and 16 bits


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32, np.float64])
def test_opencv(dtype):
    generator = np.random.default_rng(np.dtype(dtype).num)
    for _ in range(100):
        channels = int(generator.integers(1, 5))
        shape = [*generator.integers(1, 60, 2), *([channels] if channels > 1 else [])]
        image = random_image(generator, dtype, shape)
        name, arguments, named = cv2_call(generator)
        theirs = getattr(cv2, name)(image, *arguments, **named)
        mine = getattr(our_cv2, name)(image, *arguments, **named)
        case = (name, shape, arguments, named)
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, case
        # OpenCV's weights for u16 have an error of 2^-17 each, so a result is off by up to 1 more where there are many.
        assert abs(mine.astype(float) - theirs).max() <= largest_difference(name, dtype) + (dtype == np.uint16), case
        if dtype in FROM_EXACT and arguments[0] != [0, 0]:
            limits = np.iinfo(dtype)
            exact = np.clip(getattr(cv2, name)(image.astype(float), *arguments, **named), limits.min, limits.max)
            assert abs(mine - exact).max() <= FROM_EXACT[dtype], case


@pytest.mark.parametrize("dtype, sigmas_on_both_sides", [(np.uint8, 6), (np.uint16, 8), (np.float32, 8)])
def test_opencv_ends_gaussians_of_bytes_sooner(dtype, sigmas_on_both_sides):
    """Blocks of random brightness have all distances from an edge, where the end of the Gaussian shows."""
    blocks = np.random.default_rng(12).integers(0, 256, (6, 8)).astype(float) * (1 if dtype == np.uint8 else 257)
    image = np.kron(blocks, np.ones((50, 50))).astype(dtype)
    for sigma in (2.0, 5.0, 11.3):
        size = round(sigmas_on_both_sides * sigma + 1) | 1
        assert np.array_equal(cv2.GaussianBlur(image, (0, 0), sigma), cv2.GaussianBlur(image, (size, size), sigma))
        exact = cv2.GaussianBlur(image.astype(float), (size, size), sigma)
        assert abs(our_cv2.GaussianBlur(image, (0, 0), sigma) - exact).max() <= FROM_EXACT.get(dtype, 2e-5 * 65535), sigma


@pytest.mark.parametrize("source, ddepth",
                         [(np.uint8, cv2.CV_16S), (np.uint8, cv2.CV_32F), (np.uint8, cv2.CV_64F), (np.uint16, cv2.CV_32F)])
def test_opencv_results_of_other_numbers(source, ddepth):
    image = random_image(np.random.default_rng(2), source, (30, 40, 3))
    kernel = np.random.default_rng(3).standard_normal((3, 5))
    for name, arguments in [("boxFilter", [(3, 5)]), ("filter2D", [kernel]), ("sepFilter2D", [kernel[0], kernel[:, 0]])]:
        theirs = getattr(cv2, name)(image, ddepth, *arguments)
        mine = getattr(our_cv2, name)(image, ddepth, *arguments)
        assert mine.dtype == theirs.dtype
        assert np.allclose(mine, theirs, atol=1 if theirs.dtype.kind == "i" else 0.05)


def test_opencv_dst_and_refusals():
    image = random_image(np.random.default_rng(4), np.uint8, (20, 30))
    dst = np.zeros_like(image)
    assert our_cv2.blur(image, (3, 3), dst) is dst and np.array_equal(dst, our_cv2.blur(image, (3, 3)))
    for call in (lambda: our_cv2.GaussianBlur(image, (4, 3), 1.0), lambda: our_cv2.GaussianBlur(image, (0, 0), 0.0),
                 lambda: our_cv2.blur(image, (3, 3), borderType=cv2.BORDER_WRAP), lambda: our_cv2.boxFilter(image, 9, (3, 3)),
                 lambda: our_cv2.blur(image, (3, 3), anchor=(3, 0))):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        our_cv2.blur(image.astype(np.int64), (3, 3))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.float32, np.float64])
def test_scipy(dtype):
    """Integers are off by less than 1 for each axis, whose fractions SciPy cuts off."""
    generator = np.random.default_rng(5)
    for _ in range(60):
        image = random_image(generator, dtype, generator.integers(1, 30, generator.integers(1, 4)))
        mode = str(generator.choice(["reflect", "nearest", "mirror", "wrap", "constant"]))
        name, arguments = [("gaussian_filter", [generator.uniform(0.3, 5.0)]), ("uniform_filter", [int(generator.integers(1, 9))]),
                           ("gaussian_filter1d", [generator.uniform(0.3, 5.0)]), ("uniform_filter1d", [int(generator.integers(1, 9))]),
                           ("correlate1d", [generator.standard_normal(4) / 4]), ("convolve1d", [generator.standard_normal(5) / 5]),
                           ("correlate", [generator.standard_normal([3] * image.ndim) / 9]),
                           ("convolve", [generator.standard_normal([2] * image.ndim) / 9])][generator.integers(8)]
        theirs = getattr(ndimage, name)(image, *arguments, mode=mode)
        mine = getattr(our_scipy, name)(image, *arguments, mode=mode)
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        difference = abs(mine.astype(float) - theirs.astype(float))
        if image.dtype.kind in "iu":  # a cast of too large numbers takes their lower bits
            difference = np.minimum(difference, 2.0 ** (8 * image.dtype.itemsize) - difference)
        allowed = {"f": 4e-5 * abs(image).max() if dtype == np.float32 else 1e-11}.get(image.dtype.kind, image.ndim)
        assert difference.max() <= allowed + 6.6 * (dtype in (np.int16, np.uint16)), (name, arguments, image.shape, mode)


def test_scipy_correlations_of_integers_are_cut_off_as_there():
    image = random_image(np.random.default_rng(6), np.uint8, (30, 40))
    weights = [0.3, -0.2, 0.9]
    exact = ndimage.correlate1d(image.astype(float), weights, 0)
    is_clear = abs(exact - np.rint(exact)) > 1e-9  # sums in another order may be on the other side of an integer
    assert np.array_equal(our_scipy.correlate1d(image, weights, 0)[is_clear], ndimage.correlate1d(image, weights, 0)[is_clear])


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.int64, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("preserve_range", [False, True])
def test_skimage(dtype, preserve_range):
    generator = np.random.default_rng(7)
    image = (generator.integers(0, 100, (30, 40, 3)) > 50) if dtype == bool else (generator.standard_normal((30, 40, 3)) * 50).astype(dtype)
    for arguments in ({}, {"sigma": (1.0, 2.5), "channel_axis": -1}, {"sigma": 2.0, "mode": "constant", "cval": 0.5, "truncate": 3.0}):
        theirs = skimage.filters.gaussian(image, preserve_range=preserve_range, **arguments)
        mine = our_skimage.gaussian(image, preserve_range=preserve_range, **arguments)
        assert mine.dtype == theirs.dtype
        assert abs(mine - theirs).max() <= (4e-5 if theirs.dtype == np.float32 else 1e-12) * max(1.0, abs(theirs).max())


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "CMYK", "RGBX"])
def test_pillow(mode):
    """A number about halfway between two bytes may be rounded to the other one after each axis."""
    generator = np.random.default_rng(8)
    for radius in (0, 0.3, 1.0, 2.7, 11.0, (0.5, 4.0), (3.0, 0.0)):
        size = tuple(int(n) for n in generator.integers(1, 50, 2))
        image = Image.frombytes(mode, size, generator.bytes(size[0] * size[1] * len(Image.new(mode, (1, 1)).tobytes())))
        for name in ("BoxBlur", "GaussianBlur"):
            theirs = image.filter(getattr(ImageFilter, name)(radius))
            mine = image.filter(getattr(our_pil, name)(radius))
            assert (mine.mode, mine.size) == (theirs.mode, theirs.size)
            assert abs(np.asarray(mine).astype(int) - np.asarray(theirs)).max() <= 2, (name, radius, size)


@pytest.mark.parametrize("radius", [2.7, 5.3, 11.0])
def test_gaussians_of_pillow_are_as_wide_as_there(radius):
    """Of these radii hardly any number lies halfway between two bytes, so nearly all are equal."""
    image = Image.fromarray(random_image(np.random.default_rng(14), np.uint8, (90, 100)))
    theirs = np.asarray(image.filter(ImageFilter.GaussianBlur(radius)))
    assert (np.asarray(image.filter(our_pil.GaussianBlur(radius))) != theirs).mean() < 0.02


def test_three_boxes_of_pillow_have_the_variance_of_the_gaussian():
    for sigma in np.random.default_rng(13).uniform(0.05, 60.0, 200):
        radius = box_radius(float(sigma), 3)
        whole, fraction = int(radius), radius - int(radius)
        squares = 2 * sum(i * i for i in range(whole + 1)) + 2 * fraction * (whole + 1) ** 2
        assert abs(3 * squares / (2 * radius + 1) / sigma**2 - 1) < 1e-9, sigma


def test_pillow_refuses_the_same():
    for call in (lambda: our_pil.BoxBlur(-1), lambda: Image.new("F", (3, 3)).filter(our_pil.GaussianBlur(1))):
        with pytest.raises(ValueError):
            call()


def test_exact_gaussians_are_not_cut():
    image = random_image(np.random.default_rng(9), np.uint8, (80, 90))
    exact = ndimage.gaussian_filter(image.astype(float), 3.0, truncate=9.0, mode="nearest")
    results = [our_scipy.gaussian_filter(image, 3.0, mode="nearest", truncate=1.0, exact=True),
               our_cv2.GaussianBlur(image, (3, 3), 3.0, borderType=cv2.BORDER_REPLICATE, exact=True),
               our_skimage.gaussian(image, 3.0, truncate=1.0, preserve_range=True, exact=True),
               np.asarray(Image.fromarray(image).filter(our_pil.GaussianBlur(3.0, exact=True)))]
    for result in results:
        assert abs(result - exact).max() <= 0.5 + 0.125
    inner = our_torchvision.gaussian_blur(image, 3, 3.0, exact=True)[30:50, 30:60]
    assert abs(inner - exact[30:50, 30:60]).max() <= 0.5 + 0.125


def test_torchvision():
    script = Path(__file__).parent / "peers" / "torchvision_cases.py"
    run = subprocess.run([SYSTEM_PYTHON, str(script), "500"], env=dict(os.environ), capture_output=True, text=True)
    assert run.returncode == 0 and "500 cases agree" in run.stdout, run.stdout + run.stderr


def test_kornia():
    script = Path(__file__).parent / "peers" / "kornia_cases.py"
    run = subprocess.run([SYSTEM_PYTHON, str(script), "400"], env=dict(os.environ), capture_output=True, text=True)
    assert run.returncode == 0 and "400 cases agree" in run.stdout, run.stdout + run.stderr


def test_torchvision_refuses_the_same():
    for size, sigma in ((4, None), (3, -1.0), ([3, 3, 3], None)):
        with pytest.raises(ValueError):
            our_torchvision.gaussian_blur(np.zeros((4, 4), np.float32), size, sigma)
