"""Arrays on a GPU, on a stand-in for CUDA's driver whose device memory is memory: what is launched, and what comes out. It has blurs by
taps and boxes, so that arrays here are small and sigmas are not large. Without CUDA in the build there is none."""
import re
import subprocess
import sys

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
    if np.dtype(dtype).kind in "iu":
        return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
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


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint32])
def test_numbers_that_float32_cannot_hold(dtype):
    """What both sum in float64 differs by little, and what is masked, sharpened or in another order too."""
    image = random_array((2, 24, 31), dtype)
    mask = np.random.default_rng().random(image.shape) < 0.7
    most = 1e-10 if dtype is np.float64 else 1
    for blur in (mollify.Blur.gaussian(1.3, axes=(-2, -1), mode="wrap"), mollify.Blur.box(2), mollify.Blur.tent(1.5, axes=(0, 2)),
                 mollify.Blur.unsharp(1.3, 0.7), mollify.Blur.convolve(np.ones((3, 4)), normalize=True, axes=(1, 2))):
        for one in (image, image[:, ::-1, 3:], image.swapaxes(1, 2)):
            found = blur(OnGpu(one))
            assert found.array.dtype == dtype and differ_by(found.array, blur(one)) <= most
    for one in (mask, mask * random_array(mask.shape) ** 2):
        assert differ_by(mollify.gaussian(OnGpu(image), 1.3, mask=OnGpu(one)).array, mollify.gaussian(image, 1.3, mask=one)) <= most
    with pytest.raises(ValueError, match='weights: those of three axes or more are summed on "cpu" only, not on cuda:0'):
        mollify.convolve(OnGpu(image), np.ones((2, 2, 2)), normalize=True)
    assert differ_by(mollify.gaussian(image, 1.3, device="cuda").astype(float), mollify.gaussian(image, 1.3)) <= most
    each = mollify.gaussian_each(OnGpu(image), [0.8, 1.4], axes=(1, 2))
    assert differ_by(each.array, mollify.gaussian_each(image, [0.8, 1.4], axes=(1, 2))) <= most


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int16])
def test_numbers_that_images_are_not_made_of(dtype):
    generator = np.random.default_rng()
    limits = (0, 1) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    image = generator.integers(*limits, (4, 20, 31), endpoint=True).astype(dtype)
    for one in (image, image[:, ::-1, 3:], image.swapaxes(1, 2)):
        out = OnGpu(np.zeros((4, 70, 80), dtype)[:, :2 * one.shape[1]:2, :one.shape[2]])
        for blur in (mollify.Blur.gaussian(1.3, axes=(-2, -1)), mollify.Blur.unsharp(1.3, 0.7, axes=(-2, -1)),
                     mollify.Blur.gaussian(1.3)):
            wanted = blur(one)
            for found in (blur(OnGpu(one)), blur(OnGpu(one), out=out)):
                differ = np.abs(found.array.astype(float) - wanted.astype(float))
                assert found.array.dtype == dtype and differ.max() <= 1 and (differ > 0).mean() < 0.01


MASKED = [((30, 41), {}), ((2, 3, 20, 31), {"axes": (-2, -1)}), ((20, 31, 3), {"channel_axis": -1, "mode": "wrap"}),
          ((12, 13, 14), {"mode": "constant", "cval": 0.0})]


@pytest.mark.parametrize(("shape", "arguments"), MASKED)
def test_known_elements(shape, arguments):
    blurs = (mollify.Blur.gaussian(1.3, **arguments), mollify.Blur.box(1, **arguments), mollify.Blur.tent(1, **arguments))
    for blur in blurs:
        for dtype, most in ((np.uint8, 1), (np.float32, 1e-3)):
            image = random_array(shape, dtype)
            known = np.random.default_rng().random(shape) < 0.7
            for mask in (known, known * random_array(shape) ** 2):
                result = blur(OnGpu(image), mask=OnGpu(mask))
                wanted = blur(image, mask=mask)
                assert np.array_equal(np.isnan(result.array), np.isnan(wanted))
                assert np.nanmax(np.abs(result.array.astype(float) - wanted)) <= most
        image = random_array(shape)
        image[np.random.default_rng().random(shape) < 0.2] = np.nan
        skips = mollify.Blur.gaussian(1.3, nan="skip", **arguments)
        for mask in (None, OnGpu(known)):
            result = skips(OnGpu(image), mask=mask)
            wanted = skips(image, mask=None if mask is None else known)
            assert np.array_equal(np.isnan(result.array), np.isnan(wanted))
            assert np.nanmax(np.abs(result.array - wanted)) <= 1e-3


def test_masks_of_any_order():
    image = random_array((20, 31, 3))
    mask = np.random.default_rng().random((31, 20)) < 0.6
    blur = mollify.Blur.gaussian(1.3, channel_axis=-1)
    for one in (mask.T, np.broadcast_to(mask[:, ::-1].T[..., None], image.shape)):
        assert differ_by(blur(OnGpu(image), mask=OnGpu(one)).array, blur(image, mask=np.ascontiguousarray(one))) < 1e-3
    out = OnGpu(image.copy())
    assert blur(out, mask=OnGpu(mask.T), out=out) is out
    assert differ_by(out.array, blur(image, mask=mask.T)) < 1e-3
    assert "product of image and mask" in str(mollify.plan(mollify.Blur.gaussian(1.0, nan="skip"), OnGpu(image)))


