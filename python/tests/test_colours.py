"""Alpha and linear light, against their definitions in float64."""
import ml_dtypes
import numpy as np
import pytest

import pymollify as mollify
import reference
from test_values import random_array

UNIT = {np.uint8: 255.0, np.uint16: 65535.0, np.float16: 1.0, np.float32: 1.0, np.float64: 1.0, ml_dtypes.bfloat16: 1.0}
ALLOWED = {np.uint8: 0.5 + 0.125, np.uint16: 0.5 + 6.6, np.float16: 1e-3, np.float32: 1e-4, np.float64: 1e-11, ml_dtypes.bfloat16: 8e-3}


def colours(dtype, shape):
    image = random_array(1, shape, np.uint8) / 255.0
    return (image * UNIT[dtype]).round().astype(dtype) if np.issubdtype(dtype, np.integer) else image.astype(dtype)


def decoded(x):
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def encoded(x):
    return np.where(x <= 0.0031308, x * 12.92, 1.055 * np.maximum(x, 0) ** (1 / 2.4) - 0.055)


def exact_blur(image, sigmas, axes, alpha, srgb):
    """In numbers from 0 to 1, with channels last; and the blurred alpha, or 1."""
    numbers = image.astype(float) / UNIT[image.dtype.type]
    colour, cover = (numbers[..., :-1], numbers[..., -1:]) if alpha else (numbers, np.ones_like(numbers[..., :1]))
    colour = decoded(colour) if srgb else colour
    product = reference.gaussian(colour * cover, sigmas, axes, "reflect")
    cover = reference.gaussian(cover, sigmas, axes, "reflect")
    colour = product / np.where(cover > 0, cover, 1.0)
    colour = encoded(colour) if srgb else colour
    return (np.concatenate([colour, cover], axis=-1) if alpha else colour), cover


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("alpha, srgb", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shape, sigmas", [((40, 50, 4), (2.0, 3.0)), ((40, 50, 2), (0.0, 2.0)), ((40, 50, 4), (2.0, 0.0)),
                                           ((60, 4), (2.0,)), ((12, 20, 30, 2), (1.0, 2.0, 1.5))])
@pytest.mark.parametrize("place", ["last", "first", "fortran"])
def test_colours(dtype, alpha, srgb, shape, sigmas, place):
    image = colours(dtype, shape)
    exact, cover = exact_blur(image, sigmas, range(len(sigmas)), alpha, srgb)
    if place == "first":
        moved = np.ascontiguousarray(np.moveaxis(image, -1, 0))
        result = np.moveaxis(mollify.gaussian(moved, sigmas, channel_axis=0, mode="reflect", alpha=alpha, srgb=srgb), 0, -1)
    else:
        laid = np.asfortranarray(image) if place == "fortran" else image
        result = mollify.gaussian(laid, sigmas, channel_axis=-1, mode="reflect", alpha=alpha, srgb=srgb)
    off = abs(result.astype(float) - exact * UNIT[dtype])
    assert result.dtype == image.dtype
    is_seen = np.broadcast_to(cover, exact.shape) > 0.05
    assert off[is_seen].max() <= ALLOWED[dtype] * (20 if alpha else 1)  # an error of a colour counts as much as its alpha
    assert np.median(off) <= ALLOWED[dtype]


def test_pixels_of_which_few_lie_side_by_side():
    image = colours(np.uint8, (60, 3, 4))
    exact, cover = exact_blur(image, (2.0,), (0,), True, False)
    result = mollify.gaussian(image, 2.0, axes=0, channel_axis=-1, mode="reflect", alpha=True)
    assert (abs(result - exact * 255) * cover).max() <= 0.5 + 0.125


def test_dark_fringes_are_what_alpha_avoids():
    image = np.zeros((40, 40, 4), np.uint8)
    image[:, 20:] = 255
    assert (mollify.gaussian(image, 3.0, channel_axis=-1, alpha=True)[:, 15:, :3] == 255).all()
    assert (mollify.gaussian(image, 3.0, channel_axis=-1)[:, 20, :3] < 200).all()


@pytest.mark.parametrize("shape, dtype, arguments, message", [
    ((8, 8, 3), np.uint8, {"channel_axis": -1, "alpha": True}, "alpha: 2 or 4 channels are needed, not 3"),
    ((8, 8, 4), np.uint8, {"alpha": True}, "alpha: channel_axis must say"),
    ((8, 8, 4), np.int32, {"channel_axis": -1, "alpha": True}, "alpha: .* not of int32"),
    ((8, 8), np.int16, {"srgb": True}, "srgb: .* not of int16"),
])
def test_refusals(shape, dtype, arguments, message):
    with pytest.raises(ValueError, match=message):
        mollify.gaussian(np.zeros(shape, dtype), 1.0, **arguments)


def test_arguments_are_true_or_false():
    with pytest.raises(TypeError, match="alpha: "):
        mollify.gaussian(np.zeros((4, 4), np.uint8), 1.0, alpha=1)
    with pytest.raises(ValueError, match="srgb: unsharp"):
        mollify.unsharp(np.zeros((4, 4), np.uint8), 1.0, srgb=True)
    assert repr(mollify.Blur.box(1, alpha=True, srgb=True, nan="skip")) == "Blur.box(radius=1.0, nan='skip', alpha=True, srgb=True)"
