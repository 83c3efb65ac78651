"""Arguments: their forms, and refusals that name them."""
import pickle

import numpy as np
import pytest

import pymollify as mollify

IMAGE = np.random.default_rng(1).integers(0, 256, (20, 30), dtype=np.uint8)
COLOURS = np.random.default_rng(2).integers(0, 256, (20, 30, 3), dtype=np.uint8)


@pytest.mark.parametrize("function, arguments, error, message", [
    ("gaussian", {"sigma": -1}, ValueError, "sigma: .* not -1"),
    ("gaussian", {"sigma": float("nan")}, ValueError, "sigma: "),
    ("gaussian", {"sigma": "2"}, TypeError, "sigma: a number is needed, not str"),
    ("gaussian", {"sigma": [1, 2, 3]}, ValueError, "sigma: 3 values for 2 axes"),
    ("gaussian", {"sigma": []}, ValueError, "sigma: "),
    ("gaussian", {"sigma": 1, "radius": 2.5}, TypeError, "radius: an integer is needed, not float"),
    ("gaussian", {"sigma": 1, "radius": -2}, ValueError, "radius: "),
    ("gaussian", {"sigma": 1, "radius": 2, "truncate": 3}, ValueError, "radius: .*truncate"),
    ("gaussian", {"sigma": 1, "truncate": -1}, ValueError, "truncate: "),
    ("gaussian", {"sigma": 1, "order": 5}, ValueError, "order: "),
    ("gaussian", {"sigma": 1, "order": [0, 1, 0]}, ValueError, "order: 3 values for 2 axes"),
    ("gaussian", {"sigma": (1, 0), "order": 1}, ValueError, "order: .*sigma 0"),
    ("gaussian", {"sigma": 1, "axes": 2}, ValueError, "axes: there is no axis 2 in an array of 2 axes"),
    ("gaussian", {"sigma": 1, "axes": (0, -2)}, ValueError, "axes: axis 0 is named twice"),
    ("gaussian", {"sigma": 1, "axes": (0, 1), "channel_axis": -1}, ValueError, "axes: axis 1 is the channel_axis"),
    ("gaussian", {"sigma": 1, "channel_axis": 5}, ValueError, "channel_axis: "),
    ("gaussian", {"sigma": 1, "mode": "edge"}, ValueError, "mode: .*\"edge\".*nearest, reflect"),
    ("gaussian", {"sigma": 1, "mode": 3}, TypeError, "mode: "),
    ("gaussian", {"sigma": 1, "mode": ["wrap"] * 3}, ValueError, "mode: 3 values for 2 axes"),
    ("gaussian", {"sigma": 1, "cval": 3}, ValueError, "cval: only mode"),
    ("gaussian", {"sigma": 1, "cval": 300, "mode": "constant"}, ValueError, "cval: an array of uint8 cannot hold 300"),
    ("gaussian", {"sigma": 1, "cval": 0.5, "mode": "constant"}, ValueError, "cval: "),
    ("gaussian", {"sigma": 1, "max_error": -1}, ValueError, "max_error: "),
    ("gaussian", {"sigma": 1, "threads": 0}, ValueError, "threads: "),
    ("gaussian", {"sigma": 1, "threads": 1.5}, TypeError, "threads: "),
    ("gaussian", {"sigma": 1, "device": "abacus"}, ValueError, "device: .*abacus"),
    ("gaussian", {"sigma": 1, "device": 3}, TypeError, "device: "),
    ("unsharp", {"sigma": 1, "amount": "much"}, TypeError, "amount: "),
    ("unsharp", {"sigma": -1}, ValueError, "sigma: "),
    ("box", {}, ValueError, "size: "),
    ("box", {"radius": 1, "size": 3}, ValueError, "size: "),
    ("box", {"radius": 1, "origin": 1}, ValueError, "origin: "),
    ("box", {"size": 3, "origin": 2}, ValueError, "origin: 2 lies outside a window of 3"),
    ("box", {"size": 0}, ValueError, "size: "),
    ("box", {"size": [1, 2], "origin": [0, 0, 0]}, ValueError, "origin: "),
    ("tent", {"radius": [1, 2, 3]}, ValueError, "radius: 3 values for 2 axes"),
    ("convolve", {"weights": 1}, ValueError, "weights: "),
    ("convolve", {"weights": [1, 2, 1]}, ValueError, "weights: a list of numbers is for 1 axis, not 2"),
    ("convolve", {"weights": np.ones((3, 3)), "axes": 0}, ValueError, "weights: a matrix is for 2 axes, not 1"),
    ("convolve", {"weights": np.ones((3, 3, 3))}, ValueError, "weights: .*separable"),
    ("convolve", {"weights": [[1, 2], [3]]}, ValueError, "weights: .*lengths"),
    ("convolve", {"weights": [[1, "x"]]}, TypeError, "weights: "),
    ("convolve", {"weights": [[1, -1]], "normalize": True}, ValueError, "sum to zero"),
    ("separable", {"weights": []}, ValueError, "weights: "),
    ("separable", {"weights": [1, 2], "normalize": 1}, TypeError, "normalize: "),
])
def test_refusals_name_the_argument(function, arguments, error, message):
    with pytest.raises(error, match=message):
        getattr(mollify, function)(IMAGE, **arguments)
    with pytest.raises(error, match=message):
        getattr(mollify.Blur, function)(**arguments)(IMAGE)


