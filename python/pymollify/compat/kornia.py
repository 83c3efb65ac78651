# mypy: disable-error-code="import-not-found,no-any-return"
# pyright: basic, reportMissingImports=false
"""Filters of kornia.filters, for Torch's tensors [batch, channel, height, width] in the memory of the host and of an NVIDIA GPU.

Gaussians are cut at `kernel_size`, as kornia cuts them. With `exact=True` they are not cut.
"""
from __future__ import annotations  # Torch may be a stand-in for the reference

from collections.abc import Sequence
from typing import Any

import torch

import pymollify as mollify
import pymollify.torch as blurs
from pymollify._types import Mode

__all__ = ["box_blur", "filter2d", "filter2d_separable", "gaussian_blur2d", "unsharp_mask"]

_MODES: dict[str, Mode] = {"constant": "constant", "reflect": "mirror", "replicate": "nearest", "circular": "wrap"}


def gaussian_blur2d(input: torch.Tensor, kernel_size: int | tuple[int, int], sigma: tuple[float, float] | torch.Tensor,
                    border_type: str = "reflect", separable: bool = True, *, exact: bool = False) -> torch.Tensor:
    """kornia.filters.gaussian_blur2d: sizes and sigmas are of y and x; a tensor of sigmas has a row for all images, or one for each."""
    _check_input(input)
    mode = _mode(border_type)
    sizes = _pair(kernel_size)
    rows = sigma.detach().tolist() if isinstance(sigma, torch.Tensor) else [list(sigma)]
    if getattr(sigma, "requires_grad", False):
        raise TypeError("sigma: there is no gradient for it; detach it")
    if len(rows) not in (1, len(input)) or any(len(row) != 2 for row in rows):
        raise ValueError(f"sigma: two numbers are needed, or two for each of {len(input)} images")
    if not all(s > 0.0 for row in rows for s in row):
        raise ValueError(f"sigma: numbers above 0 are needed, not {sigma}")
    if any(size % 2 == 0 for size in sizes):
        raise ValueError(f"kernel_size: odd numbers are needed, not {kernel_size}")
    radius = None if exact else [size // 2 for size in sizes]
    if len(rows) > 1 and all(y == x for y, x in rows):
        return blurs.gaussian_blur(input, sigmas=[y for y, _ in rows], radius=radius, mode=mode)
    return _of_each(input, rows, lambda one, row: blurs.gaussian_blur(one, row, radius=radius, mode=mode))


def box_blur(input: torch.Tensor, kernel_size: int | tuple[int, int], border_type: str = "reflect", separable: bool = False
             ) -> torch.Tensor:
    """kornia.filters.box_blur: sizes are of y and x."""
    _check_input(input)
    sizes = _pair(kernel_size)
    if all(size % 2 for size in sizes):
        return blurs.box_blur(input, [size // 2 for size in sizes], mode=_mode(border_type))
    y, x = ([1.0 / size] * size for size in sizes)
    return _separable(input, y, x, _mode(border_type))


def filter2d(input: torch.Tensor, kernel: torch.Tensor, border_type: str = "reflect", normalized: bool = False, padding: str = "same",
             behaviour: str = "corr") -> torch.Tensor:
    """kornia.filters.filter2d: a correlation, or with behaviour="conv" a convolution. It has no gradient."""
    _check_input(input)
    mode = _mode(border_type)
    if behaviour not in ("corr", "conv"):
        raise ValueError(f"behaviour: corr or conv, not {behaviour}")
    weights = _weights(kernel, 3, len(input))
    if normalized:
        weights = weights / weights.abs().sum((-2, -1), keepdim=True)
    height, width = weights.shape[-2:]
    flipped = weights if behaviour == "conv" else weights.flip(-2, -1)  # mollify convolves

    def blur(one: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        if min(own.shape) == 1:  # a list is for one axis
            return mollify.convolve(one, own.flatten().tolist(), axes=-1 if own.shape[0] == 1 else -2, mode=mode)
        return mollify.convolve(one, own.tolist(), axes=(-2, -1), mode=mode)

    return _cropped(_of_each(input, flipped, blur), height, width, padding)


def filter2d_separable(input: torch.Tensor, kernel_x: torch.Tensor, kernel_y: torch.Tensor, border_type: str = "reflect",
                       normalized: bool = False, padding: str = "same") -> torch.Tensor:
    """kornia.filters.filter2d_separable: a correlation of each axis. It has no gradient."""
    _check_input(input)
    mode = _mode(border_type)
    x, y = _weights(kernel_x, 2, len(input)), _weights(kernel_y, 2, len(input))
    if normalized:
        x, y = (w / w.abs().sum(-1, keepdim=True) for w in (x, y))
    count = max(len(x), len(y))
    rows = list(zip(y.expand(count, -1).flip(-1).tolist(), x.expand(count, -1).flip(-1).tolist()))
    return _cropped(_of_each(input, rows, lambda one, row: _separable(one, row[0], row[1], mode)), y.shape[-1], x.shape[-1], padding)


def unsharp_mask(input: torch.Tensor, kernel_size: int | tuple[int, int], sigma: tuple[float, float] | torch.Tensor,
                 border_type: str = "reflect", *, exact: bool = False) -> torch.Tensor:
    """kornia.filters.unsharp_mask: what the Gaussian takes away is added."""
    return input + (input - gaussian_blur2d(input, kernel_size, sigma, border_type, exact=exact))


def _check_input(image: Any) -> None:
    if not isinstance(image, torch.Tensor):
        raise TypeError(f"input: a tensor is needed, not {type(image).__name__}")
    if image.dim() != 4:
        raise ValueError(f"input: [batch, channel, height, width] is needed, not a tensor of {image.dim()} axes")
    if not image.dtype.is_floating_point:
        raise TypeError(f"input: a tensor of floats is needed, not of {image.dtype}")


def _mode(border_type: str) -> Mode:
    if border_type not in _MODES:
        raise ValueError(f"border_type: {', '.join(_MODES)} are known, not {border_type}")
    return _MODES[border_type]


def _pair(kernel_size: int | tuple[int, int]) -> list[int]:
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(sizes) != 2 or min(sizes) < 1:
        raise ValueError(f"kernel_size: a number from 1 up is needed, or two, not {kernel_size}")
    return sizes


def _weights(kernel: torch.Tensor, axes: int, batch: int) -> torch.Tensor:
    if getattr(kernel, "requires_grad", False):
        raise TypeError("kernel: there is no gradient for it; detach it")
    if kernel.dim() != axes or len(kernel) not in (1, batch):
        raise ValueError(f"kernel: one is needed, or one for each of {batch} images, along the first of {axes} axes")
    return kernel.double().cpu()


def _separable(image: torch.Tensor, y: Sequence[float], x: Sequence[float], mode: Mode) -> torch.Tensor:
    return mollify.separable(image, [list(y), list(x)], axes=(-2, -1), mode=mode)


def _of_each(image: torch.Tensor, rows: Any, blur: Any) -> torch.Tensor:
    """Each image by its row, or all by the only one."""
    return blur(image, rows[0]) if len(rows) == 1 else torch.stack([blur(one, row) for one, row in zip(image, rows)])


def _cropped(image: torch.Tensor, height: int, width: int, padding: str) -> torch.Tensor:
    """With padding="valid", where no weight falls beyond the edges."""
    if padding not in ("same", "valid"):
        raise ValueError(f"padding: same or valid, not {padding}")
    if padding == "same":
        return image
    top, left = (height - 1) // 2, (width - 1) // 2
    return image[..., top:image.shape[-2] - (height - 1 - top), left:image.shape[-1] - (width - 1 - left)]
