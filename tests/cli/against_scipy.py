"""The tool against SciPy's float64 filters: a 16-bit TIFF, a float EXR and an 8-bit RGBA PNG with every border."""
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
from scipy.ndimage import correlate, gaussian_filter1d, uniform_filter1d

import tool

SCIPY_MODE = {"clamp": "nearest", "mirror": "mirror", "reflect": "reflect", "wrap": "grid-wrap", "constant": "constant"}
BORDER_VALUE = 0.2  # 51/255: the definition rounds it to the source's format
RANDOM = tool.fresh_random()
ACCURACY = {row["name"]: row["default_max_error"] for row in json.loads(tool.run("list", "formats", "--json").stdout)}

# name, the tool's options, filter along one axis of a float64 array
KERNELS = [
    ("gaussian", ["--gaussian", "2.3"], lambda a, axis, **o: gaussian_filter1d(a, 2.3, axis, truncate=9, **o)),
    ("gaussian per axis", ["--gaussian", "4.5x1.2"],
     lambda a, axis, **o: gaussian_filter1d(a, [1.2, 4.5][axis], axis, truncate=9, **o)),
    ("gaussian truncated", ["--gaussian", "3", "--truncate", "4"],
     lambda a, axis, **o: gaussian_filter1d(a, 3, axis, truncate=4, **o)),
    ("gaussian wider than the image", ["--gaussian", "30"],
     lambda a, axis, **o: gaussian_filter1d(a, 30, axis, truncate=9, **o)),
    ("box", ["--box", "4"], lambda a, axis, **o: uniform_filter1d(a, 9, axis, **o)),
    ("box per axis", ["--box", "11x2"], lambda a, axis, **o: uniform_filter1d(a, [5, 23][axis], axis, **o)),
    ("box of even size", ["--box-size", "6x4"], lambda a, axis, **o: uniform_filter1d(a, [4, 6][axis], axis, **o)),
]


def blurred(pixels, along_axis, border):
    """Full scale 1. SciPy has one mode a call, so each axis is filtered for itself."""
    modes = dict(zip((1, 0), border if isinstance(border, tuple) else (border, border)))
    result = pixels.astype(np.float64) / tool.full_scale(pixels.dtype)
    for axis, mode in modes.items():
        result = along_axis(result, axis, mode=SCIPY_MODE[mode], cval=BORDER_VALUE)
    return result


class AgainstScipy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def options(self, border):
        modes = border if isinstance(border, tuple) else (border,)
        options = ["--border", ",".join(modes)]
        # SciPy filters the constant along with the image, which weights of sum one leave as it is.
        return options + (["--border-value", str(BORDER_VALUE)] if "constant" in modes else [])

    def test_every_kernel_and_border(self):
        """One run of the tool for all files, since starting it takes longer than blurring them."""
        files = {  # name: pixels, promised accuracy, half a step of the result
            "rgb16.tif": (RANDOM.integers(0, 65536, (47, 61, 3), dtype=np.uint16), ACCURACY["rgb16"], 0.5 / 65535),
            "rgb32f.exr": (RANDOM.normal(0.5, 2, (47, 61, 3)).astype(np.float32), ACCURACY["rgb32f"], 2.0**-24),
            "rgba8.png": (RANDOM.integers(0, 256, (47, 61, 4), dtype=np.uint8), ACCURACY["rgba8"], 0.5 / 255),
            "small.png": (RANDOM.integers(0, 65536, (5, 3, 1), dtype=np.uint16), ACCURACY["r16"], 0.5 / 65535),
        }
        for name, (pixels, _, _) in files.items():
            tool.write(self.folder / name, pixels)
            self.assertTrue(np.array_equal(tool.read(self.folder / name), pixels), "the file is not what was written")
        out = self.folder / "blurred"
        for kernel, options, along_axis in KERNELS:
            for border in [*SCIPY_MODE, ("wrap", "mirror")]:
                tool.blur(self.folder, "-o", out, *options, *self.options(border), "--alpha", "ignore", "--quiet", "--force")
                for name, (pixels, accuracy, half_step) in files.items():
                    with self.subTest(file=name, kernel=kernel, border=border):
                        self.check(tool.read(out / name), pixels, blurred(pixels, along_axis, border),
                                   accuracy + half_step)

    def check(self, got, pixels, exact, allowed):
        self.assertEqual(got.dtype, pixels.dtype)
        full = tool.full_scale(pixels.dtype)
        scale = 1.0 if np.issubdtype(pixels.dtype, np.integer) else max(np.abs(pixels).max(), BORDER_VALUE)
        self.assertLessEqual(np.abs(got / full - exact).max() / scale, allowed)

    def test_premultiplied_png(self):
        """Colour under little alpha must count little; alpha 0 hides its colour wholly."""
        pixels = RANDOM.integers(0, 256, (47, 61, 4), dtype=np.uint8)
        pixels[5:30, 10:40, 3] = 0
        tool.write(self.folder / "p.png", pixels)
        for kernel, options, along_axis in KERNELS:
            for border in [m for m in SCIPY_MODE if m != "constant"]:  # SciPy's value would be a premultiplied one
                with self.subTest(kernel=kernel, border=border):
                    out = self.folder / "q.png"
                    tool.blur(self.folder / "p.png", out, *options, "--border", border, "--force", "--quiet")
                    self.check_premultiplied(tool.read(out), pixels, along_axis, border)

    def check_premultiplied(self, got, pixels, along_axis, border):
        scaled = pixels / 255.0
        scaled[..., :3] *= scaled[..., 3:]
        exact = blurred(scaled, along_axis, border)
        alpha = exact[..., 3:]
        colour = np.divide(exact[..., :3], alpha, out=np.zeros_like(exact[..., :3]), where=alpha > 1e-12)
        allowed = ACCURACY["rgba8"]
        self.assertLessEqual(np.abs(got[..., 3:] / 255 - alpha).max(), allowed + 0.5 / 255)
        colour_error = np.maximum(np.abs(got[..., :3] / 255 - colour) - 0.5 / 255, 0) * alpha
        self.assertLessEqual(colour_error.max(), allowed)

    def test_own_matrix(self):
        weights = RANDOM.normal(0, 0.4, (5, 3))
        pixels = RANDOM.normal(0.5, 1.0, (30, 40, 3)).astype(np.float32)
        tool.write(self.folder / "m.exr", pixels)
        np.savetxt(self.folder / "k.txt", weights)
        tool.blur(self.folder / "m.exr", self.folder / "n.exr", "--kernel", self.folder / "k.txt",
                  "--border", "reflect")
        exact = np.stack([correlate(pixels[..., c].astype(np.float64), weights, mode="reflect") for c in range(3)], -1)
        scale = np.abs(pixels).max() * np.abs(weights).sum()
        error = np.abs(tool.read(self.folder / "n.exr") - exact).max() / scale
        self.assertLessEqual(error, ACCURACY["rgb32f"] + 2.0**-24)

    def test_region_sees_its_neighbours(self):
        pixels = RANDOM.integers(0, 65536, (47, 61, 3), dtype=np.uint16)
        tool.write(self.folder / "r.tif", pixels)
        tool.blur(self.folder / "r.tif", self.folder / "s.tif", "--gaussian", "2.3", "--roi", "20x10+7+30")
        exact = blurred(pixels, KERNELS[0][2], "clamp")[30:40, 7:27]
        error = np.abs(tool.read(self.folder / "s.tif") / 65535 - exact).max()
        self.assertLessEqual(error, ACCURACY["rgb16"] + 0.5 / 65535)


if __name__ == "__main__":
    unittest.main()
