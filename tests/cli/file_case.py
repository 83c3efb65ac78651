"""What tests of whole files share: random pictures, the exact blur, and the tool on files of a folder of its own."""
import tempfile
import unittest
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

import tool

RANDOM = tool.fresh_random()


def gaussian(pixels, sigma=2.0):
    return gaussian_filter(pixels.astype(np.float64), (sigma, sigma, 0), mode="nearest", truncate=9)


class FileCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def random(self, dtype, channels, height=24, width=31):
        if np.issubdtype(dtype, np.integer):
            return RANDOM.integers(0, np.iinfo(dtype).max, (height, width, channels), dtype=dtype, endpoint=True)
        return RANDOM.random((height, width, channels)).astype(dtype)

    def blur(self, source, result, *options):
        self.text = tool.blur(self.folder / source, self.folder / result, "--gaussian", 2, *options)
        return tool.File(self.folder / result)

    def assert_blurred(self, got, pixels, sigma=2.0):
        """Within the default accuracy and half a step."""
        allowed = {"uint8": 0.125 + 0.5, "uint16": 1e-4 * 65535 + 0.5, "float16": 1e-4 + 2.0**-11, "float32": 2.1e-5}
        self.assertEqual(got.shape, pixels.shape)
        error = np.abs(got.astype(np.float64) - gaussian(pixels, sigma)).max()
        self.assertLessEqual(error, allowed[got.dtype.name])

    def png_chunks(self, name):
        """Pairs of type and content."""
        content = (self.folder / name).read_bytes()
        chunks, start = [], 8
        while start < len(content):
            end = start + 12 + int.from_bytes(content[start:start + 4], "big")
            chunks.append((content[start + 4:start + 8], content[start + 8:end - 4]))
            start = end
        return chunks
