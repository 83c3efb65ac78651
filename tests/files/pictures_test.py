"""Files with more than the result's format holds: several pictures, masks, further channels, alpha, a display window."""
import struct
import unittest

import imagecodecs
import numpy as np
import OpenEXR
import tifffile
from PIL import Image
from scipy.ndimage import gaussian_filter

from tests.files import apng_test, exr_test
from tests.files import png_files as png
from tests.files.tool_test import RANDOM, ToolTest

ONE_PICTURE = ("png", "jpg", "webp", "hdr")


class ManyPictures(ToolTest):
    def check(self, result, expected):
        """JPEG and HDR, which round, get a picture of one colour."""
        if result.endswith("tif"):
            with tifffile.TiffFile(self.path(result)) as file:
                self.assertEqual(len(file.pages), 1)
        if result.endswith("hdr"):
            self.assertIn(f"-Y {expected.shape[0]} +X {expected.shape[1]}".encode(), self.path(result).read_bytes())
            return
        got = np.asarray(Image.open(self.path(result)).convert("RGB")).astype(int)
        self.assertEqual(got.shape[:2], expected.shape[:2])
        self.assertLessEqual(np.abs(got - expected[..., :3]).max(), 3)

    def plain(self, shape):
        return np.broadcast_to(self.pixels(3), (*shape, 3)).copy()

    def test_pages(self):
        pages = [self.plain((20 + i, 30)) for i in range(3)]
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            for page in pages:
                file.write(page, photometric="rgb", metadata=None)
        for ending in ONE_PICTURE:
            said = self.blur("a.tif", "b." + ending)
            self.assertIn("of 3 pages number 1 is the result", said)
            self.check("b." + ending, pages[0])
        for ending in (*ONE_PICTURE, "tif"):
            self.assertNotIn("of 3 pages", self.blur("a.tif", "b." + ending, "--page", 2))
            self.check("b." + ending, pages[1])
        self.assertNotIn("number 1", self.blur("a.tif", "b.exr"))
        self.assertEqual(len(OpenEXR.File(str(self.path("b.exr"))).parts), 3)
        done = self.fails("a.tif", "b.png", "--page", 4)
        self.assertIn("has 3 pages, and no page 4", done)

    def test_what_only_the_first_page_says(self):
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            for text in ("one", "two"):
                authors = [(315, 2, 0, "Anna", True), (33432, 2, 0, "hers", True)] if text == "one" else []
                file.write(self.plain((20, 30)), photometric="rgb", description=text, metadata=None, extratags=authors)
        for ending in ("tif", "png"):
            self.assertNotIn("left out with page 1", self.blur("a.tif", "b." + ending, "--page", 1))
            self.assertIn("left out with page 1: Artist, Copyright\n", self.blur("a.tif", "b." + ending, "--page", 2))

    def test_planes(self):
        stack = np.stack([self.plain((20, 30))[..., 0] for _ in range(4)])
        for options in ({"truncate": True}, {}):
            tifffile.imwrite(self.path("a.tif"), stack, imagej=True, metadata={"axes": "ZYX"}, **options)
            said = self.blur("a.tif", "b.png")
            self.assertEqual(said.count("ImageJ's description left out"), 1)
            self.check("b.png", np.repeat(stack[0][..., None], 3, 2))
            self.blur("a.tif", "b.tif", "--page", 3)
            with tifffile.TiffFile(self.path("b.tif")) as file:
                self.assertFalse(file.is_imagej)
                np.testing.assert_array_equal(file.asarray(), stack[2])

    def test_frames(self):
        frames = [self.plain((20, 30)) for _ in range(3)]
        self.path("a.png").write_bytes(apng_test.animation([apng_test.Frame(each) for each in frames], 8, png.RGB))
        image = self.plain((20, 30))
        self.path("i.png").write_bytes(apng_test.animation([apng_test.Frame(each) for each in frames], 8, png.RGB, image=image))
        first, *others = (Image.fromarray(each) for each in frames)
        first.save(self.path("a.webp"), save_all=True, append_images=others, lossless=True)
        for source in ("a.png", "a.webp"):
            for ending in ("jpg", "hdr"):
                self.assertIn("of 3 frames number 1", self.blur(source, "b." + ending))
                self.check("b." + ending, frames[0])
            for ending in ("jpg", "webp", "png"):
                self.blur(source, "b." + ending, "--page", 3)
                self.check("b." + ending, frames[2])
                self.assertEqual(getattr(Image.open(self.path("b." + ending)), "n_frames", 1), 1)
        self.blur("i.png", "b.jpg")
        self.check("b.jpg", image)

    def test_parts(self):
        """The first part with colours is the picture."""
        colours = self.plain((20, 30)).astype(np.float16) / 255
        depth = np.full((20, 30), 7, np.float32)
        head = {"type": OpenEXR.scanlineimage, "compression": OpenEXR.ZIP_COMPRESSION}
        parts = {"depth": {"Z": depth}, "beauty": {c: colours[..., i].copy() for i, c in enumerate("RGB")}}
        OpenEXR.File([OpenEXR.Part(head | {"name": name}, channels) for name, channels in parts.items()]).write(str(self.path("a.exr")))
        linear = colours[0, 0].astype(float)
        encoded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055) * 255
        for ending in ("png", "webp"):
            self.assertIn("of 2 parts number 2 is the result", self.blur("a.exr", "b." + ending))
            self.check("b." + ending, np.broadcast_to(np.rint(encoded), (20, 30, 3)))


