"""A sigma for each image of a batch, on the processor."""
import numpy as np
import pytest

import pymollify as mollify

SIGMAS = [0.1, 2.0, 0.0, 12.5]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_every_image_is_what_it_becomes_alone(dtype):
    image = (np.random.default_rng().random((4, 3, 40, 31)) * 200).astype(dtype)
    found = mollify.gaussian_each(image, SIGMAS, axes=(-2, -1), mode="reflect")
    assert found.dtype == dtype
    for i, sigma in enumerate(SIGMAS):
        assert np.array_equal(found[i], mollify.gaussian(image[i], sigma, axes=(-2, -1), mode="reflect"))
    mollify.gaussian_each(image, np.array(SIGMAS), axes=(2, 3), mode="reflect", out=image)
    assert np.array_equal(image, found)


def test_axes_are_those_of_the_batch():
    image = np.random.default_rng().random((4, 20, 31, 3), np.float32)
    found = mollify.gaussian_each(image, SIGMAS, channel_axis=-1)
    assert np.array_equal(found[1], mollify.gaussian(image[1], 2.0, channel_axis=-1))
    found = mollify.gaussian_each(image, SIGMAS, axes=1, radius=3)
    assert np.array_equal(found[3], mollify.gaussian(image[3], 12.5, axes=0, radius=3))
    assert mollify.gaussian_each(np.zeros((0, 4, 5)), []).shape == (0, 4, 5)


def test_what_is_wrong_is_named():
    image = np.zeros((4, 5, 6), np.float32)
    for sigmas, text in ((SIGMAS[:3], "sigmas: one for each of 4 images is needed, not 3"), ([1.0, -1.0, 1.0, 1.0], "from 0 up"),
                         ([1.0, np.nan, 1.0, 1.0], "finite")):
        with pytest.raises(ValueError, match=text):
            mollify.gaussian_each(image, sigmas)
    with pytest.raises(ValueError, match="axes: the first axis counts the images"):
        mollify.gaussian_each(image, SIGMAS, axes=(0, 1))
    with pytest.raises(ValueError, match="image: an axis that counts images"):
        mollify.gaussian_each(np.zeros(4, np.float32), SIGMAS)
