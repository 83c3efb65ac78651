"""Results against float64, for arrays of any shape, layout, numbers, axes and border."""
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymollify as mollify
import reference

MODES = ["nearest", "reflect", "mirror", "wrap", "constant"]
# The error that is allowed by default, in the units of max_error.
ALLOWED = {np.bool_: 2e-5, np.int8: 0.125, np.uint8: 0.125, np.int16: 6.5535, np.uint16: 6.5535, np.int32: 2.2e-3, np.uint32: 4.3e-3,
           ml_dtypes.bfloat16: 2e-5, np.float16: 1e-4, np.float32: 2e-5, np.float64: 1e-12}
# The error that 0 stands for: that of exact algorithms.
EXACT = {np.bool_: 1e-6, np.int8: 128e-6, np.uint8: 0.02, np.int16: 0.033, np.uint16: 0.02, np.int32: 2.2e-3, np.uint32: 4.3e-3,
         ml_dtypes.bfloat16: 1e-6, np.float16: 1e-4, np.float32: 1e-6, np.float64: 1e-12}
DTYPES = list(ALLOWED)

BORDER_VALUES = {np.bool_: (0, 1), np.int8: (-128, 127)}


def random_array(seed, shape, dtype):
    generator = np.random.default_rng(seed)
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.integer):
        return generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    return (generator.standard_normal(shape) * 10).astype(dtype)


@st.composite
def arrays(draw, most_axes=4):
    """Views whose axes are permuted and whose strides have gaps and signs."""
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=most_axes))
    steps = draw(st.lists(st.sampled_from([1, 1, 1, -1, 2, -2]), min_size=len(shape), max_size=len(shape)))
    order = draw(st.permutations(range(len(shape))))
    whole = random_array(draw(st.integers(0, 2**32)), [n * abs(step) for n, step in zip(shape, steps)], draw(st.sampled_from(DTYPES)))
    view = whole[tuple(slice(None, None, step) for step in steps)].transpose(order)
    view.flags.writeable = draw(st.booleans())
    return view


@st.composite
def kernels(draw, count):
    """A function's name, its arguments, and the weights of each of `count` axes."""
    kind = draw(st.sampled_from(["gaussian", "cut", "box", "size", "tent", "separable"]))
    numbers = st.lists(st.sampled_from([0.0, 0.4, 1.0, 1.75, 3.0]), min_size=count, max_size=count)
    if kind == "gaussian":
        sigma = draw(numbers)
        return "gaussian", {"sigma": sigma}, [reference.gaussian_weights(s) for s in sigma]
    if kind == "cut":
        sigma = draw(numbers)
        radius = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
        weights = [reference.gaussian_weights(s, radius=r) for s, r in zip(sigma, radius)]
        return "gaussian", {"sigma": sigma, "radius": radius}, weights
    if kind == "size":
        size = draw(st.lists(st.integers(1, 6), min_size=count, max_size=count))
        return "box", {"size": size}, [np.full(n, 1 / n) for n in size]
    if kind == "separable":
        weight = st.integers(-8, 8).map(lambda n: n / 8)
        taps = draw(st.lists(st.lists(weight, min_size=1, max_size=5), min_size=count, max_size=count))
        return "separable", {"weights": taps}, taps
    radius = draw(numbers)
    weights_of = reference.box_weights if kind == "box" else reference.tent_weights
    return kind, {"radius": radius}, [weights_of(r) for r in radius]


