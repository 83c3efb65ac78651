"""Compares pymollify.compat.kornia with the sums that kornia's documentation defines, in float64, and with kornia itself where it is
installed. Debian's Python runs it, which has Torch."""
import importlib.util
import random
import sys

import torch
from torch.nn import functional

from pymollify.compat import kornia as ours


def gaussian(size, sigma):
    x = torch.arange(size, dtype=torch.float64) - size // 2
    weights = torch.exp(-x ** 2 / (2.0 * sigma ** 2))
    return weights / weights.sum()


def filtered(image, kernels, border, padding="same"):
    """Each image of the batch correlated with its kernel, after the padding that kornia makes."""
    image = image.double()
    height, width = kernels.shape[-2:]
    if padding == "same":
        top, left = (height - 1) // 2, (width - 1) // 2
        image = functional.pad(image, [left, width - 1 - left, top, height - 1 - top], mode=border)
    kernels = kernels.double().expand(len(image), -1, -1)
    return torch.stack([functional.conv2d(one[:, None], kernel[None, None])[:, 0] for one, kernel in zip(image, kernels)])


class Definition:
    @staticmethod
    def gaussian_blur2d(image, size, sigma, border):
        y, x = (size, size) if isinstance(size, int) else size
        rows = sigma if isinstance(sigma, torch.Tensor) else torch.tensor([sigma], dtype=torch.float64)
        return filtered(image, torch.stack([torch.outer(gaussian(y, float(a)), gaussian(x, float(b))) for a, b in rows]), border)

    @staticmethod
    def box_blur(image, size, border):
        y, x = (size, size) if isinstance(size, int) else size
        return filtered(image, torch.full((1, y, x), 1.0 / (y * x), dtype=torch.float64), border)

    @staticmethod
    def filter2d(image, kernel, border, normalized, padding, behaviour):
        kernel = kernel.double()
        kernel = kernel.flip(-2, -1) if behaviour == "conv" else kernel
        return filtered(image, kernel / kernel.abs().sum((-2, -1), keepdim=True) if normalized else kernel, border, padding)

    @staticmethod
    def filter2d_separable(image, x, y, border, normalized, padding):
        x, y = (k / k.abs().sum(-1, keepdim=True) if normalized else k for k in (x.double(), y.double()))
        return filtered(image, y[:, :, None] * x[:, None, :], border, padding)

    @staticmethod
    def unsharp_mask(image, size, sigma, border):
        return 2.0 * image.double() - Definition.gaussian_blur2d(image, size, sigma, border)


def arguments_of(choice, name, batch):
    sizes = choice.choice([choice.randint(1, 8), (choice.randint(1, 8), choice.randint(1, 8)), (7, 5)])
    border = choice.choice(("constant", "reflect", "replicate", "circular"))
    if name == "box_blur":
        return sizes, border
    if name in ("gaussian_blur2d", "unsharp_mask"):
        sizes = choice.choice((2 * choice.randint(0, 4) + 1, (5, 2 * choice.randint(0, 4) + 1)))
        own = torch.rand(batch, 2, dtype=torch.float64) * 3 + 0.3
        same = own[:, :1].expand(-1, 2)
        return sizes, choice.choice(((choice.uniform(0.3, 4.0), choice.uniform(0.3, 4.0)), own, own[:1], same)), border
    count = choice.choice((1, batch))
    y, x = choice.randint(1, 7), choice.randint(1, 7)
    last = (border, choice.random() < 0.5, choice.choice(("same", "valid")))
    if name == "filter2d":
        return torch.rand(count, y, x) - 0.3, *last, choice.choice(("corr", "conv"))
    return torch.rand(count, x) - 0.3, torch.rand(count, y) - 0.3, *last


def main(cases):
    choice = random.Random(3)
    torch.manual_seed(3)
    theirs = None
    if importlib.util.find_spec("kornia"):
        import kornia.filters as theirs
    for case in range(cases):
        name = ours.__all__[case % 5]
        dtype = choice.choice((torch.float32, torch.float64))
        image = torch.randn(choice.randint(1, 3), choice.randint(1, 4), choice.randint(9, 30), choice.randint(9, 30), dtype=dtype)
        arguments = arguments_of(choice, name, len(image))
        found = getattr(ours, name)(image, *arguments)
        peers = [(Definition, 6e-5 if dtype == torch.float32 else 1e-12)]
        if theirs:
            peers.append((theirs, 2e-4 if dtype == torch.float32 else 1e-6))  # its own weights are sometimes float32
        for peer, most in peers:
            wanted = getattr(peer, name)(image, *arguments)
            difference = (found.double() - wanted.double()).abs().max().item()
            scale = image.abs().max().item() * (8.0 if name.startswith("filter") else 1.0)
            if found.shape != wanted.shape or found.dtype != dtype or difference > most * scale:
                sys.exit(f"{name} {tuple(image.shape)} {dtype} {arguments}: {peer.__name__} differs by {difference}")
    x = torch.rand(2, 1, 6, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ours.gaussian_blur2d(x, 5, (1.0, 1.5)), (x,))
    assert torch.autograd.gradcheck(lambda x: ours.unsharp_mask(x, 5, torch.tensor([[1.0, 1.0], [2.0, 2.0]])), (x,))
    assert torch.autograd.gradcheck(lambda x: ours.box_blur(x, (3, 5), "circular"), (x,))
    exact = ours.gaussian_blur2d(x.detach(), 3, (2.0, 2.0), exact=True)
    assert (exact - ours.gaussian_blur2d(x.detach(), 3, (2.0, 2.0))).abs().max() > 1e-3
    print(f"{cases} cases agree{', also with kornia' if theirs else ''}")


main(int(sys.argv[1]))
