"""Blurs every picture of a folder with Ray Data: ray_data.py FOLDER RESULTS --sigma 2

For pictures that are a step of a longer pipeline, or that machines of a cluster share. It needs ray[data] and Pillow.
"""
import argparse
from pathlib import Path
from typing import Any

import numpy as np
import ray
from PIL import Image

import pymollify as mollify


class Blurrer:
    """An actor of Ray, which plans once for all pictures of one shape. Ray gives each actor one processor, hence one thread."""

    def __init__(self, sigma: float, results: str) -> None:
        self.blur = mollify.Blur.gaussian(sigma, channel_axis=-1, threads=1)
        self.results = Path(results)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        target = self.results / Path(row["path"]).name
        Image.fromarray(self.blur(np.ascontiguousarray(row["image"]))).save(target)
        return {"path": str(target)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sigma", type=float, default=2.0)
    parser.add_argument("--actors", type=int, default=2)
    arguments = parser.parse_args()
    arguments.results.mkdir(exist_ok=True)
    pictures = ray.data.read_images(str(arguments.folder.resolve()), mode="RGB", include_paths=True)
    blurred = pictures.map(Blurrer, fn_constructor_args=(arguments.sigma, str(arguments.results.resolve())),
                           compute=ray.data.ActorPoolStrategy(size=arguments.actors))
    # Rows are taken one by one: Ray counts pictures by the number of files, without making them.
    print(f"{sum(1 for _ in blurred.iter_rows())} pictures are in {arguments.results}")


if __name__ == "__main__":
    main()
