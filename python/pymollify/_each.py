"""A sigma for each image of a batch."""
import math
from collections.abc import Sequence
from typing import Any

from ._core import Blur, gaussian_each_on_gpu, gaussian
from ._gpu import library_of
from ._types import Array, ArrayT, Mode


def gaussian_each(image: ArrayT, sigmas: Sequence[float] | Array, *, truncate: float | None = None,
                  radius: int | Sequence[int] | None = None, axes: int | Sequence[int] | None = None, channel_axis: int | None = None,
                  mode: Mode | Sequence[Mode] = "nearest", cval: float = 0.0, alpha: bool = False, srgb: bool = False,
                  max_error: float | None = None, device: str | None = None, threads: int | None = None, out: ArrayT | None = None,
                  stream: object = None) -> ArrayT:
    """Blurs each image of a batch with the true Gaussian of its own sigma, as augmentation draws them.

    :param image: An array, whose first axis counts the images.
    :param sigmas: The standard deviation of each image in elements, for all axes that are blurred. One in the memory of a GPU is read back,
        which waits for what makes it.
    :param axes: The axes to blur; by default all but the first and channel_axis.

    The other arguments are those of gaussian(), each of every image.
    """
    shape = tuple(getattr(image, "shape", ()))
    if len(shape) < 2:
        raise ValueError("image: an axis that counts images and another one are needed")
    numbers = _numbers(sigmas, shape[0])
    counted = range(len(shape))
    if axes is None:
        skipped = {0} if channel_axis is None else {0, counted[channel_axis]}
        blurred = [axis for axis in counted if axis not in skipped]
    else:
        blurred = [counted[axis] for axis in ([axes] if isinstance(axes, int) else axes)]
        if 0 in blurred:
            raise ValueError("axes: the first axis counts the images")
    arguments: dict[str, Any] = {"truncate": truncate, "radius": radius, "mode": mode, "cval": cval, "alpha": alpha, "srgb": srgb,
                                 "max_error": max_error, "device": device, "threads": threads}
    if 0 in shape:
        return gaussian(image, 0.0, axes=blurred, out=out, stream=stream)
    any_sigma = 1.0  # what all launches have in common does not depend on it
    blur = Blur.gaussian(any_sigma, axes=blurred, channel_axis=channel_axis, **arguments)
    launched = gaussian_each_on_gpu(blur, image, numbers, out, stream)
    if launched is None:  # on the processor
        result: Any = gaussian(image, 0.0, axes=blurred, device="cpu") if out is None else out
        left: Sequence[int] = range(shape[0])
    else:
        result, left = launched
        if left and library_of(type(image)).hands_over:
            raise TypeError("sigmas: arrays of this library are not written to, and some are so large that their images are blurred one by "
                            "one; blur those by themselves")
    if channel_axis is not None:
        arguments["channel_axis"] = counted[channel_axis] - 1
    for index in left:
        one: Any = image
        gaussian(one[index], numbers[index], axes=[axis - 1 for axis in blurred], out=result[index], stream=stream, **arguments)
    return result  # type: ignore[no-any-return]


def _numbers(sigmas: Any, count: int) -> list[float]:
    if getattr(sigmas, "requires_grad", False):
        raise TypeError("sigmas: there is no gradient for them; detach them")
    if hasattr(sigmas, "__cuda_array_interface__") and library_of(type(sigmas)).is_capturing():
        raise RuntimeError("sigmas: a graph is being captured, and these lie on a GPU, from where they are read")
    numbers = [float(sigma) for sigma in (sigmas.tolist() if hasattr(sigmas, "tolist") else sigmas)]
    if len(numbers) != count:
        raise ValueError(f"sigmas: one for each of {count} images is needed, not {len(numbers)}")
    if not all(math.isfinite(sigma) and sigma >= 0.0 for sigma in numbers):
        raise ValueError("sigmas: finite numbers from 0 up are needed")
    return numbers
