"""Small files of the kinds that people have: pictures of cameras, renderers, microscopes, scanners, maps and telescopes."""
import io
import struct
import subprocess
import unittest

import numpy as np
import OpenEXR
import tifffile
from PIL import Image
from scipy.ndimage import gaussian_filter

from tests.files import hdr_test
from tests.files.blurring import TOOL, BlurTest
from tests.files.colour_profiles import matrix_profile

RANDOM = np.random.default_rng()


def write_exr(path, channels):
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {name: pixels.copy() for name, pixels in channels.items()}).write(str(path))


def tags_of(path):
    with tifffile.TiffFile(path) as file:
        return {tag.code: tag.value for tag in file.pages[0].tags}


def read_exr(path):
    return {name: channel.pixels for name, channel in OpenEXR.File(str(path), separate_channels=True).channels().items()}


class Renderings(BlurTest):
    """OpenEXR: what is no colour is not averaged."""

    def colours(self, shape, dtype):
        return {name: RANDOM.random(shape).astype(dtype) for name in "RGB"}

    def test_ids_beside_halves(self):
        for shape in [(3, 5), (20, 30), (200, 300)]:
            channels = self.colours(shape, np.float16) | {"id": RANDOM.integers(0, 2**32, shape, dtype=np.uint32)}
            write_exr(self.path("a.exr"), channels)
            self.blur("a.exr", "b.exr", "--gaussian", 0, "--format", "f32")
            got = read_exr(self.path("b.exr"))
            np.testing.assert_array_equal(got["id"], channels["id"])
            np.testing.assert_allclose(got["R"], channels["R"].astype(float), atol=1e-3)

    def test_depths_and_cryptomattes_are_copied(self):
        shape = (64, 64)
        depth = np.where(np.arange(64) < 32, 5.5, 1e10) * np.ones(shape)
        data = {"Z": depth.astype(np.float32), "crypto_object00.R": RANDOM.random(shape).astype(np.float32)}
        channels = self.colours(shape, np.float32) | data
        write_exr(self.path("a.exr"), channels)
        done = self.blur("a.exr", "b.exr", "--gaussian", 3)
        got = read_exr(self.path("b.exr"))
        for name, pixels in data.items():
            np.testing.assert_array_equal(got[name], pixels)
            self.assertIn(name, done.printed)
        self.assertFalse((got["R"] == channels["R"]).all())
        self.blur("a.exr", "c.exr", "--gaussian", 3, "--channels", "Z")
        self.assertFalse((read_exr(self.path("c.exr"))["Z"] == data["Z"]).all(), "asked for by its name, it is blurred")


class LightProbes(BlurTest):
    def test_grey_becomes_three_equal_channels(self):
        """HDR has no others. An 8-bit number is decoded to light."""
        grey = RANDOM.integers(0, 256, (20, 30), dtype=np.uint8)
        half = (grey / 255).astype(np.float16)
        Image.fromarray(grey).save(self.path("a.png"))
        write_exr(self.path("a.exr"), {"Y": half})
        write_exr(self.path("b.exr"), {"temperature": half})
        light = np.where(grey <= 0.04045 * 255, grey / 255 / 12.92, ((grey / 255 + 0.055) / 1.055) ** 2.4)
        for source, exact in [("a.png", light), ("a.exr", half), ("b.exr", half)]:
            done = self.blur(source, "b.hdr", "--gaussian", 0)
            self.assertIn("grey becomes three equal channels", done.printed)
            got = hdr_test.numbers(hdr_test.read(self.path("b.hdr").read_bytes())[2])
            np.testing.assert_allclose(got, np.repeat(exact[..., None].astype(float), 3, axis=2), rtol=1 / 200, atol=1e-6)