class Masks(ToolTest):
    def make(self, dtype="u1", scale=1):
        self.page = self.pixels((24, 30, 3), dtype)
        self.mask = RANDOM.integers(0, 2, (24 * scale, 30 * scale)).astype(bool)
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            file.write(self.page, photometric="rgb", metadata=None)
            file.write(self.mask, photometric="mask", subfiletype=4, metadata=None)
        visible = self.mask[::scale, ::scale]
        return visible

    def test_a_mask_that_needs_more_memory_than_there_is(self):
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            file.write(self.pixels((24, 30, 3)), photometric="rgb", metadata=None)
            file.write(np.zeros((8000, 8000), bool), photometric="mask", subfiletype=4, metadata=None, compression="deflate")
        self.assertIn("the transparency mask needs 64000000 bytes", self.fails("a.tif", "b.png", "--memory", "40M"))

    def test_a_mask_becomes_alpha(self):
        for dtype in ("u1", "u2"):
            visible = self.make(dtype)
            self.assertIn("the transparency mask becomes alpha", self.blur("a.tif", "b.png"))
            got = png.pixels_of(self.path("b.png").read_bytes())
            np.testing.assert_array_equal(got[..., 3], visible * np.iinfo(dtype).max)
            np.testing.assert_array_equal(got[visible][:, :3], self.page[visible])
        visible = self.make(scale=2)
        self.blur("a.tif", "b.webp")
        np.testing.assert_array_equal(np.asarray(Image.open(self.path("b.webp")))[..., 3], visible * 255)
        visible = self.make()
        said = self.blur("a.tif", "b.jpg", "--flatten", "black")
        self.assertIn("--flatten", said)
        self.blur("a.tif", "b.exr")
        self.assertIn("RGBA", OpenEXR.File(str(self.path("b.exr"))).channels())
        self.blur("a.tif", "b.tif")
        self.assertEqual([page.subfiletype for page in tifffile.TiffFile(self.path("b.tif")).pages], [0, 4])

    def test_what_is_hidden_stays_hidden_in_the_blur(self):
        self.make()
        self.blur("a.tif", "b.png", "--gaussian", 2)
        alpha = self.mask.astype(float)
        blurred = gaussian_filter(alpha, 2, mode="nearest", truncate=9)
        exact = gaussian_filter(self.page * alpha[..., None], (2, 2, 0), mode="nearest", truncate=9) / blurred[..., None]
        got = png.pixels_of(self.path("b.png").read_bytes())
        self.assertLessEqual(np.abs(got[..., 3] - 255 * blurred).max(), 1)
        self.assertLessEqual(np.abs(got[..., :3] - exact).max(), 1.5)


