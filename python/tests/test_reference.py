"""The reference that Sphinx makes of the docstrings."""
import importlib
import subprocess
import sys
from pathlib import Path

from sphinx.util.inventory import InventoryFile

import pymollify as mollify

SOURCES = Path(__file__).parent.parent / "docs"
MODULES = ["pymollify", "pymollify.dask", "pymollify.zarr", "pymollify.ome", *(f"pymollify.compat.{name}" for name in
                                                             ("scipy", "cv2", "PIL", "skimage", "torchvision"))]


def test_it_has_every_public_name(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-d", tmp_path / "trees", SOURCES,
               tmp_path / "html"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    inventory = InventoryFile.loads((tmp_path / "html" / "objects.inv").read_bytes(), uri="")
    names = {name for kind in ("py:function", "py:class", "py:method", "py:staticmethod") for name in inventory.data.get(kind, {})}
    wanted = {f"{module}.{name}" for module in MODULES for name in importlib.import_module(module).__all__}
    wanted |= {f"pymollify.torch.{name}" for name in ("gaussian_blur", "box_blur", "GaussianBlur")}  # without Torch to ask
    kornia = ("gaussian_blur2d", "box_blur", "filter2d", "filter2d_separable", "unsharp_mask")  # the same
    wanted |= {f"pymollify.compat.kornia.{name}" for name in kornia}
    wanted |= {f"pymollify.Blur.{name}" for name in ("gaussian", "box", "tent", "convolve", "separable", "unsharp", "__call__")}
    assert wanted <= names, wanted - names


def test_docstrings_name_every_argument():
    for name in ("gaussian", "box", "tent", "convolve", "separable", "unsharp"):
        signature, text = getattr(mollify, name).__doc__.split("\n", 1)
        arguments = [part.split(":")[0].strip() for part in signature[signature.index("(") + 1:].split(", ") if ":" in part]
        assert len(arguments) > 12
        for argument in arguments:
            assert f":param {argument}:" in text, (name, argument)
