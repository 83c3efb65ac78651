"""Whole files through the tool: formats, types, several images, many channels, alpha and colour. All of their pixels are blurred."""
import base64
import os
import unittest
import unittest.mock

import numpy as np
import OpenImageIO as oiio
from PIL import Image

import tool
from file_case import FileCase, gaussian


def decode(v):
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def encode(v):
    return np.where(v <= 0.0031308, v * 12.92, 1.055 * np.maximum(v, 0.0031308) ** (1 / 2.4) - 0.055)


class FilesTest(FileCase):
    # Formats and types

    def test_types_are_kept(self):
        for name, dtype, channels in [("a.png", np.uint8, 3), ("b.png", np.uint16, 3), ("c.png", np.uint16, 1),
                                      ("d.tif", np.uint8, 1), ("e.tif", np.uint16, 3), ("f.tif", np.float32, 3),
                                      ("g.tif", np.float16, 3), ("h.exr", np.float16, 3), ("i.exr", np.float32, 1),
                                      ("j.webp", np.uint8, 3)]:
            with self.subTest(name=name, dtype=dtype):
                pixels = self.random(dtype, channels)
                attributes = {"webp:Lossless": 1, "compression": "lossless"} if name.endswith("webp") else {}
                if dtype == np.float16:
                    oiio.attribute("tiff:half", 1)
                tool.write(self.folder / name, pixels, attributes)
                stored = tool.read(self.folder / name)
                self.assertEqual(stored.dtype, dtype)
                result = self.blur(name, "out_" + name)
                self.assertEqual(result.pixels[0].dtype, dtype)
                if not name.endswith("webp"):
                    self.assert_blurred(result.pixels[0], stored)

    def test_jpeg_webp_and_hdr(self):
        """Their encoders are not exact, so this holds them to looking right. Grey, since they store colour coarsely."""
        grey = np.repeat(self.random(np.uint8, 1), 3, axis=2)
        for name, pixels, allowed in [("a.jpg", grey, 4), ("a.webp", grey, 4),
                                      ("a.hdr", np.repeat(self.random(np.float32, 1), 3, axis=2), 0.01)]:
            with self.subTest(name=name):
                tool.write(self.folder / name, pixels)
                stored = tool.read(self.folder / name)
                quality = ["--quality", "100"] if name.endswith("webp") else []
                got = self.blur(name, "out_" + name, *quality).pixels[0]
                self.assertEqual(got.dtype, stored.dtype)
                self.assertLess(np.abs(got - gaussian(stored)).max(), allowed)

    def test_format_converts(self):
        pixels = self.random(np.uint8, 3)
        tool.write(self.folder / "a.tif", pixels)
        for name, dtype, full in [("u16", np.uint16, 65535), ("f16", np.float16, 1), ("rgb32f", np.float32, 1)]:
            got = self.blur("a.tif", f"{name}.tif", "--format", name).pixels[0]
            self.assertEqual(got.dtype, dtype)
            exact = gaussian(pixels) / 255
            self.assertLess(np.abs(got / full - exact).max(), 6e-4 if dtype == np.float16 else 1e-4)

    def test_numbers_that_floats_cannot_hold_lose_nothing(self):
        for dtype in (np.int32, np.uint32, np.float64):
            is_float = dtype == np.float64
            for channels, rows in ((1, None), (3, None), (3, 5), (4, 3)):
                pixels = self.random(dtype, channels)
                if not is_float:  # all of them, whatever their sign
                    pixels = self.random(np.uint32, channels).astype(np.int64).astype(dtype)
                tool.write(self.folder / "in.tif", pixels)
                with unittest.mock.patch.dict(os.environ, {"MOLLIFY_TEST_STRIP_ROWS": str(rows)} if rows else {}):
                    got = self.blur("in.tif", "wide.tif", "--alpha", "ignore", "--force").pixels[0]
                self.assertEqual(got.dtype, dtype)
                self.assertNotIn("32-bit floats", self.text)
                allowed = 1e-12 if is_float else 0.5 + 1e-12 * 2.0**32
                error = np.abs(got.astype(float) - gaussian(pixels.reshape(got.shape))).max()
                self.assertLessEqual(error, allowed, f"{dtype} {channels} {rows}")

    def test_light_of_integers_of_any_type(self):
        pixels = self.random(np.float64, 3)
        exact = encode(gaussian(decode(pixels)))
        for dtype, to in ((np.int16, None), (np.uint32, None), (np.int32, None), (np.uint8, "i16")):
            full = tool.full_scale(dtype)
            tool.write(self.folder / "in.tif", (pixels * full).round().astype(dtype))
            got = self.blur("in.tif", "light.tif", "--linear", "--force", *(["--format", to] if to else [])).pixels[0]
            self.assertLess(np.abs(got / tool.full_scale(got.dtype) - exact).max(), 0.005 if dtype == np.uint8 else 1e-4, dtype)

    def test_types_that_the_library_lacks_are_kept(self):
        for name, dtype in [("d.tif", np.float64), ("u.tif", np.uint32), ("i.tif", np.int16)]:
            pixels = np.abs(self.random(dtype, 1))
            tool.write(self.folder / name, pixels)
            got = self.blur(name, "out_" + name).pixels[0]
            self.assertEqual(got.dtype, dtype)
            allowed = 0.55 + 2e-6 * tool.full_scale(dtype) if np.issubdtype(dtype, np.integer) else 2.1e-5
            self.assertLess(np.abs(got - gaussian(pixels)).max(), allowed)
            got = self.blur(name, "f_" + name, "--format", "f32", "--scale", "colour").pixels[0]
            self.assertEqual(got.dtype, np.float32)
            self.assert_blurred(got, pixels / tool.full_scale(dtype))

    # Several images, many channels

    def test_all_pages_of_a_tiff(self):
        pages = [self.random(np.uint8, 3), self.random(np.uint8, 3, 11, 17), self.random(np.uint8, 1)]
        tool.write_parts(self.folder / "pages.tif", pages)
        result = self.blur("pages.tif", "out.tif")
        self.assertEqual(len(result.pixels), 3)
        for got, page in zip(result.pixels, pages):
            self.assert_blurred(got, page)

    def test_all_parts_of_an_exr(self):
        parts = [self.random(np.float16, 3), self.random(np.float32, 1)]
        tool.write_parts(self.folder / "parts.exr", parts)
        result = self.blur("parts.exr", "out.exr")
        self.assertEqual(len(result.pixels), 2)
        self.assertEqual([result.attribute("oiio:subimagename", i) for i in range(2)], ["part0", "part1"])
        for got, part in zip(result.pixels, parts):
            self.assertEqual(got.dtype, part.dtype)
            self.assert_blurred(got, part)

    def test_six_channels(self):
        names = ("R", "G", "B", "A", "diffuse.R", "Z")
        pixels = self.random(np.float32, 6)
        tool.write(self.folder / "six.exr", pixels, names=names)
        result = self.blur("six.exr", "out.exr")
        stored = tool.File(self.folder / "six.exr")
        self.assertEqual(tuple(result.specs[0].channelnames), tuple(stored.specs[0].channelnames))
        self.assertEqual(set(stored.specs[0].channelnames), set(names))
        depth = stored.specs[0].channelnames.index("Z")
        np.testing.assert_array_equal(result.pixels[0][..., depth], stored.pixels[0][..., depth], "a depth is copied")
        self.assertIn("kept as stored: Z", self.text)
        others = [c for c in range(6) if c != depth]
        self.assert_blurred(result.pixels[0][..., others], stored.pixels[0][..., others])
        got = self.blur("six.exr", "all.exr", "--channels", "*").pixels[0]
        self.assert_blurred(got, stored.pixels[0])

    def test_mixed_types_in_one_exr(self):
        pixels = self.random(np.float32, 4)
        spec = oiio.ImageSpec(31, 24, 4, "float")
        spec.channelnames = ("R", "G", "B", "Z")
        spec.channelformats = ("half", "half", "half", "float")
        out = oiio.ImageOutput.create(str(self.folder / "mixed.exr"))
        self.assertTrue(out.open(str(self.folder / "mixed.exr"), spec), out.geterror())
        self.assertTrue(out.write_image(pixels), out.geterror())
        out.close()
        result = self.blur("mixed.exr", "out.exr", "--channels", "?")
        kinds = {n: str(f) for n, f in zip(result.specs[0].channelnames, result.specs[0].channelformats)}
        self.assertEqual(kinds, {"R": "half", "G": "half", "B": "half", "Z": "float"})
        stored = tool.read(self.folder / "mixed.exr")
        self.assertLess(np.abs(result.pixels[0] - gaussian(stored)).max(), 2e-3)

    def test_five_channel_tiff_with_unassociated_alpha(self):
        """The mask after alpha is neither multiplied by it nor lost."""
        pixels = self.random(np.uint8, 5)
        tool.write(self.folder / "five.tif", pixels, names=("R", "G", "B", "A", "mask"))
        self.assertEqual(tool.File(self.folder / "five.tif").attribute("oiio:UnassociatedAlpha"), 1)
        got = self.blur("five.tif", "out.tif").pixels[0]
        self.assert_blurred(got[..., 3:], pixels[..., 3:])
        alpha = pixels[..., 3:4] / 255.0
        exact = gaussian(pixels[..., :3] * alpha) / gaussian(alpha)
        self.assertLess((np.abs(got[..., :3] - exact) - 0.5).max(), 1.0)

    def test_ink_stays_ink(self):
        """CMYK is neither turned to RGB nor is its black taken for alpha."""
        pixels = self.random(np.uint8, 4)
        tool.write(self.folder / "ink.tif", pixels, {"tiff:ColorSpace": "CMYK"}, names=("C", "M", "Y", "K"))
        self.blur("ink.tif", "out.tif")
        self.assertNotIn("alpha", self.text)
        self.assert_blurred(tool.File(self.folder / "out.tif", raw=True).pixels[0], pixels)

    def test_ink_in_a_jpeg_stays_ink(self):
        (self.folder / "ink.jpg").write_bytes(base64.b64decode(  # one colour, 8x8 pixels of CMYK
            "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwADAgIDAgIDAwMDBAMDBAUIBQUEBAUKBwcGCAwKDAwLCgsLDQ4SEA0OEQ4LCxAWEBETFBUVFQwPFxgWFBgS"
            "FBUU/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAkHCP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAOBEMATQBZAEsAAD8A"
            "x4QNYycP/9k="))
        stored = np.asarray(Image.open(self.folder / "ink.jpg")).astype(int)
        got = {}
        for name, channels in [("ink_out.jpg", 4), ("ink.tif", 4), ("rgb.png", 3)]:
            self.blur("ink.jpg", name)
            self.assertEqual("inks (CMYK): converted" in self.text, channels == 3)
            got[name] = np.asarray(Image.open(self.folder / name)).astype(int)
            self.assertEqual(got[name].shape, (8, 8, channels))
        self.assertLessEqual(np.abs(got["ink_out.jpg"] - stored).max(), 2)
        ink = got["ink.tif"] / 255  # 0 is no ink
        plain = 255 * (1 - ink[..., :3]) * (1 - ink[..., 3:])
        self.assertLessEqual(np.abs(got["rgb.png"] - plain).max(), 1)

    def test_mip_levels(self):
        for name, kind in [("mip.exr", "openexr"), ("mip.tif", "tiff")]:
            with self.subTest(name=name):
                self.check_mip_levels(name, kind)

    def check_mip_levels(self, name, kind):
        """A level of half the size is blurred half as wide."""
        base = oiio.ImageBuf(oiio.ImageSpec(32, 32, 3, "float"))
        base.set_pixels(oiio.ROI(), self.random(np.float32, 3, 32, 32))
        config = oiio.ImageSpec()
        config.attribute("maketx:fileformatname", kind)
        self.assertTrue(oiio.ImageBufAlgo.make_texture(oiio.MakeTxTexture, base, str(self.folder / name), config))
        levels = tool.File(self.folder / name).pixels
        self.assertEqual(len(levels), 6)
        result = self.blur(name, "out_" + name)
        self.assertEqual(result.levels, [(0, i) for i in range(6)])
        for i, (got, pixels) in enumerate(zip(result.pixels, levels)):
            self.assert_blurred(got, pixels, sigma=2.0 / 2**i)

    def test_tiles_stay(self):
        for name in ["t.tif", "t.exr"]:
            pixels = self.random(np.float32, 3, 70, 90)
            spec = tool.make_spec(pixels)
            spec.tile_width = spec.tile_height = 32
            out = oiio.ImageOutput.create(str(self.folder / name))
            self.assertTrue(out.open(str(self.folder / name), spec), out.geterror())
            self.assertTrue(out.write_image(pixels), out.geterror())
            out.close()
            result = self.blur(name, "out_" + name)
            self.assertEqual((result.specs[0].tile_width, result.specs[0].tile_height), (32, 32))
            self.assert_blurred(result.pixels[0], pixels)

    def test_exr_windows_stay(self):
        pixels = self.random(np.float32, 3)
        spec = tool.make_spec(pixels)
        spec.x, spec.y, spec.full_x, spec.full_y, spec.full_width, spec.full_height = -3, 5, 0, 0, 64, 48
        out = oiio.ImageOutput.create(str(self.folder / "w.exr"))
        self.assertTrue(out.open(str(self.folder / "w.exr"), spec), out.geterror())
        self.assertTrue(out.write_image(pixels), out.geterror())
        out.close()
        got = self.blur("w.exr", "out.exr").specs[0]
        self.assertEqual((got.x, got.y, got.full_width, got.full_height), (-3, 5, 64, 48))

    # Alpha and colour

    def test_no_dark_halo(self):
        """A white disc on transparent black stays white up to its soft edge."""
        y, x = np.mgrid[:64, :64]
        inside = (x - 32) ** 2 + (y - 32) ** 2 < 300
        pixels = np.zeros((64, 64, 4), np.uint8)
        pixels[inside] = 255
        for name in ["halo.png", "halo.tif", "halo.webp"]:
            tool.write(self.folder / "halo.png", pixels)
            if name.endswith("webp"):  # OpenImageIO's own writer changes such pixels, the tool's does not
                tool.blur(self.folder / "halo.png", self.folder / name, "--gaussian", 0)
            else:
                tool.write(self.folder / name, pixels)
            out = "soft_" + name
            tool.blur(self.folder / name, self.folder / out, "--gaussian", 4)
            if name.endswith("webp"):
                tool.blur(self.folder / out, self.folder / "back.png", "--gaussian", 0, "--force")
                out = "back.png"
            got = tool.read(self.folder / out)
            self.assertTrue((got[..., :3][got[..., 3] > 0] == 255).all(), name)
            edge = (got[..., 3] > 0) & (got[..., 3] < 255)
            self.assertGreater(edge.sum(), 200)
        self.blur("halo.png", "dark.png", "--alpha", "ignore")
        dark = tool.read(self.folder / "dark.png")
        self.assertTrue((dark[..., :3][dark[..., 3] > 0] < 128).any(), "without premultiplying there are halos")

    def test_associated_alpha_is_blurred_as_stored(self):
        alpha = self.random(np.float32, 1)
        pixels = np.concatenate([self.random(np.float32, 3) * alpha, alpha], axis=2)
        for name in ["a.exr", "a.tif"]:
            tool.write(self.folder / name, pixels, {"oiio:UnassociatedAlpha": 0})
            result = self.blur(name, "out_" + name)
            self.assertIn("alpha is associated", self.text)
            self.assertFalse(result.attribute("oiio:UnassociatedAlpha"))
            self.assert_blurred(result.pixels[0], pixels)

    def test_alpha_follows_the_format(self):
        """PNG's colour is not multiplied by alpha, OpenEXR's is."""
        pixels = self.random(np.uint16, 4)
        tool.write(self.folder / "a.png", pixels, {"oiio:ColorSpace": "Linear"})
        straight = pixels / 65535.0
        premultiplied = np.concatenate([straight[..., :3] * straight[..., 3:], straight[..., 3:]], axis=2)
        got = self.blur("a.png", "a.exr", "--format", "f32").pixels[0]
        self.assertLess(np.abs(got - gaussian(premultiplied)).max(), 1e-4)
        back = self.blur("a.exr", "b.png", "--format", "u16").pixels[0] / 65535.0
        twice = gaussian(gaussian(premultiplied))
        self.assertIn("colour becomes sRGB for PNG", self.text)
        self.assertLess(np.abs(decode(back[..., :3]) * back[..., 3:] - twice[..., :3]).max(), 1e-4)

    def test_colour_follows_the_format(self):
        """OpenEXR and HDR are linear, WebP is sRGB; neither can say otherwise."""
        pixels = self.random(np.uint8, 4)
        tool.write(self.folder / "a.png", pixels)
        alpha = pixels[..., 3:] / 255.0
        blurred = gaussian(np.concatenate([pixels[..., :3] / 255.0 * alpha, alpha], axis=2))
        straight = blurred[..., :3] / blurred[..., 3:]
        got = self.blur("a.png", "a.exr", "--format", "f32").pixels[0]
        self.assertIn("colour becomes linear light for OpenEXR", self.text)
        self.assertLess(np.abs(got[..., :3] - decode(straight) * blurred[..., 3:]).max(), 5e-4)
        tool.blur(self.folder / "a.exr", self.folder / "b.webp", "--gaussian", 0, "--format", "u8")
        self.blur("b.webp", "c.png", "--radius", 0)
        back = tool.read(self.folder / "c.png") / 255.0
        self.assertLess(np.abs(back[..., :3] - straight).max(), 0.51 / 255 + 5e-4)
        self.blur("a.png", "d.tif")
        self.assertLess(np.abs(tool.read(self.folder / "d.tif")[..., :3] / 255 - straight).max(), 0.51 / 255 + 5e-4)

    def test_gamma_of_png(self):
        """Older programs approximate sRGB like that; another gamma is another colour."""
        pixels = self.random(np.uint8, 3)
        for gamma, is_srgb in [(2.2, True), (1.8, False)]:
            tool.write(self.folder / "a.png", pixels, {"oiio:ColorSpace": f"Gamma{gamma}", "oiio:Gamma": gamma})
            self.blur("a.png", "b.png", "--force")
            self.assertIn(f"colour is gamma {gamma}", self.text)
            self.assertEqual(dict(self.png_chunks("b.png"))[b"gAMA"], round(1e5 / gamma).to_bytes(4, "big"))
            tool.blur(self.folder / "b.png", self.folder / "b.webp", "--gaussian", 2, "--force")
            self.assertEqual(b"ICCP" in (self.folder / "b.webp").read_bytes(), not is_srgb, "another curve becomes a profile")
            got = self.blur("a.png", "c.png", "--linear", "--force").pixels[0] / 255.0
            to_light, back = (decode, encode) if is_srgb else (lambda v: v ** gamma, lambda v: v ** (1 / gamma))
            self.assertLess(np.abs(got - back(gaussian(to_light(pixels / 255.0)))).max(), 0.65 / 255)

    def test_linear_light(self):
        pixels = self.random(np.uint16, 3)
        tool.write(self.folder / "a.png", pixels)
        got = self.blur("a.png", "out.png", "--linear").pixels[0] / 65535.0
        self.assertLess(np.abs(got - encode(gaussian(decode(pixels / 65535.0)))).max(), 2e-4)
        linear = self.random(np.float32, 3)
        tool.write(self.folder / "b.exr", linear)
        got = self.blur("b.exr", "out.exr", "--linear").pixels[0]
        self.assertIn("linear already", self.text)
        self.assert_blurred(got, linear)

    def test_linear_light_leaves_alpha_alone(self):
        pixels = self.random(np.uint16, 4)
        tool.write(self.folder / "a.png", pixels)
        got = self.blur("a.png", "out.png", "--linear", "--alpha", "ignore").pixels[0]
        self.assert_blurred(got[..., 3:], pixels[..., 3:])

    # Places

    def test_region(self):
        pixels = self.random(np.uint8, 3)
        tool.write(self.folder / "a.png", pixels)
        got = self.blur("a.png", "out.png", "--roi", "7x5+10+3").pixels[0]
        self.assertLessEqual(np.abs(got - gaussian(pixels)[3:8, 10:17]).max(), 0.6)

    def test_border_value_a_channel(self):
        tool.write(self.folder / "a.exr", np.zeros((3, 3, 5), np.float32), names=("R", "G", "B", "A", "extra"))
        got = self.blur("a.exr", "out.exr", "--border", "constant", "--border-value", "1,2,3,4,5").pixels[0]
        ratios = got[1, 1] / got[1, 1, 0]
        self.assertLess(np.abs(ratios - [1, 2, 3, 4, 5]).max(), 1e-4)

    def test_in_place(self):
        pixels = self.random(np.uint8, 3)
        tool.write(self.folder / "a.png", pixels)
        self.assert_blurred(self.blur("a.png", "a.png", "--force").pixels[0], pixels)

    def test_rights_and_links_stay(self):
        tool.write(self.folder / "a.png", self.random(np.uint8, 3))
        (self.folder / "a.png").chmod(0o640)
        (self.folder / "link.png").symlink_to("a.png")
        before = (self.folder / "a.png").read_bytes()
        self.blur("a.png", "link.png", "--force")
        self.assertTrue((self.folder / "link.png").is_symlink())
        self.assertNotEqual((self.folder / "a.png").read_bytes(), before)
        self.assertEqual((self.folder / "a.png").stat().st_mode & 0o777, 0o640)


if __name__ == "__main__":
    unittest.main()
