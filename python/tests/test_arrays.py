"""Which arrays are taken, what comes back, and where results are written."""
import array
import ctypes
import sys
import types

import numpy as np
import pytest

import pymollify as mollify

IMAGE = np.random.default_rng(1).integers(0, 256, (20, 30), dtype=np.uint8)
EXPECTED = mollify.gaussian(IMAGE, 2.0)


def is_close(result, expected=EXPECTED):
    """Another layout in memory may round at other places: within the promised error."""
    return abs(np.asarray(result).astype(int) - expected).max() <= 1


class Tensor:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **arguments):
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class StandardArray(Tensor):
    """An array that follows the array standard."""

    def __array_namespace__(self):
        return types.SimpleNamespace(from_dlpack=lambda values: StandardArray(np.from_dlpack(values)))


def test_an_array_of_numpy_comes_back_for_one():
    result = mollify.gaussian(IMAGE, 2.0)
    assert type(result) is np.ndarray and result.dtype == np.uint8 and result.flags.owndata and result.flags.writeable

    class Other(np.ndarray):
        pass

    assert type(mollify.gaussian(IMAGE.view(Other), 2.0)) is np.ndarray


def test_the_order_of_axes_in_memory_stays():
    assert mollify.gaussian(np.asfortranarray(IMAGE), 2.0).flags.f_contiguous
    assert is_close(mollify.gaussian(np.asfortranarray(IMAGE), 2.0))


@pytest.mark.parametrize("buffer", [
    memoryview(IMAGE),
    memoryview(IMAGE.tobytes()).cast("B", IMAGE.shape),
    (ctypes.c_uint8 * 30 * 20).from_buffer_copy(IMAGE.tobytes()),
])
def test_buffers_give_arrays_of_numpy(buffer):
    result = mollify.gaussian(buffer, 2.0)
    assert type(result) is np.ndarray and np.array_equal(result, EXPECTED)


def test_one_dimensional_buffers():
    signal = array.array("f", [0, 0, 1, 0, 0])
    assert mollify.box(signal, 1).tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0])
    assert mollify.box(b"\0\0\3\0\0", 1).tolist() == [0, 1, 1, 1, 0]


def test_tensors_give_arrays_of_numpy_or_of_their_own_library():
    result = mollify.gaussian(Tensor(IMAGE), 2.0)
    assert type(result) is np.ndarray and np.array_equal(result, EXPECTED)
    result = mollify.gaussian(StandardArray(IMAGE.T), 2.0)
    assert type(result) is StandardArray and is_close(result.values, EXPECTED.T)


def test_torch_tensors_come_back_for_torch_tensors(monkeypatch):
    """By a module that stands in for Torch: its wheel has half a gigabyte."""

    class TorchTensor(Tensor):
        pass

    TorchTensor.__module__ = "torch"
    torch = types.ModuleType("torch")
    torch.empty_like = lambda tensor: TorchTensor(np.empty_like(tensor.values))
    monkeypatch.setitem(sys.modules, "torch", torch)
    result = mollify.gaussian(TorchTensor(IMAGE), 2.0)
    assert type(result) is TorchTensor and np.array_equal(result.values, EXPECTED)
    needs_gradient = TorchTensor(IMAGE)
    needs_gradient.requires_grad = True
    with pytest.raises(TypeError, match="image: .*detached"):
        mollify.gaussian(needs_gradient, 2.0)
    out = TorchTensor(np.zeros_like(IMAGE))
    assert mollify.gaussian(TorchTensor(IMAGE), 2.0, out=out) is out and np.array_equal(out.values, EXPECTED)


def test_a_read_only_image_is_taken():
    image = IMAGE.copy()
    image.flags.writeable = False
    assert np.array_equal(mollify.gaussian(image, 2.0), EXPECTED)
    assert np.array_equal(mollify.gaussian(Tensor(image), 2.0), EXPECTED)


