"""Windows of images, and Dask arrays: the bits of the whole, whatever the parts are."""
import dask.array as da
import numpy as np
import pytest

import pymollify as mollify
import pymollify.dask
from test_values import MODES, random_array

BLURS = [mollify.Blur.gaussian(2.0, mode="mirror"), mollify.Blur.gaussian((11.0, 3.0), mode=("reflect", "wrap")),
         mollify.Blur.gaussian(14.0), mollify.Blur.box(7, mode="wrap"), mollify.Blur.gaussian((0.0, 2.0)), mollify.Blur.tent((3, 0))]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32, np.int32, np.float64])
@pytest.mark.parametrize("blur", BLURS, ids=repr)
@pytest.mark.parametrize("channels", [None, 3])
def test_windows_have_the_bits_of_the_whole(dtype, blur, channels):
    shape = (150, 170) if channels is None else (150, 170, channels)
    image = random_array(1, shape, dtype)
    if channels:
        blur = eval(repr(blur)[:-1] + ", channel_axis=2)", {"Blur": mollify.Blur})
    expected = blur(image)
    windows = mollify.Windows(blur, shape, image.dtype.name)
    generator = np.random.default_rng(2)
    for _ in range(6):
        height, width = (int(n) for n in generator.integers(1, 80, 2))
        y, x = int(generator.integers(0, 150 - height + 1)), int(generator.integers(0, 170 - width + 1))
        parts = [(np.ascontiguousarray(image[top:top + h, left:left + w]), top, left)
                 for top, left, h, w in windows.source(y, x, height, width)]
        out = np.empty((height, width, *shape[2:]), dtype)
        windows.run(parts, y, x, out)
        assert np.array_equal(out, expected[y:y + height, x:x + width])


def test_windows_refuse():
    blur = mollify.Blur.gaussian(1.0)
    windows = mollify.Windows(blur, (20, 30), "uint8")
    image = np.zeros((20, 30), np.uint8)
    with pytest.raises(TypeError, match="dtype: .*int64"):
        mollify.Windows(blur, (20, 30), "int64")
    for call, message in [(lambda: mollify.Windows(blur, (20,), "uint8"), "shape: "),
                          (lambda: mollify.Windows(blur, (20, 30, 4), "uint8"), "shape: .*no single run"),
                          (lambda: windows.source(0, 0, 21, 30), "window: "), (lambda: windows.source(0, 0, 0, 30), "window: "),
                          (lambda: windows.run([(image, 1, 0)], 0, 0, image.copy()), "window: "),
                          (lambda: windows.run([(image[:, ::2], 0, 0)], 0, 0, image.copy()), "sources: "),
                          (lambda: windows.run([(image.astype(np.uint16), 0, 0)], 0, 0, image.copy()), "sources: ")]:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(RuntimeError):  # a part is missing
        windows.run([(image[:5], 0, 0)], 0, 0, np.empty((20, 30), np.uint8))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("chunks", [(50, 60), (200, 17), ((7, 93, 100), (150,))])
@pytest.mark.parametrize("sigma", [1.5, 12.0])
def test_dask_has_the_bits_of_the_whole(mode, chunks, sigma):
    image = random_array(3, (200, 150), np.float32)
    result = pymollify.dask.gaussian(da.from_array(image, chunks=chunks), sigma, mode=mode)
    assert result.chunks == da.from_array(image, chunks=chunks).chunks and result.dtype == image.dtype
    assert np.array_equal(result.compute(), mollify.gaussian(image, sigma, mode=mode))


def test_dask_stacks_channels_and_other_orders_of_axes():
    stack = random_array(4, (5, 90, 80, 3), np.uint8)
    lazy = da.from_array(stack, chunks=(2, 40, 50, 1))
    expected = np.stack([mollify.gaussian(image, (2.0, 3.0), channel_axis=-1, truncate=3) for image in stack])
    result = pymollify.dask.gaussian(lazy, (2.0, 3.0), axes=(1, 2), channel_axis=-1, truncate=3)
    assert result.shape == stack.shape and np.array_equal(result.compute(), expected)
    planes = da.moveaxis(lazy, 3, 0)
    result = pymollify.dask.gaussian(planes, (2.0, 3.0), axes=(2, 3), channel_axis=0, truncate=3)
    assert np.array_equal(da.moveaxis(result, 0, 3).compute(), expected)
    assert np.array_equal(pymollify.dask.box(lazy[0, :, :, 0], 4).compute(), mollify.box(stack[0, :, :, 0].copy(), 4))
    assert np.array_equal(pymollify.dask.tent(lazy[0, :, :, 0], 4).compute(), mollify.tent(stack[0, :, :, 0].copy(), 4))
    with pytest.raises(ValueError, match="axes: 2 are needed"):
        pymollify.dask.gaussian(lazy, 1.0)


def test_a_block_reads_what_it_needs():
    """Of an image that would take 10 GB."""
    read = []

    def load(block_info=None):
        place = block_info[None]["array-location"]
        read.append(place)
        return np.full([end - first for first, end in place], 7, np.uint8)

    image = da.map_blocks(load, chunks=((1000,) * 100, (1000,) * 100), dtype=np.uint8)
    result = pymollify.dask.gaussian(image, 5.0)
    read.clear()
    part = result[40_000:41_000, 50_000:51_000].compute()
    assert (part == 7).all() and len(read) == 9


def test_workers_of_other_processes():
    from distributed import Client, LocalCluster
    image = random_array(5, (300, 200), np.uint16)
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster):
        result = pymollify.dask.gaussian(da.from_array(image, chunks=(100, 100)), 9.0, threads=1).compute()
    assert np.array_equal(result, mollify.gaussian(image, 9.0))