class Channels(ToolTest):
    def test_further_samples_of_a_tiff(self):
        five = self.pixels((20, 30, 5))
        tifffile.imwrite(self.path("rgb.tif"), five, photometric="rgb", metadata=None, extrasamples=["unspecified"] * 2)
        tifffile.imwrite(self.path("grey.tif"), five, photometric="minisblack", planarconfig="contig", metadata=None,
                         extrasamples=["unspecified"] * 4)
        tifffile.imwrite(self.path("alpha.tif"), five, photometric="rgb", metadata=None, extrasamples=["unspecified", "unassalpha"])
        for source, channels in (("rgb.tif", [0, 1, 2]), ("grey.tif", [0]), ("alpha.tif", [0, 1, 2, 4])):
            self.assertIn("layers and further channels (", self.blur(source, "b.png", "--alpha", "ignore"))
            np.testing.assert_array_equal(png.pixels_of(self.path("b.png").read_bytes()), five[..., channels])

    def test_a_blur_takes_the_channels_that_stay(self):
        five = self.pixels((20, 30, 5))
        tifffile.imwrite(self.path("a.tif"), five, photometric="rgb", metadata=None, extrasamples=["unspecified"] * 2)
        self.blur("a.tif", "b.png", "--gaussian", 2)
        exact = gaussian_filter(five[..., :3].astype(float), (2, 2, 0), mode="nearest", truncate=9)
        self.assertLessEqual(np.abs(png.pixels_of(self.path("b.png").read_bytes()) - exact).max(), 1)

    def test_layers_of_an_exr(self):
        def picture(*names, types=None):
            return {name: RANDOM.random((20, 30)).astype(types or np.float32) for name in names}
        head = {"type": OpenEXR.scanlineimage, "compression": OpenEXR.ZIP_COMPRESSION}
        plain, layer, others = picture("R", "G", "B"), picture("glow.R", "glow.G", "glow.B"), picture("Z", "A.x")
        for channels, stay in ((plain | layer | others, "RGB"), (layer | others, ["glow." + c for c in "RGB"])):
            OpenEXR.File(head, dict(channels)).write(str(self.path("a.exr")))
            said = self.blur("a.exr", "b.hdr", "--box", 0)
            self.assertIn("layers and further channels (", said)
            self.assertNotIn("kept as stored", said)
            self.blur("a.exr", "b.png", "--format", "u16")
            linear = np.dstack([channels[name] for name in stay]).astype(float)
            encoded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
            self.assertLessEqual(np.abs(png.pixels_of(self.path("b.png").read_bytes()) / 65535 - encoded).max(), 1e-3)

    def test_a_lone_channel_that_is_no_colour(self):
        """It is copied, whatever the format, and whether other such channels are left out or not."""
        ids = RANDOM.integers(0, 256, (20, 30)).astype(np.uint32)
        depths = RANDOM.integers(0, 256, (20, 30)).astype(np.float32)
        head = {"type": OpenEXR.scanlineimage, "compression": OpenEXR.ZIP_COMPRESSION}
        for channels, stays in (({"id": ids}, ids), ({"Z": depths}, depths), ({"Z": depths, "id": ids}, depths)):
            OpenEXR.File(head, dict(channels)).write(str(self.path("a.exr")))
            for ending in ("png", "tif", "hdr"):
                said = self.blur("a.exr", "b." + ending, "--gaussian", 2)
                self.assertIn("kept as stored", said)
                self.assertNotIn("sRGB", said)
                self.assertNotIn("are blurred", said)
            np.testing.assert_array_equal(png.pixels_of(self.path("b.png").read_bytes())[..., 0], stays)
            got = tifffile.imread(self.path("b.tif"))
            np.testing.assert_array_equal(got if got.ndim == 2 else got[..., list(channels).index("Z")], stays)
            got = imagecodecs.rgbe_decode(self.path("b.hdr").read_bytes())
            np.testing.assert_array_equal(got, np.repeat(stays[..., None], 3, 2))

    def test_numbers_that_are_clipped(self):
        """Numbers that keep their values become those of a narrower type."""
        ids = self.pixels((20, 30), "u4")
        head = {"type": OpenEXR.scanlineimage, "compression": OpenEXR.ZIP_COMPRESSION}
        OpenEXR.File(head, {"id": ids}).write(str(self.path("a.exr")))
        self.assertIn("16-bit integers, values beyond their range are clipped", self.blur("a.exr", "b.png"))
        self.assertNotIn("clipped", self.blur("a.exr", "b.tif"))
        tifffile.imwrite(self.path("a.tif"), self.pixels((20, 30), "i2"), metadata=None)
        self.assertIn("clipped", self.blur("a.tif", "b.tif", "--format", "u16"))
        self.assertNotIn("clipped", self.blur("a.tif", "b.tif", "--format", "i32"))

    def test_the_halves_of_complex_numbers(self):
        numbers = RANDOM.random((20, 30)) + 1j * RANDOM.random((20, 30))
        tifffile.imwrite(self.path("a.tif"), numbers.astype(np.complex64), metadata=None)
        self.assertIn("channels (imaginary) left out", self.blur("a.tif", "b.png"))
        got = png.pixels_of(self.path("b.png").read_bytes())[..., 0]
        self.assertLessEqual(np.abs(got / 65535 - numbers.real).max(), 1e-4)
        self.blur("a.tif", "b.exr")
        channels = OpenEXR.File(str(self.path("b.exr")), separate_channels=True).channels()
        np.testing.assert_array_equal(channels["imaginary"].pixels, numbers.astype(np.complex64).imag)

    def test_a_single_ink_of_many(self):
        inks = self.pixels((20, 30, 5))
        tifffile.imwrite(self.path("a.tif"), inks, photometric="separated", metadata=None, extratags=[(332, 3, 1, 2, True)])
        self.assertIn("layers and further channels", self.blur("a.tif", "b.png"))
        np.testing.assert_array_equal(png.pixels_of(self.path("b.png").read_bytes())[..., 0], 255 - inks[..., 0])