def test_an_unaligned_image_is_taken():
    image = np.arange(40, dtype=np.uint16)
    unaligned = np.frombuffer(b"\0" + image.tobytes(), dtype=np.uint16, offset=1)
    assert not unaligned.flags.aligned
    assert np.array_equal(mollify.gaussian(unaligned, 2.0), mollify.gaussian(image, 2.0))


def test_out_is_filled_and_returned():
    out = np.zeros_like(IMAGE)
    assert mollify.gaussian(IMAGE, 2.0, out=out) is out
    assert np.array_equal(out, EXPECTED)
    wide = np.zeros((20, 90), np.uint8)
    mollify.gaussian(IMAGE, 2.0, out=wide[:, 30:60])
    assert np.array_equal(wide[:, 30:60], EXPECTED) and not wide[:, :30].any() and not wide[:, 60:].any()
    for view in (wide[:, ::3], wide[::-1, ::-3], np.zeros((30, 20), np.uint8).T):
        mollify.gaussian(IMAGE, 2.0, out=view)
        assert is_close(view)


@pytest.mark.parametrize("shape, axes", [((20, 30), None), ((6, 20, 30), None), ((20, 30, 7), (0, 1)), ((20, 4, 30), (0, 2))])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_out_may_be_the_image(shape, axes, step):
    image = np.random.default_rng(2).standard_normal((*shape[:-1], shape[-1] * abs(step))).astype(np.float32)[..., ::step]
    expected = mollify.gaussian(image.copy(), 2.0, axes=axes)
    mollify.gaussian(image, 2.0, axes=axes, out=image)
    assert np.allclose(image, expected, atol=1e-4)


@pytest.mark.parametrize("src, dst", [
    (np.s_[0:20], np.s_[3:23]), (np.s_[3:23], np.s_[0:20]), (np.s_[0:20], np.s_[19::-1]), (np.s_[0:40:2], np.s_[1:41:2])])
def test_out_may_share_memory_with_the_image(src, dst):
    memory = np.random.default_rng(3).integers(0, 256, (41, 30), dtype=np.uint8)
    image, out = memory[src], memory[dst]
    expected = mollify.gaussian(image.copy(), 2.0)
    mollify.gaussian(image, 2.0, out=out)
    assert np.array_equal(out, expected)


def test_sharpened_in_place():
    image = IMAGE.copy()
    expected = mollify.unsharp(image, 2.0, 0.5)
    assert mollify.unsharp(image, 2.0, 0.5, out=image) is image and np.array_equal(image, expected)


def test_transposed_in_place():
    memory = np.random.default_rng(4).integers(0, 256, (30, 30), dtype=np.uint8)
    expected = mollify.gaussian(memory.copy(), (1.0, 3.0))
    mollify.gaussian(memory, (1.0, 3.0), out=memory.T)
    assert is_close(memory.T, expected)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_other_numbers_are_refused_by_name(dtype):
    for image in (np.zeros((4, 4), dtype), Tensor(np.zeros((4, 4), dtype))):
        with pytest.raises(TypeError, match=f"image: arrays of {np.dtype(dtype).name} are not supported; bool, int8 to .* float64 are"):
            mollify.gaussian(image, 1.0)


def test_bfloat16_arrays_come_back():
    import ml_dtypes
    image = IMAGE.astype(ml_dtypes.bfloat16)
    out = np.zeros_like(image)
    result = mollify.gaussian(image, 2.0)
    assert result.dtype == image.dtype and mollify.gaussian(image, 2.0, out=out[:, ::-1]).base is out
    assert np.array_equal(out[:, ::-1], result)
    assert np.array_equal(result, mollify.gaussian(IMAGE.astype(np.float32), 2.0).astype(ml_dtypes.bfloat16))
    with pytest.raises(TypeError, match="out: it is bfloat16, image is float16"):
        mollify.gaussian(IMAGE.astype(np.float16), 2.0, out=out)


