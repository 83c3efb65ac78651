"""Trains on pairs of views of a picture, as SimCLR does, with blurred views: contrastive_training.py --device cuda

The pictures are made here: 32x32, a coloured disc, square or triangle before a gradient. Each step makes two views of a batch, by a flip, a
shift, other colours and a Gaussian blur, and draws views of one picture together. Steps are timed with torchvision's blur and with
mollify's, in turns, which is shown at the end.
"""
import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torchvision.transforms import functional as others

import pymollify.torch as mollify

SIZE = 32
Blur = Callable[[torch.Tensor, float], torch.Tensor]


def made_pictures(count: int, device: torch.device) -> torch.Tensor:
    """[count, 3, 32, 32] of 0 to 1."""
    y, x = torch.meshgrid(torch.arange(SIZE, device=device), torch.arange(SIZE, device=device), indexing="ij")
    centre = 8 + 16 * torch.rand(count, 2, 1, 1, device=device)
    radius = 4 + 8 * torch.rand(count, 1, 1, device=device)
    across, down = (x - centre[:, 0]).abs(), y - centre[:, 1]
    shapes = torch.stack([across.hypot(down) < radius, torch.maximum(across, down.abs()) < radius,
                          (down.abs() < radius) & (2 * across < down + radius)])
    inside = shapes[torch.randint(3, (count,), device=device), torch.arange(count, device=device)].unsqueeze(1)
    slope = torch.rand(count, 3, 1, 1, device=device) * (x + y) / (2 * SIZE)
    colour = torch.rand(count, 3, 1, 1, device=device)
    return torch.where(inside, colour, slope)


def view(pictures: torch.Tensor, blur: Blur) -> torch.Tensor:
    """Another look at each: half of them are flipped; all are shifted, get other colours, and are blurred by one sigma."""
    count = len(pictures)
    flipped = torch.rand(count, 1, 1, 1, device=pictures.device) < 0.5
    pictures = torch.where(flipped, pictures.flip(-1), pictures)
    pictures = torch.roll(pictures, shifts=torch.randint(-4, 5, (2,)).tolist(), dims=(-2, -1))
    pictures = pictures * (0.6 + 0.8 * torch.rand(count, 3, 1, 1, device=pictures.device))
    return blur(pictures, 0.1 + 1.9 * torch.rand(()).item())


def network() -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 64))


def loss_of_pairs(first: torch.Tensor, second: torch.Tensor, temperature: float = 0.2) -> torch.Tensor:
    """Cross entropy of finding the other view of each picture among all views (NT-Xent, Chen et al. 2020)."""
    views = nn.functional.normalize(torch.cat([first, second]), dim=1)
    alike = views @ views.T / temperature
    alike.fill_diagonal_(float("-inf"))
    count = len(first)
    other = torch.cat([torch.arange(count, 2 * count), torch.arange(count)]).to(views.device)
    return nn.functional.cross_entropy(alike, other)


def torchvision_blur(pictures: torch.Tensor, sigma: float) -> torch.Tensor:
    taps = 2 * round(3 * sigma) + 1
    return others.gaussian_blur(pictures, [taps, taps], [sigma, sigma])


def mollify_blur(pictures: torch.Tensor, sigma: float) -> torch.Tensor:
    return mollify.gaussian_blur(pictures, sigma, radius=round(3 * sigma), mode="mirror")


BLURS: dict[str, Blur] = {"torchvision": torchvision_blur, "mollify": mollify_blur}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    torch.manual_seed(1)
    model = network().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def finish() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    steps: dict[str, list[float]] = {name: [] for name in BLURS}
    for number in range(arguments.steps):
        name = list(BLURS)[number % len(BLURS)]
        pictures = made_pictures(arguments.batch, device)
        begin = finish()
        first, second = view(pictures, BLURS[name]), view(pictures, BLURS[name])
        loss = loss_of_pairs(model(first), model(second))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps[name].append(finish() - begin)
        if number % 20 == 0 or number == arguments.steps - 1:
            print(f"step {number}: loss {loss.item():.3f}")
    for name, seconds in steps.items():
        print(f"with the blur of {name}: {1e3 * statistics.median(seconds):.2f} ms a step, median of {len(seconds)}")


if __name__ == "__main__":
    main()
