"""Arrays on a GPU, on a stand-in for CUDA's driver whose device memory is memory: what is launched, and what comes out. It has blurs by taps
alone, so that arrays here are small and sigmas are not large. Without CUDA in the build there is none."""
import numpy as np
import pytest

import pymollify as mollify
from pymollify import _gpu

pytestmark = pytest.mark.skipif(all(device.description != "stand-in" for device in mollify.devices()), reason="there is no stand-in")


class OnGpu:
    """An array of the memory that the stand-in takes for its own."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__array_interface__

    @property
    def shape(self):
        return self.array.shape

    def __getitem__(self, key):
        return OnGpu(self.array[key])

    def tolist(self):
        return self.array.tolist()


class Library(_gpu.Library):
    capturing = False

    def empty_like(self, image):
        return OnGpu(np.full_like(image.array, 7))

    def empty_bytes(self, count, device):
        whole = np.empty(count + 256, np.uint8)
        return OnGpu(whole[-whole.ctypes.data % 256:][:count])

    def gather(self, image):
        return OnGpu(image.array.copy())

    def assign(self, destination, source):
        destination.array[...] = source.array

    def is_capturing(self):
        return self.capturing


_gpu._LIBRARIES[__name__] = Library


def random_array(shape, dtype=np.float32):
    random = np.random.default_rng()
    if np.dtype(dtype).kind == "u":
        return random.integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    return (random.random(shape) * 2 - 1).astype(dtype)


def differ_by(ours, theirs):
    return np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max()


def test_the_stand_in_blurs():
    for dtype, most in ((np.uint8, 1), (np.uint16, 7), (np.float16, 2e-3), (np.float32, 1e-4)):
        for shape in ((30, 41), (2, 3, 20, 31)):
            image = random_array(shape, dtype)
            found = mollify.gaussian(OnGpu(image), 1.3, axes=(-2, -1), mode="reflect")
            assert isinstance(found, OnGpu) and found.array.dtype == dtype
            assert differ_by(found.array, mollify.gaussian(image, 1.3, axes=(-2, -1), mode="reflect")) <= most


SIGMAS = [0.1, 2.0, 0.0, 1.3, 2.0, 3.0]


@pytest.mark.parametrize(("shape", "arguments"), [((6, 3, 20, 31), {"axes": (-2, -1)}), ((6, 20, 31), {}),
                                                  ((6, 20, 31, 3), {"channel_axis": -1}), ((6, 20, 31), {"mode": "wrap"}),
                                                  ((6, 20, 31), {"axes": (1, 2), "radius": 2}), ((6, 2, 20, 31), {"axes": (2, 3), "truncate": 2.0})])
def test_a_sigma_for_each_image(shape, arguments):
    for dtype, most in ((np.uint8, 1), (np.float32, 1e-4)):
        image = random_array(shape, dtype)
        found = mollify.gaussian_each(OnGpu(image), SIGMAS, **arguments)
        wanted = mollify.gaussian_each(image, SIGMAS, **arguments)
        assert isinstance(found, OnGpu) and differ_by(found.array, wanted) <= most
        out = OnGpu(np.zeros_like(image))
        assert mollify.gaussian_each(OnGpu(image), OnGpu(np.array(SIGMAS)), out=out, **arguments) is out
        assert np.array_equal(out.array, found.array)


def test_images_whose_order_is_not_that_of_memory_are_blurred_one_by_one():
    image = random_array((3, 6, 20, 31)).swapaxes(0, 1)
    sigmas = [0.5, 2.0, 0.7, 1.3, 2.0, 3.0]
    found = mollify.gaussian_each(OnGpu(image), sigmas, axes=(-2, -1))
    assert differ_by(found.array, mollify.gaussian_each(image, sigmas, axes=(-2, -1))) < 1e-4


def test_graphs_cannot_have_a_sigma_for_each_image(monkeypatch):
    image = OnGpu(random_array((2, 9, 8)))
    monkeypatch.setattr(Library, "capturing", True)
    for sigmas in ((1.0, 2.0), OnGpu(np.ones(2))):
        with pytest.raises(RuntimeError, match="sigmas: a graph is being captured"):
            mollify.gaussian_each(image, sigmas)


def test_what_is_wrong_is_refused():
    image = OnGpu(random_array((2, 9, 8)))
    with pytest.raises(ValueError, match="out: it shares memory"):
        mollify.gaussian_each(image, (1.0, 2.0), out=image)
