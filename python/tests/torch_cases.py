"""pymollify.torch on the processor: values, numbers, shapes, gradients, and what is refused. Debian's Python runs it, which has Torch."""
import itertools

import numpy as np
import torch

import pymollify as mollify
import pymollify.torch as blurs

MODES = ("nearest", "reflect", "mirror", "wrap", "constant")


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"not refused: {text}")


def values():
    for dtype in (torch.uint8, torch.int16, torch.float32, torch.float64):
        image = torch.rand(2, 3, 20, 31).mul(1 if dtype.is_floating_point else 255).to(dtype)
        for mode in (*MODES, ("mirror", "wrap")):
            arguments = {"axes": (-2, -1), "mode": mode}
            for found, wanted in (
                    (blurs.gaussian_blur(image, 2.0, mode=mode), mollify.gaussian(image.numpy(), 2.0, **arguments)),
                    (blurs.gaussian_blur(image, (0.0, 3.5), truncate=2.5, mode=mode),
                     mollify.gaussian(image.numpy(), (0.0, 3.5), truncate=2.5, **arguments)),
                    (blurs.gaussian_blur(image, torch.tensor(1.5), radius=(2, 4), mode=mode),
                     mollify.gaussian(image.numpy(), 1.5, radius=(2, 4), **arguments)),
                    (blurs.box_blur(image, (1.5, 3), mode=mode), mollify.box(image.numpy(), (1.5, 3), **arguments))):
                assert found.dtype == dtype and found.shape == image.shape, (dtype, mode)
                assert np.array_equal(found.numpy(), wanted), (dtype, mode)
    image = torch.rand(3, 2, 20, 31)
    for sigmas in ([0.1, 2.0, 9.0], torch.tensor([0.5, 1.0, 2.0])):
        found = blurs.gaussian_blur(image, sigmas=sigmas, mode="reflect")
        for i in range(3):
            assert torch.equal(found[i], blurs.gaussian_blur(image[i], float(sigmas[i]), mode="reflect"))
    image = torch.rand(2, 3, 20, 31).contiguous(memory_format=torch.channels_last)
    assert blurs.gaussian_blur(image, 1.0).is_contiguous(memory_format=torch.channels_last)
    for dtype in (torch.float16, torch.bfloat16):
        assert blurs.gaussian_blur(torch.ones(5, 6, dtype=dtype), 1.0).dtype == dtype
    assert blurs.gaussian_blur(torch.zeros(4, 5), 1.0, mode="constant", cval=1.0).min() > 0.0


def gradients():
    torch.manual_seed(1)
    functions = [lambda x, mode: blurs.gaussian_blur(x, (0.8, 1.7), mode=mode), lambda x, mode: blurs.box_blur(x, (1.5, 0.0), mode=mode),
                 lambda x, mode: blurs.gaussian_blur(x, 2.0, radius=(3, 9), mode=mode)]
    batch = torch.rand(2, 4, 5, dtype=torch.float64, requires_grad=True)
    for mode in MODES:
        assert torch.autograd.gradcheck(lambda x: blurs.gaussian_blur(x, sigmas=[0.8, 2.0], mode=mode), (batch,)), mode
    for (rows, columns), mode in itertools.product(((4, 5), (1, 3)), itertools.product(MODES, repeat=2)):
        image = torch.rand(rows, columns, dtype=torch.float64, requires_grad=True)
        for function in functions:
            assert torch.autograd.gradcheck(lambda x: function(x, mode), (image,)), mode
            assert torch.autograd.gradgradcheck(lambda x: function(x, mode), (image,)), mode
    for dtype, sigma, allowed in ((torch.float64, 3.0, 1e-14), (torch.float32, 12.0, 4e-5)):  # by other algorithms
        image = torch.rand(2, 30, 40, dtype=dtype, requires_grad=True)
        for mode in MODES:
            weights = torch.rand(2, 30, 40, dtype=dtype)
            result = blurs.gaussian_blur(image, sigma, mode=mode)
            (gradient,) = torch.autograd.grad(result, image, weights)
            forward, backward = (result.double() * weights).sum(), (image.double() * gradient).sum()
            assert abs(forward - backward) <= allowed * weights.double().sum(), (dtype, mode, forward, backward)
    with torch.no_grad():
        assert not blurs.gaussian_blur(image, 1.0).requires_grad


def modules():
    image = torch.rand(2, 3, 20, 31)
    assert torch.equal(blurs.GaussianBlur(2.0, mode="mirror")(image), blurs.gaussian_blur(image, 2.0, mode="mirror"))
    drawn = blurs.GaussianBlur((0.5, 2.0))
    torch.manual_seed(2)
    first = drawn(image)
    assert not torch.equal(first, drawn(image))
    torch.manual_seed(2)
    assert torch.equal(first, drawn(image))
    each = blurs.GaussianBlur((0.5, 4.0), each=True)(image[:1].expand(2, 3, 20, 31))
    assert not torch.equal(each[0], each[1])
    label = torch.tensor(3)
    result, same = blurs.GaussianBlur(2.0)({"image": image, "name": "a"}, label)
    assert torch.equal(result["image"], blurs.gaussian_blur(image, 2.0)) and same is label and result["name"] == "a"
    assert repr(blurs.GaussianBlur((0.5, 2.0), mode="wrap")) == "GaussianBlur(sigma=(0.5, 2.0), mode='wrap')"


def refusals():
    image = torch.rand(5, 6)
    refused(TypeError, "gradient", lambda: blurs.gaussian_blur(image, torch.ones(1, requires_grad=True)))
    refused(TypeError, "tensor is needed", lambda: blurs.gaussian_blur(image.numpy(), 1.0))
    refused(TypeError, "int64", lambda: blurs.gaussian_blur(image.long(), 1.0))
    refused(ValueError, "sigma", lambda: blurs.gaussian_blur(image, (1.0, 2.0, 3.0)))
    refused(ValueError, "sigma", lambda: blurs.gaussian_blur(image, -1.0))
    refused(ValueError, "mode", lambda: blurs.gaussian_blur(image, 1.0, mode="zero"))
    refused(ValueError, "mode", lambda: blurs.gaussian_blur(image, 1.0, mode=("wrap",)))
    refused(ValueError, "not both", lambda: blurs.gaussian_blur(image, 1.0, radius=1, truncate=2.0))
    refused(ValueError, "sigma", lambda: blurs.GaussianBlur((2.0, 1.0)))
    refused(ValueError, "sigmas: one for each of 5", lambda: blurs.gaussian_blur(image, sigmas=[1.0]))
    refused(TypeError, "either", lambda: blurs.gaussian_blur(image, 1.0, sigmas=[1.0] * 5))
    refused(TypeError, "either", lambda: blurs.gaussian_blur(image))
    refused(TypeError, "no image", lambda: blurs.GaussianBlur(1.0)("a", 3))
    refused(TypeError, "pymollify.torch", lambda: mollify.gaussian(image.clone().requires_grad_(), 1.0))
    refused(ValueError, "stream", lambda: mollify.gaussian(image, 1.0, stream=0))


for check in (values, gradients, modules, refusals):
    check()
print("all as they should be")