class Microscopes(BlurTest):
    def test_jpeg_in_tiles(self):
        """One colour stays that colour, as tifffile, Pillow and vips see it in the source and in the result.

        "ycbcr" says to tifffile that the array is YCbCr already: 99, 99, 99 is a green, which tifffile itself reads as RGB 58, 130, 48.
        """
        for photometric, colour in [("rgb", (99, 99, 99)), ("rgb", (200, 40, 90)), ("ycbcr", (99, 99, 99))]:
            for sampling in [(1, 1), (2, 2)]:
                with self.subTest(photometric=photometric, colour=colour, sampling=sampling):
                    tifffile.imwrite(self.path("a.tif"), np.full((512, 512, 3), colour, np.uint8), photometric=photometric,
                                     compression="jpeg", tile=(256, 256), subsampling=sampling, metadata=None)
                    done = self.blur("a.tif", "b.tif")
                    self.assertIn("inside TIFF (JPEG)", done.printed)
                    before, after = self.shown_by_each("a.tif"), self.shown_by_each("b.tif")
                    for program in before:
                        self.assertLessEqual(np.abs(after[program] - before[program]).max(), 2, program)
                        if photometric == "rgb":
                            self.assertLessEqual(np.abs(after[program] - colour).max(), 3, program)

    def shown_by_each(self, name):
        subprocess.run(["vips", "copy", self.path(name), self.path("vips.png")], check=True)
        pictures = {"tifffile": tifffile.imread(self.path(name)), "Pillow": Image.open(self.path(name)),
                    "vips": Image.open(self.path("vips.png"))}
        return {program: np.asarray(picture).astype(int) for program, picture in pictures.items()}

    def test_a_stack_of_imagej_behind_one_directory(self):
        stack = RANDOM.integers(0, 65536, (12, 40, 50), dtype=np.uint16)
        tifffile.imwrite(self.path("a.tif"), stack, imagej=True, metadata={"axes": "ZYX"}, truncate=True)
        self.blur("a.tif", "b.tif", "--gaussian", 2)
        got = tifffile.imread(self.path("b.tif"))
        exact = [gaussian_filter(plane.astype(float), 2, mode="nearest", truncate=8) for plane in stack]
        self.assertLessEqual(np.abs(got - np.array(exact)).max(), 8)

    def test_volumes_are_refused(self):
        for shape, tile in [((64, 512, 512), (64, 64, 64)), ((16, 64, 80), (16, 16, 16)), ((8, 32, 32), None)]:
            tifffile.imwrite(self.path("a.tif"), RANDOM.integers(0, 65536, shape, dtype=np.uint16), volumetric=True, tile=tile,
                             photometric="minisblack")
            self.assert_refused(self.try_to_blur("a.tif", "b.tif"), "volume")


class Scanners(BlurTest):
    def test_white_stored_as_zero(self):
        for dtype, black in [(np.uint8, 255), (np.uint16, 65535), (np.float32, 1.0)]:
            stored = np.full((40, 40), black, dtype)
            stored[10:30, 10:30] = 0
            tifffile.imwrite(self.path("a.tif"), stored, photometric="miniswhite", metadata=None)
            self.blur("a.tif", "b.tif", "--gaussian", 1)
            self.assertEqual(tags_of(self.path("b.tif"))[262], 0)
            got = tifffile.imread(self.path("b.tif"))
            self.assertLessEqual(got[20, 20], 0.01 * black)
            self.assertGreaterEqual(got[0, 0], 0.99 * black)

    def test_a_file_that_was_cut_off(self):
        tifffile.imwrite(self.path("a.tif"), RANDOM.integers(0, 256, (3000, 4000, 3), dtype=np.uint8), photometric="rgb")
        with open(self.path("a.tif"), "r+b") as file:
            file.truncate(1000000)
        self.assert_refused(self.try_to_blur("a.tif", "b.tif"), "cut off")