def test_bfloat16_rounds_ties_to_even():
    import ml_dtypes
    ulp = 2.0**-7
    image = np.array([1.0, 1.0 + ulp, 1.0 + 2 * ulp, 1.0 + 3 * ulp], ml_dtypes.bfloat16)
    means = mollify.convolve(image, np.array([0.5, 0.5]), axes=0)[:3].astype(float)
    assert means.tolist() == [1.0, 1.0 + 2 * ulp, 1.0 + 2 * ulp]


def test_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="image: arrays of "):
        mollify.gaussian(np.zeros((4, 4), np.complex64), 1.0)


def test_what_is_no_array_is_refused():
    for image, message in [([[1, 2]], "not builtins.list"), (3, "not builtins.int"), (np.zeros(4, ">f4"), "byte order"),
                           (np.zeros(4, "f4,f4"), "this kind"), (np.ma.zeros(4, np.float32), "masked"), (np.array("x"), "this kind")]:
        with pytest.raises(TypeError, match=f"image: .*{message}"):
            mollify.gaussian(image, 1.0)


def test_an_out_that_does_not_fit_is_refused():
    frozen = np.zeros_like(IMAGE)
    frozen.flags.writeable = False
    for out, error, message in [
        (np.zeros((20, 31), np.uint8), ValueError, r"out: its shape is \(20, 31\), that of image \(20, 30\)"),
        (np.zeros((20, 30), np.uint16), TypeError, "out: it is uint16, image is uint8"),
        (frozen, TypeError, "out: "),
        (StandardArray(IMAGE), TypeError, "out: .* cannot be written"),
        (Tensor(frozen), TypeError, "out: .* cannot be written"),
        ("text", TypeError, "out: "),
    ]:
        with pytest.raises(error, match=message):
            mollify.gaussian(IMAGE, 1.0, out=out)


def test_arrays_without_elements_or_axes():
    assert mollify.gaussian(np.zeros((0, 5), np.float32), 1.0).shape == (0, 5)
    assert mollify.gaussian(np.float32(3).reshape(()), 1.0) == 3


def test_nothing_is_left_of_an_array():
    image = IMAGE.copy()
    before = sys.getrefcount(image)
    for _ in range(10):
        mollify.gaussian(image, 2.0)
        mollify.gaussian(image, 2.0, out=image)
        with pytest.raises(ValueError):
            mollify.gaussian(image, -1.0)
        with pytest.raises(TypeError):
            mollify.gaussian(image, 1.0, out=np.zeros(3, np.float16))
    assert sys.getrefcount(image) == before
    image.resize((10, 60))  # which NumPy refuses while a buffer is in use


def test_tensors_and_arrays_of_arrow_come_back_for_them():
    arrow = pytest.importorskip("pyarrow")
    tensor = mollify.gaussian(arrow.Tensor.from_numpy(IMAGE), 2.0)
    assert isinstance(tensor, arrow.Tensor) and np.array_equal(tensor.to_numpy(), EXPECTED)
    signal = np.arange(40, dtype=np.float32) ** 2
    array = mollify.gaussian(arrow.array(signal), 2.0)
    assert isinstance(array, arrow.FloatArray) and np.array_equal(array.to_numpy(), mollify.gaussian(signal, 2.0))
    with pytest.raises(TypeError, match="image"):
        mollify.gaussian(arrow.array([1.0, None, 2.0]), 2.0)


def test_arrays_of_jax_come_back_for_them():
    jax = pytest.importorskip("jax")
    with jax.default_device(jax.devices("cpu")[0]):
        result = mollify.gaussian(jax.numpy.asarray(IMAGE), 2.0)
    assert isinstance(result, jax.Array) and np.array_equal(np.asarray(result), EXPECTED)
    with pytest.raises(TypeError, match="^out: "):
        mollify.gaussian(IMAGE, 2.0, out=jax.numpy.asarray(IMAGE))
