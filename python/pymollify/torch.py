# mypy: disable-error-code="import-not-found,misc,no-any-return,untyped-decorator"
# pyright: basic, reportMissingImports=false
"""Blurs of Torch's tensors, [..., height, width], with gradients, on the processor and on NVIDIA GPUs.

It needs Torch 2.4 or newer for operators that torch.compile knows; with older ones the functions are the same.
"""
import math
import sys
from collections.abc import Sequence
from typing import Any

import torch

import pymollify as mollify
from pymollify._each import _numbers
from pymollify._types import Mode

__all__ = ["GaussianBlur", "box_blur", "gaussian_blur"]


def gaussian_blur(image: torch.Tensor, sigma: float | Sequence[float] | None = None, *, sigmas: Any = None,
                  radius: int | Sequence[int] | None = None, truncate: float | None = None, mode: Mode | Sequence[Mode] = "nearest",
                  cval: float = 0.0, max_error: float | None = None) -> torch.Tensor:
    """pymollify.gaussian of the last two axes, with a gradient for the image.

    :param image: A tensor; all axes but the last two count images.
    :param sigma: The standard deviation in pixels, or one for rows and one for columns: (y, x).
    :param sigmas: In its place, one for each index of the first axis, as of pymollify.gaussian_each.
    :param radius: Where the Gaussian ends, in pixels; by default where the error cannot notice it.
    :param truncate: Where it ends, in sigmas.
    :param mode: What stands beyond the edges, as in pymollify.gaussian.
    :param cval: The value beyond the edges with constant.
    :param max_error: As in pymollify.gaussian.
    """
    if (sigma is None) == (sigmas is None):
        raise TypeError("sigma: either it or sigmas is needed")
    if sigmas is not None:
        if truncate is not None:
            raise ValueError("truncate: with sigmas there is none; radius ends all kernels")
        radii = None if radius is None else [int(r) for r in _pair(radius, "radius")]
        return _blur(image, "each", _numbers(sigmas, len(image)), radii, _modes(mode), cval, max_error)
    extents = _pair(sigma, "sigma")
    if truncate is not None:
        if radius is not None:
            raise ValueError("radius: either truncate or radius ends the kernel, not both")
        radius = [int(truncate * s + 0.5) for s in extents]
    radii = None if radius is None else [int(r) for r in _pair(radius, "radius")]
    return _blur(image, "gaussian", extents, radii, _modes(mode), cval, max_error)


def box_blur(image: torch.Tensor, radius: float | Sequence[float], *, mode: Mode | Sequence[Mode] = "nearest", cval: float = 0.0,
             max_error: float | None = None) -> torch.Tensor:
    """pymollify.box of the last two axes, with a gradient for the image.

    :param image: A tensor; all axes but the last two count images.
    :param radius: Pixels on each side, which may be a fraction, or (y, x).
    :param mode: What stands beyond the edges, as in pymollify.box.
    :param cval: The value beyond the edges with constant.
    :param max_error: As in pymollify.box.
    """
    return _blur(image, "box", _pair(radius, "radius"), None, _modes(mode), cval, max_error)


class GaussianBlur(torch.nn.Module):
    """gaussian_blur as a module, which is also a transform for torchvision.transforms.v2.Compose.

    :param sigma: The standard deviation, or the least and the largest one, between which each call draws one.
    :param each: Whether it draws one for each index of the first axis of tensors with more than three axes: for each image of a batch.
    :param arguments: Others of gaussian_blur.
    """

    def __init__(self, sigma: float | Sequence[float], *, each: bool = False, **arguments: Any) -> None:
        super().__init__()
        self.each = each
        low, high = _pair(sigma, "sigma")
        if not 0.0 <= low <= high:
            raise ValueError(f"sigma: a number from 0 up, or the least and the largest one, not {sigma}")
        self.sigma = (low, high)
        self.arguments = arguments

    def forward(self, *inputs: Any) -> Any:
        """Blurs a tensor; or of anything that has them within, images of tv_tensors, or the first tensor where there are none."""
        low, high = self.sigma
        sigma = low if low == high else float(torch.empty(()).uniform_(low, high))
        if len(inputs) == 1 and isinstance(inputs[0], torch.Tensor):
            return self._blurred(inputs[0], sigma)
        from torch.utils import _pytree
        leaves, structure = _pytree.tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        for place in _places_of_images(leaves):
            leaves[place] = self._blurred(leaves[place], sigma)
        return _pytree.tree_unflatten(leaves, structure)

    def _blurred(self, image: torch.Tensor, sigma: float) -> Any:
        low, high = self.sigma
        if self.each and low < high and image.dim() > 3:
            sigmas = torch.empty(len(image)).uniform_(low, high).tolist()
            return _wrapped(gaussian_blur(image, sigmas=sigmas, **self.arguments), image)
        return _wrapped(gaussian_blur(image, sigma, **self.arguments), image)

    def extra_repr(self) -> str:
        """What Torch prints of it."""
        low, high = self.sigma
        own = [f"sigma={low if low == high else (low, high)}", *(["each=True"] if self.each else [])]
        return ", ".join([*own, *(f"{name}={value!r}" for name, value in self.arguments.items())])


