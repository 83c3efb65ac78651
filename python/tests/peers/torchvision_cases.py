"""Compares pymollify.compat.torchvision with torchvision. Debian's Python runs it, which has both Torch and torchvision."""
import random
import sys

import torch
from torchvision.transforms.functional import gaussian_blur

from pymollify.compat import torchvision as ours

LARGEST = {torch.uint8: 1.0, torch.int16: 7.0, torch.float32: 4e-5, torch.float64: 1e-6}  # torchvision's weights are float32


def tensor(choice, dtype):
    shape = [choice.randint(1, 3) for _ in range(choice.randint(1, 2))] + [choice.randint(8, 40), choice.randint(8, 40)]
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=dtype)
    limits = torch.iinfo(dtype)
    return torch.randint(limits.min, limits.max + 1, shape, dtype=dtype)


def main(cases):
    choice = random.Random(1)
    torch.manual_seed(1)
    for case in range(cases):
        dtype = list(LARGEST)[case % len(LARGEST)]
        image = tensor(choice, dtype)
        size = [2 * choice.randint(0, 7) + 1 for _ in range(2)]
        arguments = choice.choice([(size, None), (size, choice.uniform(0.3, 4.0)), (size, [choice.uniform(0.3, 4.0) for _ in range(2)]),
                                   (size[0], None)])
        theirs = gaussian_blur(image, *arguments)
        mine = ours.gaussian_blur(image, *arguments)
        difference = (mine.double() - theirs.double()).abs().max().item()
        scale = image.abs().max().item() if dtype.is_floating_point else 1.0
        if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape) or difference > LARGEST[dtype] * scale:
            sys.exit(f"{image.shape} {dtype} {arguments}: differs by {difference}")
    print(f"{cases} cases agree")


main(int(sys.argv[1]))