class Photographs(BlurTest):
    def exif_with_thumbnail(self, thumbnail):
        """One directory with the orientation, and behind it that of the thumbnail."""
        second = 8 + 2 + 12 + 4
        entries = [struct.pack("<HHIHH", 0x103, 3, 1, 6, 0), struct.pack("<HHII", 0x201, 4, 1, second + 2 + 36 + 4),
                   struct.pack("<HHII", 0x202, 4, 1, len(thumbnail))]
        return (b"Exif\0\0II*\0" + struct.pack("<I", 8) + struct.pack("<HHHIHHI", 1, 0x112, 3, 1, 1, 0, second) +
                struct.pack("<H", 3) + b"".join(entries) + bytes(4) + thumbnail)

    def test_the_thumbnail_is_not_sharp(self):
        face = Image.fromarray(RANDOM.integers(0, 256, (240, 320, 3), dtype=np.uint8))
        small = io.BytesIO()
        face.resize((80, 60)).save(small, "JPEG", quality=60)
        thumbnail = small.getvalue()
        for name, options in [("a.webp", {"lossless": True}), ("a.jpg", {}), ("a.png", {})]:
            face.save(self.path(name), exif=self.exif_with_thumbnail(thumbnail), **options)
            self.assertIn(thumbnail[20:], self.path(name).read_bytes())
            self.blur(name, "out_" + name, "--gaussian", 50)
            result = self.path("out_" + name).read_bytes()
            scan = thumbnail.index(b"\xff\xda") + 14  # what comes before is alike in all files
            for at in range(scan, len(thumbnail) - 16, 16):
                self.assertFalse(thumbnail[at:at + 16] in result, f"{name}: bytes {at} of the thumbnail")

    def test_wider_than_a_jpeg_can_be(self):
        Image.new("RGB", (65501, 2)).save(self.path("wide.png"))
        self.assert_refused(self.try_to_blur("wide.png", "wide.jpg"), "65500")
        batch, out = self.path("batch"), self.path("out")
        batch.mkdir()
        for name in "ac":
            Image.new("RGB", (9, 9)).save(batch / f"{name}.jpg")
        (batch / "b.jpg").write_bytes(self.path("wide.png").read_bytes())
        done = subprocess.run([TOOL, "blur", batch, "-o", out, "--gaussian", "1"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["a.jpg", "c.jpg"])

    def test_linear_light_goes_by_the_profile(self):
        edge = np.zeros((9, 40, 3), np.uint8)
        edge[:, 20:] = 255
        for gamma in [1.0, 1.8, 2.2]:
            Image.fromarray(edge).save(self.path("a.png"), icc_profile=matrix_profile(gamma))
            self.blur("a.png", "b.png", "--gaussian", 4, "--linear")
            light = gaussian_filter((edge[..., 0] / 255) ** gamma, 4, mode="nearest", truncate=8)
            got = np.asarray(Image.open(self.path("b.png")))[..., 0]
            self.assertLessEqual(np.abs(got - 255 * light ** (1 / gamma)).max(), 1.0, gamma)

    def test_bitmaps_are_refused_by_name(self):
        pixels = np.zeros((8, 8, 4), np.uint8)  # 32 bits, of which the last 8 mean nothing
        header = struct.pack("<IiiHHIIiiII", 40, 8, 8, 1, 32, 0, pixels.size, 0, 0, 0, 0)
        self.path("a.bmp").write_bytes(b"BM" + struct.pack("<IHHI", 54 + pixels.size, 0, 0, 54) + header + pixels.tobytes())
        self.assert_refused(self.try_to_blur("a.bmp", "a.png"), "BMP", "PNG")


class Maps(BlurTest):
    def test_integers_of_tomography_keep_their_values(self):
        tifffile.imwrite(self.path("a.tif"), np.full((9, 9), 1000, np.int16), metadata=None)
        done = self.blur("a.tif", "b.tif", "--gaussian", 1, "--format", "f32")
        self.assertEqual(tifffile.imread(self.path("b.tif"))[4, 4], 1000)
        self.assertIn("numbers keep their values", done.printed)

    def test_a_place_on_the_earth_stays(self):
        tags = [(33550, 12, 3, (10.0, 10.0, 0.0), True), (33922, 12, 6, (0.0, 0.0, 0.0, 5e5, 4.6e6, 0.0), True),
                (34735, 3, 8, (1, 1, 0, 1, 1024, 0, 1, 1), True)]
        tifffile.imwrite(self.path("a.tif"), np.zeros((9, 9), np.float32), metadata=None, extratags=tags)
        self.blur("a.tif", "b.tif", "--gaussian", 1)
        kept = tags_of(self.path("b.tif"))
        for code, _, _, value, _ in tags:
            self.assertEqual(kept[code], value)
        self.blur("a.tif", "c.tif", "--gaussian", 1, "--roi", "4x3+2+5")
        self.assertEqual(tags_of(self.path("c.tif"))[33922], (-2, -5, 0, 5e5, 4.6e6, 0), "pixel (0, 0) was (2, 5)")

    def test_a_hole_spoils_its_windows_only(self):
        raster = np.full((600, 600), 0.5, np.float32)
        raster[255:265, 255:265] = -3.4028235e38
        tifffile.imwrite(self.path("a.tif"), raster, metadata=None)
        for radius in [9, 30]:
            self.blur("a.tif", "b.tif", "--box", radius)
            got = tifffile.imread(self.path("b.tif")).astype(float)
            got[255 - radius:265 + radius, 255 - radius:265 + radius] = 0.5
            self.assertLess(np.abs(got - 0.5).max(), 1e-5, radius)


class Telescopes(BlurTest):
    def test_a_star_makes_nothing_negative(self):
        star = np.zeros((200, 200))
        star[100, 100] = 60000
        for dtype, sigma in [(np.float16, 3), (np.float16, 6), (np.float32, 5)]:
            tifffile.imwrite(self.path("a.tif"), star.astype(dtype), metadata=None)
            self.blur("a.tif", "b.tif", "--gaussian", sigma)
            got = tifffile.imread(self.path("b.tif")).astype(float)
            self.assertGreaterEqual(got.min(), 0)
            self.assertGreater(got.max(), 100)

    def test_what_one_nan_spoils(self):
        """A kernel of 7 sigma at most: 6, and what a coarse grid adds."""
        image = RANDOM.random((256, 256)).astype(np.float16)
        image[128, 128] = np.nan
        tifffile.imwrite(self.path("a.tif"), image, metadata=None)
        for sigma in [3, 10]:
            self.blur("a.tif", "b.tif", "--gaussian", sigma)
            spoilt = np.count_nonzero(~np.isfinite(tifffile.imread(self.path("b.tif"))))
            self.assertGreaterEqual(spoilt, 1)
            self.assertLessEqual(spoilt, (14 * sigma + 1) ** 2)

    def test_a_window_wider_than_the_image(self):
        """What it costs is what the image is, not what the window is."""
        tifffile.imwrite(self.path("a.tif"), RANDOM.integers(0, 256, (1000000, 1), dtype=np.uint8), metadata=None)
        self.blur("a.tif", "b.tif", "--box", 100000, timeout=20)


if __name__ == "__main__":
    unittest.main()