def _places_of_images(leaves: Sequence[Any]) -> list[int]:
    kinds = sys.modules.get("torchvision.tv_tensors")
    images = [i for i, leaf in enumerate(leaves) if kinds and isinstance(leaf, (kinds.Image, kinds.Video))]
    images = images or [i for i, leaf in enumerate(leaves) if type(leaf) is torch.Tensor][:1]
    if not images:
        raise TypeError("there is no image: a tensor, or one of torchvision.tv_tensors")
    return images


def _wrapped(result: torch.Tensor, image: torch.Tensor) -> Any:
    kinds = sys.modules.get("torchvision.tv_tensors")
    return kinds.wrap(result, like=image) if kinds and isinstance(image, kinds.TVTensor) else result


def _pair(value: Any, name: str) -> list[float]:
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            raise TypeError(f"{name}: there is no gradient for it; detach it")
        value = value.tolist()
    values = list(value) if isinstance(value, Sequence) else [value, value]
    if len(values) not in (1, 2):
        raise ValueError(f"{name}: 1 or 2 values are needed, not {len(values)}")
    return [float(v) for v in (values * 2 if len(values) == 1 else values)]


def _modes(mode: Any) -> list[str]:
    names = {"grid-mirror": "reflect", "grid-wrap": "wrap", "grid-constant": "constant"}
    modes = [mode, mode] if isinstance(mode, str) else list(mode)
    if len(modes) != 2:
        raise ValueError(f"mode: 1 or 2 names are needed, not {len(modes)}")
    return [names.get(m, m) for m in modes]


def _run(image: torch.Tensor, kernel: str, extents: list[float], radii: list[int] | None, modes: list[str], cval: float,
         max_error: float | None) -> torch.Tensor:
    """The blur without its gradient."""
    if image.requires_grad:
        image = image.detach()
    if image.is_cuda and image.dtype == torch.bfloat16:  # the library has no pixels of it
        return _run(image.float(), kernel, extents, radii, modes, cval, max_error).to(torch.bfloat16)
    arguments: Any = {"axes": (-2, -1), "mode": modes, "cval": cval, "max_error": max_error}
    if kernel == "box":
        return mollify.box(image, extents, **arguments)
    if kernel == "each":
        return mollify.gaussian_each(image, extents, radius=radii, **arguments)
    return mollify.gaussian(image, extents, radius=radii, **arguments)


def _adjoint(gradient: torch.Tensor, kernel: str, extents: list[float], radii: list[int] | None, modes: list[str],
             max_error: float | None) -> torch.Tensor:
    """The gradient for the image: the product with the transposed matrix of the blur.

    The kernels are symmetric, so that the matrix is, too, with reflect, wrap and constant. With mirror it is so once the edge pixels, which
    are not repeated, count half. With nearest it is that of a constant border, after the edge pixels have been repeated.
    """
    inner = list(modes)
    largest = [max(extents)] * 2 if kernel == "each" else extents
    reaches = [_reach(kernel, largest[i], None if radii is None else radii[i], gradient.dtype) for i in range(2)]
    sizes = list(gradient.shape[-2:])
    for i, axis in enumerate((-2, -1)):
        if modes[i] == "mirror":
            gradient = _weigh_edges(gradient, axis, 2.0)
        elif modes[i] == "nearest" and reaches[i] > 0:
            inner[i] = "constant"
            pad = [reaches[i], reaches[i]]
            gradient = torch.nn.functional.pad(gradient, pad if axis == -1 else [0, 0, *pad])
    gradient = _blur(gradient, kernel, extents, radii, inner, 0.0, max_error)
    for i, axis in enumerate((-2, -1)):
        if modes[i] == "mirror":
            gradient = _weigh_edges(gradient, axis, 0.5)
        elif modes[i] == "nearest" and reaches[i] > 0:
            gradient = _fold_edges(gradient, axis, reaches[i], sizes[i])
    return gradient


