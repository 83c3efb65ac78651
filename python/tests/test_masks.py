"""Elements that are left out: by a mask, or because they are NaN."""
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymollify as mollify
import reference
from test_values import BORDER_VALUES, DTYPES, MODES, random_array

WEIGHTS = {"gaussian": reference.gaussian_weights, "box": reference.box_weights, "tent": reference.tent_weights}


def known_mean(image, certainty, function, width, axes, modes, cval):
    """The mean of what is known, and which share of the weights falls on it. Beyond a constant border everything is known."""
    product = np.where(certainty > 0, np.nan_to_num(image.astype(float)), 0.0) * certainty
    share = certainty.astype(float)
    for axis, mode in zip(axes, modes):
        product = reference.convolve_axis(product, WEIGHTS[function](width), axis, mode, cval)
        share = reference.convolve_axis(share, WEIGHTS[function](width), axis, mode, 1.0)
    return product / np.where(share > 0, share, 1.0), share


def check(image, result, exact, share, error, cval=0.0):
    """The promise holds for the error times the share of what is known."""
    assert result.dtype == image.dtype and result.shape == image.shape
    is_floating = not (image.dtype == bool or np.issubdtype(image.dtype, np.integer))
    unknown = share == 0
    if is_floating:
        assert np.isnan(result[unknown].astype(float)).all()
    else:
        assert not result[unknown].any()
    clear = share > 1e-3
    if not clear.any():
        return
    mine, exact, share = result[clear], exact[clear], share[clear]
    if image.dtype == bool:
        off = np.where(mine, 0.5 - exact, exact - 0.5)
    elif is_floating:
        largest = max(np.nan_to_num(abs(image.astype(float))).max(), abs(cval)) or 1.0
        off = (abs(mine.astype(float) - exact) - reference.half_step(exact, image.dtype)) / largest
    else:
        off = abs(mine.astype(float) - np.clip(exact, np.iinfo(image.dtype).min, np.iinfo(image.dtype).max)) - 0.5
    assert (off * share).max() <= error * (1 + 1e-6)


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_masks(data):
    shape = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    seed = data.draw(st.integers(0, 2**32))
    image = random_array(seed, shape, data.draw(st.sampled_from(DTYPES)))
    generator = np.random.default_rng(seed + 1)
    if data.draw(st.booleans()):
        mask = generator.random(shape) < data.draw(st.sampled_from([0.0, 0.2, 0.8, 1.0]))
    else:
        mask = (generator.random(shape) * (generator.random(shape) < 0.5)).astype(np.float32)
    if image.dtype == np.float32 and data.draw(st.booleans()):
        image = np.where(mask > 0, image, np.float32(np.nan))  # what is unknown has no influence
    function, width = data.draw(st.sampled_from([("gaussian", 1.2), ("box", 2.0), ("tent", 1.5)]))
    modes = data.draw(st.lists(st.sampled_from(MODES), min_size=len(shape), max_size=len(shape)))
    cval = float(BORDER_VALUES.get(image.dtype.type, (0, 200))[1]) if "constant" in modes else 0.0
    blur = getattr(mollify.Blur, function)(width, mode=modes, cval=cval)
    exact, share = known_mean(image, mask, function, width, range(len(shape)), modes, cval)
    promised = mollify.plan(getattr(mollify.Blur, function)(width, mode=modes, cval=cval, nan="skip"), image).error
    check(image, blur(image, mask=mask), exact, share, promised, cval)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("sigma", [1.5, 12.0])
def test_nan_is_skipped(dtype, sigma):
    image = random_array(3, (90, 120), dtype)
    image[np.random.default_rng(4).random(image.shape) < 0.3] = np.nan
    image[:40, :50] = np.nan
    blur = mollify.Blur.gaussian(sigma, mode="reflect", nan="skip")
    exact, share = known_mean(image, ~np.isnan(image.astype(float)), "gaussian", sigma, (0, 1), ("reflect", "reflect"), 0.0)
    check(image, blur(image), exact, share, mollify.plan(blur, image).error)
    assert np.isnan(mollify.gaussian(image, sigma).astype(float)).sum() > np.isnan(blur(image).astype(float)).sum()


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_nothing_is_known_far_from_what_is(dtype):
    """Whatever the blurs of image and mask are off by."""
    image = np.full((200, 600), 100, dtype)
    mask = np.zeros(image.shape, bool)
    mask[:, :30] = True
    result = mollify.gaussian(image, 12.0, mask=mask)
    assert abs(result[:, :60].astype(float) - 100).max() <= 1
    far = result[:, 160:]
    assert (far == 0).all() if dtype == np.uint8 else np.isnan(far).all()


def test_shares_below_the_error_count_as_unknown():
    """Their quotient would be noise."""
    image = random_array(8, (60, 400), np.float32)
    mask = np.zeros(image.shape, bool)
    mask[:, :30] = True
    result = mollify.gaussian(image, 12.0, mask=mask)
    _, share = known_mean(image, mask, "gaussian", 12.0, (0, 1), ("nearest", "nearest"), 0.0)
    below = (share > 1e-9) & (share < 1e-7)
    assert below.any() and np.isnan(result[below]).all()


def test_a_mask_of_one_channel_is_for_all():
    image = random_array(5, (40, 50, 3), np.uint8)
    mask = np.random.default_rng(6).random((40, 50)) < 0.5
    result = mollify.gaussian(image, 2.0, channel_axis=-1, mask=mask)
    assert np.array_equal(result, mollify.gaussian(image, 2.0, channel_axis=2, mask=np.repeat(mask[..., None], 3, axis=2)))
    planes = mollify.gaussian(np.moveaxis(image, 2, 0), 2.0, channel_axis=0, mask=mask)
    assert abs(np.moveaxis(planes, 0, 2).astype(int) - result).max() <= 1


def test_a_whole_mask_changes_nothing_and_out_may_be_the_image():
    image = random_array(7, (40, 50), np.uint16)
    expected = mollify.gaussian(image, 2.0)
    whole = mollify.gaussian(image, 2.0, mask=np.ones(image.shape, bool), out=image)
    assert whole is image and abs(whole.astype(int) - expected).max() <= 14


@pytest.mark.parametrize("arguments, error, message", [
    ({"mask": np.ones((4, 5), bool)}, ValueError, r"mask: its shape is \(4, 5\), that of image \(4, 4\)"),
    ({"mask": np.ones((4, 4), np.uint8)}, TypeError, "mask: an array of bool or float32 is needed, not of uint8"),
    ({"mask": "all"}, TypeError, "mask: "),
    ({"mask": np.ones((4, 4), bool), "order": 1}, ValueError, "mask: only gaussian"),
    ({"nan": "keep"}, ValueError, "nan: "),
    ({"nan": 3}, ValueError, "nan: "),
    ({"nan": "skip", "srgb": True}, ValueError, "nan: .*srgb"),
])
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        mollify.gaussian(np.zeros((4, 4), np.float32), 1.0, **arguments)


def test_kernels_that_are_no_means_leave_nothing_out():
    for blur in (mollify.Blur.unsharp(1.0, nan="skip"), mollify.Blur.separable([1, 2, 1], nan="skip")):
        with pytest.raises(ValueError, match="nan: only gaussian"):
            blur(np.zeros((4, 4)))
