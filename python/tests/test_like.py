"""`mollify blur --like LIBRARY` has the bytes of pymollify.compat: both read the same table."""
import os
import subprocess

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageFilter

from pymollify.compat import PIL as our_pil
from pymollify.compat import cv2 as our_cv2
from pymollify.compat import scipy as our_scipy
from pymollify.compat import skimage as our_skimage

TOOL = os.environ.get("MOLLIFY_TOOL")
pytestmark = pytest.mark.skipif(not TOOL, reason="this build has no tool")


def of_pillow(filter_of_image):
    return lambda image: np.asarray(Image.fromarray(image).filter(filter_of_image))


# The options, and the call that must have the same bytes.
ALL_NUMBERS = [
    ("scipy --gaussian 2.3", lambda x: our_scipy.gaussian_filter(x, 2.3, axes=(0, 1))),
    ("scipy --gaussian 5x1.2", lambda x: our_scipy.gaussian_filter(x, (1.2, 5), axes=(0, 1))),
    ("scipy --gaussian 3 --truncate 2", lambda x: our_scipy.gaussian_filter(x, 3, truncate=2, axes=(0, 1))),
    ("scipy --gaussian 2 --border wrap", lambda x: our_scipy.gaussian_filter(x, 2, mode="wrap", axes=(0, 1))),
    ("scipy --box-size 4x7", lambda x: our_scipy.uniform_filter(x, (7, 4), axes=(0, 1))),
    ("opencv --gaussian 5", lambda x: our_cv2.GaussianBlur(x, (0, 0), 5)),
    ("opencv --gaussian 5x0", lambda x: our_cv2.GaussianBlur(x, (0, 0), 5, sigmaY=0)),
    ("opencv --gaussian 1.5x4", lambda x: our_cv2.GaussianBlur(x, (0, 0), 1.5, sigmaY=4)),
    ("opencv --gaussian 3 --radius 4x7", lambda x: our_cv2.GaussianBlur(x, (9, 15), 3)),
    ("opencv --gaussian 0 --radius 3x8", lambda x: our_cv2.GaussianBlur(x, (7, 17), 0)),
    ("opencv --gaussian 0 --radius 8", lambda x: our_cv2.GaussianBlur(x, (17, 17), 0)),
    ("opencv --box-size 6x3", lambda x: our_cv2.blur(x, (6, 3))),
    ("opencv --box 4 --border clamp", lambda x: our_cv2.blur(x, (9, 9), borderType=our_cv2.BORDER_REPLICATE)),
]
BYTES = [
    ("pillow --gaussian 2.7", of_pillow(our_pil.GaussianBlur(2.7))),
    ("pillow --gaussian 0.4x6", of_pillow(our_pil.GaussianBlur((0.4, 6)))),
    ("pillow --gaussian 0", of_pillow(our_pil.GaussianBlur(0))),
    ("pillow --box 3.25x1", of_pillow(our_pil.BoxBlur((3.25, 1)))),
]
FLOATS = [
    ("skimage --gaussian 2.5", lambda x: our_skimage.gaussian(x, 2.5, channel_axis=-1 if x.ndim == 3 else None)),
    ("skimage --gaussian 2 --truncate 3", lambda x: our_skimage.gaussian(x, 2, truncate=3, channel_axis=-1 if x.ndim == 3 else None)),
]


@pytest.mark.parametrize("dtype, pairs", [(np.uint8, ALL_NUMBERS + BYTES), (np.uint16, ALL_NUMBERS), (np.float32, ALL_NUMBERS + FLOATS)])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_the_tool_has_the_bytes_of_compat(tmp_path, dtype, pairs, channels):
    generator = np.random.default_rng()
    shape = (45, 60) if channels == 1 else (45, 60, channels)
    image = generator.random(shape, np.float32) if dtype == np.float32 else generator.integers(0, np.iinfo(dtype).max, shape, dtype, True)
    # As four plain channels: alpha is a channel like any.
    tifffile.imwrite(tmp_path / "in.tif", image, photometric="rgb" if channels > 2 else "minisblack",
                     **({"extrasamples": ["unassalpha"]} if channels == 4 else {}))
    for options, call in pairs:
        subprocess.run([TOOL, "blur", "in.tif", "out.tif", "--force", "--quiet", "--like", *options.split()], cwd=tmp_path, check=True)
        result = tifffile.imread(tmp_path / "out.tif")
        assert result.dtype == image.dtype
        assert np.array_equal(result, call(image)), options


def test_a_png_of_pillow(tmp_path):
    image = Image.fromarray(np.random.default_rng().integers(0, 256, (40, 50, 3), np.uint8))
    image.save(tmp_path / "in.png")
    subprocess.run([TOOL, "blur", "in.png", "out.png", "--quiet", "--like", "pillow", "--gaussian", "3"], cwd=tmp_path, check=True)
    theirs = np.asarray(image.filter(ImageFilter.GaussianBlur(3))).astype(int)
    assert abs(np.asarray(Image.open(tmp_path / "out.png")) - theirs).max() <= 1


@pytest.mark.parametrize("options, message", [
    ("skimage --box 3", "skimage has no box"),
    ("scipy --tent 3", "scipy has no such kernel"),
    ("pillow --gaussian 3 --radius 4", "pillow has no Gaussian that is cut"),
    ("opencv --gaussian 3 --truncate 4", "opencv has no Gaussian that is cut at some sigmas"),
    ("opencv --gaussian 0", "ksize: odd numbers are needed, or 0 and a sigma"),
    ("pillow --gaussian 3 --roi 9x9+1+1", "--like pillow blurs no regions"),
    ("pillow --gaussian 3 --format u16", "--like pillow blurs integers of 8 bits only"),
    ("gimp --gaussian 3", "--like"),
])
def test_refusals(tmp_path, options, message):
    Image.fromarray(np.zeros((20, 30), np.uint8)).save(tmp_path / "in.png")
    run = subprocess.run([TOOL, "blur", "in.png", "out.png", "--like", *options.split()], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode != 0 and message in run.stderr, run.stderr
    assert not (tmp_path / "out.png").exists()
