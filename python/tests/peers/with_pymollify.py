"""A plug-in of pytest: runs a peer's tests on the functions of pymollify.compat, and writes what became of those that call them.

The environment says which peer it is (PEER), and where the results go (PEER_RESULTS).
"""
import functools
import json
import os

import pytest

results = {}
_was_called = False


def _counted(function):
    @functools.wraps(function)
    def call(*arguments, **named):
        global _was_called
        _was_called = True
        return function(*arguments, **named)

    return call


def _replace_scipy():
    from scipy import ndimage
    from scipy._lib._array_api import xp_capabilities_table as capabilities

    from pymollify.compat import scipy as ours
    for name in ours.__all__:
        function = _counted(getattr(ours, name))
        capabilities[function] = capabilities[getattr(ndimage, name)]
        setattr(ndimage, name, function)


def _replace_skimage():
    from skimage import filters

    from pymollify.compat import skimage as ours
    filters.gaussian = _counted(ours.gaussian)


def _replace_pillow(module):
    """Its tests call a method of Pillow's images in C, which nothing can replace, by a function of theirs."""
    from PIL import ImageFilter

    from pymollify.compat import PIL as ours
    ImageFilter.BoxBlur = _counted(ours.BoxBlur)

    def box_blur(image, radius=1, n=1):
        for _ in range(n):
            image = image.filter(ImageFilter.BoxBlur(radius))
        return image

    assert module.box_blur
    module.box_blur = box_blur


if os.environ["PEER"] == "scipy":
    _replace_scipy()
if os.environ["PEER"] == "scikit-image":
    _replace_skimage()


def pytest_collection_modifyitems(items):
    if os.environ["PEER"] == "pillow":
        _replace_pillow(items[0].module)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    global _was_called
    _was_called = False
    outcome = "failed"
    try:
        value = yield
        outcome = "passed"
        return value
    except (pytest.skip.Exception, pytest.xfail.Exception):
        outcome = "skipped"
        raise
    finally:
        if _was_called and outcome != "skipped":
            results[item.name] = outcome


def pytest_sessionfinish():
    with open(os.environ["PEER_RESULTS"], "w") as file:
        json.dump(results, file)