def convolved(image, function, weights, axes, modes, cval):
    """Beyond a constant border is cval, blurred by the axes before."""
    out = image.astype(float)
    for taps, axis, mode in zip(weights, axes, modes):
        # A window of an even size reaches further before its place, weights of an even number further after it.
        before = len(taps) // 2 if function == "separable" else len(taps) - 1 - len(taps) // 2
        out = reference.convolve_axis(out, taps, axis, mode, cval, before)
        cval *= np.sum(taps)
    return out


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_any_separable_blur(data):
    image = data.draw(arrays())
    count = data.draw(st.integers(1, image.ndim))
    axes = data.draw(st.permutations(range(image.ndim)))[:count]
    modes = data.draw(st.lists(st.sampled_from(MODES), min_size=count, max_size=count))
    function, arguments, weights = data.draw(kernels(count))
    cval = float(data.draw(st.integers(*BORDER_VALUES.get(image.dtype.type, (0, 255))))) if "constant" in modes else 0.0

    blur = getattr(mollify.Blur, function)(**arguments, axes=[a - image.ndim * (a % 2) for a in axes], mode=modes, cval=cval)
    result = blur(image)

    exact = convolved(image, function, weights, axes, modes, cval)
    gain = np.prod([abs(np.asarray(taps)).sum() for taps in weights])
    assert result.dtype == image.dtype and result.shape == image.shape
    promised = mollify.plan(blur, image).error
    assert reference.worst_error(result, exact, cval, gain, image) <= promised * (1 + 1e-9)
    if gain < 1 + 1e-9:  # else the best that there is may be worse, and the promise says so
        assert promised <= ALLOWED[image.dtype.type] * (1 + 1e-9)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_matrices(data):
    image = data.draw(arrays().filter(lambda a: a.ndim >= 2))
    axes = data.draw(st.permutations(range(image.ndim)))[:2]
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal(shape)
    mode = data.draw(st.sampled_from(MODES))
    blur = mollify.Blur.convolve(weights, axes=axes, mode=mode)
    result = blur(image)

    exact = np.zeros(image.shape)  # a matrix is a sum of rows at some distance
    for row, taps in enumerate(weights):
        shifted = np.zeros(len(weights))
        shifted[row] = 1.0
        part = reference.convolve_axis(image.astype(float), taps, axes[1], mode)
        exact += reference.convolve_axis(part, shifted, axes[0], mode)
    promised = mollify.plan(blur, image).error
    assert reference.worst_error(result, exact, 0.0, abs(weights).sum(), image) <= promised * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_blocks_of_weights(data):
    from scipy import ndimage
    image = data.draw(arrays().filter(lambda a: a.ndim >= 3 and a.dtype.itemsize >= 4 and a.dtype != np.float32))
    shape = data.draw(st.lists(st.integers(1, 4), min_size=3, max_size=3))
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal(shape)
    axes = sorted(data.draw(st.permutations(range(image.ndim)))[:3])
    mode = data.draw(st.sampled_from(MODES))
    blur = mollify.Blur.convolve(weights, axes=axes, mode=mode)
    exact = ndimage.convolve(image.astype(float), weights, mode=mode, axes=axes)
    assert reference.worst_error(blur(image), exact, 0.0, abs(weights).sum(), image) <= mollify.plan(blur, image).error * 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, arguments", [
    ((300, 270), {}),
    ((200, 150, 3), {"channel_axis": -1}),
    ((3, 200, 150), {"channel_axis": 0}),
    ((160, 120, 7), {"channel_axis": 2}),
    ((20, 90, 80), {}),
])
@pytest.mark.parametrize("sigma", [0.8, 11.0])
def test_larger_gaussians(shape, arguments, sigma, dtype):
    image = random_array(7, shape, dtype)
    blur = mollify.Blur.gaussian(sigma, mode="reflect", **arguments)
    channel_axis = arguments.get("channel_axis")
    axes = [axis for axis in range(len(shape)) if channel_axis is None or axis != channel_axis % len(shape)]
    exact = reference.gaussian(image, [sigma] * len(axes), axes, "reflect")
    assert reference.worst_error(blur(image), exact, source=image) <= mollify.plan(blur, image).error


@pytest.mark.parametrize("truncate", [2.0, 3.0, 4.0])
def test_truncate_rounds_as_scipy_does(truncate):
    from scipy import ndimage
    image = random_array(8, (64, 70), np.float32)
    for sigma in (0.7, 1.3, 4.5):
        exact = ndimage.gaussian_filter(image.astype(float), sigma, truncate=truncate, mode="mirror")
        assert reference.worst_error(mollify.gaussian(image, sigma, truncate=truncate, mode="mirror"), exact, source=image) <= 2e-5


@pytest.mark.parametrize("order", [1, 2, 3, 4, (0, 1), (2, 1)])
@pytest.mark.parametrize("end", [{"truncate": 4.0}, {"radius": 7}, {}])
def test_derivatives_are_those_of_scipy(order, end):
    from scipy import ndimage
    image = random_array(14, (50, 60), np.float32)
    exact = ndimage.gaussian_filter(image.astype(float), (1.5, 2.5), order=order, mode="reflect", **(end or {"truncate": 9.0}))
    blur = mollify.Blur.gaussian((1.5, 2.5), order=order, mode="reflect", **end)
    response = ndimage.gaussian_filter(np.pad([[1.0]], 25), (1.5, 2.5), order=order, mode="constant", truncate=9.0)
    assert reference.worst_error(blur(image), exact, gain=abs(response).sum(), source=image) <= 2e-5


