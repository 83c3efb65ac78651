"""--linear: each kind of tone curve that a file can name, against the same blur in float64."""
import json
import struct
import unittest
import zlib

import numpy as np
import tifffile
from PIL import Image
from scipy.ndimage import gaussian_filter

from tests.files import png_files as png
from tests.files.colour_profiles import matrix_profile
from tests.files.tool_test import ToolTest


def from_bt709(v):
    return np.where(v < 0.0812428583, v / 4.5, ((v + 0.0992968268) / 1.0992968268) ** (1 / 0.45))


def to_bt709(light):
    return np.where(light < 0.018053968511, 4.5 * light, 1.0992968268 * light ** 0.45 - 0.0992968268)


def from_pq(v):
    root = v ** (1 / 78.84375)
    return (np.maximum(0, root - 0.8359375) / (18.8515625 - 18.6875 * root)) ** (1 / 0.1593017578125)


def to_pq(light):
    power = light ** 0.1593017578125
    return ((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power)) ** 78.84375


def from_hlg(v):
    return np.where(v <= 0.5, v * v / 3, (np.exp((v - 0.55991073) / 0.17883277) + 0.28466892) / 12)


def to_hlg(light):
    return np.where(light <= 1 / 12, np.sqrt(3 * light), 0.17883277 * np.log(np.maximum(12 * light - 0.28466892, 1e-9)) + 0.55991073)


def power(gamma):
    return lambda v: v ** gamma, lambda light: light ** (1 / gamma)


def profile(gamma, **options):
    return png.chunk(b"iCCP", b"test\0\0" + zlib.compress(matrix_profile(gamma, **options)))


def cicp(transfer):
    return png.chunk(b"cICP", bytes([9, transfer, 0, 1]))


CURVES = {
    "an exponent": (profile(1.75), power(1.75)),  # profiles have steps of 1/256
    "a table": (profile(1.8, samples=1024), power(1.8)),
    "a short table": (profile(1.0, samples=2), power(1.0)),
    "gAMA": (png.chunk(b"gAMA", struct.pack(">I", 50000)), power(2.0)),
    "BT.709": (cicp(1), (from_bt709, to_bt709)),
    "PQ": (cicp(16), (from_pq, to_pq)),
    "HLG": (cicp(18), (from_hlg, to_hlg)),
}


class LightTest(ToolTest):
    def test_each_curve(self):
        for name, (chunk, (decode, encode)) in CURVES.items():
            for bits in (8, 16):
                most = 2 ** bits - 1
                pixels = self.pixels((30, 40, 3), "u1" if bits == 8 else "u2").astype(np.uint16)
                self.path("a.png").write_bytes(png.image(pixels, bits, png.RGB, chunk))
                with self.subTest(curve=name, bits=bits):
                    error = json.loads(self.blur("a.png", "b.png", "--linear", "--gaussian", 2, "--json"))["error"]
                    light = gaussian_filter(decode(pixels / most), (2, 2, 0), mode="nearest", truncate=9)
                    got = png.pixels_of(self.path("b.png").read_bytes())
                    least, largest = encode(np.maximum(light - error, 0)), encode(np.minimum(light + error, 1))
                    self.assertTrue(((got >= most * least - 0.6) & (got <= most * largest + 0.6)).all())
                    pixels = np.maximum(pixels, most // 50)  # tables are flat near black
                    self.path("a.png").write_bytes(png.image(pixels, bits, png.RGB, chunk))
                    self.blur("a.png", "b.png", "--linear", "--box", 0)
                    np.testing.assert_array_equal(png.pixels_of(self.path("b.png").read_bytes()), pixels)

    def test_floats(self):
        """They lie between the codes of integers, and above 1."""
        for samples in (0, 1024):
            pixels = np.float32(1.5) * np.random.default_rng().random((30, 40, 3), np.float32)
            tifffile.imwrite(self.path("a.tif"), pixels, photometric="rgb", metadata=None, iccprofile=matrix_profile(1.75, samples=samples))
            self.blur("a.tif", "b.tif", "--linear", "--box", 0)
            self.assertLessEqual(np.abs(tifffile.imread(self.path("b.tif")) - pixels).max(), 1e-3 if samples else 1e-5)
            self.blur("a.tif", "b.tif", "--linear", "--gaussian", 2)
            # A table ends at 1; the straight line through its end goes on.
            decode = lambda v: np.where(v <= 1, v ** 1.75, v)
            light = gaussian_filter(decode(pixels.astype(np.float64)), (2, 2, 0), mode="nearest", truncate=9)
            expected = np.where(light <= 1, light ** (1 / 1.75), light)
            self.assertLessEqual(np.abs(tifffile.imread(self.path("b.tif")) - expected).max(), 1e-3)

    def test_a_profile_that_is_longer_than_those_of_jpeg(self):
        pixels = np.full((16, 16, 3), (60, 120, 180), np.uint8)
        srgb = 255 * (1.055 * (pixels[0, 0] / 255) ** (1.75 / 2.4) - 0.055)
        most = 255 * 65519
        for bytes_more, is_kept in ((0, True), (1, False)):
            size = most - len(matrix_profile(1.75, others=4)) + 4
            profile = matrix_profile(1.75, others=size - size % 4 - 4) + bytes(size % 4 + 4 + bytes_more)
            self.assertEqual(len(profile), most + bytes_more)
            tifffile.imwrite(self.path("a.tif"), pixels, photometric="rgb", metadata=None, iccprofile=profile)
            said = self.blur("a.tif", "b.jpg", "--quality", 100)
            self.assertEqual("sRGB" in said, not is_kept, said)
            got = Image.open(self.path("b.jpg"))
            self.assertEqual(got.info.get("icc_profile"), profile if is_kept else None)
            self.assertLessEqual(np.abs(np.asarray(got)[8, 8] - (pixels[0, 0] if is_kept else srgb)).max(), 2)

    def test_a_curve_that_has_no_way_back(self):
        falling = bytearray(matrix_profile(1.0, samples=4))
        at = falling.index(b"curv")
        struct.pack_into(">4H", falling, at + 12, 0, 50000, 30000, 65535)
        self.path("a.png").write_bytes(png.image(self.pixels((9, 9, 3)), 8, png.RGB,
                                                 png.chunk(b"iCCP", b"test\0\0" + zlib.compress(bytes(falling)))))
        self.assertIn("cannot be inverted", self.fails("a.png", "b.png", "--linear"))


if __name__ == "__main__":
    unittest.main()
