"""Arrays that lie on a GPU, as far as that can be tested without one. What needs one is gpu/check.py."""
import numpy as np
import pytest

import pymollify as mollify
from pymollify import _gpu

pytestmark = pytest.mark.skipif(any(device.name.startswith("cuda") for device in mollify.devices()), reason="there is a GPU")


class Interface:
    """An array of CUDA, if there were one at that address."""

    def __init__(self, **changes):
        self.fields = {"shape": (4, 5), "typestr": "<f4", "data": (4096, False), "strides": None, "version": 3} | changes

    @property
    def __cuda_array_interface__(self):
        return self.fields


class Tensor:
    """One that DLPack says lies on a GPU."""

    def __init__(self, place):
        self.place = place

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, stream=None, **_):
        return np.zeros((4, 5), np.float32).__dlpack__()


# As the build has it, and the machine.
MISSING = "image: it lies on cuda:[01], (and this pymollify is built without CUDA|but there is no driver of NVIDIA here)"


@pytest.mark.parametrize("call", [lambda image: mollify.gaussian(image, 1.0), lambda image: mollify.Blur.box(1)(image),
                                  lambda image: mollify.gaussian(image, 1.0, stream=1),
                                  lambda image: mollify.gaussian(image, 1.0, out=image),
                                  lambda image: mollify.plan(mollify.Blur.tent(1), image)])
def test_what_is_missing_is_named(call):
    for image in (Interface(), Tensor((2, 0))):
        with pytest.raises(RuntimeError, match=MISSING):
            call(image)


def test_numbers_that_are_not_there_yet():
    for typestr in ("<c8", ">f4", "<i8"):
        with pytest.raises(TypeError, match="image: arrays of"):
            mollify.gaussian(Interface(typestr=typestr), 1.0)
    with pytest.raises(TypeError, match="masked"):
        mollify.gaussian(Interface(mask=Interface()), 1.0)


def test_arguments_that_are_not_there_yet():
    for device in ("cuda:1", "cpu"):
        with pytest.raises(ValueError, match=f"device: the image lies on cuda:0, not on {device}"):
            mollify.gaussian(Interface(), 1.0, device=device)


def test_only_arrays_on_a_gpu_have_a_stream():
    with pytest.raises(ValueError, match="stream: only arrays on a GPU"):
        mollify.gaussian(np.zeros((4, 5)), 1.0, stream=1)
    with pytest.raises(ValueError, match="stream: only arrays on a GPU"):
        mollify.Blur.gaussian(1.0)(np.zeros((4, 5)), stream=1)


def test_streams_of_any_library():
    class Standard:
        def __cuda_stream__(self):
            return (0, 5)

    class OfTorch:
        cuda_stream = 6

    class OfCuPy:
        ptr = 7

    assert [_gpu.stream_of(stream) for stream in (4, Standard(), OfTorch(), OfCuPy())] == [4, 5, 6, 7]
    with pytest.raises(TypeError, match="stream: .* not str"):
        _gpu.stream_of("fast")


def test_libraries_by_the_module_of_a_base():
    Base = type("Tensor", (), {"__module__": "torch.nn.parameter"})
    with pytest.raises(ImportError):  # so that it is Torch that is asked for
        _gpu.library_of(type("Image", (Base,), {"__module__": "torchvision.tv_tensors"}))
    other = _gpu.library_of(Interface)
    assert type(other) is _gpu.Library
    for call in (lambda: other.empty_like(Interface()), lambda: other.empty_bytes(1, 0)):
        with pytest.raises(TypeError, match="from_dlpack"):
            call()
    assert other.stream(Interface(stream=9), 0) == 9 and other.stream(Interface(), 0) == 1