class Alpha(ToolTest):
    def test_alpha_is_laid_on_white_or_another_colour(self):
        colour = np.broadcast_to(np.array([200, 100, 50, 51], np.uint8), (16, 16, 4))
        self.path("a.png").write_bytes(png.image(colour, 8, png.RGB_ALPHA))
        for options, behind in (((), (255, 255, 255)), (("--flatten", "#102030"), (16, 32, 48))):
            said = self.blur("a.png", "b.jpg", *options)
            self.assertIn("--flatten", said)
            expected = 0.2 * colour[0, 0, :3] + 0.8 * np.array(behind)
            self.assertLessEqual(np.abs(np.asarray(Image.open(self.path("b.jpg"))) - expected).max(), 3)
        self.assertIn("laid on white", self.blur("a.png", "b.hdr"))

    def test_white_is_no_ink(self):
        inks = np.broadcast_to(np.array([200, 100, 50, 20, 51], np.uint8), (16, 16, 5))
        tifffile.imwrite(self.path("a.tif"), inks, photometric="separated", metadata=None, extrasamples=["unassalpha"])
        self.assertIn("laid on white", self.blur("a.tif", "b.jpg"))
        got = 255 - np.asarray(Image.open(self.path("b.jpg"))).astype(int)  # Pillow hands out the negative
        self.assertLessEqual(np.abs(np.minimum(np.abs(got - 0.2 * inks[0, 0, :4]), np.abs(255 - got - 0.2 * inks[0, 0, :4]))).max(), 4)


class Windows(ToolTest):
    def make(self, window, display):
        width, height = window[2] - window[0] + 1, window[3] - window[1] + 1
        pixels = RANDOM.random((height, width)).astype(np.float32)
        head = exr_test.header([("Y", 2, 1, 1)], window, display=display)
        self.path("a.exr").write_bytes(exr_test.scanlines(head, [row.tobytes() for row in pixels], window[1]))
        whole = np.zeros((400, 400), np.float32)  # place (100, 100) is the file's (0, 0)
        whole[100 + window[1]:101 + window[3], 100 + window[0]:101 + window[2]] = pixels
        return whole, (slice(100 + display[1], 101 + display[3]), slice(100 + display[0], 101 + display[2])), pixels

    def test_the_result_is_what_the_window_shows(self):
        for window, display in (((0, 0, 19, 9), (0, 0, 29, 19)), ((-5, -7, 40, 30), (0, 0, 19, 15)), ((10, 5, 60, 20), (-3, 8, 30, 50)),
                                ((0, 0, 9, 9), (20, 20, 29, 24))):
            with self.subTest(window=window, display=display):
                whole, shown, pixels = self.make(window, display)
                said = self.blur("a.exr", "b.tif")
                self.assertIn("a picture larger or smaller than its stored pixels", said)
                np.testing.assert_array_equal(tifffile.imread(self.path("b.tif")), whole[shown])
                self.blur("a.exr", "b.tif", "--roi", "3x4+2+1")
                np.testing.assert_array_equal(tifffile.imread(self.path("b.tif")), pixels[1:5, 2:5])
                self.blur("a.exr", "b.png")
                self.assertEqual(png.chunks(self.path("b.png").read_bytes())[0][0][1][:8], struct.pack(">2I", *whole[shown].shape[::-1]))

    def test_pixels_outside_count_for_the_blur(self):
        whole, shown, pixels = self.make((-20, -20, 40, 40), (0, 0, 19, 15))
        self.blur("a.exr", "b.tif", "--gaussian", 1.5)
        exact = gaussian_filter(pixels.astype(float), 1.5, mode="nearest", truncate=9)[20:36, 20:40]
        self.assertLessEqual(np.abs(tifffile.imread(self.path("b.tif")) - exact).max(), 1e-3)

    def test_a_window_that_is_far_too_large(self):
        self.make((0, 0, 9, 9), (0, 0, 9, 9))
        data = bytearray(self.path("a.exr").read_bytes())
        at = data.index(b"displayWindow\0box2i\0") + 24
        struct.pack_into("<4i", data, at, 0, 0, 2 ** 30 - 2, 2 ** 30 - 2)
        self.path("a.exr").write_bytes(data)
        self.assertIn("display window", self.fails("a.exr", "b.tif"))
        struct.pack_into("<4i", data, at, 0, 0, 200000, 200000)
        self.path("a.exr").write_bytes(data)
        self.assertIn("are too few for so many pixels", self.fails("a.exr", "b.tif", "--memory", "1G"))


if __name__ == "__main__":
    unittest.main()