def test_masks_that_are_refused():
    image = OnGpu(random_array((20, 31)))
    for mask, kind, text in ((np.ones((20, 31), bool), TypeError, "mask: it does not lie on cuda:0"),
                             (OnGpu(np.ones((20, 30), bool)), ValueError, "mask: its shape"),
                             (OnGpu(np.ones((20, 31))), TypeError, "mask: an array of bool or float32")):
        with pytest.raises(kind, match=text):
            mollify.gaussian(image, 1.0, mask=mask)


@pytest.mark.parametrize(("shape", "arguments"), MASKED)
def test_sharpening(shape, arguments):
    for dtype, most in ((np.uint8, 1), (np.float32, 1e-3)):
        image = random_array(shape, dtype)
        for amount in (1.5, -0.5):
            found = mollify.unsharp(OnGpu(image), 1.3, amount, **arguments)
            assert differ_by(found.array, mollify.unsharp(image, 1.3, amount, **arguments)) <= most


SIGMAS = [0.1, 2.0, 0.0, 1.3, 2.0, 3.0]


@pytest.mark.parametrize(("shape", "arguments"), [((6, 3, 20, 31), {"axes": (-2, -1)}), ((6, 20, 31), {}),
                                                  ((6, 20, 31, 3), {"channel_axis": -1}), ((6, 20, 31), {"mode": "wrap"}),
                                                  ((6, 20, 31), {"axes": (1, 2), "radius": 2}),
                                                  ((6, 2, 20, 31), {"axes": (2, 3), "truncate": 2.0})])
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


def test_graphs_keep_a_sigma_for_each_image(monkeypatch):
    image = OnGpu(random_array((2, 9, 11)))
    sigmas = (1.0, 2.0)
    mollify.gaussian(image, 1.0, axes=(1, 2))
    with monkeypatch.context() as patch:
        patch.setattr(Library, "capturing", True)
        with pytest.raises(RuntimeError, match="image: a graph is being captured, and nothing is prepared"):
            mollify.gaussian_each(image, sigmas)
        with pytest.raises(RuntimeError, match="sigmas: a graph is being captured"):
            mollify.gaussian_each(image, OnGpu(np.ones(2)))
    before = mollify.gaussian_each(image, sigmas)
    monkeypatch.setattr(Library, "capturing", True)
    assert np.array_equal(mollify.gaussian_each(image, sigmas).array, before.array)


def test_what_is_wrong_is_refused():
    image = OnGpu(random_array((2, 9, 8)))
    with pytest.raises(ValueError, match="out: it shares memory"):
        mollify.gaussian_each(image, (1.0, 2.0), out=image)


@pytest.fixture(autouse=True)
def cache_of_tests(monkeypatch, tmp_path_factory):
    """Where what is measured for device="auto" is kept: one folder for all tests, since a process asks once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def run_python(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_auto_opens_no_gpu_for_little():
    script = """if True:
        import numpy as np
        import pymollify as mollify
        print(mollify.plan(mollify.Blur.box(1, device="auto"), np.zeros((40, 40), np.float32)))"""
    text = run_python(script)
    assert "auto: cpu, predicted" in text and "no GPU has been opened" in text


def test_what_auto_measures_is_kept(monkeypatch, tmp_path):
    """The second process takes it from there: it goes by figures that nobody measured."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    script = """if True:
        import numpy as np
        import pymollify as mollify
        slow = mollify.Blur.convolve(np.random.default_rng(1).random((127, 127)), normalize=True, device="auto")
        print(mollify.plan(slow, np.zeros((3000, 3000), np.float32)))"""
    assert "auto: cuda:0; predicted on cpu" in run_python(script)
    (kept,) = (tmp_path / "mollify").iterdir()
    text = kept.read_text()
    assert kept.name == "hosts-cuda-stand-in.txt" and text.startswith("mollify hosts 3\ndevice stand-in\n")
    kept.write_text(re.sub(r"bus_bytes_per_second=\S+", "bus_bytes_per_second=1000", text))
    assert "auto: cpu; predicted on cpu" in run_python(script)
    kept.write_text("damaged")
    assert "auto: cuda:0; predicted on cpu" in run_python(script)
    assert kept.read_text().startswith("mollify hosts 3\n")


def test_auto_is_where_a_blur_ends_first():
    """The stand-in has the rates of a typical GPU, and a bus as fast as memory."""
    small, large = np.zeros((40, 40), np.float32), np.zeros((3000, 3000), np.float32)
    slow = mollify.Blur.convolve(np.random.default_rng(1).random((127, 127)), normalize=True, device="auto")  # takes seconds on a processor
    quick = mollify.Blur.convolve(np.random.default_rng(1).random((3, 3)), normalize=True, device="auto")
    assert "auto: cuda:0; predicted on cpu" in str(mollify.plan(slow, large))
    assert "auto: cpu; predicted on cpu" in str(mollify.plan(quick, small)), "it is open now"
    assert np.array_equal(quick(small), mollify.Blur.convolve(np.ones((3, 3)), normalize=True)(small))
    wide = mollify.Blur.gaussian(1.0, device="auto")
    assert wide(np.zeros((40, 40), np.float64)).dtype == np.float64
    assert isinstance(wide(OnGpu(random_array((20, 30)))), OnGpu)