@pytest.mark.parametrize("size, origin", [(4, 0), (5, 1), (6, -2), (7, 3)])
def test_windows_lie_as_those_of_scipy(size, origin):
    from scipy import ndimage
    image = random_array(9, (33, 40), np.float32)
    exact = ndimage.uniform_filter(image.astype(float), size, mode="wrap", origin=origin)
    assert reference.worst_error(mollify.box(image, size=size, origin=origin, mode="wrap"), exact, source=image) <= 2e-5


def test_convolve_is_that_of_scipy():
    from scipy import ndimage
    image = random_array(10, (33, 40), np.float32)
    weights = np.random.default_rng(1).standard_normal((4, 5))
    exact = ndimage.convolve(image.astype(float), weights, mode="nearest")
    assert reference.worst_error(mollify.convolve(image, weights), exact, gain=abs(weights).sum(), source=image) <= 2e-5
    row = np.array([1.0, 2.0, 4.0, -1.0])
    exact = ndimage.convolve1d(image.astype(float), row, axis=1, mode="reflect")
    assert reference.worst_error(mollify.convolve(image, row, axes=1, mode="reflect"), exact, gain=8.0, source=image) <= 2e-5
    assert np.allclose(mollify.convolve(image, row, axes=1, normalize=True), mollify.convolve(image, row / 6.0, axes=1), atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("max_error", [0.0, 1e-3])
def test_max_error_is_held(dtype, max_error):
    image = random_array(11, (12, 90, 100), dtype)
    blur = mollify.Blur.gaussian(6.0, max_error=max_error)
    exact = reference.gaussian(image, [6.0] * 3, range(3), "nearest")
    allowed = max(max_error, EXACT[dtype] * 3)
    assert reference.worst_error(blur(image), exact, source=image) <= mollify.plan(blur, image).error <= allowed


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_unsharp(data):
    image = data.draw(arrays(most_axes=3))
    amount = data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0, -0.75]))
    sigma = data.draw(st.lists(st.sampled_from([0.0, 1.0, 1.75]), min_size=image.ndim, max_size=image.ndim))
    mode = data.draw(st.sampled_from(MODES))
    blur = mollify.Blur.unsharp(sigma, amount, mode=mode, radius=data.draw(st.sampled_from([None, 3])))
    ends = [{"radius": 3}] * image.ndim if "radius" in repr(blur) else [{}] * image.ndim
    blurred = image.astype(float)
    for axis, (s, end) in enumerate(zip(sigma, ends)):
        blurred = reference.convolve_axis(blurred, reference.gaussian_weights(s, **end), axis, mode)
    exact = image + amount * (image - blurred)
    promised = mollify.plan(blur, image).error
    # In the array's numbers, what is allowed of integers that are summed in float64 is a part of the largest result that there may be.
    largest = 1 + 2 * abs(amount) if image.dtype in (np.int32, np.uint32) else 1
    assert promised <= ALLOWED[image.dtype.type] * largest * (1 + 1e-9)
    if image.dtype == np.float16:
        exact = np.clip(exact, -65504, 65504)
    assert reference.worst_error(blur(image), exact, gain=1 + 2 * abs(amount), source=image) <= promised * (1 + 1e-9)


def test_an_axis_without_blur_is_copied_bit_by_bit():
    image = random_array(12, (5, 6, 7), np.uint16)
    assert np.array_equal(mollify.gaussian(image, 0.0), image)
    assert np.array_equal(mollify.gaussian(image[:, ::-2], 0.0), image[:, ::-2])
    assert np.array_equal(mollify.box(image, 0), image)


def test_nan_stays_within_its_window():
    image = random_array(13, (40, 50), np.float32)
    image[20, 25] = np.nan
    result = mollify.box(image, 2)
    bad = np.zeros(image.shape, bool)
    bad[18:23, 23:28] = True
    assert np.array_equal(np.isnan(result), bad)