def _reach(kernel: str, extent: float, radius: int | None, dtype: torch.dtype) -> int:
    """Pixels that the kernel reaches as far as the numbers can notice."""
    if extent == 0.0:
        return 0
    if kernel == "box":
        return math.ceil(extent)
    sigmas = 8.5 if dtype == torch.float64 else 6.0  # what lies beyond is 2e-17 and 2e-9 of the kernel
    return math.ceil(sigmas * extent) if radius is None else radius


def _weigh_edges(x: torch.Tensor, axis: int, factor: float) -> torch.Tensor:
    extent = x.shape[axis]
    if extent == 1:
        return x
    place = torch.arange(extent, device=x.device)
    weights = torch.where((place == 0) | (place == extent - 1), factor, 1.0).to(x.dtype)
    return x * (weights if axis == -1 else weights[:, None])


def _fold_edges(x: torch.Tensor, axis: int, reach: int, extent: int) -> torch.Tensor:
    """Adds what lies beyond the edge pixels to these."""
    if extent == 1:
        return x.sum(axis, keepdim=True)
    first = x.narrow(axis, 0, reach + 1).sum(axis, keepdim=True)
    last = x.narrow(axis, reach + extent - 1, reach + 1).sum(axis, keepdim=True)
    return torch.cat([first, x.narrow(axis, reach + 1, extent - 2), last], axis)


_HAS_OPERATOR = hasattr(torch.library, "register_autograd")


class _Function(torch.autograd.Function):
    """The blur and its gradient, also for the transforms of torch.func."""

    @staticmethod
    def forward(image: torch.Tensor, *arguments: Any) -> torch.Tensor:
        return _run(image, *arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: torch.Tensor) -> None:
        ctx.arguments = inputs[1:]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        kernel, extents, radii, modes, _, max_error = ctx.arguments
        return _adjoint(gradient, kernel, extents, radii, modes, max_error), *(None for _ in ctx.arguments)

    @staticmethod
    def vmap(info: Any, in_dims: Any, image: torch.Tensor, *arguments: Any) -> Any:
        if arguments[0] == "each":
            raise NotImplementedError("sigmas: they go by the first axis, which vmap hides")
        return _FUNCTION.apply(image.movedim(in_dims[0], 0), *arguments), 0


class _OldFunction(torch.autograd.Function):
    """The same for what came before torch.func."""

    backward = _Function.backward

    @staticmethod
    def forward(ctx: Any, image: torch.Tensor, *arguments: Any) -> torch.Tensor:
        ctx.arguments = arguments
        return _run(image, *arguments)


_FUNCTION: Any = _Function if _HAS_OPERATOR else _OldFunction
if _HAS_OPERATOR:
    torch.library.define("pymollify::blur", "(Tensor image, str kernel, float[] extents, int[]? radii, str[] modes, float cval, "
                         "float? max_error) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
    torch.library.impl("pymollify::blur", ("cpu", "cuda"))(_run)

    @torch.library.register_fake("pymollify::blur")
    def _shape(image: torch.Tensor, *_: Any) -> torch.Tensor:
        return torch.empty_like(image)

    torch.library.register_autograd("pymollify::blur", _Function.backward, setup_context=_Function.setup_context)


def _blur(image: torch.Tensor, *arguments: Any) -> torch.Tensor:
    if not isinstance(image, torch.Tensor):
        raise TypeError(f"image: a tensor is needed, not {type(image).__name__}")
    if _HAS_OPERATOR:
        if torch.compiler.is_compiling() or _is_watched(image):
            return torch.ops.pymollify.blur(image, *arguments)
        if torch._C._functorch.is_functorch_wrapped_tensor(image):
            return _FUNCTION.apply(image, *arguments)
    if image.requires_grad and torch.is_grad_enabled():
        return _FUNCTION.apply(image, *arguments)
    return _run(image, *arguments)


def _is_watched(image: torch.Tensor) -> bool:
    """Whether something beside autograd must see what is done: a subclass, a mode or a trace. For nothing else there is an operator, which
    takes longer than a small blur."""
    return type(image) not in (torch.Tensor, torch.nn.Parameter) or torch._C._len_torch_dispatch_stack() > 0 or torch.jit.is_tracing()
