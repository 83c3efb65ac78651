"""Volumes that are made slice by slice, with the memory of few slices between the two runs."""
import numpy as np
import pytest

import pymollify as mollify

TURNS = "slices in between at a time"


def random_array(seed, shape, dtype):
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.random(shape).astype(dtype)
    return generator.integers(0, 256, shape).astype(dtype)


def is_in_turns(image, sigma, **arguments):
    return TURNS in str(mollify.plan(mollify.Blur.gaussian(sigma, **arguments), image))


# The second axis is not blurred, so that a part of it is an array with the same results, small enough to be made as a whole.
AXES = (0, 2, 3)


@pytest.mark.parametrize("mode", ["nearest", "reflect", "mirror", "wrap", "constant"])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float64])
def test_the_bits_of_small_volumes(dtype, mode):
    image = random_array(1, (500, 4, 100, 120), dtype)
    arguments = {"axes": AXES, "mode": mode}
    assert is_in_turns(image, 2.0, **arguments)
    part = np.ascontiguousarray(image[:, 1:2])
    assert not is_in_turns(part, 2.0, **arguments)
    expected = mollify.gaussian(part, 2.0, **arguments)
    assert np.array_equal(mollify.gaussian(image, 2.0, **arguments)[:, 1:2], expected)
    mollify.gaussian(image, 2.0, out=image, **arguments)
    assert np.array_equal(image[:, 1:2], expected)


def test_in_place_a_border_that_wraps_needs_the_whole():
    image = random_array(2, (500, 4, 100, 120), np.float32)
    expected = mollify.gaussian(image, 2.0, axes=AXES, mode="wrap")
    mollify.gaussian(image, 2.0, axes=AXES, mode="wrap", out=image)
    assert np.array_equal(image, expected)


def test_stacks_of_volumes():
    image = random_array(3, (2, 500, 3, 90, 130), np.float32)  # time, slices, channels, rows, columns
    axes = (1, 3, 4)
    assert is_in_turns(image, (3.0, 1.0, 1.5), axes=axes)
    whole = mollify.gaussian(image, (3.0, 1.0, 1.5), axes=axes)
    for time, channel in np.ndindex(2, 3):
        part = np.ascontiguousarray(image[time, :, channel])
        assert np.array_equal(whole[time, :, channel], mollify.gaussian(part, (3.0, 1.0, 1.5)))


def test_coarse_grids_along_slices():
    """A wide Gaussian is made on every few slices only, which begin at fixed places."""
    image = random_array(4, (1700, 2, 70, 130), np.uint8)
    assert is_in_turns(image, (10.0, 0.5, 0.5), axes=AXES)
    expected = mollify.gaussian(np.ascontiguousarray(image[:, 1]), (10.0, 0.5, 0.5))
    assert np.array_equal(mollify.gaussian(image, (10.0, 0.5, 0.5), axes=AXES)[:, 1], expected)


def test_memory():
    image = np.zeros((1000, 200, 200), np.float32)
    plan = mollify.plan(mollify.Blur.gaussian(2.0), image)
    assert TURNS in str(plan) and plan.scratch_bytes < image.nbytes / 2
