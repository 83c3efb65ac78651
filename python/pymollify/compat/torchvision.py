"""The Gaussian of torchvision.transforms.functional, for tensors in the memory of the host and for arrays.

It is cut at `kernel_size`, as torchvision cuts it. With `exact=True` it is not cut.
"""
from collections.abc import Sequence
from typing import TypeVar

import pymollify as mollify
from pymollify._core import sigma_of_size
from pymollify._types import Array

ArrayT = TypeVar("ArrayT", bound=Array)

__all__ = ["gaussian_blur"]


def gaussian_blur(img: ArrayT, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None, *, exact: bool = False
                  ) -> ArrayT:
    """torchvision.transforms.functional.gaussian_blur: `img` is [..., height, width], sizes and sigmas are of x and y."""
    sizes = _pair(kernel_size, "kernel_size", (2,))
    for size in sizes:
        if size % 2 == 0 or size < 0:
            raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    sigmas = [sigma_of_size(size) for size in sizes] if sigma is None else _pair(sigma, "sigma", (1, 2))
    for s in sigmas:
        if s <= 0.0:
            raise ValueError(f"sigma should have positive values. Got {sigma}")
    radius = None if exact else [size // 2 for size in reversed(sizes)]
    return mollify.gaussian(img, sigmas[::-1], radius=radius, axes=(-2, -1), mode="mirror")


Number = TypeVar("Number", int, float)


def _pair(value: Number | Sequence[Number], name: str, allowed: Sequence[int]) -> list[Number]:
    values = list(value) if isinstance(value, Sequence) else [value, value]
    if len(values) not in allowed:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(values)}")
    return values * 2 if len(values) == 1 else values