def test_border_values_are_numbers_of_the_array():
    for dtype, cval in ((np.int8, 128), (np.int8, -129), (np.bool_, 2), (np.uint16, -1), (np.int16, 0.5)):
        with pytest.raises(ValueError, match=f"cval: an array of {np.dtype(dtype).name} cannot hold"):
            mollify.gaussian(np.zeros((4, 4), dtype), 1.0, mode="constant", cval=cval)


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError):
        mollify.gaussian(IMAGE, 1.0, output=np.float32)
    with pytest.raises(TypeError):
        mollify.gaussian(IMAGE, 1.0, (0, 1))


def test_lists_may_be_arrays_tuples_and_scalars_of_numpy():
    expected = mollify.gaussian(IMAGE, (1.0, 2.0), axes=(0, 1))
    for sigma in ([1, 2], np.array([1.0, 2.0]), np.array([1, 2], np.float16)):
        assert np.array_equal(mollify.gaussian(IMAGE, sigma, axes=np.array([0, 1])), expected)
    for sigma in (1, np.float32(1), np.int8(1), np.array(1.0), [1.0], True):
        assert np.array_equal(mollify.gaussian(IMAGE, sigma), mollify.gaussian(IMAGE, 1.0))


def test_axes_and_values_go_together():
    assert np.array_equal(mollify.gaussian(IMAGE, (1.0, 3.0), axes=(1, 0)), mollify.gaussian(IMAGE, (3.0, 1.0)))
    assert np.array_equal(mollify.gaussian(COLOURS, (1.0, 3.0), channel_axis=2), mollify.gaussian(COLOURS, (1.0, 3.0), axes=(0, 1)))
    assert not np.array_equal(mollify.gaussian(COLOURS, 1.0), mollify.gaussian(COLOURS, 1.0, channel_axis=2))


def test_modes_that_have_two_names():
    for one, other in (("reflect", "grid-mirror"), ("wrap", "grid-wrap"), ("constant", "grid-constant")):
        assert np.array_equal(mollify.gaussian(IMAGE, 2.0, mode=one), mollify.gaussian(IMAGE, 2.0, mode=other))


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_threads_change_no_bit(threads):
    image = np.random.default_rng(3).standard_normal((3, 400, 300)).astype(np.float32)
    assert np.array_equal(mollify.gaussian(image, 9.0, threads=threads), mollify.gaussian(image, 9.0))


BLURS = [
    mollify.Blur.gaussian(3),
    mollify.Blur.gaussian((1, 2.5), truncate=4, axes=(-2, -1), mode=("wrap", "constant"), cval=7, max_error=0.01, threads=2),
    mollify.Blur.gaussian(3, radius=(4, 5), device="cpu"),
    mollify.Blur.gaussian(3, order=(0, 1)), mollify.Blur.unsharp(3, 0.5, radius=9),
    mollify.Blur.box(2.5), mollify.Blur.box(size=4), mollify.Blur.box(size=(4, 5), origin=(1, -2)), mollify.Blur.tent((1, 2)),
    mollify.Blur.convolve([1, 2, 3], axes=0), mollify.Blur.convolve([[1, 2, 3], [4, 5, 6]], normalize=True),
    mollify.Blur.convolve([[[1, 2], [3, 4]]], normalize=True, axes=(0, 1, 2)), mollify.Blur.separable([[1, 2, 3], [4, 5]]),
    mollify.Blur.separable([1, 2], normalize=True, channel_axis=None),
]


@pytest.mark.parametrize("blur", BLURS, ids=repr)
def test_blurs_can_be_pickled_and_read(blur):
    assert pickle.loads(pickle.dumps(blur)) == blur
    assert eval(repr(blur), {"Blur": mollify.Blur}) == blur
    assert [other == blur for other in BLURS].count(True) == 1
    assert blur != "blur"
    image = COLOURS.astype(float) if "(0, 1, 2)" in repr(blur) else IMAGE
    assert np.array_equal(pickle.loads(pickle.dumps(blur))(image), blur(image))


def test_a_plan_says_how():
    plan = mollify.plan(mollify.Blur.gaussian(12.0, channel_axis=-1), COLOURS)
    assert plan.algorithm in str(plan) and 0 < plan.error <= 0.125 and plan.bytes >= 2 * COLOURS.nbytes and plan.seconds > 0
    assert plan.reach[0][0] >= 36 and plan.reach[2] == (0, 0)
    assert all(algorithm != plan.algorithm and reason for algorithm, reason in plan.refusals)
    volume = mollify.plan(mollify.Blur.gaussian(1.0), np.zeros((8, 9, 10), np.float32))
    assert volume.algorithm.count("+") == 1 and all(before > 2 for before, _ in volume.reach)


@pytest.mark.parametrize("make, gain", [
    (lambda: mollify.Blur.separable([[4, -4], [2, 2, 2]], max_error=0), 48),
    (lambda: mollify.Blur.convolve([[1, -2], [3, 4]], max_error=0), 10),
    (lambda: mollify.Blur.unsharp(1.0, 2.0, max_error=0), 5),
    (lambda: mollify.Blur.box(2, max_error=0), 1),
])
def test_a_promise_for_integers_is_in_their_numbers(make, gain):
    """They are converted to float32, whose errors are relative to the largest number that a result can be."""
    relative = mollify.plan(make(), np.zeros((20, 30), np.float32)).error
    assert mollify.plan(make(), np.zeros((20, 30), np.int16)).error == pytest.approx(relative * gain * 32768)
    assert mollify.plan(make(), np.zeros((20, 30), np.int8)).error == pytest.approx(relative * gain * 128)
    assert mollify.plan(make(), np.zeros((20, 30), bool)).error == pytest.approx(relative * gain)


def test_wide_numbers_are_summed_in_float64():
    for dtype, scale in ((np.float64, 1.0), (np.int32, 2.0**31), (np.uint32, 2.0**32)):
        plan = mollify.plan(mollify.Blur.gaussian((1.0, 0.0), radius=3), np.zeros((20, 30), dtype))
        assert plan.algorithm in ("sep.fused", "nxn.direct") and plan.reach == [(3, 3), (0, 0)] and "accumulator=f64" in str(plan)
        assert 0 < plan.error < 1e-14 * scale
    image = np.zeros((20, 30))
    assert mollify.plan(mollify.Blur.convolve(np.ones((3, 3, 3))), np.zeros((5, 6, 7))).algorithm == "float64.taps"
    assert mollify.plan(mollify.Blur.gaussian(2.0), image).error <= 1e-12
    with pytest.raises(ValueError, match="weights: a block of 3 axes is for as many, not 2"):
        mollify.convolve(image, np.ones((3, 3, 3)))
    with pytest.raises(ValueError, match="weights sum to zero"):
        mollify.convolve(image, [[1, -1]], normalize=True)
    assert mollify.plan(mollify.Blur.gaussian(2.0, max_error=1e-17), image).error <= 1e-12
    with pytest.raises(ValueError, match="device: arrays of float64"):
        mollify.gaussian(image, 2.0, device="vulkan:0")
    with pytest.raises(ValueError, match="sigma"):
        mollify.gaussian(image, 2e6)
    assert np.array_equal(mollify.gaussian(np.full((20, 30), 7, np.int32), 1e5), np.full((20, 30), 7))


def test_devices_can_be_opened_by_name():
    names = [device.name for device in mollify.devices()]
    assert names[0] == "cpu"
    assert np.array_equal(mollify.gaussian(IMAGE, 2.0, device=names[0]), mollify.gaussian(IMAGE, 2.0))


def test_a_gpu_blurs_the_same():
    gpus = [device.name for device in mollify.devices() if device.name != "cpu"]
    if not gpus:
        pytest.skip("no Vulkan device")
    for image in (IMAGE, COLOURS, np.random.default_rng(4).standard_normal((5, 20, 30)).astype(np.float32)):
        difference = mollify.gaussian(image, 2.0, device=gpus[0]).astype(float) - mollify.gaussian(image, 2.0)
        assert abs(difference).max() <= (1 if image.dtype == np.uint8 else 4e-4)


def test_what_no_algorithm_can_do_is_a_value_error_with_reasons():
    with pytest.raises(ValueError, match="nxn.direct"):
        mollify.gaussian(np.zeros((4, 4), np.float32), 1.0, max_error=0.0, device="vulkan:0" if len(mollify.devices()) > 1 else "cpu")
